/* The causal block mask. mask_kinds.c has the other masks and conversions. */

#include "mask.h"

#include "../autograd/ops/operations.h"
#include "../tensor/create.h"
#include "arguments.h"

heed_tensor *heed_causal_block_mask(int64_t length)
{
    return heed_check_mask_length("causal_block_mask", length, true) == HEED_OK
               ? heed_triu(heed_ones(HEED_SHAPE(length, length), HEED_BOOL), 1)
               : NULL;
}
