/* The backward pass shared by heed_backward, heed_grad and the gradient checks (internal). */
#ifndef HEED_AUTOGRAD_BACKWARD_H
#define HEED_AUTOGRAD_BACKWARD_H

#include "pass.h"

/* heed_run_backward: same errors as heed_backward and heed_grad, but y may have any number of
 * elements. The caller sets all elements of pass->grads to NULL. */
heed_status heed_run_backward(const heed_pass *pass);

#endif
