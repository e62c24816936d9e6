/* Any product of two tensors, written as a line of letters. */
#ifndef HEED_AUTOGRAD_EINSUM_H
#define HEED_AUTOGRAD_EINSUM_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_einsum: as torch.einsum(equation, a, b)
 *
 *     heed_tensor *sims   = heed_einsum("bqhd,bkhd->bhqk", q, k);
 *     heed_tensor *output = heed_einsum("bhqk,bkhd->bqhd", attention, v);
 *
 * Each letter, A-Z or a-z, names a dim of a, of b and, behind "->", of the result; spaces mean
 * nothing.
 *
 *   y[letters of the result] = the sum over all other letters of a[letters of a] b[letters of b]
 *
 * - Without "->" the result has the letters that stand once, A-Z before a-z.
 * - "..." takes all dims that have no letters. They broadcast. In a result without "->" they come
 *   first; behind a "->" without "..." they are summed over.
 * - A size of 1 meets any size of the same letter in the other operand.
 * - A letter that stands twice in one operand takes its diagonal.
 *
 *   da = einsum of g and b, with the letters of a as result            db = the same of g and a
 *
 * One batched heed_matmul of views, or heed_mul where no letter of both operands is summed over;
 * dtypes meet as there. An operand is copied only where several of its letters make one dim of a
 * matrix and do not lie one behind the other. The result may be a view: heed_contiguous before
 * heed_data_*. Three operands are two calls.
 *
 * HEED_ERR_VALUE: an equation that cannot be read, or not of two operands. HEED_ERR_SHAPE: one that
 * does not fit the shapes, or a result of more than 8 dims. HEED_ERR_DTYPE: dtypes differ, or
 * bool. */
heed_tensor *heed_einsum(const char *equation, heed_tensor *a, heed_tensor *b);

HEED_END_DECLS
#endif
