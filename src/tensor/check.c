/* Argument checks. They read handles and the thread's state, never elements. */
#include "check.h"

#include <stdio.h>

#include "debug.h"
#include "shape.h"
#include "thread.h"

heed_status heed_check_tensor(const char *function, const char *argument, const heed_tensor *t)
{
    if (t == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: %s is NULL", function, argument);
    }
    if (t->storage == NULL) {
        if (HEED_IS_DEBUG) {
            return heed_debug_fail_freed(function, argument, t);
        }
        return heed_fail(HEED_ERR_SCOPE, "%s: the value of %s %s has been freed; %s", function,
                         argument, HEED_TEXT(t),
                         heed_self.derivative != NULL
                             ? "if it is an input or the result, declare it in .saves"
                             : "heed_retain it in its scope");
    }
    return HEED_OK;
}

heed_status heed_check_scope(const char *function)
{
    if (!heed_blocked() && heed_self.depth == 0) {
        return heed_fail(HEED_ERR_SCOPE,
                         "%s: no scope is open to own the result; begin one: HEED_SCOPE(name);",
                         function);
    }
    return heed_self.error;
}

heed_status heed_check_operand(const char *function, const char *argument, const heed_tensor *x)
{
    if (heed_blocked() || heed_check_tensor(function, argument, x) != HEED_OK) {
        return heed_self.error;
    }
    return heed_check_scope(function);
}

heed_status heed_check_operands(const char *function, const char *const *names,
                                heed_tensor *const *inputs, int count)
{
    if (heed_blocked() || heed_check_scope(function) != HEED_OK) {
        return heed_self.error;
    }
    if (inputs == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: the list of tensors is NULL", function);
    }
    if (count < 1 || count > UINT16_MAX) {
        return heed_fail(HEED_ERR_VALUE, "%s: cannot take %d tensors", function, count);
    }
    for (int i = 0; i < count; i++) {
        if (inputs[i] == NULL || inputs[i]->storage == NULL) {
            char argument[32];
            snprintf(argument, sizeof argument, "input %d", i);
            return heed_check_tensor(function, names != NULL ? names[i] : argument, inputs[i]);
        }
    }
    return HEED_OK;
}

heed_status heed_check_value(const char *function, double value, heed_dtype dtype)
{
    const double limit = 9223372036854775808.0; /* 2^63 */
    if (dtype == HEED_I64 && !(value >= -limit && value < limit)) {
        return heed_fail(HEED_ERR_VALUE, "%s: i64 cannot hold %g", function, value);
    }
    return HEED_OK;
}

heed_status heed_check_probability(const char *function, const char *argument, double p)
{
    return p >= 0 && p <= 1 /* false for NaN */
               ? heed_error_pending()
               : heed_fail(HEED_ERR_VALUE, "%s: %s is %g, which is outside [0, 1]", function,
                           argument, p);
}
