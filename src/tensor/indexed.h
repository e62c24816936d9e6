/* Reads elements selected by an index along one dim of a tensor, adds to them, or overwrites them
 * (internal). */
#ifndef HEED_TENSOR_INDEXED_H
#define HEED_TENSOR_INDEXED_H

#include "tensor.h"

/* Position i of `shape` refers to the tensor's element at i * strides + index[i * index_strides] *
 * step, all in elements. So `strides` are the tensor's strides with 0 for the indexed dim, and
 * `step` is the stride of that dim. Indices have been checked; within a run they are contiguous or
 * all the same. */
typedef struct heed_indexed {
    heed_shape shape;
    const int64_t *index;
    int64_t index_strides[HEED_MAX_DIMS];
    int64_t strides[HEED_MAX_DIMS], step;
} heed_indexed;

/* heed_look_up: out = the elements of x at `places`; out is contiguous, with the shape of `places`
 * and x's dtype.
 * heed_add_at: adds x to the elements of out at `places`, in row-major order of `shape`, so that
 * sums are bitwise reproducible; x has out's dtype.
 * heed_put_at: overwrites these elements with x, in the same order: the last one stays. */
void heed_look_up(const heed_indexed *places, const heed_tensor *x, heed_tensor *out);
void heed_add_at(const heed_indexed *places, const heed_tensor *x, heed_tensor *out);
void heed_put_at(const heed_indexed *places, const heed_tensor *x, heed_tensor *out);

#endif
