/* Products of two tensors in Einstein notation. */
#ifndef HEED_AUTOGRAD_EINSUM_H
#define HEED_AUTOGRAD_EINSUM_H

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
 *
 *   da = einsum of g and b, with the letters of a as the result            db: likewise
 *
 * Computed as one batched heed_matmul of views, or as heed_mul if no letter shared by both operands
 * is summed over, with the dtype rules of that function. An operand is copied only if several of
 * its letters form one matrix dim but are not adjacent in memory. The result may be a view: call
 * heed_contiguous before heed_data_*. For three operands, call heed_einsum twice.
 *
 * HEED_ERR_VALUE: the equation is malformed, does not have two operands, or repeats a letter in one
 * of them. HEED_ERR_SHAPE: it does not match the shapes, or the result has more than 8 dims.
 * HEED_ERR_DTYPE: the dtypes differ, or are bool. */
heed_tensor *heed_einsum(const char *equation, heed_tensor *a, heed_tensor *b);

HEED_END_DECLS
#endif
