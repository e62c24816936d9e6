/* A backward pass (internal): what backward.c shares with the files that it calls. */
#ifndef HEED_AUTOGRAD_BACKWARD_H
#define HEED_AUTOGRAD_BACKWARD_H

#include "op.h"

typedef struct heed_pass {
    const char *function; /* the caller, for errors */
    heed_tensor *y;
    const heed_tensor *upstream; /* dL/dy; NULL: 1 */
    heed_tensor *const *xs;      /* differentiate with respect to these; NULL: all leaves */
    int count;
    heed_tensor **grads; /* one per x */
    bool create_graph, retain_graph;
} heed_pass;

/* heed_run_backward: same errors as heed_backward and heed_grad, but y may have any number of
 * elements. The caller sets all elements of pass->grads to NULL. */
heed_status heed_run_backward(const heed_pass *pass);

/* ---- order.c ---- */

typedef struct heed_order {
    heed_tensor **nodes; /* `capacity` pointers */
    int64_t count, capacity, visited;
    size_t most_inputs;
    heed_tensor **grads; /* workspace for the inputs of one node: most_inputs of each */
    bool *wanted;
} heed_order;

/* heed_sort_nodes: lists the nodes that y depends on, y included, each after all of its consumers,
 * and marks those that lead to a requested tensor HEED_NEEDED: their derivatives must run. The list
 * is empty if y is a leaf.
 * HEED_ERR_GRAPH: an earlier pass has used up a node that is needed, or has not ended.
 * HEED_ERR_MEMORY.
 * heed_free_order: to be called even if heed_sort_nodes failed. Also drops the gradients of the
 * nodes that were not visited. */
heed_status heed_sort_nodes(const heed_pass *pass, heed_order *order);
void heed_free_order(const heed_order *order);

/* heed_find_x: the last index of t in pass->xs; -1 if it is not in xs. */
int heed_find_x(const heed_pass *pass, const heed_tensor *t);

/* heed_is_node: true for the result of a recorded operation. A pass treats all other tensors as
 * leaves. */
static inline bool heed_is_node(const heed_tensor *t)
{
    return t->op != NULL && t->requires_grad;
}

/* heed_is_wanted: true if the pass needs the gradient of y or of this input of a node. Valid once
 * heed_sort_nodes has marked the nodes. */
static inline bool heed_is_wanted(const heed_pass *pass, const heed_tensor *input)
{
    return input->requires_grad &&
           (pass->xs == NULL || input->consumers == HEED_NEEDED || heed_find_x(pass, input) >= 0);
}

/* ---- accumulate.c ---- */

/* heed_fit_gradient: g, which a derivative returned for input j, summed to the shape of the input:
 * that undoes broadcasting. NULL after an error.
 * HEED_ERR_DTYPE, HEED_ERR_SHAPE: g does not fit the input. */
heed_tensor *heed_fit_gradient(heed_tensor *g, const heed_tensor *node, int j);

/* heed_accumulate: dL/dt += g for a wanted t. Consumes the caller's g, even on error. */
heed_status heed_accumulate(const heed_pass *pass, heed_tensor *t, heed_tensor *g);

/* heed_keep_gradient: stores the complete gradient g = dL/dnode in pass->grads if the node is one
 * of pass->xs, or in .grad if heed_retain_grad was called on it. */
heed_status heed_keep_gradient(const heed_pass *pass, heed_tensor *node, heed_tensor *g);

/* heed_return_grads: moves the gradients of xs to the innermost scope: zeros for an x that received
 * none, NULL for all after an error. */
heed_status heed_return_grads(const heed_pass *pass, heed_status status);

#endif
