/* Argument checks, for Heed's functions and for your own functions and modules.
 *
 * Each returns the pending error. If the check fails, it makes an error pending; the message names
 * the function and the argument:
 *
 *     if (heed_check_tensor("mine", "x", x) != HEED_OK) {
 *         return NULL;
 *     }
 */
#ifndef HEED_TENSOR_CHECK_H
#define HEED_TENSOR_CHECK_H

#include "tensor.h"

HEED_BEGIN_DECLS

/* heed_check_tensor: checks that t is not NULL and that its value has not been freed.
 * HEED_ERR_NULL: t is NULL. HEED_ERR_SCOPE: its value has been freed. */
heed_status heed_check_tensor(const char *function, const char *argument, const heed_tensor *t);

/* heed_check_scope: checks that a scope is open, to own the result of a function that returns
 * tensors. heed_forward_check includes this check for modules. HEED_ERR_SCOPE: no scope is open. */
heed_status heed_check_scope(const char *function);

/* heed_check_operand: heed_check_tensor and heed_check_scope, for functions that combine several
 * operations and read x before the first of them checks it. */
heed_status heed_check_operand(const char *function, const char *argument, const heed_tensor *x);

/* heed_check_operands: the same for a list of 1 to 65535 tensors, like the inputs of heed_apply.
 * `names` are used in errors; NULL: input 0, input 1, ... */
heed_status heed_check_operands(const char *function, const char *const *names,
                                heed_tensor *const *inputs, int count);

/* heed_check_value: checks that `dtype` can represent this number. Floats round; bool accepts any
 * number.
 * HEED_ERR_VALUE: i64 cannot represent it. */
heed_status heed_check_value(const char *function, double value, heed_dtype dtype);

/* heed_check_probability: checks that p is in [0, 1].
 * HEED_ERR_VALUE: it is not; ("dropout", "p", 1.5) gives "dropout: p is 1.5, which is outside
 * [0, 1]". */
heed_status heed_check_probability(const char *function, const char *argument, double p);

HEED_END_DECLS
#endif
