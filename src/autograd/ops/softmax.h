/* Softmax functions along a dim. For logsumexp see reductions.h. */
#ifndef HEED_AUTOGRAD_SOFTMAX_H
#define HEED_AUTOGRAD_SOFTMAX_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_softmax: as torch.softmax(x, dim)
 *
 *   x (..., n, ...) float   ->   y (..., n, ...)
 *   y_i = e^x_i / sum over j of e^x_j along dim       dx = y (g - sum(g y, dim))
 *
 * The maximum is subtracted first, so large x do not overflow. -inf gives 0 with gradient 0. If all
 * x along dim are -inf, the result is NaN, as in torch; heed_safe_softmax gives zeros.
 * HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_softmax(heed_tensor *x, int dim);

/* heed_safe_softmax: as torch._safe_softmax(x, dim) in PyTorch 2.5 and later: softmax, but zeros
 * with gradient 0 if all x along dim are -inf, as for a query whose keys are all masked
 *
 *   x (..., n, ...) float   ->   y (..., n, ...)
 *   y = 0 where all x along dim are -inf, else softmax(x, dim)    dx = y (g - sum(g y, dim))
 *
 * NaN propagates along dim. HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_safe_softmax(heed_tensor *x, int dim);

/* heed_log_softmax: as torch.log_softmax(x, dim): ln softmax, without underflow
 *
 *   x (..., n, ...) float   ->   y (..., n, ...)
 *   y_i = x_i - ln sum over j of e^x_j along dim      dx = g - e^y sum(g, dim)
 *
 * HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_log_softmax(heed_tensor *x, int dim);

HEED_END_DECLS
#endif
