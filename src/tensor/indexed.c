/* Elements selected by an index along one dim: a walk whose third lane is offset by the index.
 * Callers have checked the indices. */

#include "tensor.h"

#include <string.h>

enum { INDEX, VALUES, PLACES };

/* The distance between neighbouring elements of a run, in elements. */
static int64_t run_step(const walk *w, int lane_number, heed_dtype dtype)
{
    return run_stride(w, lane_number) / (int64_t)heed_dtype_size(dtype);
}

/* Pads the strides of `values` with 0: a tensor without dims, or an index without elements, may
 * have fewer dims than `shape`. */
static bool begin(walk *w, const heed_indexed *places, const heed_tensor *values,
                  const heed_tensor *t)
{
    const int ndim = places->shape.ndim;
    int64_t strides[HEED_MAX_DIMS] = {0};
    memcpy(strides, values->strides, sizeof *strides * values->ndim);
    heed_walk_lane(w, places->index, places->index_strides, HEED_I64, ndim);
    heed_walk_lane(w, values->data, strides, t->dtype, ndim);
    heed_walk_lane(w, t->data, places->strides, t->dtype, ndim);
    return heed_walk_begin(w, ndim, places->shape.size);
}

void heed_look_up(const heed_indexed *places, const heed_tensor *x, heed_tensor *out)
{
    walk w = {0};
    if (!begin(&w, places, out, x)) {
        return;
    }
    const int64_t n = run_length(&w), size = (int64_t)heed_dtype_size(x->dtype);
    const int64_t index_step = run_step(&w, INDEX, HEED_I64);
    const int64_t step = run_step(&w, PLACES, x->dtype);
    const bool is_row = index_step == 0 && step == 1; /* the run is a row of x */
    do {
        const int64_t *index = (const int64_t *)w.lane[INDEX].at;
        const char *from = w.lane[PLACES].at;
        if (is_row) {
            memcpy(w.lane[VALUES].at, from + *index * places->step * size, (size_t)(n * size));
        } else {
            heed_kernels_for(x->dtype)->look_up(n, index, index_step, from, step, places->step,
                                                w.lane[VALUES].at);
        }
    } while (heed_walk_next(&w));
}

void heed_add_at(const heed_indexed *places, const heed_tensor *x, heed_tensor *out)
{
    walk w = {0};
    if (!begin(&w, places, x, out)) {
        return;
    }
    const int64_t n = run_length(&w), size = (int64_t)heed_dtype_size(out->dtype);
    const int64_t index_step = run_step(&w, INDEX, HEED_I64), stride = run_stride(&w, VALUES);
    const int64_t step = run_step(&w, PLACES, out->dtype);
    do {
        for (int64_t start = 0; start < n; start += CHUNK) {
            chunk_buffer gathered;
            const int64_t part = n - start < CHUNK ? n - start : CHUNK;
            const void *from = heed_walk_elements(w.lane[VALUES].at + start * stride, stride, part,
                                                  x->dtype, out->dtype, &gathered);
            heed_kernels_for(out->dtype)
                ->add_at(part, (const int64_t *)w.lane[INDEX].at + start * index_step, index_step,
                         from, w.lane[PLACES].at + start * step * size, step, places->step);
        }
    } while (heed_walk_next(&w));
}
