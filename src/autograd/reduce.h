/* Operations that sum over dims: sum, mean, softmax, safe_softmax, log_softmax.
 *
 * The plain form takes all dims, `_dim` one and `_dims` several; keepdim leaves them with size 1.
 * Floats are summed in double and rounded once.
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim), or given twice.
 */
#ifndef HEED_AUTOGRAD_REDUCE_H
#define HEED_AUTOGRAD_REDUCE_H

#include "tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_sum: as torch.sum(x, dim, keepdim)
 *
 *   x (..., n, ...)   ->   y (..., ...); i64 for i64 and bool; no dims in the list: all of them
 *   y = sum over the dims                       dx = g, repeated along them */
heed_tensor *heed_sum(heed_tensor *x);
heed_tensor *heed_sum_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_sum_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* heed_mean: as torch.mean(x, dim, keepdim)
 *
 *   x (..., n, ...) float   ->   y (..., ...)
 *   y = sum over the dims / count; NaN over nothing        dx = g / count, repeated along them
 *
 * HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_mean(heed_tensor *x);
heed_tensor *heed_mean_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_mean_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* heed_softmax: as torch.softmax(x, dim)
 *
 *   x (..., n, ...) float   ->   y (..., n, ...)
 *   y_i = e^x_i / sum over j of e^x_j along dim       dx = y (g - sum(g y, dim))
 *
 * The largest x is subtracted first, so large ones do not overflow. -inf gives 0 with gradient 0; a
 * line of nothing but -inf gives NaN, as in torch; heed_safe_softmax gives zeros there.
 * HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_softmax(heed_tensor *x, int dim);

/* heed_safe_softmax: as torch._safe_softmax(x, dim) of PyTorch 2.5 and later: softmax, but a line of
 * nothing but -inf, such as a token that may attend to none, gives zeros with gradient 0
 *
 *   x (..., n, ...) float   ->   y (..., n, ...)
 *   y = 0 where all of the line is -inf, else softmax(x, dim)     dx = y (g - sum(g y, dim))
 *
 * A line with a NaN is NaN. HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_safe_softmax(heed_tensor *x, int dim);

/* heed_log_softmax: as torch.log_softmax(x, dim): ln softmax, without its underflow
 *
 *   x (..., n, ...) float   ->   y (..., n, ...)
 *   y_i = x_i - ln sum over j of e^x_j along dim      dx = g - e^y sum(g, dim)
 *
 * HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_log_softmax(heed_tensor *x, int dim);

/* heed_sum_to: x summed over the dims that broadcasting from `shape` repeats, in that shape, as
 * torch's x.sum_to_size(shape). The engine undoes broadcasting with it.      dx = expand(g)
 *
 * HEED_ERR_SHAPE: `shape` does not broadcast to x's. */
heed_tensor *heed_sum_to(heed_tensor *x, heed_shape shape);

HEED_END_DECLS
#endif
