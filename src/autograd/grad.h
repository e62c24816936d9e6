/* The backward pass.
 *
 * If an input of an operation requires a gradient, the result records the operation and its inputs.
 * backward walks that graph from a loss to the leaves, visiting each node after all of its
 * consumers. Neither building nor walking the graph is recursive, so a chain of a million
 * operations cannot overflow the stack.
 *
 * backward uses up its graph: it releases saved values as it goes, and a second backward fails with
 * HEED_ERR_GRAPH unless the first was heed_backward_retain.
 */
#ifndef HEED_AUTOGRAD_GRAD_H
#define HEED_AUTOGRAD_GRAD_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_set_requires_grad: sets whether backward collects a gradient for the leaf x, like
 * torch's x.requires_grad_(); returns x.
 * HEED_ERR_DTYPE: x is i64 or bool. HEED_ERR_GRAPH: x is the result of an operation; heed_detach it
 * first. */
heed_tensor *heed_set_requires_grad(heed_tensor *x, bool requires_grad);

/* heed_retain_grad: makes backward store the gradient of a non-leaf x in x->grad too, like torch's
 * x.retain_grad(); returns x.
 * HEED_ERR_GRAPH: x does not require a gradient. */
heed_tensor *heed_retain_grad(heed_tensor *x);

/* heed_backward: adds dy/dx to x->grad for every leaf x that requires a gradient, like torch's
 * y.backward(). heed_backward_retain: the same, but the graph can be used again.
 *
 * HEED_ERR_GRAPH: y does not require a gradient, or its graph is used up. HEED_ERR_SHAPE: y does
 * not have exactly one element; heed_sum or heed_mean it. HEED_ERR_VERSION: a value that a
 * derivative reads has been changed in place since the forward pass. Leaves reached before the
 * error keep the gradients they received. */
heed_status heed_backward(heed_tensor *y);
heed_status heed_backward_retain(heed_tensor *y);

/* heed_grad: grads[i] = dy/dxs[i] for `count` tensors, leaves or not, like torch.autograd.grad;
 * .grad is left unchanged. An x that y does not depend on gets zeros. With create_graph the
 * gradients can themselves be differentiated, constant ones to zeros, and y's graph can be used
 * again. Results may share memory, as in torch: heed_clone one before changing it in place.
 *
 *     heed_tensor *dx[1], *ddx[1];
 *     heed_grad(y, &x, 1, dx, true);
 *     heed_grad(heed_sum(dx[0]), &x, 1, ddx, false);
 *
 * The errors are those of heed_backward, and HEED_ERR_GRAPH if an x does not require a gradient. On
 * error all grads are NULL. */
heed_status heed_grad(heed_tensor *y, heed_tensor *const *xs, int count, heed_tensor **grads,
                      bool create_graph);

/* heed_clear_grad: sets x->grad to NULL, like torch's x.grad = None. */
heed_status heed_clear_grad(heed_tensor *x);

/* heed_set_grad: sets x->grad to a view of `grad` without its graph, like torch's x.grad = grad.
 * The two share memory: a later backward that adds to x->grad changes `grad` too.
 *
 *   x, grad (...)   floats of the same shape and dtype; grad contiguous
 *
 * HEED_ERR_SHAPE: the shapes differ, or grad is not contiguous. HEED_ERR_DTYPE: the dtypes differ,
 * or are not floats. HEED_ERR_VALUE: grad is x itself. On error x->grad is unchanged. */
heed_status heed_set_grad(heed_tensor *x, heed_tensor *grad);

HEED_END_DECLS
#endif
