/* Elements in order: argsort, sort, topk.
 *
 * All dtypes. Equal elements keep their order, whichever way they are sorted; NaN counts as larger
 * than everything, as in torch, and -0 equals 0.
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim).
 */
#ifndef HEED_AUTOGRAD_SORT_H
#define HEED_AUTOGRAD_SORT_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_argsort: as torch.argsort(x, dim, descending, stable=True)
 *
 *   x (..., n, ...)   ->   y (..., n, ...) i64, without gradient
 *   gather(x, dim, y) is in order along dim */
heed_tensor *heed_argsort(heed_tensor *x, int dim, bool descending);

/* heed_sort: as torch.sort(x, dim, descending, stable=True): the elements in order along dim.
 * Where `indices` is not NULL, *indices becomes their places, as heed_argsort's: a tensor of its
 * own, i64, in the same scope; NULL on error.
 *
 *   x (..., n, ...)   ->   y (..., n, ...)       dx = g, each back in its place */
heed_tensor *heed_sort(heed_tensor *x, int dim, bool descending, heed_tensor **indices);

/* heed_topk: as torch.topk(x, k, dim, largest): the k largest along dim, the largest first; or the
 * k smallest, the smallest first. *indices as heed_sort's. Of equal elements the first are taken.
 *
 *   x (..., n, ...)   ->   y (..., k, ...)       dx = g where it was taken from, else 0
 *
 * HEED_ERR_VALUE: k outside [0, n]. */
heed_tensor *heed_topk(heed_tensor *x, int64_t k, int dim, bool largest, heed_tensor **indices);

HEED_END_DECLS
#endif
