/* Masks for attention. */
#include "nn/mask.h"

#include "autograd/elementwise.h"
#include "tensor/create.h"
#include "tensor/scope.h"

heed_tensor *heed_causal_block_mask(int64_t length)
{
    if (length < 0) {
        heed_fail(HEED_ERR_SHAPE, "causal_block_mask: length %lld; 0 or more", (long long)length);
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *ones = heed_ones(HEED_SHAPE(length, length), HEED_F32);
    return heed_scope_end_with(&scope, heed_eq_scalar(heed_tril(ones, 0), 0));
}
