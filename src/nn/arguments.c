/* Argument checks and their error messages. */

#include "nn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

heed_status heed_check_not_null(const char *function, const char *argument, const void *value)
{
    return value != NULL ? heed_error_pending()
                         : heed_fail(HEED_ERR_NULL, "%s: %s is NULL", function, argument);
}

/* ---- numbers ---- */

heed_status heed_check_positive(const char *function, const heed_named_size *sizes, int count)
{
    char list[200] = "";
    bool all_positive = true;
    for (int i = 0; i < count; i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s %lld", i > 0 ? ", " : "", sizes[i].name,
                 (long long)sizes[i].size);
        all_positive = all_positive && sizes[i].size >= 1;
    }
    return all_positive
               ? heed_error_pending()
               : heed_fail(HEED_ERR_VALUE, "%s: %s; each must be 1 or more", function, list);
}

void heed_check_not_negative(const char *function, const char *argument, double number)
{
    if (!(number >= 0 && isfinite(number))) {
        heed_raise(HEED_ERR_VALUE, "%s: %s is %g; it must be finite and 0 or more", function,
                   argument, number);
    }
}

/* ---- dtypes and shapes ---- */

void heed_check_dtype(const char *function, const char *argument, const heed_tensor *x,
                      heed_dtype dtype)
{
    heed_check_not_null(function, argument, x);
    if (x->dtype != dtype) {
        heed_raise(HEED_ERR_DTYPE,
                   "%s: %s is %s, but the parameters are %s; cast the tensor with heed_to or the "
                   "module with heed_module_to",
                   function, argument, heed_dtype_name(x->dtype), heed_dtype_name(dtype));
    }
}

void heed_check_features(const char *function, const char *argument, const heed_tensor *x,
                         const char *size_name, int64_t size, heed_dtype dtype)
{
    heed_check_not_null(function, argument, x);
    if (x->ndim == 0 || x->shape[x->ndim - 1] != size) {
        heed_raise(HEED_ERR_SHAPE, "%s: %s %s must end in %s, %lld", function, argument,
                   HEED_TEXT(x), size_name, (long long)size);
    }
    heed_check_dtype(function, argument, x, dtype);
}
