/* Products of batches of matrices, for the operations that are made of them (internal). */
#ifndef HEED_AUTOGRAD_MULTIPLY_H
#define HEED_AUTOGRAD_MULTIPLY_H

#include "tensor.h"

/* Is t one matrix, though it may have dims of size 1 in front? */
bool heed_is_one_matrix(const heed_tensor *t);

/* Do the rows of all of a's matrices lie evenly, as those of one tall matrix? `step` is then the way from
 * one to the next. */
bool heed_is_one_tall_matrix(const heed_tensor *a, int64_t *step);

/* y (..., m, n) = a (..., m, k) b (..., k, n) + bias (n), or y += a b without bias. a and b lie on any
 * strides and their batch dims broadcast to those of y, which is contiguous, as bias is; NULL: none.
 * Of one dtype, and no bool. HEED_ERR_MEMORY: no room to work in; y is as it was. */
heed_status heed_multiply(const heed_tensor *a, const heed_tensor *b, const heed_tensor *bias,
                          heed_tensor *y, bool accumulate);

#endif
