/* The backward pass that heed_backward, heed_grad and the gradient checks are forms of (internal).
 */
#ifndef HEED_AUTOGRAD_BACKWARD_H
#define HEED_AUTOGRAD_BACKWARD_H

#include "pass.h"

/* heed_run_backward: errors as heed_backward and heed_grad; y may have any number of elements.
 * pass->grads start as NULL. */
heed_status heed_run_backward(const heed_pass *pass);

#endif
