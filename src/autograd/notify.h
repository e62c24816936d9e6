/* What the engine tells the observers of this thread (internal; observer.h). They
 * call observer.c only through this table, so that programs without observers need not link it:
 *
 *     if (heed_self.observers != NULL) { y = heed_self.observers->result(&call, outer, y); }
 */
#ifndef HEED_AUTOGRAD_NOTIFY_H
#define HEED_AUTOGRAD_NOTIFY_H

#include "../tensor/thread.h"
#include "op.h"

struct heed_derivative;

/* result: y is the result of an operation, NULL if it failed; `outer` is the operation or the pass
 * that applied it, NULL if the program did. Returns the result to use; NULL after an error.
 * backward to derivative: each calls the callback of the same name of every observer, and returns
 * HEED_OK or the pending error.
 * origin_size, store_origin: record where a node was created. heed_apply stores it after the node's
 * arguments, in the same block; y's args_size includes these bytes. */
struct heed_observer_table {
    heed_tensor *(*result)(const heed_call *call, const char *outer, heed_tensor *y);
    heed_status (*backward)(const char *function, heed_tensor *y);
    heed_status (*gradient)(heed_tensor *node, heed_tensor *g);
    heed_status (*derivative)(const struct heed_derivative *derivative);
    size_t origin_size;
    void (*store_origin)(heed_tensor *y);
};

/* heed_hold_inputs (apply.c): sets the inputs of y, a new node. Takes a reference to each, and a
 * use of each value that y's derivative will read; records their versions to detect in-place
 * changes. */
void heed_hold_inputs(heed_tensor *y, heed_tensor *const *inputs);

/* heed_running_pass (backward.c): the function that runs a pass in this thread, or NULL. */
const char *heed_running_pass(void);

#endif
