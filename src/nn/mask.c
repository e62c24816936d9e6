/* Causal masks. mask_kinds.c has masks of padding, bias masks and conversions. */

#include "mask.h"

#include "../autograd/ops/elementwise.h"
#include "../autograd/ops/masking.h"
#include "../tensor/create.h"
#include "../tensor/scope.h"
#include "arguments.h"

static heed_tensor *causal_keep(int64_t length)
{
    return heed_tril(heed_ones(HEED_SHAPE(length, length), HEED_BOOL), 0);
}

heed_tensor *heed_causal_keep_mask(int64_t length)
{
    return heed_check_mask_length("causal_keep_mask", length, true) == HEED_OK ? causal_keep(length)
                                                                               : NULL;
}

heed_tensor *heed_causal_block_mask(int64_t length)
{
    if (heed_check_mask_length("causal_block_mask", length, true) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    return heed_scope_end_with(&scope, heed_logical_not(causal_keep(length)));
}
