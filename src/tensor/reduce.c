/* Sums and folds over any dims, and kernels that take one line of a dim at a time.
 *
 * No result depends on the number of threads: what is split is independent, or is cut into chunks
 * whose number the shape decides. */

#include "reduce.h"

#include <string.h>

#include "blocks.h"
#include "broadcast_walk.h"
#include "grain.h"
#include "parallel.h"
#include "thread.h"

/* ---- sums ---- */

/* Adds all elements of the walk to one total. */
static void sum_walk(walk w, heed_dtype from, heed_dtype as, heed_total *total)
{
    const int64_t n = run_length(&w), stride = run_stride(&w, 0);
    const bool ready = from == as && stride == (int64_t)heed_dtype_size(from);
    const int64_t step = ready ? n : CHUNK;
    do {
        for (int64_t start = 0; start < n; start += step) {
            buffer gathered;
            int64_t part = n - start < step ? n - start : step;
            const void *x = heed_walk_elements(w.lane[0].at + start * stride, stride, part, from,
                                               as, &gathered);
            heed_kernels_for(as)->sum(1, part, x, 0, total);
        }
    } while (heed_walk_next(&w));
}

/* Adds up `columns` sums side by side: the walk steps through the first elements of the rows. */
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
            buffer gathered;
            kernels->gather[from](columns, w.lane[0].at + i * step, 1, &gathered);
            kernels->sum_columns(1, columns, &gathered, 0, totals);
        }
    } while (heed_walk_next(&w));
}

/* The dims of x that are in `set` (or, with `inside` false, those that are not), as a walk. False
 * if it has no elements. */
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

/* Sums of x: `stay` walks the dims that stay, `summed` those that are summed. A run of `stay` is
 * split into parts of `width` sums, at most CHUNK; a part is one thread's. */
typedef struct summing {
    walk stay, summed;
    heed_dtype from, as;
    enum {
        BY_NOTHING,  /* no elements: all sums are 0 */
        BY_ELEMENTS, /* one sum at a time, its elements gathered */
        BY_ROWS,     /* each sum's elements are adjacent: whole rows at a time */
        BY_COLUMNS,  /* elements of neighbouring sums are adjacent: added side by side */
    } order;
    int64_t width;
    double divisor;
    char *out;
} summing;

/* A line of at least two chunks is summed in chunks, which threads share. Its length alone decides
 * their number, so that the sum has the same bits for any number of threads. */
enum {
    CHUNK_OF_LINE = 16384, /* elements at least: about as much work as handing out costs */
    CHUNK_STEP = 64,       /* a chunk is a multiple of this: whole vectors */
};

typedef struct long_line {
    const char *x;
    int64_t n, chunk;
    heed_dtype dtype;
    heed_total totals[CHUNK]; /* there are at most CHUNK chunks */
} long_line;

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
    const int64_t even = (n / CHUNK + CHUNK_STEP) / CHUNK_STEP * CHUNK_STEP;
    long_line l = {.x = x, .n = n, .dtype = dtype};
    l.chunk = even > CHUNK_OF_LINE ? even : CHUNK_OF_LINE;
    const int64_t chunks = (n + l.chunk - 1) / l.chunk;
    heed_parallel_for(chunks, HEED_GRAIN_OF_SUMS / l.chunk + 1, sum_chunks, &l);
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
    if (s->order == BY_ROWS && run_length(&s->summed) >= 2 * CHUNK_OF_LINE) {
        for (int64_t i = 0; i < count; i++) {
            sum_long_line(at + i * stride, run_length(&s->summed), s->from, &totals[i]);
        }
    } else if (s->order == BY_ROWS) {
        kernels->sum(count, run_length(&s->summed), at, stride / size, totals);
    } else if (s->order != BY_NOTHING) {
        walk w = s->summed;
        w.lane[0].at = (char *)at;
        if (s->order == BY_COLUMNS) {
            sum_walk_columns(w, s->from, s->as, count, totals);
        } else {
            sum_walk(w, s->from, s->as, totals);
        }
    }
    kernels->from_totals(count, totals, s->divisor, to);
}

/* The parts in [first, end). */
static void sum_range(void *context, int64_t first, int64_t end)
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
    summing s = {.from = x->dtype,
                 .as = out->dtype,
                 .order = BY_NOTHING,
                 .width = 1,
                 .divisor = divisor,
                 .out = out->data};
    const bool empty = !walk_dims(x, set, true, &s.summed);
    if (!walk_dims(x, set, false, &s.stay)) {
        return;
    }
    /* The order in which x lies in memory. A part of rows is about a grain of elements; short runs
     * of sums side by side are cut finer, so that they still give several parts. */
    const int64_t length = run_length(&s.stay), runs = out->numel / length;
    if (!empty) {
        const int64_t size = (int64_t)heed_dtype_size(s.from), summed = run_length(&s.summed);
        const bool along = run_stride(&s.summed, 0) == size || summed == 1;
        if (!along && run_stride(&s.stay, 0) == size) {
            s.order = BY_COLUMNS;
            s.width = length < 2 * CHUNK ? CHUNK / 4 : CHUNK;
        } else if (along && s.summed.ndim == 1 && s.from == s.as) {
            const int64_t rows = HEED_GRAIN_OF_ROWS / (summed + 1) + 1;
            s.order = BY_ROWS;
            s.width = rows < CHUNK ? rows : CHUNK;
        } else {
            s.order = BY_ELEMENTS;
        }
    }
    const int64_t parts = (length + s.width - 1) / s.width;
    const int64_t cost = x->numel / (parts * runs) + 1; /* of a part, in elements */
    heed_parallel_for(parts * runs, HEED_GRAIN_OF_SUMS / cost + 1, sum_range, &s);
}

/* ---- folds ---- */

/* Lines gathered at once: f32 lines side by side share cache lines of 16 elements, and each cache
 * line is fetched once. The gathered lines are no larger than x. */
enum { LINES_AT_ONCE = 16 };

/* Gathers lines of n elements, which start `step` bytes apart, one after the other into `gathered`:
 * the walk steps through the elements of the first. */
static void gather_lines(walk w, int64_t lines, int64_t step, heed_dtype from, heed_dtype as,
                         int64_t n, char *gathered)
{
    const int64_t size = (int64_t)heed_dtype_size(as), stride = run_stride(&w, 0);
    int64_t done = 0;
    do {
        for (int64_t start = 0; start < run_length(&w); start += CHUNK) {
            const int64_t left = run_length(&w) - start, part = left < CHUNK ? left : CHUNK;
            for (int64_t j = 0; j < lines; j++) {
                heed_kernels_for(as)->gather[from](part, w.lane[0].at + start * stride + j * step,
                                                   stride / (int64_t)heed_dtype_size(from),
                                                   gathered + (j * n + done) * size);
            }
            done += part;
        }
    } while (heed_walk_next(&w));
}

heed_status heed_reduce(heed_reduce_kernel *kernel, const void *args, heed_dtype as,
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
    const size_t bytes = ready ? 0 : (size_t)(width * n) * (size_t)size;
    char *gathered = ready ? NULL : heed_alloc_sized(bytes), *to = out->data;
    if (!ready && gathered == NULL) {
        return heed_self.error;
    }
    do {
        for (int64_t start = 0; start < columns; start += width) {
            const int64_t left = columns - start, part = left < width ? left : width;
            const char *from = stay.lane[0].at + start * run_stride(&stay, 0);
            if (!ready) {
                folded.lane[0].at = (char *)from;
                gather_lines(folded, part, run_stride(&stay, 0), x->dtype, as, n, gathered);
                from = gathered;
            }
            for (int64_t j = 0; j < part; j++, to += heed_dtype_size(out->dtype)) {
                kernel(n, ready ? from : gathered + j * n * size, args, to);
            }
        }
    } while (heed_walk_next(&stay));
    heed_free_sized(gathered, bytes);
    return HEED_OK;
}

/* ---- lines ---- */

/* Lines to be mapped: the walk steps through their first elements, in every operand; the last lane
 * is the result. */
typedef struct line_mapping {
    heed_row_kernel *kernel;
    heed_dtype dtype;
    int64_t n;
    int count; /* of inputs */
    walk w;
} line_mapping;

/* Maps `count` lines of a run, from its line `start` on. */
static void map_part(const void *context, const walk *w, int64_t start, int64_t count)
{
    const line_mapping *m = context;
    const int64_t size = (int64_t)heed_dtype_size(m->dtype);
    heed_rows lines = {.count = count, .n = m->n};
    for (int k = 0; k < m->count; k++) {
        lines.in[k] = w->lane[k].at + start * run_stride(w, k);
        lines.step[k] = run_stride(w, k) / size;
    }
    lines.out = w->lane[m->count].at + start * run_stride(w, m->count);
    lines.out_step = run_stride(w, m->count) / size;
    m->kernel(&lines);
}

heed_status heed_map_rows(heed_row_kernel *kernel, heed_tensor *const *in, int count, int dim,
                          heed_tensor *out)
{
    const int ndim = out->ndim;
    line_mapping m = {kernel, out->dtype, ndim > 0 ? out->shape[dim] : 1, count, {0}};
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
        heed_walk_parts(&m.w, HEED_GRAIN_OF_ROWS / m.n + 1, map_part, &m);
        return HEED_OK;
    }
    /* Lines that are strided or of another dtype, one after the other: `gathered` holds one of each
     * operand. */
    const int64_t line_size = m.n * (int64_t)heed_dtype_size(m.dtype);
    const size_t bytes = (size_t)(count + 1) * (size_t)line_size;
    char *gathered = heed_alloc_sized(bytes);
    if (gathered == NULL) {
        return heed_self.error;
    }
    const heed_kernels *kernels = heed_kernels_for(m.dtype);
    heed_rows line = {.count = 1, .n = m.n, .out = gathered + count * line_size};
    do {
        for (int64_t i = 0; i < run_length(&m.w); i++) {
            for (int k = 0; k < count; k++) {
                line.in[k] = gathered + k * line_size;
                kernels->gather[in[k]->dtype](m.n, m.w.lane[k].at + i * run_stride(&m.w, k),
                                              steps[k], gathered + k * line_size);
            }
            kernel(&line);
            kernels->scatter(m.n, line.out, m.w.lane[count].at + i * run_stride(&m.w, count),
                             steps[count]);
        }
    } while (heed_walk_next(&m.w));
    heed_free_sized(gathered, bytes);
    return HEED_OK;
}
