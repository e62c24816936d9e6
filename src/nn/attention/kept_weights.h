/* Attention weights that outlive their forward (internal to nn): modules with keep_weights store
 * them, and the ..._forward_weights functions return them.
 */
#ifndef HEED_NN_KEPT_WEIGHTS_H
#define HEED_NN_KEPT_WEIGHTS_H

#include "../../tensor/scope.h"

/* heed_keep_weights: *kept becomes a detached copy of `weights`, or NULL of NULL; the tensor it
 * held is released. */
void heed_keep_weights(heed_tensor **kept, heed_tensor *weights);

/* heed_hand_out_weights: keeps them in *kept, and hands them to the scope outside as *weights, each
 * unless NULL. */
void heed_hand_out_weights(heed_scope *scope, heed_tensor *percent, heed_tensor **kept,
                           heed_tensor **weights);

#endif
