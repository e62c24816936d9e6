/* The values that derivatives read: a node holds a use of each from its forward to its backward, and
 * knows their versions, so that a change in place in between is noticed (internal). */
#ifndef HEED_AUTOGRAD_SAVED_H
#define HEED_AUTOGRAD_SAVED_H

#include "op.h"

/* heed_save_values: saves what the derivative of y, a new node, will read. */
void heed_save_values(heed_tensor *y);

/* heed_saved_intact: can the derivative of this node run?
 * HEED_ERR_VERSION: a saved value was changed in place since.
 * HEED_ERR_GRAPH: an input began to require a gradient after its use, so its value was not saved. */
heed_status heed_saved_intact(const char *function, const heed_tensor *node);

/* heed_release_saved: the derivative has run: ends the uses. The node cannot be differentiated again. */
void heed_release_saved(heed_tensor *node);

#endif
