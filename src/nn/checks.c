/* Checks that several forwards share, and the copies of weights that they keep. */
#include "nn/checks.h"

#include "autograd/shape.h"

static heed_status check_there(const char *function, const char *argument, const heed_tensor *x)
{
    if (!heed_error_pending() && x == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: %s is NULL", function, argument);
    }
    return heed_error_pending();
}

heed_status heed_check_dtype(const char *function, const char *argument, const heed_tensor *x,
                             heed_dtype dtype)
{
    const heed_status status = check_there(function, argument, x);
    if (status == HEED_OK && x->dtype != dtype) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: %s is %s, and the parameters are %s; heed_to casts the one, "
                         "heed_module_to the others",
                         function, argument, heed_dtype_name(x->dtype), heed_dtype_name(dtype));
    }
    return status;
}

heed_status heed_check_features(const char *function, const char *argument, const heed_tensor *x,
                                const char *size_name, int64_t size, heed_dtype dtype)
{
    const heed_status status = check_there(function, argument, x);
    if (status == HEED_OK && (x->ndim == 0 || x->shape[x->ndim - 1] != size)) {
        return heed_fail(HEED_ERR_SHAPE, "%s: %s %s must end in %s, %lld", function, argument,
                         heed_shape_text(x->ndim, x->shape).text, size_name, (long long)size);
    }
    return status == HEED_OK ? heed_check_dtype(function, argument, x, dtype) : status;
}

void heed_keep_weights(heed_tensor **kept, heed_tensor *weights)
{
    heed_release(*kept);
    *kept = weights != NULL ? heed_retain(heed_clone(heed_detach(weights))) : NULL;
}
