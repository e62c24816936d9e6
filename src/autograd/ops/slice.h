/* Parts of a tensor, as views: slice, select, narrow, split, chunk, unbind, diagonal.
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim).
 */
#ifndef HEED_AUTOGRAD_SLICE_H
#define HEED_AUTOGRAD_SLICE_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_slice: as torch's x[..., start:end:step, ...] in dim `dim`: negative indices count from the
 * end, and out-of-range indices are clipped. For x[start:], pass INT64_MAX as `end`. A view.
 *
 *   dx = g in the slice, else 0
 *
 * HEED_ERR_VALUE: step below 1. */
heed_tensor *heed_slice(heed_tensor *x, int dim, int64_t start, int64_t end, int64_t step);

/* heed_slice_backward: like torch's slice_backward: zeros of shape `shape`, with g in the slice.
 * The derivative of heed_slice; its own derivative is heed_slice.
 *
 * HEED_ERR_SHAPE: g does not have the shape of the slice. */
heed_tensor *heed_slice_backward(heed_tensor *g, heed_shape shape, int dim, int64_t start,
                                 int64_t end, int64_t step);

/* heed_select: as torch.select(x, dim, index), x[..., index, ...]: selects one index of a dim
 * and removes the dim. A negative index counts from the end.
 *
 *   x (..., n, ...)   ->   y (..., ...), a view          dx = g at index, else 0
 *
 * HEED_ERR_INDEX: index outside [-n, n). */
heed_tensor *heed_select(heed_tensor *x, int dim, int64_t index);

/* heed_narrow: as torch.narrow(x, dim, start, length): indices start ... start + length - 1 of dim;
 * a negative start counts from the end. A view. Unlike heed_slice, it does not clip.
 *
 *   x (..., n, ...)   ->   y (..., length, ...)          dx = g at these indices, else 0
 *
 * HEED_ERR_INDEX: the range is not inside the dim. HEED_ERR_VALUE: a negative length. */
heed_tensor *heed_narrow(heed_tensor *x, int dim, int64_t start, int64_t length);

/* heed_split: as torch.split(x, split_size, dim): consecutive parts of that size; the last may be
 * smaller. heed_split_sizes: as torch.split with a list: `count` parts of these sizes. heed_chunk:
 * as torch.chunk(x, chunks, dim): parts of equal size; the last may be smaller, and there may be
 * fewer than `chunks`.
 *
 *     heed_tensor *qkv[3];
 *     heed_chunk(heed_linear_forward(m->in_proj, x), 3, -1, qkv);
 *
 *   x (..., n, ...)   ->   parts[i] (..., n_i, ...), views          dx = each g in its part
 *
 * All return the number of parts and set the rest of `parts` to NULL. `parts` is an array of
 * `most`, `count` or `chunks` elements. On error they return 0 and all parts are NULL.
 *
 * HEED_ERR_VALUE: split_size below 1 (0 is allowed for an empty dim), more than `most` parts, a
 * negative size, sizes that do not sum to n, or chunks below 1. */
int heed_split(heed_tensor *x, int64_t split_size, int dim, heed_tensor **parts, int most);
int heed_split_sizes(heed_tensor *x, const int64_t *sizes, int count, int dim, heed_tensor **parts);
int heed_chunk(heed_tensor *x, int chunks, int dim, heed_tensor **parts);

/* heed_unbind: as torch.unbind(x, dim): x at each index of dim, without the dim.
 *
 *   x (..., n, ...)   ->   parts[i] (..., ...), n views          dx = each g at its index
 *
 * Returns n and sets the rest of `parts`, an array of `most` elements, to NULL. On error it returns
 * 0 and all parts are NULL.
 *
 * HEED_ERR_VALUE: n is more than `most`. */
int heed_unbind(heed_tensor *x, int dim, heed_tensor **parts, int most);

/* heed_diagonal: as torch.diagonal(x, offset, dim1, dim2): the elements whose index in dim2 is
 * their index in dim1 plus offset, as the last dim. A view.
 *
 *   x (..., m, ..., n, ...)   ->   y (..., ..., ..., count)       dx = g on the diagonal, else 0
 *
 * HEED_ERR_DIM: dim1 and dim2 are the same. */
heed_tensor *heed_diagonal(heed_tensor *x, int64_t offset, int dim1, int dim2);

/* heed_diagonal_backward: like torch's diagonal_backward: zeros of shape `shape`, with g on the
 * diagonal. The derivative of heed_diagonal; its own derivative is heed_diagonal.
 *
 * HEED_ERR_SHAPE: g does not have the shape of the diagonal. */
heed_tensor *heed_diagonal_backward(heed_tensor *g, heed_shape shape, int64_t offset, int dim1,
                                    int dim2);

HEED_END_DECLS
#endif
