/* Selecting elements and rows by index, and adding or writing at indices.
 *
 * An index is i64 and counts from 0; negative values are an error, as in torch. Values with equal
 * indices are added or written in row-major order, so results are reproducible bit for bit.
 *
 * HEED_ERR_INDEX: an index outside its dim. HEED_ERR_DTYPE: the index is not i64. HEED_ERR_DIM: a
 * dim outside [-ndim, ndim).
 */
#ifndef HEED_AUTOGRAD_INDEX_H
#define HEED_AUTOGRAD_INDEX_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* ---- whole rows ---- */

/* heed_index_select: as torch.index_select(x, dim, index)
 *
 *   x (..., m, ...)   index (n), or () for n = 1   ->   y (..., n, ...)
 *   y[..., i, ...] = x[..., index[i], ...]       dx = index_add(0, dim, index, g)
 *
 * HEED_ERR_SHAPE: the index has 2 dims or more, or x is 0-dim and the index does not have one
 * element. */
heed_tensor *heed_index_select(heed_tensor *x, int dim, heed_tensor *index);

/* heed_index_add: as torch.index_add(x, dim, index, source)
 *
 *   x (..., m, ...)   index (n)   source (..., n, ...)   ->   y (..., m, ...)
 *   y = x with source[..., i, ...] added to y[..., index[i], ...], for i = 0, 1, ...
 *   dx = g          dsource = index_select(g, dim, index)
 *
 * HEED_ERR_SHAPE: source does not have x's shape with size n in dim. HEED_ERR_DTYPE: the dtypes of
 * x and source differ. */
heed_tensor *heed_index_add(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *source);

/* heed_masked_select: as torch.masked_select(x, mask): the elements where the mask is true, in
 * row-major order
 *
 *   x (...)   keep_mask (...) bool   ->   y (n), for n true elements; the shapes broadcast
 *   dx = g at the selected elements, else 0
 *
 * HEED_ERR_SHAPE: the shapes do not broadcast. HEED_ERR_DTYPE: keep_mask is not bool. */
heed_tensor *heed_masked_select(heed_tensor *x, heed_tensor *keep_mask);

/* heed_nonzero: as torch.nonzero(x): the indices of the elements that are not 0, in row-major
 * order; NaN is not 0
 *
 *   x of d dims   ->   y (n, d) i64, for n such elements, no gradient */
heed_tensor *heed_nonzero(heed_tensor *x);

/* heed_one_hot: as torch.nn.functional.one_hot(ids, num_classes)
 *
 *   ids (...) i64   ->   y (..., num_classes) i64, no gradient
 *   y[..., c] = 1 where ids = c, else 0          num_classes -1: the largest id + 1
 *
 * HEED_ERR_INDEX: an id outside [0, num_classes). HEED_ERR_VALUE: num_classes is below -1, or below
 * 1 while ids is empty. HEED_ERR_SHAPE: ids already has 8 dims. */
heed_tensor *heed_one_hot(heed_tensor *ids, int64_t num_classes);

/* ---- single elements ---- */

/* heed_gather: as torch.gather(x, dim, index)
 *
 *   x (..., m, ...)   index (..., n, ...)   ->   y (as index)
 *   y[i, j, k] = x[i, index[i, j, k], k] for dim = 1       dx = scatter_add(0, dim, index, g)
 *
 * The index has as many dims as x. Its sizes in dims other than dim may be smaller than x's.
 * HEED_ERR_SHAPE: the index has a different number of dims, or is larger than x in a dim other than
 * dim. */
heed_tensor *heed_gather(heed_tensor *x, int dim, heed_tensor *index);

/* heed_scatter_add: as torch.scatter_add(x, dim, index, src)
 *
 *   x (..., m, ...)   index (..., n, ...)   src (at least as large as index)   ->   y (as x)
 *   y = x with src[i, j, k] added to y[i, index[i, j, k], k] for dim = 1, in row-major order
 *   dx = g          dsrc = gather(g, dim, index), 0 outside the index's shape
 *
 * HEED_ERR_SHAPE: as for gather, or src is smaller than index. HEED_ERR_DTYPE: the dtypes of x and
 * src differ. */
heed_tensor *heed_scatter_add(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *src);

/* heed_scatter: as torch.scatter(x, dim, index, src). heed_scatter_scalar: as torch.scatter(x, dim,
 * index, value).
 *
 *   x (..., m, ...)   index (..., n, ...)   src (at least as large as index)   ->   y (as x)
 *   y = x with src[i, j, k] at y[i, index[i, j, k], k] for dim = 1
 *   dx = g, 0 at the index          dsrc = gather(g, dim, index), 0 outside the index's shape
 *
 * Of several elements with the same place, the last one in row-major order is written, and the
 * gradient of the others is 0. In torch it is not defined which one is written, and all of them get
 * the gradient.
 *
 * HEED_ERR_SHAPE, HEED_ERR_DTYPE: as for scatter_add. HEED_ERR_VALUE: i64 cannot represent the
 * value. */
heed_tensor *heed_scatter(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *src);
heed_tensor *heed_scatter_scalar(heed_tensor *x, int dim, heed_tensor *index, double value);

HEED_END_DECLS
#endif
