/* Sums the gradients that a tensor receives (internal). */
#ifndef HEED_AUTOGRAD_ACCUMULATE_H
#define HEED_AUTOGRAD_ACCUMULATE_H

#include "../tensor/thread.h"
#include "op.h"
#include "pass.h"

/* Both functions consume g.
 *
 * heed_add_gradient: *sum += g; a NULL *sum counts as 0. *sum owns a reference and a use. With
 * create_graph, the sum has a graph.
 * heed_add_to_grad: t->grad += g. Threads may add to the same t concurrently. */
heed_status heed_add_gradient(heed_tensor **sum, heed_tensor *g, bool create_graph);
heed_status heed_add_to_grad(heed_tensor *t, heed_tensor *g);

/* heed_add_in_place: some operations can add directly to a gradient that an input has already
 * received, without allocating their own (heed_op.add_gradient). Clears `wanted` for the inputs
 * handled this way. Skips inputs whose sum is visible elsewhere. */
heed_status heed_add_all_in_place(const heed_pass *pass, const heed_vjp *vjp, bool *wanted);

static inline heed_status heed_add_in_place(const heed_pass *pass, const heed_vjp *vjp,
                                            bool *wanted)
{
    /* Observers see gradients before they are added. */
    const bool can =
        vjp->y->op->add_gradient != NULL && !pass->create_graph && heed_self.observers == 0;
    return can ? heed_add_all_in_place(pass, vjp, wanted) : HEED_OK;
}

/* heed_retain_gradient: stores the complete gradient g = dL/dnode: in pass->grads if the node is
 * one of pass->xs, or in .grad if heed_retain_grad was called on it. */
heed_status heed_retain_gradient(const heed_pass *pass, heed_tensor *node, heed_tensor *g);

#endif
