/* Sums and other reductions over any dims, kernels that process one line along a dim at a time, and
 * layer_norm of rows.
 *
 * Results do not depend on the number of threads: work is split into independent parts, or into
 * chunks whose number depends on the shape alone. */

#include "tensor.h"

#include <string.h>

/* ---- sums ---- */

static void sum_walk(walk w, heed_dtype from, heed_dtype as, heed_total *total)
{
    const int64_t n = run_length(&w), stride = run_stride(&w, 0);
    const bool ready = from == as && stride == (int64_t)heed_dtype_size(from);
    const int64_t step = ready ? n : CHUNK;
    do {
        for (int64_t start = 0; start < n; start += step) {
            chunk_buffer gathered;
            int64_t part = n - start < step ? n - start : step;
            const void *x = heed_walk_elements(w.lane[0].at + start * stride, stride, part, from,
                                               as, &gathered);
            heed_kernels_for(as)->sum(1, part, x, 0, total);
        }
    } while (heed_walk_next(&w));
}

/* Adds to `columns` sums side by side; the walk steps through the first elements of the rows. */
static void sum_walk_columns(walk w, heed_dtype dtype, int64_t columns, heed_total *totals)
{
    const int64_t step = run_stride(&w, 0) / (int64_t)heed_dtype_size(dtype);
    do {
        heed_kernels_for(dtype)->sum_columns(run_length(&w), columns, w.lane[0].at, step, totals);
    } while (heed_walk_next(&w));
}

/* Makes a walk over the dims of x in `set` or, if `inside` is false, over the others. Returns false
 * if the walk has no elements. */
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

/* Sums of x: `stay` walks the remaining dims, and `summed` walks the summed dims. A run of `stay`
 * is split into parts of `width` sums, at most CHUNK; each part is processed by one thread. */
typedef struct summing {
    walk stay, summed;
    heed_dtype from, as;
    enum {
        BY_NOTHING,  /* no elements: all sums are 0 */
        BY_ELEMENTS, /* one sum at a time, gathering its elements */
        BY_ROWS,     /* elements of a sum are contiguous: sum whole rows */
        BY_COLUMNS,  /* elements of neighbouring sums are contiguous: sum side by side */
    } order;
    int64_t width;
    double divisor;
    char *out;
} summing;

/* Lines of at least two chunks are summed in chunks, on several threads. The number of chunks
 * depends only on the length, so the sum is bit-identical for any number of threads. */
enum {
    CHUNK_OF_LINE = 16384, /* minimum elements; less work would not pay for its scheduling */
    CHUNK_STEP = 64,       /* chunks are multiples of this: whole vectors */
};

typedef struct long_line {
    const char *x;
    int64_t n, chunk;
    heed_dtype dtype;
    heed_total totals[CHUNK]; /* at most CHUNK chunks */
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

/* Computes `count` sums of a run, starting with number `first`. */
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
            sum_walk_columns(w, s->as, count, totals);
        } else {
            sum_walk(w, s->from, s->as, totals);
        }
    }
    kernels->from_totals(count, totals, s->divisor, to);
}

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
    /* The order follows the memory layout of x. With BY_ROWS, a part has about a grain of elements.
     * With BY_COLUMNS, short runs are cut into smaller parts, to yield several. */
    const int64_t length = run_length(&s.stay), runs = out->numel / length;
    if (!empty) {
        const int64_t size = (int64_t)heed_dtype_size(s.from), summed = run_length(&s.summed);
        const bool along = run_stride(&s.summed, 0) == size || summed == 1;
        if (!along && s.from == s.as && run_stride(&s.stay, 0) == size) {
            s.order = BY_COLUMNS;
            s.width = length < 2 * CHUNK && heed_get_num_threads() > 1 ? CHUNK / 4 : CHUNK;
        } else if (along && s.summed.ndim == 1 && s.from == s.as) {
            const int64_t rows = HEED_GRAIN_OF_ROWS / (summed + 1) + 1;
            s.order = BY_ROWS;
            s.width = rows < CHUNK ? rows : CHUNK;
        } else {
            s.order = BY_ELEMENTS;
        }
    }
    const int64_t parts = (length + s.width - 1) / s.width;
    const int64_t cost = x->numel / (parts * runs) + 1; /* per part, in elements */
    heed_parallel_for(parts * runs, HEED_GRAIN_OF_SUMS / cost + 1, sum_range, &s);
}

/* ---- reductions by kernel ---- */

/* Gathers the n elements of a line, through which the walk steps. */
static void gather_line(walk w, heed_dtype dtype, char *gathered)
{
    const int64_t size = (int64_t)heed_dtype_size(dtype);
    do {
        heed_kernels_for(dtype)->gather[dtype](run_length(&w), w.lane[0].at,
                                               run_stride(&w, 0) / size, gathered);
        gathered += run_length(&w) * size;
    } while (heed_walk_next(&w));
}

void heed_reduce(heed_reduce_kernel *kernel, const heed_tensor *x, unsigned set, heed_tensor *out)
{
    walk stay = {0}, folded = {0};
    const bool empty = !walk_dims(x, set, true, &folded);
    if (!walk_dims(x, set, false, &stay)) {
        return;
    }
    const int64_t size = (int64_t)heed_dtype_size(x->dtype), n = empty ? 0 : x->numel / out->numel;
    const bool ready = empty || (folded.ndim == 1 && (n == 1 || run_stride(&folded, 0) == size));
    char *gathered = ready ? NULL : heed_scratch((size_t)(n * size)), *to = out->data;
    do {
        for (int64_t i = 0; i < run_length(&stay); i++, to += heed_dtype_size(out->dtype)) {
            folded.lane[0].at = stay.lane[0].at + i * run_stride(&stay, 0);
            if (!ready) {
                gather_line(folded, x->dtype, gathered);
            }
            kernel(n, ready ? folded.lane[0].at : gathered, to);
        }
    } while (heed_walk_next(&stay));
}

/* ---- lines ---- */

/* Lines to map: the walk steps through the first elements of the lines in all operands; the last
 * lane is the result. */
typedef struct line_mapping {
    heed_row_kernel *kernel;
    heed_dtype dtype;
    int64_t n;
    int count; /* number of inputs */
    walk w;
} line_mapping;

/* Maps `count` lines of a run, starting with line `start`. */
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

void heed_map_rows(heed_row_kernel *kernel, heed_tensor *const *in, int count, int dim,
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
        shape[dim] = m.n > 0; /* walk the other dims */
    }
    if (!heed_walk_begin(&m.w, ndim, shape)) {
        return;
    }
    if (ready) {
        heed_walk_parts(&m.w, HEED_GRAIN_OF_ROWS / m.n + 1, map_part, &m);
        return;
    }
    /* Strided lines, or lines of another dtype, are processed one at a time; `gathered` has space
     * for one line of each operand. */
    const int64_t line_size = m.n * (int64_t)heed_dtype_size(m.dtype);
    char *gathered = heed_scratch((size_t)((count + 1) * line_size));
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
}

/* ---- layer_norm ---- */

enum { MOST_CHUNKS = 32 };

typedef struct normalisation {
    const heed_normalisation *all;
    heed_dtype dtype;
    int64_t chunk; /* rows in a chunk */
} normalisation;

static heed_normalisation rows_of(const normalisation *w, int64_t first, int64_t end)
{
    const int64_t before = first * w->all->n * (int64_t)heed_dtype_size(w->dtype);
    heed_normalisation rows = *w->all;
    rows.rows = (end < rows.rows ? end : rows.rows) - first;
    rows.x = (const char *)rows.x + before;
    rows.g = rows.g != NULL ? (const char *)rows.g + before : NULL;
    rows.y = rows.y != NULL ? (char *)rows.y + before : NULL;
    rows.dx = rows.dx != NULL ? (char *)rows.dx + before : NULL;
    return rows;
}

static void normalise_some(void *context, int64_t first, int64_t end)
{
    const normalisation *w = context;
    const heed_normalisation rows = rows_of(w, first, end);
    heed_kernels_for(w->dtype)->normalise(&rows);
}

void heed_normalise_rows(const heed_normalisation *all, heed_dtype dtype)
{
    normalisation w = {all, dtype, 0};
    heed_share_rows(all->rows, all->n, HEED_GRAIN_OF_ROWS, normalise_some, &w);
}

static int64_t rows_in_chunk(const heed_normalisation *all)
{
    const int64_t fit = all->rows * all->n / HEED_GRAIN_OF_ROWS;
    const int64_t most = fit < 1 ? 1 : fit < MOST_CHUNKS ? fit : MOST_CHUNKS;
    return all->rows > 0 ? (all->rows + most - 1) / most : 1;
}

int64_t heed_chunks_of_rows(const heed_normalisation *all)
{
    const int64_t chunk = rows_in_chunk(all);
    return (all->rows + chunk - 1) / chunk;
}

static void differentiate_some(void *context, int64_t first, int64_t end)
{
    const normalisation *w = context;
    for (int64_t i = first; i < end; i++) {
        heed_normalisation rows = rows_of(w, i * w->chunk, (i + 1) * w->chunk);
        rows.totals += i * 2 * rows.n;
        heed_kernels_for(w->dtype)->normalise_gradient(&rows);
    }
}

void heed_normalise_rows_gradient(const heed_normalisation *all, heed_dtype dtype)
{
    normalisation w = {all, dtype, rows_in_chunk(all)};
    heed_parallel_for(heed_chunks_of_rows(all), 1, differentiate_some, &w);
}
