/* Sums of the gradients that come together at a tensor (internal). Both take g over. */
#ifndef HEED_AUTOGRAD_ACCUMULATE_H
#define HEED_AUTOGRAD_ACCUMULATE_H

#include "tensor/tensor.h"

/* heed_add_gradient: *sum += g, of which *sum holds a reference and a use; NULL is 0. With
 * create_graph the sum has a graph. */
heed_status heed_add_gradient(heed_tensor **sum, heed_tensor *g, bool create_graph);

/* heed_add_to_grad: t->grad += g, also while other threads do so. */
heed_status heed_add_to_grad(heed_tensor *t, heed_tensor *g);

#endif
