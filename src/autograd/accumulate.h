/* Sums of the gradients that come together at a tensor (internal). */
#ifndef HEED_AUTOGRAD_ACCUMULATE_H
#define HEED_AUTOGRAD_ACCUMULATE_H

#include "op.h"
#include "pass.h"

/* Both of these take g over.
 *
 * heed_add_gradient: *sum += g, of which *sum holds a reference and a use; NULL is 0. With
 * create_graph the sum has a graph.
 * heed_add_to_grad: t->grad += g, also while other threads do so. */
heed_status heed_add_gradient(heed_tensor **sum, heed_tensor *g, bool create_graph);
heed_status heed_add_to_grad(heed_tensor *t, heed_tensor *g);

/* heed_add_in_place: where a gradient has come to an input before, some operations add theirs to it
 * without making it first (heed_op.add_gradient). The inputs for which that was done are no longer
 * wanted. Not done where somebody else could see the sum change. */
heed_status heed_add_all_in_place(const heed_pass *pass, const heed_vjp *vjp, bool *wanted);

static inline heed_status heed_add_in_place(const heed_pass *pass, const heed_vjp *vjp,
                                            bool *wanted)
{
    const bool can = vjp->y->op->add_gradient != NULL && !pass->create_graph;
    return can ? heed_add_all_in_place(pass, vjp, wanted) : HEED_OK;
}

/* heed_retain_gradient: g = dL/dnode is complete: keeps it for an x, or in .grad after
 * heed_retain_grad. */
heed_status heed_retain_gradient(const heed_pass *pass, heed_tensor *node, heed_tensor *g);

#endif
