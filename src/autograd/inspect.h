/* The checks that anomaly mode makes in heed_apply and in the backward pass (internal; anomaly.h
 * describes the mode). Call them only in this mode. */
#ifndef HEED_AUTOGRAD_INSPECT_H
#define HEED_AUTOGRAD_INSPECT_H

#include "../tensor/thread.h"
#include "op.h"

/* heed_inspect_result: checks y, the result of an operation or NULL. Returns y; NULL on an anomaly.
 */
heed_tensor *heed_inspect_result(const heed_call *call, heed_tensor *y);

/* heed_inspect_root: checks the y of heed_backward or heed_grad. heed_inspect_gradients: checks the
 * gradients of a node's inputs, which its derivative has computed from g; NULL for none. */
heed_status heed_inspect_root(const char *function, const heed_tensor *y);
heed_status heed_inspect_gradients(const heed_tensor *node, const heed_tensor *g,
                                   heed_tensor *const *grads);

/* Where a node was created. If anything observes the thread, heed_apply stores it after the node's
 * arguments, in the same block.
 * heed_origin_size: the bytes that it adds to arguments of this size; 0 if their sum would
 * overflow. heed_store_origin: stores it in y, whose args_size includes these bytes.
 * heed_origin_path: the path of the module that was running; "" if it was not stored. */
size_t heed_origin_size(size_t args_size);
void heed_store_origin(heed_tensor *y);
heed_text heed_origin_path(const heed_tensor *node);

#endif
