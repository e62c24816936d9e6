/* Sorting: argsort, sort, topk; and the largest along a dim with its index.
 *
 * All dtypes are supported. Sorting is stable in both directions. NaN is larger than all numbers,
 * as in torch, and -0 equals 0.
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim).
 */
#ifndef HEED_AUTOGRAD_SORT_H
#define HEED_AUTOGRAD_SORT_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_argsort: as torch.argsort(x, dim, descending, stable=True)
 *
 *   x (..., n, ...)   ->   y (..., n, ...) i64, no gradient
 *   gather(x, dim, y) is sorted along dim */
heed_tensor *heed_argsort(heed_tensor *x, int dim, bool descending);

/* heed_sort: as torch.sort(x, dim, descending, stable=True): the elements sorted along dim. If
 * `indices` is not NULL, sets *indices to their original positions, as returned by heed_argsort: a
 * separate i64 tensor in the same scope, NULL on error.
 *
 *   x (..., n, ...)   ->   y (..., n, ...)       dx = g in the original order */
heed_tensor *heed_sort(heed_tensor *x, int dim, bool descending, heed_tensor **indices);

/* heed_topk: as torch.topk(x, k, dim, largest): the k largest along dim, largest first, or the k
 * smallest, smallest first. *indices as in heed_sort. Among equal elements, the earlier ones are
 * taken.
 *
 *   x (..., n, ...)   ->   y (..., k, ...)       dx = g at the selected elements, else 0
 *
 * HEED_ERR_VALUE: k outside [0, n]. */
heed_tensor *heed_topk(heed_tensor *x, int64_t k, int dim, bool largest, heed_tensor **indices);

/* heed_max_dim, heed_min_dim: as torch.max(x, dim, keepdim): the largest and the smallest along
 * dim. *indices as in heed_sort: the indices along dim that heed_argmax_dim and heed_argmin_dim
 * return.
 *
 *   x (..., n, ...)   ->   y (..., ...), *indices (..., ...)      dx = g at these indices, else 0
 *
 *     heed_tensor *places, *best = heed_max_dim(scores, -1, false, &places);
 *
 * HEED_ERR_SHAPE: a dim without elements. */
heed_tensor *heed_max_dim(heed_tensor *x, int dim, bool keepdim, heed_tensor **indices);
heed_tensor *heed_min_dim(heed_tensor *x, int dim, bool keepdim, heed_tensor **indices);

HEED_END_DECLS
#endif
