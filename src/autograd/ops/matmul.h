/* Matrix products. For others see einsum.h; the module that owns the parameters of heed_linear is
 * in nn/layers/linear.h. */
#ifndef HEED_AUTOGRAD_MATMUL_H
#define HEED_AUTOGRAD_MATMUL_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_matmul: matrix product, as torch.matmul(a, b)
 *
 *   a (..., m, k)   b (..., k, n)   ->   y (..., m, n)      batch dims broadcast
 *   a (k)           b (..., k, n)   ->   y (..., n)         a vector is a row on the left
 *   a (..., m, k)   b (k)           ->   y (..., m)         and a column on the right
 *   y = a b         da = g b^T           db = a^T g
 *
 * HEED_ERR_SHAPE: inner sizes differ, the batch dims do not broadcast, or a tensor has no dims.
 * HEED_ERR_DTYPE: the dtypes differ, or are bool. */
heed_tensor *heed_matmul(heed_tensor *a, heed_tensor *b);

/* heed_linear: as torch.nn.functional.linear(x, weight, bias)
 *
 *   x (..., in)   weight (out, in)   bias (out), or NULL for none   ->   y (..., out)
 *   y = x weight^T + bias
 *   dx = g weight      dweight = g^T x      dbias = sum(g), both sums over all rows of x
 *
 * HEED_ERR_SHAPE: the shapes do not match. HEED_ERR_DTYPE: the dtypes differ, or are bool. */
heed_tensor *heed_linear(heed_tensor *x, heed_tensor *weight, heed_tensor *bias);

HEED_END_DECLS
#endif
