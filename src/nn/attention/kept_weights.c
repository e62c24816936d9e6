/* Attention weights that outlive their forward. */
#include "kept_weights.h"

#include "../../autograd/ops/shape.h"

void heed_keep_weights(heed_tensor **kept, heed_tensor *weights)
{
    heed_release(*kept);
    *kept = weights != NULL ? heed_retain(heed_clone(heed_detach(weights))) : NULL;
}

void heed_hand_out_weights(heed_scope *scope, heed_tensor *percent, heed_tensor **kept,
                           heed_tensor **weights)
{
    if (kept != NULL) {
        heed_keep_weights(kept, percent);
    }
    if (weights != NULL) {
        *weights = heed_scope_keep(scope, percent);
    }
}
