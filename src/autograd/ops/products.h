/* Other products of two tensors, composed of matmul and mul. */
#ifndef HEED_AUTOGRAD_PRODUCTS_H
#define HEED_AUTOGRAD_PRODUCTS_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_einsum: as torch.einsum(equation, a, b)
 *
 *     heed_tensor *sims   = heed_einsum("bqhd,bkhd->bhqk", q, k);
 *     heed_tensor *output = heed_einsum("bhqk,bkhd->bqhd", attention, v);
 *
 * Each letter, A-Z or a-z, names a dim of a, of b, or (after "->") of the result. Spaces are
 * ignored.
 *
 *   y[letters of the result] = the sum over all other letters of a[letters of a] b[letters of b]
 *
 * - Without "->", the result has the letters that appear once, A-Z before a-z.
 * - "..." matches all dims without letters. They broadcast. Without "->" they come first in the
 *   result. If "->" is given but no "..." follows it, they are summed over.
 * - A dim of size 1 broadcasts to the size of the same letter in the other operand.
 * - A letter that appears twice in one operand selects the diagonal of those dims.
 *
 *   da = einsum of g and b, with the letters of a as the result            db: likewise
 *
 * Computed as one batched heed_matmul of views, or as heed_mul if no letter shared by both operands
 * is summed over, with the dtype rules of that function. An operand is copied only if several of
 * its letters form one matrix dim but are not adjacent in memory. The result may be a view: call
 * heed_contiguous before heed_data_*. For three operands, call heed_einsum twice.
 *
 * HEED_ERR_VALUE: the equation is malformed or does not have two operands. HEED_ERR_SHAPE: it does
 * not match the shapes, or the result has more than 8 dims. HEED_ERR_DTYPE: the dtypes differ, or
 * are bool. */
heed_tensor *heed_einsum(const char *equation, heed_tensor *a, heed_tensor *b);

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
