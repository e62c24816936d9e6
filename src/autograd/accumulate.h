/* Sums of the gradients that come together at a tensor (internal). */
#ifndef HEED_AUTOGRAD_ACCUMULATE_H
#define HEED_AUTOGRAD_ACCUMULATE_H

#include "op.h"

/* Both of these take g over.
 *
 * heed_add_gradient: *sum += g, of which *sum holds a reference and a use; NULL is 0. With
 * create_graph the sum has a graph.
 * heed_add_to_grad: t->grad += g, also while other threads do so. */
heed_status heed_add_gradient(heed_tensor **sum, heed_tensor *g, bool create_graph);
heed_status heed_add_to_grad(heed_tensor *t, heed_tensor *g);

/* heed_add_in_place: adds the gradient of input j to *sum, or where `sum` is NULL to the input's .grad,
 * without making it first. False: there is nothing to add to yet, somebody else could see the change,
 * the operation cannot, or it failed. */
bool heed_add_in_place(const heed_vjp *v, int j, heed_tensor **sum);

#endif
