/* heed_apply: every operation goes through this function. It returns NULL if an error is pending,
 * checks the inputs, runs the rule, allocates the result, runs forward, records the node if grad
 * mode is on and an input requires a gradient, and adds the result to the scope. */
#ifndef HEED_AUTOGRAD_APPLY_H
#define HEED_AUTOGRAD_APPLY_H

#include "op.h"

HEED_BEGIN_DECLS

/* heed_apply: the result of an operation, or NULL on error. Copies args_size bytes from `args`. */
heed_tensor *heed_apply(const heed_op *op, heed_tensor *const *inputs, int count, const void *args,
                        size_t args_size);

HEED_END_DECLS
#endif
