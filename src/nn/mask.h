/* Masks for attention. The name of whatever makes or takes one says its polarity: a block mask is
 * true where attention is blocked.
 */
#ifndef HEED_NN_MASK_H
#define HEED_NN_MASK_H

#include "tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_causal_block_mask: (length, length) bool, true where the column lies behind the row: a token
 * is blocked from those that follow it. As torch.tril(torch.ones(n, n)) == 0.
 * HEED_ERR_SHAPE: a negative length. */
heed_tensor *heed_causal_block_mask(int64_t length);

HEED_END_DECLS
#endif
