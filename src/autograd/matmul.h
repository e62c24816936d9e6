/* Matrix products. */
#ifndef HEED_AUTOGRAD_MATMUL_H
#define HEED_AUTOGRAD_MATMUL_H

#include "tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_matmul: matrix product, as torch.matmul(a, b)
 *
 *   a (..., m, k)   b (..., k, n)   ->   y (..., m, n)      batch dims broadcast
 *   a (k)           b (..., k, n)   ->   y (..., n)         a vector is a row on the left
 *   a (..., m, k)   b (k)           ->   y (..., m)         and a column on the right
 *   y = a b         da = g b^T           db = a^T g
 *
 * HEED_ERR_SHAPE: inner sizes differ, the batch dims do not broadcast, or a tensor has no dims.
 * HEED_ERR_DTYPE: dtypes differ, or bool. */
heed_tensor *heed_matmul(heed_tensor *a, heed_tensor *b);

HEED_END_DECLS
#endif
