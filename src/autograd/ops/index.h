/* Selecting elements and rows by index, and adding at indices.
 *
 * An index is i64 and counts from 0; negative values are an error, as in torch. Values with equal
 * indices are added in row-major order, so results are reproducible bit for bit.
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
 *   y[..., i, ...] = x[..., index[i], ...]       dx = g added at the index
 *
 * HEED_ERR_SHAPE: the index has 2 dims or more, or x is 0-dim and the index does not have one
 * element. */
heed_tensor *heed_index_select(heed_tensor *x, int dim, heed_tensor *index);

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

/* heed_scatter_add: as torch.scatter_add(x, dim, index, src), but with a src of the index's shape
 *
 *   x (..., m, ...)   index (..., n, ...)   src (as index)   ->   y (as x)
 *   y = x with src[i, j, k] added to y[i, index[i, j, k], k] for dim = 1, in row-major order
 *   dx = g          dsrc = gather(g, dim, index)
 *
 * HEED_ERR_SHAPE: as for gather, or src does not have the index's shape. HEED_ERR_DTYPE: the dtypes
 * of x and src differ. */
heed_tensor *heed_scatter_add(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *src);

HEED_END_DECLS
#endif
