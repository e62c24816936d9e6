/* The parameters of one backward pass, and the tensors that need a gradient in it (internal). */
#ifndef HEED_AUTOGRAD_PASS_H
#define HEED_AUTOGRAD_PASS_H

#include <assert.h>

#include "topo.h"

typedef struct heed_pass {
    const char *function; /* the caller, for errors */
    heed_tensor *y;
    const heed_tensor *upstream; /* dL/dy; NULL: 1 */
    heed_tensor *const *xs;      /* differentiate with respect to these; NULL: all leaves */
    int count;
    heed_tensor **grads; /* one per x */
    bool create_graph, retain_graph;
} heed_pass;

/* heed_mark_needed: sets engine_mark to 1 in nodes that lead to a requested tensor, and to 0 in all
 * others. HEED_ERR_GRAPH: an earlier pass has used up a node that is needed. */
heed_status heed_mark_needed(const heed_pass *pass, const heed_topo *nodes);

/* heed_find_x: the last index of t in pass->xs; -1 if it is not in xs. */
static inline int heed_find_x(const heed_pass *pass, const heed_tensor *t)
{
    int i = pass->count - 1; /* xs is empty in most passes */
    while (i >= 0 && pass->xs[i] != t) {
        i--;
    }
    return i;
}

/* heed_is_wanted: true if the pass needs the gradient of this input of a node. */
static inline bool heed_is_wanted(const heed_pass *pass, const heed_tensor *input)
{
    return input->requires_grad &&
           (pass->xs == NULL || input->engine_mark > 0 || heed_find_x(pass, input) >= 0);
}

/* heed_gradient_slot: where the gradients of t are summed during the pass; NULL: in t->grad. A
 * node's sum is complete when the node is visited, the sum of a leaf x when the pass ends. */
static inline heed_tensor **heed_gradient_slot(const heed_pass *pass, heed_tensor *t)
{
    if (heed_is_node(t)) {
        return &t->gradient_in_flight;
    }
    if (pass->xs == NULL) {
        return NULL;
    }
    const int i = heed_find_x(pass, t);
    assert(i >= 0); /* heed_is_wanted: only leaves among xs receive gradients */
    return &pass->grads[i];
}

/* heed_return_grads: moves the gradients of xs to the innermost scope: zeros for an x that received
 * none, NULL for all after an error. */
heed_status heed_return_grads(const heed_pass *pass, heed_status status);

#endif
