/* Sums and folds over any dims, and kernels that take one line of a dim at a time. */
#include <string.h>

#include "alloc.h"
#include "parallel.h"
#include "walk.h"

/* ---- sums ---- */

/* Adds all that the walk passes to one total. */
static void sum_walk(walk w, heed_dtype from, heed_dtype as, heed_total *total)
{
    const int64_t n = run_length(&w), stride = run_stride(&w, 0);
    const bool ready = from == as && stride == (int64_t)heed_dtype_size(from);
    const int64_t step = ready ? n : CHUNK;
    do {
        for (int64_t start = 0; start < n; start += step) {
            buffer room;
            int64_t part = n - start < step ? n - start : step;
            const void *x =
                heed_walk_elements(w.lane[0].at + start * stride, stride, part, from, as, &room);
            heed_kernels_for(as)->sum(1, part, x, 0, total);
        }
    } while (heed_walk_next(&w));
}

/* Adds up `columns` sums side by side: the walk passes the first element of each row. */
static void sum_walk_columns(walk w, heed_dtype from, heed_dtype as, int64_t columns,
                             heed_total *totals)
{
    const int64_t size = (int64_t)heed_dtype_size(from), step = run_stride(&w, 0);
    const heed_kernels *kernels = heed_kernels_for(as);
    do {
        if (from == as) {
            kernels->sum_columns(run_length(&w), columns, w.lane[0].at, step / size, totals);
            continue;
        }
        for (int64_t i = 0; i < run_length(&w); i++) {
            buffer room;
            kernels->gather[from](columns, w.lane[0].at + i * step, 1, &room);
            kernels->sum_columns(1, columns, &room, 0, totals);
        }
    } while (heed_walk_next(&w));
}

/* The dims of x that are in `set` (or, with `inside` false, those that are not), as a walk. False
 * where there is nothing to walk. */
static bool walk_dims(const heed_tensor *x, unsigned set, bool inside, walk *w)
{
    int64_t shape[HEED_MAX_DIMS], strides[HEED_MAX_DIMS];
    int ndim = 0;
    for (int i = 0; i < x->ndim; i++) {
        if (((set >> i & 1) != 0) == inside) {
            shape[ndim] = x->shape[i];
            strides[ndim++] = x->strides[i];
        }
    }
    heed_walk_lane(w, x->data, strides, x->dtype, ndim);
    return heed_walk_begin(w, ndim, shape);
}

/* Sums of x: `stay` passes the dims that stay, `summed` those that are summed. A run that stays is taken in
 * parts of `width` sums. */
typedef struct summing {
    walk stay, summed;
    heed_dtype from, as;
    enum { NOTHING, BY_ELEMENTS, BY_ROWS, BY_COLUMNS } way;
    int64_t width;
    double divisor;
    char *out;
} summing;

/* A long line in chunks. How many there are its length decides, so threads change no sum. */
typedef struct long_line {
    const char *x;
    int64_t n, chunk;
    heed_dtype dtype;
    heed_total totals[CHUNK];
} long_line;

enum { LENGTH_OF_CHUNK = 16384 };

static void sum_chunks(void *context, int64_t first, int64_t end)
{
    long_line *l = context;
    for (int64_t i = first; i < end; i++) {
        const int64_t start = i * l->chunk, left = l->n - start;
        heed_kernels_for(l->dtype)->sum(1, left < l->chunk ? left : l->chunk,
                                        l->x + start * (int64_t)heed_dtype_size(l->dtype), 0,
                                        &l->totals[i]);
    }
}

static void sum_long_line(const char *x, int64_t n, heed_dtype dtype, heed_total *total)
{
    const int64_t even = (n / CHUNK + 64) / 64 * 64;
    long_line l = {.x = x, .n = n, .dtype = dtype};
    l.chunk = even > LENGTH_OF_CHUNK ? even : LENGTH_OF_CHUNK;
    const int64_t chunks = (n + l.chunk - 1) / l.chunk;
    heed_parallel_for(chunks, 2 * HEED_GRAIN_OF_LINES / l.chunk + 1, sum_chunks, &l);
    heed_kernels_for(heed_is_float(dtype) ? HEED_F64 : HEED_I64)
        ->sum(1, chunks, l.totals, 0, total);
}

/* `count` sums from number `first` of a run on. */
static void sum_part(const summing *s, const walk *stay, int64_t first, int64_t count, char *to)
{
    heed_total totals[CHUNK];
    const int64_t size = (int64_t)heed_dtype_size(s->from), stride = run_stride(stay, 0);
    const char *at = stay->lane[0].at + first * stride;
    const heed_kernels *kernels = heed_kernels_for(s->as);
    memset(totals, 0, sizeof *totals * (size_t)count);
    if (s->way == BY_ROWS && run_length(&s->summed) >= 2 * LENGTH_OF_CHUNK) {
        for (int64_t i = 0; i < count; i++) {
            sum_long_line(at + i * stride, run_length(&s->summed), s->from, &totals[i]);
        }
    } else if (s->way == BY_ROWS) {
        kernels->sum(count, run_length(&s->summed), at, stride / size, totals);
    } else if (s->way != NOTHING) {
        walk w = s->summed;
        w.lane[0].at = (char *)at;
        if (s->way == BY_COLUMNS) {
            sum_walk_columns(w, s->from, s->as, count, totals);
        } else {
            sum_walk(w, s->from, s->as, totals);
        }
    }
    kernels->from_totals(count, totals, s->divisor, to);
}

/* The parts in [first, end). */
static void sum_some(void *context, int64_t first, int64_t end)
{
    const summing *s = context;
    walk w = s->stay;
    const int64_t length = run_length(&w), parts = (length + s->width - 1) / s->width;
    const int64_t size = (int64_t)heed_dtype_size(s->as);
    heed_walk_to(&w, first / parts);
    for (int64_t i = first; i < end; i++) {
        const int64_t start = i % parts * s->width, left = length - start;
        sum_part(s, &w, start, left < s->width ? left : s->width,
                 s->out + (i / parts * length + start) * size);
        if ((i + 1) % parts == 0) {
            heed_walk_next(&w);
        }
    }
}

void heed_sum_elements(const heed_tensor *x, unsigned set, double divisor, heed_tensor *out)
{
    summing s = {
        .from = x->dtype, .as = out->dtype, .width = 1, .divisor = divisor, .out = out->data};
    const bool empty = !walk_dims(x, set, true, &s.summed);
    if (!walk_dims(x, set, false, &s.stay)) {
        return;
    }
    const int64_t size = (int64_t)heed_dtype_size(x->dtype), length = run_length(&s.stay);
    const bool along = !empty && (run_stride(&s.summed, 0) == size || run_length(&s.summed) == 1);
    s.way = empty ? NOTHING : BY_ELEMENTS;
    if (!empty && !along &&
        run_stride(&s.stay, 0) == size) { /* x is read in the order in which it lies */
        s.way = BY_COLUMNS;
        s.width = length < 2 * CHUNK ? CHUNK / 4 : CHUNK;
    } else if (along && s.summed.ndim == 1 && s.from == s.as) {
        s.way = BY_ROWS;
        s.width = HEED_GRAIN_OF_LINES / (run_length(&s.summed) + 1) + 1;
        s.width = s.width < CHUNK ? s.width : CHUNK;
    }
    const int64_t parts = (length + s.width - 1) / s.width, runs = out->numel / length;
    const int64_t cost = x->numel / (parts * runs) + 1;
    heed_parallel_for(parts * runs, 2 * HEED_GRAIN_OF_LINES / cost + 1, sum_some, &s);
}

/* ---- folds ---- */

/* Where lines are gathered from: as many as share a cache line lie side by side, so that each is
 * fetched once. Together they are no larger than x. */
enum { LINES_AT_ONCE = 16 };

/* Gathers lines of n elements, whose beginnings are `step` bytes apart, one behind the other into
 * room: the walk passes the elements of the first. */
static void gather_lines(walk w, int64_t lines, int64_t step, heed_dtype from, heed_dtype as,
                         int64_t n, char *room)
{
    const int64_t size = (int64_t)heed_dtype_size(as), stride = run_stride(&w, 0);
    int64_t done = 0;
    do {
        for (int64_t start = 0; start < run_length(&w); start += CHUNK) {
            const int64_t left = run_length(&w) - start, part = left < CHUNK ? left : CHUNK;
            for (int64_t j = 0; j < lines; j++) {
                heed_kernels_for(as)->gather[from](part, w.lane[0].at + start * stride + j * step,
                                                   stride / (int64_t)heed_dtype_size(from),
                                                   room + (j * n + done) * size);
            }
            done += part;
        }
    } while (heed_walk_next(&w));
}

heed_status heed_fold(heed_fold_kernel *kernel, const void *args, heed_dtype as,
                      const heed_tensor *x, unsigned set, heed_tensor *out)
{
    walk stay = {0}, folded = {0};
    const bool empty = !walk_dims(x, set, true, &folded);
    if (!walk_dims(x, set, false, &stay)) {
        return HEED_OK;
    }
    const int64_t size = (int64_t)heed_dtype_size(as), columns = run_length(&stay);
    const int64_t n = empty ? 0 : x->numel / out->numel;
    const bool ready =
        empty || (x->dtype == as && folded.ndim == 1 && (n == 1 || run_stride(&folded, 0) == size));
    const int64_t width = ready ? 1 : columns < LINES_AT_ONCE ? columns : LINES_AT_ONCE;
    const size_t room_size = ready ? 0 : (size_t)(width * n) * (size_t)size;
    char *room = ready ? NULL : heed_alloc(room_size), *to = out->data;
    if (!ready && room == NULL) {
        return heed_self.error;
    }
    do {
        for (int64_t start = 0; start < columns; start += width) {
            const int64_t left = columns - start, part = left < width ? left : width;
            const char *from = stay.lane[0].at + start * run_stride(&stay, 0);
            if (!ready) {
                folded.lane[0].at = (char *)from;
                gather_lines(folded, part, run_stride(&stay, 0), x->dtype, as, n, room);
                from = room;
            }
            for (int64_t j = 0; j < part; j++, to += heed_dtype_size(out->dtype)) {
                kernel(n, ready ? from : room + j * n * size, args, to);
            }
        }
    } while (heed_walk_next(&stay));
    heed_free(room, room_size);
    return HEED_OK;
}

/* ---- lines ---- */

/* Lines to be mapped: the walk passes the first element of each, in every operand; the last is the result. */
typedef struct mapping {
    heed_line_kernel *kernel;
    heed_dtype dtype;
    int64_t n;
    int count; /* of inputs */
    walk w;
} mapping;

/* Maps lines that lie `ahead` of where the walk stands. */
static void map_run(const mapping *m, const walk *w, int64_t ahead, int64_t count)
{
    const int64_t size = (int64_t)heed_dtype_size(m->dtype);
    heed_lines lines = {.count = count, .n = m->n};
    for (int k = 0; k < m->count; k++) {
        lines.in[k] = w->lane[k].at + ahead * run_stride(w, k);
        lines.step[k] = run_stride(w, k) / size;
    }
    lines.out = w->lane[m->count].at + ahead * run_stride(w, m->count);
    lines.out_step = run_stride(w, m->count) / size;
    m->kernel(&lines);
}

static void map_some(void *context, int64_t first, int64_t end)
{
    const mapping *m = context;
    walk w = m->w;
    const int64_t length = run_length(&w);
    int64_t ahead = first % length;
    heed_walk_to(&w, first / length);
    while (first < end) {
        const int64_t left = length - ahead, count = end - first < left ? end - first : left;
        map_run(m, &w, ahead, count);
        first += count;
        ahead = 0;
        heed_walk_next(&w);
    }
}

/* One line after the other, for lines that do not lie ready: room holds one of each operand. */
static void map_gathered(const mapping *m, heed_tensor *const *in, const int64_t *steps, char *room)
{
    const int64_t line_size = m->n * (int64_t)heed_dtype_size(m->dtype);
    const heed_kernels *kernels = heed_kernels_for(m->dtype);
    heed_lines lines = {.count = 1, .n = m->n, .out = room + m->count * line_size};
    walk w = m->w;
    do {
        for (int64_t i = 0; i < run_length(&w); i++) {
            for (int k = 0; k < m->count; k++) {
                char *line = room + k * line_size;
                kernels->gather[in[k]->dtype](m->n, w.lane[k].at + i * run_stride(&w, k), steps[k],
                                              line);
                lines.in[k] = line;
            }
            m->kernel(&lines);
            kernels->scatter(m->n, lines.out, w.lane[m->count].at + i * run_stride(&w, m->count),
                             steps[m->count]);
        }
    } while (heed_walk_next(&w));
}

heed_status heed_map_lines(heed_line_kernel *kernel, heed_tensor *const *in, int count, int dim,
                           heed_tensor *out)
{
    const int ndim = out->ndim;
    mapping m = {kernel, out->dtype, ndim > 0 ? out->shape[dim] : 1, count, {0}};
    int64_t shape[HEED_MAX_DIMS], steps[3];
    bool ready = true;
    for (int k = 0; k <= count; k++) {
        const heed_tensor *t = k < count ? in[k] : out;
        steps[k] = ndim > 0 ? t->strides[dim] : 1;
        ready = ready && t->dtype == m.dtype && (steps[k] == 1 || m.n == 1);
        heed_walk_lane(&m.w, t->data, t->strides, t->dtype, ndim);
    }
    memcpy(shape, out->shape, sizeof *shape * ndim);
    if (ndim > 0) {
        shape[dim] = m.n > 0; /* the other dims are walked, line by line */
    }
    if (!heed_walk_begin(&m.w, ndim, shape)) {
        return HEED_OK;
    }
    if (ready) {
        heed_parallel_for(out->numel / m.n, HEED_GRAIN_OF_LINES / m.n + 1, map_some, &m);
        return HEED_OK;
    }
    const size_t room_size = (size_t)(count + 1) * (size_t)m.n * heed_dtype_size(m.dtype);
    char *room = heed_alloc(room_size);
    if (room != NULL) {
        map_gathered(&m, in, steps, room);
        heed_free(room, room_size);
    }
    return room != NULL ? HEED_OK : heed_self.error;
}
