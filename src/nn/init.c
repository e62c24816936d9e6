/* Initialisers. Bounds and deviations are computed in double, as torch does, and cast by the
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

static heed_status check_slope(const char *function, const heed_tensor *w, double a)
{
    const heed_status status = check(function, w);
    return status != HEED_OK || isfinite(a)
               ? status
               : heed_fail(HEED_ERR_VALUE, "%s: a is %g; it must be finite", function, a);
}

static heed_status check_gain(const char *function, const heed_tensor *w, double gain)
{
    const heed_status status = check(function, w);
    return status == HEED_OK ? heed_check_not_negative(function, "gain", gain) : status;
}

/* The standard deviations of the two papers. */
static double kaiming_std(const heed_tensor *w, double a)
{
    const double gain = sqrt(2 / (1 + a * a));
    return gain / sqrt((double)w->shape[1]);
}

static double xavier_std(const heed_tensor *w, double gain)
{
    return gain * sqrt(2.0 / (double)(w->shape[0] + w->shape[1]));
}

/* Without elements there is nothing to draw, and the fans may be 0. */
static heed_status fill_uniform(heed_tensor *w, double std)
{
    const double bound = sqrt(3) * std;
    return w->numel == 0 ? HEED_OK : heed_uniform_into(w, -bound, bound);
}

static heed_status fill_normal(heed_tensor *w, double std)
{
    return w->numel == 0 ? HEED_OK : heed_normal_into(w, 0, std);
}

heed_status heed_kaiming_uniform_into(heed_tensor *w, double a)
{
    const heed_status status = check_slope("kaiming_uniform_into", w, a);
    return status == HEED_OK ? fill_uniform(w, kaiming_std(w, a)) : status;
}

heed_status heed_kaiming_normal_into(heed_tensor *w, double a)
{
    const heed_status status = check_slope("kaiming_normal_into", w, a);
    return status == HEED_OK ? fill_normal(w, kaiming_std(w, a)) : status;
}

heed_status heed_xavier_uniform_into(heed_tensor *w, double gain)
{
    const heed_status status = check_gain("xavier_uniform_into", w, gain);
    return status == HEED_OK ? fill_uniform(w, xavier_std(w, gain)) : status;
}

heed_status heed_xavier_normal_into(heed_tensor *w, double gain)
{
    const heed_status status = check_gain("xavier_normal_into", w, gain);
    return status == HEED_OK ? fill_normal(w, xavier_std(w, gain)) : status;
}
