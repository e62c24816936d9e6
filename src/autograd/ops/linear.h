/* The linear map of a layer. nn/layers/linear.h is the module with the parameters. */
#ifndef HEED_AUTOGRAD_LINEAR_H
#define HEED_AUTOGRAD_LINEAR_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_linear: as torch.nn.functional.linear(x, weight, bias)
 *
 *   x (..., in)   weight (out, in)   bias (out), or NULL for none   ->   y (..., out)
 *   y = x weight^T + bias
 *   dx = g weight      dweight = g^T x      dbias = sum(g), each over all rows of x
 *
 * All of one dtype, which is not bool.
 * HEED_ERR_SHAPE: the shapes do not fit. HEED_ERR_DTYPE: dtypes differ, or bool. */
heed_tensor *heed_linear(heed_tensor *x, heed_tensor *weight, heed_tensor *bias);

HEED_END_DECLS
#endif
