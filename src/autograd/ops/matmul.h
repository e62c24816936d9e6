/* Matrix products. For products in Einstein notation see einsum.h; the module that owns the
 * parameters of heed_linear is in nn/layers/linear.h. */
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

/* heed_bmm: batched matrix product, as torch.bmm(a, b): matmul for exactly 3 dims, without
 * broadcasting
 *
 *   a (B, m, k)   b (B, k, n)   ->   y (B, m, n)          da = g b^T           db = a^T g
 *
 * HEED_ERR_SHAPE: a or b does not have 3 dims, or batch or inner sizes differ. HEED_ERR_DTYPE: as
 * for heed_matmul. */
heed_tensor *heed_bmm(heed_tensor *a, heed_tensor *b);

/* heed_outer: all products of two vectors, as torch.outer(a, b)
 *
 *   a (m)   b (n)   ->   y (m, n)
 *   y[i, j] = a[i] b[j]           da = sum(g b, dim 1)           db = sum(g a, dim 0)
 *
 * Dtypes promote as in heed_mul. HEED_ERR_SHAPE: a or b does not have exactly 1 dim. */
heed_tensor *heed_outer(heed_tensor *a, heed_tensor *b);

/* heed_addmm: as torch.addmm(input, mat1, mat2, beta=beta, alpha=alpha), whose factors default to 1
 *
 *   input (...) broadcasts to (m, n)   mat1 (m, k)   mat2 (k, n)   ->   y (m, n)
 *   y = beta input + alpha mat1 mat2
 *   dinput = beta g      dmat1 = alpha g mat2^T      dmat2 = alpha mat1^T g
 *
 * A term with factor 0 is ignored, even if it is NaN or infinite, and has gradient 0.
 * HEED_ERR_SHAPE: the shapes do not match. HEED_ERR_DTYPE: the dtypes differ, or are bool.
 * HEED_ERR_VALUE: for i64, a factor is not an integer. */
heed_tensor *heed_addmm(heed_tensor *input, heed_tensor *mat1, heed_tensor *mat2, double beta,
                        double alpha);

HEED_END_DECLS
#endif
