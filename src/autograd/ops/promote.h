/* Which dtype two tensors meet in, and which of them meet (internal). */
#ifndef HEED_AUTOGRAD_PROMOTE_H
#define HEED_AUTOGRAD_PROMOTE_H

#include "../../tensor/tensor.h"

/* heed_promote: the dtype in which a and b compute: a float meeting i64 or bool wins, i64 meeting
 * bool wins; f32 meeting f64 is an error. */
static inline heed_status heed_promote(const char *function, heed_dtype a, heed_dtype b,
                                       heed_dtype *common)
{
    if (heed_is_float(a) && heed_is_float(b) && a != b) {
        return heed_fail(HEED_ERR_DTYPE, "%s: %s meets %s; heed_to casts one of them", function,
                         heed_dtype_name(a), heed_dtype_name(b));
    }
    *common = heed_is_float(a) || (a == HEED_I64 && !heed_is_float(b)) ? a : b;
    return HEED_OK;
}

/* heed_check_factors: what a product of matrices takes: two of one dtype, which is not bool. */
static inline heed_status heed_check_factors(const char *function, heed_dtype a, heed_dtype b)
{
    if (a != b || a == HEED_BOOL) {
        return heed_fail(HEED_ERR_DTYPE, "%s: %s with %s; heed_to casts to one dtype, not bool",
                         function, heed_dtype_name(a), heed_dtype_name(b));
    }
    return HEED_OK;
}

#endif
