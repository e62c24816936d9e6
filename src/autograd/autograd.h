/* The engine (internal): how an operation is recorded, observed and differentiated. */
#ifndef HEED_AUTOGRAD_AUTOGRAD_H
#define HEED_AUTOGRAD_AUTOGRAD_H

#include "op.h"

/* A backward pass from y. */
typedef struct heed_pass {
    const char *function; /* the caller, for errors */
    heed_tensor *y;
    const heed_tensor *upstream; /* dy/dy; NULL: 1 */
    heed_tensor *const *xs;      /* differentiate with respect to these; NULL: all leaves */
    int count;
    heed_tensor **grads; /* one per x */
    bool create_graph, retain_graph;

    /* Set by heed_run_backward: the nodes in the order of their visits, and workspace for the
     * inputs of one node: most_inputs gradients, then as many flags, true if one is wanted. */
    heed_tensor **nodes;
    int64_t node_count, capacity, visited;
    int most_inputs;
    heed_tensor **input_grads;
} heed_pass;

/* heed_run_backward: same errors as heed_backward and heed_grad, but y may have any number of
 * elements. The caller sets the elements of pass->grads, and the fields after retain_graph, to 0.
 */
heed_status heed_run_backward(heed_pass *pass);

/* heed_call_result_hooks, heed_call_derivative_hooks: call the hooks of this thread (hook.h), after
 * testing heed_self.hooks. The first returns the result to use, NULL after an error. */
heed_tensor *heed_call_result_hooks(const heed_call *call, heed_tensor *y);
heed_status heed_call_derivative_hooks(const heed_vjp *vjp);

#endif
