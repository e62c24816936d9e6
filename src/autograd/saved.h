/* The values that derivatives read (internal), declared by heed_op.saves. A node holds a use of
 * each from its forward (apply.c) to its backward, and records their versions to detect in-place
 * changes in between. All other values may be freed as soon as their scope ends. */
#ifndef HEED_AUTOGRAD_SAVED_H
#define HEED_AUTOGRAD_SAVED_H

#include "op.h"

/* heed_check_saved: checks that the derivative of this node can run. HEED_ERR_VERSION: a saved
 * value has been changed in place since the forward pass. HEED_ERR_GRAPH: an input started to
 * require a gradient after it was used, so a value was not saved. */
heed_status heed_check_saved(const char *function, const heed_tensor *node);

/* heed_release_saved: ends the uses after the derivative has run. The node cannot be differentiated
 * again. */
void heed_release_saved(heed_tensor *node);

#endif
