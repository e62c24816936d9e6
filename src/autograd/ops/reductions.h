/* Reductions: sums, extremes, variance and norm, any and all, logsumexp; and cumsum. For max_dim
 * and min_dim see sort.h.
 *
 * The plain form reduces all dims, `_dim` reduces one, and `_dims` reduces several, or all if the
 * list is empty. keepdim keeps reduced dims with size 1. Floats are summed in double and rounded
 * once.
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim), or given twice.
 */
#ifndef HEED_AUTOGRAD_REDUCTIONS_H
#define HEED_AUTOGRAD_REDUCTIONS_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* ---- sums ---- */

/* heed_sum: as torch.sum(x, dim, keepdim)
 *
 *   x (..., n, ...)   ->   y (..., ...); i64 for i64 and bool
 *   y = sum over the dims                       dx = g, broadcast along them */
heed_tensor *heed_sum(heed_tensor *x);
heed_tensor *heed_sum_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_sum_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* heed_mean: as torch.mean(x, dim, keepdim)
 *
 *   x (..., n, ...) float   ->   y (..., ...)
 *   y = sum over the dims / count; NaN if count is 0       dx = g / count, broadcast along them
 *
 * HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_mean(heed_tensor *x);
heed_tensor *heed_mean_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_mean_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* heed_cumsum: as torch.cumsum(x, dim): cumulative sums along dim
 *
 *   x (..., n, ...)   ->   y (..., n, ...); i64 for i64 and bool
 *   y_i = x_0 + ... + x_i                               dx_i = g_i + ... + g_(n-1) */
heed_tensor *heed_cumsum(heed_tensor *x, int dim);

/* ---- extremes ---- */

/* heed_amax, heed_amin: the largest and the smallest element, as torch.amax(x, dim, keepdim)
 *
 *   x (..., n, ...)   ->   y (..., ...)
 *   y = the largest over the dims; NaN if any is NaN
 *   dx = g / k at the k elements equal to y, else 0; all NaN if y is NaN, as in torch
 *
 * HEED_ERR_SHAPE: a dim without elements. */
heed_tensor *heed_amax(heed_tensor *x);
heed_tensor *heed_amax_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_amax_dims(heed_tensor *x, heed_dims dims, bool keepdim);
heed_tensor *heed_amin(heed_tensor *x);
heed_tensor *heed_amin_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_amin_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* heed_max, heed_min: as torch.max(x), over all elements. Like heed_amax, but if y is NaN, the
 * gradient goes to the NaN elements. Along a dim, with indices: heed_max_dim in sort.h.
 *
 * HEED_ERR_SHAPE: a dim without elements. */
heed_tensor *heed_max(heed_tensor *x);
heed_tensor *heed_min(heed_tensor *x);

/* heed_argmax, heed_argmin: index of the largest or smallest element of the flattened x, as
 * torch.argmax(x). With a dim: index along dim, as torch.argmax(x, dim, keepdim). Equal elements
 * give the index of the first; if any is NaN, the result is the index of the first NaN.
 *
 *   x (..., n, ...)   ->   y (..., ...) i64, no gradient
 *
 * HEED_ERR_SHAPE: a dim without elements. HEED_ERR_DTYPE: bool. */
heed_tensor *heed_argmax(heed_tensor *x);
heed_tensor *heed_argmax_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_argmin(heed_tensor *x);
heed_tensor *heed_argmin_dim(heed_tensor *x, int dim, bool keepdim);

/* ---- variance and norm ---- */

/* heed_var: as torch.var(x, dim, correction, keepdim); the plain form uses torch's default
 * correction, 1
 *
 *   x (..., n, ...) float   ->   y (..., ...)
 *   y = the sum of (x - mean)^2 / (n - correction)      dx = g 2 (x - mean) / (n - correction)
 *
 * If n <= correction, the divisor is 0 and y is inf, or NaN if all elements are equal.
 * heed_std: its square root, y = sqrt(var).   dx = g (x - mean) / (y (n - correction)); 0 if y = 0
 *
 * HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_var(heed_tensor *x);
heed_tensor *heed_var_dim(heed_tensor *x, int dim, int correction, bool keepdim);
heed_tensor *heed_var_dims(heed_tensor *x, heed_dims dims, int correction, bool keepdim);
heed_tensor *heed_std(heed_tensor *x);
heed_tensor *heed_std_dim(heed_tensor *x, int dim, int correction, bool keepdim);
heed_tensor *heed_std_dims(heed_tensor *x, heed_dims dims, int correction, bool keepdim);

/* heed_norm: as torch.linalg.vector_norm(x, 2, dim, keepdim): the length of vectors
 *
 *   x (..., n, ...) float   ->   y (..., ...)
 *   y = the square root of the sum of x^2            dx = g x / y, 0 where y is 0
 *
 * HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_norm(heed_tensor *x);
heed_tensor *heed_norm_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_norm_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* ---- any, all ---- */

/* heed_any, heed_all: true if any or all elements are nonzero (NaN counts), as torch.any(x, dim,
 * keepdim). Without elements, any is false and all is true.
 *
 *   x (..., n, ...)   ->   y (..., ...) bool, no gradient */
heed_tensor *heed_any(heed_tensor *x);
heed_tensor *heed_any_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_any_dims(heed_tensor *x, heed_dims dims, bool keepdim);
heed_tensor *heed_all(heed_tensor *x);
heed_tensor *heed_all_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_all_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* ---- exponentials: for softmax see softmax.h ---- */

/* heed_logsumexp: as torch.logsumexp(x, dim, keepdim): ln of a sum of exponentials, without
 * overflow
 *
 *   x (..., n, ...)   ->   y (..., ...); f32 for i64 and bool
 *   y = ln sum over the dims of e^x; -inf if all x are -inf         dx = g e^(x - y)
 *
 * The gradient is NaN where both x and y are infinite, as in torch. */
heed_tensor *heed_logsumexp(heed_tensor *x);
heed_tensor *heed_logsumexp_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_logsumexp_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* ---- undoing broadcasting ---- */

/* heed_sum_to_size: x summed to `shape` over the dims that broadcasting repeated, as torch's
 * x.sum_to_size(shape). The engine uses it to undo broadcasting.      dx = expand(g)
 *
 * HEED_ERR_SHAPE: `shape` does not broadcast to x's. */
heed_tensor *heed_sum_to_size(heed_tensor *x, heed_shape shape);

HEED_END_DECLS
#endif
