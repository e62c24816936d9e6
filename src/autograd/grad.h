/* The backward pass.
 *
 * A result of an operation with an input that requires a gradient remembers the operation and its
 * inputs; backward walks that graph from a loss to the leaves, each node after all of its
 * consumers. Neither direction recurses, so a chain of a million operations needs no stack.
 *
 * A backward uses its graph up: values that only derivatives were to read are let go as it passes,
 * and a second one is HEED_ERR_GRAPH, unless the first was heed_backward_retain.
 */
#ifndef HEED_AUTOGRAD_GRAD_H
#define HEED_AUTOGRAD_GRAD_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_set_requires_grad: makes a leaf one that gradients are collected for, or not, as torch's
 * x.requires_grad_(); returns it.
 * HEED_ERR_DTYPE: i64 or bool. HEED_ERR_GRAPH: a result of an operation; heed_detach it first. */
heed_tensor *heed_set_requires_grad(heed_tensor *x, bool requires_grad);

/* heed_retain_grad: has backward keep the gradient of a result of an operation in its .grad too, as
 * torch's x.retain_grad(); returns it.
 * HEED_ERR_GRAPH: it does not require a gradient. */
heed_tensor *heed_retain_grad(heed_tensor *x);

/* heed_backward: adds dy/dx to x->grad of every leaf x that requires a gradient, as torch's
 * y.backward(). heed_backward_retain: the same, and the graph can be used again.
 *
 * HEED_ERR_GRAPH: y does not require a gradient, or its graph is used up. HEED_ERR_SHAPE: y has not
 * exactly one element; heed_sum or heed_mean it. HEED_ERR_VERSION: a value that a derivative reads
 * was changed in place since. Leaves that were reached before the error keep what they got. */
heed_status heed_backward(heed_tensor *y);
heed_status heed_backward_retain(heed_tensor *y);

/* heed_grad: grads[i] = dy/dxs[i] for `count` tensors, leaves or not, as torch.autograd.grad; .grad
 * stays as it is. An x that y does not reach gets zeros. With create_graph the gradients have a
 * graph of their own and can be differentiated again, and y's graph can be used again. Results may
 * share memory, as in torch: heed_clone one before changing it in place.
 *
 *     heed_tensor *dx[1], *ddx[1];
 *     heed_grad(y, &x, 1, dx, true);
 *     heed_grad(heed_sum(dx[0]), &x, 1, ddx, false);
 *
 * Errors as heed_backward; HEED_ERR_GRAPH also where an x does not require a gradient. On error all
 * of grads are NULL. */
heed_status heed_grad(heed_tensor *y, heed_tensor *const *xs, int count, heed_tensor **grads,
                      bool create_graph);

/* heed_clear_grad: forgets x->grad, as x.grad = None. */
heed_status heed_clear_grad(heed_tensor *x);

/* heed_set_grad: x->grad becomes a view of all of `grad`, without its graph, as x.grad = grad: the
 * two share memory, so that what is done to the one, a later backward say, is done to the other.
 *
 *   x, grad (...)   one shape and dtype; grad contiguous
 *
 * HEED_ERR_SHAPE: the shapes differ, or grad is not contiguous. HEED_ERR_DTYPE: the dtypes differ.
 * HEED_ERR_VALUE: grad is x itself. On error x->grad stays as it is. */
heed_status heed_set_grad(heed_tensor *x, heed_tensor *grad);

HEED_END_DECLS
#endif
