/* Element-wise work and copies: hands contiguous runs of tensors on any strides to the kernels.
 *
 * What does not lie ready (strided, repeated, of another dtype) is gathered a chunk at a time. */
#include <math.h>
#include <string.h>

#include "tensor/walk.h"

/* ---- operands ---- */

heed_operand heed_operand_of(const heed_tensor *t, int ndim, const int64_t *shape, heed_dtype as)
{
    heed_operand operand = {.data = t->data, .dtype = t->dtype, .as = as};
    heed_broadcast_strides(t, ndim, shape, operand.strides);
    return operand;
}

heed_operand heed_constant_operand(const void *value, heed_dtype as)
{
    return (heed_operand){.data = value, .dtype = as, .as = as};
}

/* ---- element by element ---- */

/* One run: in one go where everything lies ready, else a buffer at a time. */
static void map_run(heed_kernel *kernel, const heed_operand *in, int count, const walk *w)
{
    buffer room[HEED_MAX_OPERANDS];
    const int64_t n = run_length(w);
    int64_t step = n;
    for (int k = 0; k < count; k++) {
        bool lies_ready =
            in[k].dtype == in[k].as && run_stride(w, k) == (int64_t)heed_dtype_size(in[k].dtype);
        step = lies_ready || step < CHUNK ? step : CHUNK;
    }
    for (int64_t start = 0; start < n; start += step) {
        int64_t part = n - start < step ? n - start : step;
        const void *from[HEED_MAX_OPERANDS];
        for (int k = 0; k < count; k++) {
            const int64_t stride = run_stride(w, k);
            from[k] = heed_walk_elements(w->lane[k].at + start * stride, stride, part, in[k].dtype,
                                         in[k].as, &room[k]);
        }
        kernel(part, from, w->lane[count].at + start * run_stride(w, count));
    }
}

/* Does every operand lie as `out` does, without gaps and casts? Then there is nothing to walk. */
static bool lie_alike(const heed_operand *in, int count, const heed_tensor *out)
{
    bool alike = true;
    for (int k = 0; alike && k < count; k++) {
        alike = in[k].dtype == in[k].as &&
                (out->numel == 1 ||
                 memcmp(in[k].strides, out->strides, sizeof *out->strides * out->ndim) == 0);
    }
    return alike;
}

void heed_map(heed_kernel *kernel, const heed_operand *in, int count, heed_tensor *out)
{
    if (lie_alike(in, count, out)) {
        const void *from[HEED_MAX_OPERANDS];
        for (int k = 0; k < count; k++) {
            from[k] = in[k].data;
        }
        kernel(out->numel, from, out->data);
        return;
    }
    walk w = {0};
    for (int k = 0; k < count; k++) {
        heed_walk_lane(&w, in[k].data, in[k].strides, in[k].dtype, out->ndim);
    }
    heed_walk_lane(&w, out->data, out->strides, out->dtype, out->ndim);
    if (!heed_walk_begin(&w, out->ndim, out->shape)) {
        return;
    }
    do {
        map_run(kernel, in, count, &w);
    } while (heed_walk_next(&w));
}

/* ---- copying ---- */

static void copy_run(heed_dtype from_dtype, heed_dtype to_dtype, const walk *w)
{
    const int64_t n = run_length(w);
    const int64_t from_step = run_stride(w, 0) / (int64_t)heed_dtype_size(from_dtype);
    const int64_t to_step = run_stride(w, 1) / (int64_t)heed_dtype_size(to_dtype);
    const heed_kernels *kernels = heed_kernels_for(to_dtype);
    if (to_step == 1 || n == 1) {
        kernels->gather[from_dtype](n, w->lane[0].at, from_step, w->lane[1].at);
        return;
    }
    buffer room;
    for (int64_t start = 0; start < n; start += CHUNK) {
        int64_t part = n - start < CHUNK ? n - start : CHUNK;
        kernels->gather[from_dtype](part, w->lane[0].at + start * run_stride(w, 0), from_step,
                                    &room);
        kernels->scatter(part, &room, w->lane[1].at + start * run_stride(w, 1), to_step);
    }
}

static void copy_operand(const heed_operand *from, heed_tensor *out)
{
    walk w = {0};
    heed_walk_lane(&w, from->data, from->strides, from->dtype, out->ndim);
    heed_walk_lane(&w, out->data, out->strides, out->dtype, out->ndim);
    if (!heed_walk_begin(&w, out->ndim, out->shape)) {
        return;
    }
    do {
        copy_run(from->dtype, out->dtype, &w);
    } while (heed_walk_next(&w));
}

void heed_copy_elements(const heed_tensor *x, heed_tensor *out)
{
    heed_operand from = heed_operand_of(x, out->ndim, out->shape, out->dtype);
    copy_operand(&from, out);
}

void heed_fill_elements(heed_tensor *out, double value)
{
    if (value == 0 && !signbit(value) && heed_is_row_major(out)) {
        memset(out->data, 0, (size_t)out->numel * heed_dtype_size(out->dtype));
        return;
    }
    heed_operand from = heed_constant_operand(&value, HEED_F64);
    copy_operand(&from, out);
}

/* y += x for a chunk of y, `stride` bytes apart. */
static void add_chunk(const heed_kernels *kernels, heed_dtype dtype, int64_t n, const void *x,
                      char *y, int64_t stride)
{
    buffer room;
    const void *sum = heed_walk_elements(y, stride, n, dtype, dtype, &room);
    kernels->add_into(n, x, (void *)sum);
    if (sum == &room) {
        kernels->scatter(n, sum, y, stride / (int64_t)heed_dtype_size(dtype));
    }
}

void heed_add_elements(const heed_tensor *x, heed_tensor *out)
{
    walk w = {0};
    heed_walk_lane(&w, x->data, x->strides, x->dtype, x->ndim);
    heed_walk_lane(&w, out->data, out->strides, out->dtype, out->ndim);
    if (!heed_walk_begin(&w, out->ndim, out->shape)) {
        return;
    }
    const heed_kernels *kernels = heed_kernels_for(out->dtype);
    const int64_t n = run_length(&w), from_stride = run_stride(&w, 0);
    do {
        for (int64_t start = 0; start < n; start += CHUNK) {
            buffer room;
            int64_t part = n - start < CHUNK ? n - start : CHUNK;
            const void *from = heed_walk_elements(w.lane[0].at + start * from_stride, from_stride,
                                                  part, x->dtype, out->dtype, &room);
            add_chunk(kernels, out->dtype, part, from, w.lane[1].at + start * run_stride(&w, 1),
                      run_stride(&w, 1));
        }
    } while (heed_walk_next(&w));
}
