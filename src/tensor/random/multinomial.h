/* Drawing categories with given probabilities. */
#ifndef HEED_TENSOR_MULTINOMIAL_H
#define HEED_TENSOR_MULTINOMIAL_H

#include "../tensor.h"

HEED_BEGIN_DECLS

/* heed_multinomial: draws from categories 0 ... n-1 with probabilities p, like
 * torch.multinomial(p, num_samples, replacement)
 *
 *   p (n) or (rows, n), non-negative, with any sum   ->   i64 (num_samples) or (rows, num_samples)
 *
 * Probabilities are normalised by the sum of their row. Without replacement, each category is drawn
 * at most once. Samples are in the order drawn.
 *
 * HEED_ERR_SHAPE: p does not have 1 or 2 dims, or has no categories or more than 2^24.
 * HEED_ERR_DTYPE: p is neither f32 nor f64.
 * HEED_ERR_VALUE: num_samples is below 1; a probability is negative or not finite; a row has no
 * positive probability or, without replacement, fewer than num_samples (torch then also draws
 * categories of probability 0); with replacement, the sum of a row is not finite. */
heed_tensor *heed_multinomial(const heed_tensor *p, int64_t num_samples, bool replacement);

HEED_END_DECLS
#endif
