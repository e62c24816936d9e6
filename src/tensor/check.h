/* Checks of arguments, for Heed's functions and for functions and modules of one's own.
 *
 * Each returns the pending error, or makes one whose sentence names the function and the argument:
 *
 *     if (heed_check_tensor("mine", "x", x) != HEED_OK) {
 *         return NULL;
 *     }
 */
#ifndef HEED_TENSOR_CHECK_H
#define HEED_TENSOR_CHECK_H

#include "tensor.h"

HEED_BEGIN_DECLS

/* heed_check_tensor: t still has its value.
 * HEED_ERR_NULL: t is NULL. HEED_ERR_SCOPE: its value has been freed. */
heed_status heed_check_tensor(const char *function, const char *argument, const heed_tensor *t);

/* heed_check_scope: a scope is open to own the result of a function that returns tensors.
 * heed_forward_check asks it for modules. HEED_ERR_SCOPE: none is. */
heed_status heed_check_scope(const char *function);

/* heed_check_operand: both, for functions made of several operations, which read x before the first
 * of them checks it. */
heed_status heed_check_operand(const char *function, const char *argument, const heed_tensor *x);

/* heed_check_operands: the same for a list, as heed_apply takes it: 1 to 65535 tensors. Errors call
 * them by their names; names NULL: input 0, input 1, ... */
heed_status heed_check_operands(const char *function, const char *const *names,
                                heed_tensor *const *inputs, int count);

/* heed_check_value: an element of `dtype` can be this number. Floats round, bool takes anything.
 * HEED_ERR_VALUE: i64 cannot hold it. */
heed_status heed_check_value(const char *function, double value, heed_dtype dtype);

/* heed_check_probability: p is in [0, 1].
 * HEED_ERR_VALUE: "dropout: p is 1.5, which is outside [0, 1]" of ("dropout", "p", 1.5). */
heed_status heed_check_probability(const char *function, const char *argument, double p);

HEED_END_DECLS
#endif
