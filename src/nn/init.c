/* Initialisers. Bounds and standard deviations are computed in double, as in torch, and cast by the
 * generator. */
#include "init.h"

#include <math.h>

#include "../tensor/random/random.h"
#include "arguments.h"

static heed_status check(const char *function, const heed_tensor *w)
{
    if (heed_check_not_null(function, "w", w) != HEED_OK) {
        return heed_error_pending();
    }
    if (w->ndim != 2) {
        return heed_fail(HEED_ERR_SHAPE, "%s: w has %d dims, not 2: (fan_out, fan_in)", function,
                         w->ndim);
    }
    if (!heed_is_float(w->dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "%s: w is %s, not a float", function,
                         heed_dtype_name(w->dtype));
    }
    return HEED_OK;
}

/* No random numbers are drawn for an empty tensor, whose fans may be 0 and make std infinite. */
static heed_status fill(heed_tensor *w, double std, bool uniform)
{
    const double bound = sqrt(3) * std;
    if (w->numel == 0) {
        return HEED_OK;
    }
    return uniform ? heed_uniform_into(w, -bound, bound) : heed_normal_into(w, 0, std);
}

static heed_status kaiming(const char *function, heed_tensor *w, double a, bool uniform)
{
    if (check(function, w) != HEED_OK) {
        return heed_error_pending();
    }
    if (!isfinite(a)) {
        return heed_fail(HEED_ERR_VALUE, "%s: a is %g; it must be finite", function, a);
    }
    const double gain = sqrt(2 / (1 + a * a));
    return fill(w, gain / sqrt((double)w->shape[1]), uniform);
}

static heed_status xavier(const char *function, heed_tensor *w, double gain, bool uniform)
{
    if (check(function, w) != HEED_OK ||
        heed_check_not_negative(function, "gain", gain) != HEED_OK) {
        return heed_error_pending();
    }
    return fill(w, gain * sqrt(2.0 / (double)(w->shape[0] + w->shape[1])), uniform);
}

heed_status heed_kaiming_uniform_into(heed_tensor *w, double a)
{
    return kaiming("kaiming_uniform_into", w, a, true);
}

heed_status heed_kaiming_normal_into(heed_tensor *w, double a)
{
    return kaiming("kaiming_normal_into", w, a, false);
}

heed_status heed_xavier_uniform_into(heed_tensor *w, double gain)
{
    return xavier("xavier_uniform_into", w, gain, true);
}

heed_status heed_xavier_normal_into(heed_tensor *w, double gain)
{
    return xavier("xavier_normal_into", w, gain, false);
}
