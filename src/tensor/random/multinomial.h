/* Categories drawn with given probabilities. */
#ifndef HEED_TENSOR_MULTINOMIAL_H
#define HEED_TENSOR_MULTINOMIAL_H

#include "../tensor.h"

HEED_BEGIN_DECLS

/* heed_multinomial: categories of 0 ... n-1, drawn with probabilities p, as
 * torch.multinomial(p, num_samples, replacement)
 *
 *   p (n) or (rows, n), 0 or above, of any sum   ->   i64 (num_samples) or (rows, num_samples)
 *
 * A category's probability is its part of the sum of its row. Without replacement it is drawn at
 * most once. Samples are in the order of the draws.
 *
 * HEED_ERR_SHAPE: p has neither 1 nor 2 dims, no category, or more than 2^24. HEED_ERR_DTYPE: p is
 * neither f32 nor f64. HEED_ERR_VALUE: num_samples below 1; a probability below 0 or not finite; a
 * row with nothing, or without replacement fewer than num_samples, above 0 (torch draws the zeros
 * then); with replacement a sum that is not finite. */
heed_tensor *heed_multinomial(const heed_tensor *p, int64_t num_samples, bool replacement);

HEED_END_DECLS
#endif
