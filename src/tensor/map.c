/* Element-wise work and copies: passes contiguous runs of tensors with any strides to the kernels.
 *
 * A small result whose operands all have its layout takes one kernel call. Otherwise a walk steps
 * through the operands together, and those that are strided, broadcast or of another dtype are
 * gathered a chunk at a time. broadcast_walk.c handles strides and threads; callers have checked
 * shapes and dtypes. */
#include "tensor.h"

#include <math.h>
#include <string.h>

_Static_assert(LANES == HEED_MAX_OPERANDS + 1, "a lane for each operand and the result");

/* ---- operands ---- */

/* For results up to this size, numbers are repeated in a buffer instead of being walked with stride
 * 0. */
enum { REPEATED = 32 };

/* A number converted to some dtype, possibly repeated. */
typedef union elements {
    double f64[REPEATED];
    int64_t i64[REPEATED];
} elements;

/* Writes the operand's number `times` times, cast as torch does, but infinity to the largest i64.
 * Not inlined: most operands are tensors. */
static __attribute__((noinline)) const void *set_number(elements *e, int64_t times,
                                                        const heed_operand *in)
{
    const bool most = in->as == HEED_I64 && in->number > 0 && isinf(in->number);
    const int64_t largest = INT64_MAX;
    heed_kernels_for(in->as)->gather[most ? HEED_I64 : HEED_F64](
        times, most ? (const void *)&largest : &in->number, 0, e);
    return e;
}

/* True if all sizes, and the strides of all dims longer than 1, are equal. */
static bool lie_alike(const heed_tensor *t, const heed_tensor *out)
{
    if (out->numel == 1 || t->numel != out->numel) {
        return t->numel == out->numel;
    }
    bool alike = t->ndim == out->ndim;
    for (int i = 0; alike && i < t->ndim; i++) {
        alike =
            t->shape[i] == out->shape[i] && (t->shape[i] == 1 || t->strides[i] == out->strides[i]);
    }
    return alike;
}

/* ---- element by element ---- */

/* Tries a single kernel call. Returns false, having done nothing, if an operand needs a walk. */
static bool map_at_once(heed_kernel *kernel, const heed_operand *in, int count, elements *numbers,
                        heed_tensor *out)
{
    const void *from[HEED_MAX_OPERANDS];
    for (int k = 0; k < count; k++) {
        const heed_tensor *t = in[k].tensor;
        if (t != NULL ? t->dtype != in[k].as || !lie_alike(t, out) : out->numel > REPEATED) {
            return false;
        }
        from[k] = t != NULL ? t->data : set_number(&numbers[k], out->numel, &in[k]);
    }
    kernel(out->numel, from, out->data);
    return true;
}

typedef struct mapping {
    heed_kernel *kernel;
    const heed_operand *in;
    int count;
    const walk *w; /* its last dim is the run */
    bool ready;    /* no operand needs gathering along the run */
} mapping;

static heed_dtype dtype_of(const heed_operand *in)
{
    return in->tensor != NULL ? in->tensor->dtype : in->as;
}

/* Maps n elements, starting at the addresses `at`, a chunk at a time. Repeated elements are
 * gathered only once. */
static void map_run(const mapping *m, char *const *at, int64_t n)
{
    const void *from[HEED_MAX_OPERANDS];
    chunk_buffer gathered[HEED_MAX_OPERANDS];
    const int64_t to_stride = run_stride(m->w, m->count);
    for (int64_t done = 0; done < n; done += CHUNK) {
        const int64_t part = n - done < CHUNK ? n - done : CHUNK;
        for (int k = 0; k < m->count; k++) {
            const int64_t stride = run_stride(m->w, k);
            if (done == 0 || stride != 0) {
                from[k] = heed_walk_elements(at[k] + done * stride, stride, part,
                                             dtype_of(&m->in[k]), m->in[k].as, &gathered[k]);
            }
        }
        m->kernel(part, from, at[m->count] + done * to_stride);
    }
}

/* Maps n elements of a run from index `start`, or n whole runs if w lacks the last dim. */
static void map_part(const void *context, const walk *w, int64_t start, int64_t n)
{
    const mapping *m = context;
    const bool is_run = w->ndim == m->w->ndim;
    const int64_t runs = is_run ? 1 : n, length = is_run ? n : run_length(m->w);
    char *at[LANES];
    for (int k = 0; k <= m->count; k++) {
        at[k] = w->lane[k].at + start * run_stride(w, k);
    }
    for (int64_t i = 0; i < runs; i++) {
        if (m->ready) {
            m->kernel(length, (const void *const *)at, at[m->count]);
        } else {
            map_run(m, at, length);
        }
        for (int k = 0; k <= m->count; k++) {
            at[k] += run_stride(w, k);
        }
    }
}

/* Maps run by run. Not inlined: its frame would cost heed_map more than a small kernel does. */
static __attribute__((noinline)) void map_by_walk(heed_kernel *kernel, const heed_operand *in,
                                                  int count, elements *numbers, heed_tensor *out)
{
    walk w = {0};
    for (int k = 0; k < count; k++) {
        int64_t strides[HEED_MAX_DIMS] = {0};
        const heed_tensor *t = in[k].tensor;
        if (t != NULL) {
            heed_broadcast_strides(t, out->ndim, out->shape, strides);
        }
        heed_walk_lane(&w, t != NULL ? t->data : set_number(&numbers[k], 1, &in[k]), strides,
                       dtype_of(&in[k]), out->ndim);
    }
    heed_walk_lane(&w, out->data, out->strides, out->dtype, out->ndim);
    if (!heed_walk_begin(&w, out->ndim, out->shape)) {
        return;
    }
    mapping m = {kernel, in, count, &w, true};
    for (int k = 0; k < count; k++) {
        m.ready = m.ready && dtype_of(&in[k]) == in[k].as &&
                  run_stride(&w, k) == (int64_t)heed_dtype_size(in[k].as);
    }
    if (w.ndim == 1) {
        heed_walk_parts(&w, HEED_GRAIN_OF_ELEMENTS, map_part, &m);
        return;
    }
    walk runs = w;
    runs.ndim--;
    heed_walk_parts(&runs, HEED_GRAIN_OF_ELEMENTS / run_length(&w) + 1, map_part, &m);
}

void heed_map(heed_kernel *kernel, const heed_operand *in, int count, heed_tensor *out)
{
    elements numbers[HEED_MAX_OPERANDS];
    if (out->numel >= 2 * HEED_GRAIN_OF_ELEMENTS || !map_at_once(kernel, in, count, numbers, out)) {
        map_by_walk(kernel, in, count, numbers, out);
    }
}

/* ---- copying ---- */

typedef struct copying {
    const heed_kernels *kernels; /* for the target's dtype */
    heed_dtype from, to;
    const walk *w; /* copy_rows uses its last dim as well */
} copying;

static void copy_part(const void *context, const walk *w, int64_t start, int64_t n)
{
    const copying *c = context;
    const int64_t from_step = run_stride(w, 0) / (int64_t)heed_dtype_size(c->from);
    const int64_t to_step = run_stride(w, 1) / (int64_t)heed_dtype_size(c->to);
    const char *from = w->lane[0].at + start * run_stride(w, 0);
    char *to = w->lane[1].at + start * run_stride(w, 1);
    if (to_step == 1 || n == 1) {
        c->kernels->gather[c->from](n, from, from_step, to);
        return;
    }
    chunk_buffer gathered;
    for (int64_t at = 0; at < n; at += CHUNK) {
        const int64_t part = n - at < CHUNK ? n - at : CHUNK;
        c->kernels->gather[c->from](part, from + at * run_stride(w, 0), from_step, &gathered);
        c->kernels->scatter(part, &gathered, to + at * run_stride(w, 1), to_step);
    }
}

/* Copies rows of a plane: `w` steps through the rows, each of which is a run of context->w. */
static void copy_rows(const void *context, const walk *w, int64_t start, int64_t n)
{
    const copying *c = context;
    const int64_t from_size = (int64_t)heed_dtype_size(c->from);
    c->kernels->gather_rows[c->from](&(heed_plane){
        .rows = n,
        .columns = run_length(c->w),
        .from = w->lane[0].at + start * run_stride(w, 0),
        .from_row = run_stride(w, 0) / from_size,
        .from_column = run_stride(c->w, 0) / from_size,
        .to = w->lane[1].at + start * run_stride(w, 1),
        .to_row = run_stride(w, 1) / (int64_t)heed_dtype_size(c->to),
    });
}

/* Makes the target's contiguous dim, if it has one, the last. */
static void move_contiguous_dim(walk *w, heed_dtype dtype)
{
    const int last = w->ndim - 1;
    int i = 0;
    while (i < last && w->lane[1].stride[i] != (int64_t)heed_dtype_size(dtype)) {
        i++;
    }
    const int64_t size = w->size[i];
    w->size[i] = w->size[last];
    w->size[last] = size;
    for (int k = 0; k < w->lanes; k++) {
        const int64_t stride = w->lane[k].stride[i];
        w->lane[k].stride[i] = w->lane[k].stride[last];
        w->lane[k].stride[last] = stride;
    }
}

/* Copies whole rows if the target's rows are contiguous, else parts of runs. */
static void copy_from(const void *from, heed_dtype dtype, const int64_t *strides, heed_tensor *out)
{
    walk w = {0};
    heed_walk_lane(&w, from, strides, dtype, out->ndim);
    heed_walk_lane(&w, out->data, out->strides, out->dtype, out->ndim);
    if (!heed_walk_begin(&w, out->ndim, out->shape)) {
        return;
    }
    const copying c = {heed_kernels_for(out->dtype), dtype, out->dtype, &w};
    const int64_t size = (int64_t)heed_dtype_size(out->dtype);
    if (run_stride(&w, 1) != size) {
        move_contiguous_dim(&w, out->dtype);
    }
    if (w.ndim == 1 || run_stride(&w, 1) != size) {
        heed_walk_parts(&w, HEED_GRAIN_OF_ELEMENTS, copy_part, &c);
        return;
    }
    walk rows = w;
    rows.ndim--;
    heed_walk_parts(&rows, HEED_GRAIN_OF_ELEMENTS / run_length(&w) + 1, copy_rows, &c);
}

void heed_copy_elements(const heed_tensor *x, heed_tensor *out)
{
    int64_t strides[HEED_MAX_DIMS];
    heed_broadcast_strides(x, out->ndim, out->shape, strides);
    copy_from(x->data, x->dtype, strides, out);
}

static void clear_bytes(void *context, int64_t first, int64_t end)
{
    memset((char *)context + first, 0, (size_t)(end - first));
}

void heed_fill_elements(heed_tensor *out, double value)
{
    const bool is_adjacent = heed_is_row_major(out);
    if (is_adjacent && value == 0 && !signbit(value)) {
        heed_parallel_for(out->numel * (int64_t)heed_dtype_size(out->dtype),
                          16 * HEED_GRAIN_OF_ELEMENTS, clear_bytes, out->data);
    } else if (is_adjacent && out->numel < 2 * HEED_GRAIN_OF_ELEMENTS) { /* too small for threads */
        heed_kernels_for(out->dtype)->gather[HEED_F64](out->numel, &value, 0, out->data);
    } else {
        copy_from(&value, HEED_F64, (const int64_t[HEED_MAX_DIMS]){0}, out);
    }
}

static void add_some(void *context, int64_t first, int64_t end)
{
    const heed_tensor *const *pair = context, *x = pair[0], *out = pair[1];
    const int64_t start = first * (int64_t)heed_dtype_size(out->dtype);
    heed_kernels_for(out->dtype)
        ->add_into(end - first, (char *)x->data + start, (char *)out->data + start);
}

void heed_add_elements(const heed_tensor *x, heed_tensor *out)
{
    if (!heed_is_row_major(x)) {
        const heed_frame frame = heed_frame_begin(false);
        heed_tensor *copy = heed_tensor_like(x);
        heed_copy_elements(x, copy);
        heed_add_elements(copy, out);
        heed_frame_end(frame);
        return;
    }
    heed_parallel_for(out->numel, HEED_GRAIN_OF_ELEMENTS, add_some,
                      (const heed_tensor *[]){x, out});
}
