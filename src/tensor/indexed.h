/* Elements that indices name along one dim of a tensor: reading them, adding to them (internal). */
#ifndef HEED_TENSOR_INDEXED_H
#define HEED_TENSOR_INDEXED_H

#include "tensor.h"

/* The element of `shape` at i belongs to the tensor's at i * strides + index[i * index_strides] *
 * step, all in elements. So `strides` are the tensor's with 0 in the indexed dim, whose stride is
 * `step`. Indices have been checked; along a run they are adjacent, or repeat. */
typedef struct heed_indexed {
    heed_shape shape;
    const int64_t *index;
    int64_t index_strides[HEED_MAX_DIMS];
    int64_t strides[HEED_MAX_DIMS], step;
} heed_indexed;

/* heed_look_up: out = x at the places; out is contiguous, of their shape and x's dtype.
 * heed_add_at: out at the places += x, row by row of `shape`, so that sums have the same bits each
 * time; x is of out's dtype. */
void heed_look_up(const heed_indexed *places, const heed_tensor *x, heed_tensor *out);
void heed_add_at(const heed_indexed *places, const heed_tensor *x, heed_tensor *out);

#endif
