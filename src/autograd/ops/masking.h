/* Functions that keep or replace elements where a mask says so: given, triangular or random. */
#ifndef HEED_AUTOGRAD_MASKING_H
#define HEED_AUTOGRAD_MASKING_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_masked_fill: as torch.masked_fill(x, mask, value): replaces elements where the mask is true,
 * which is also the convention of attention block masks (nn/mask.h).
 *
 *   x (...)   replace_mask (...) bool      ->   y (broadcast)
 *   y = value where replace_mask, else x        dx = 0 where replace_mask, else g
 *
 * HEED_ERR_DTYPE: the mask is not bool. HEED_ERR_SHAPE: x and the mask do not broadcast.
 * HEED_ERR_VALUE: x's dtype cannot represent value. */
heed_tensor *heed_masked_fill(heed_tensor *x, heed_tensor *replace_mask, double value);

/* heed_tril, heed_triu: the lower and the upper triangle, as torch.tril(x, diagonal) and torch.triu
 *
 *   x (..., m, n)   ->   y (..., m, n)
 *   tril: y[i, j] = x[i, j] where j <= i + diagonal, else 0      dx = tril(g, diagonal)
 *   triu: y[i, j] = x[i, j] where j >= i + diagonal, else 0      dx = triu(g, diagonal)
 *
 * HEED_ERR_SHAPE: x has fewer than 2 dims. */
heed_tensor *heed_tril(heed_tensor *x, int64_t diagonal);
heed_tensor *heed_triu(heed_tensor *x, int64_t diagonal);

/* heed_dropout: as torch.nn.functional.dropout(x, p, training), with the same random numbers as
 * torch for the same seed
 *
 *   x (...) float   ->   y (...)
 *   y = x noise, dx = g noise; noise is 0 with probability p, else 1 / (1 - p)
 *
 * Returns x itself, of any dtype, if not training, if p is 0, or if x is empty. If p is 1, it
 * returns x times 0. These cases draw no random numbers. For a transposed x, the order of the draws
 * depends on the PyTorch version that the generator follows (heed_set_random_flavor): version 1
 * draws in row-major order, version 2 in x's memory order.
 *
 * HEED_ERR_VALUE: p is outside [0, 1]. HEED_ERR_DTYPE: x is not a float. */
heed_tensor *heed_dropout(heed_tensor *x, double p, bool training);

HEED_END_DECLS
#endif
