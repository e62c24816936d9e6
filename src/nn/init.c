/* Initialisers. The bounds are computed in double, as torch does, and cast by the generator. */
#include "nn/init.h"

#include <math.h>

#include "tensor/random.h"

static heed_status check_matrix(const char *function, const heed_tensor *w)
{
    if (heed_error_pending() || w == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: w is NULL", function);
    }
    if (w->ndim != 2) {
        return heed_fail(HEED_ERR_SHAPE, "%s: w has %d dims, not 2: (fan_out, fan_in)", function,
                         w->ndim);
    }
    return HEED_OK;
}

heed_status heed_kaiming_uniform_into(heed_tensor *w, double a)
{
    heed_status status = check_matrix("kaiming_uniform_into", w);
    if (status != HEED_OK) {
        return status;
    }
    if (w->numel == 0) {
        return HEED_OK; /* nothing to draw, and fan_in may be 0 */
    }
    const double gain = sqrt(2 / (1 + a * a));
    const double std = gain / sqrt((double)heed_size(w, 1));
    const double bound = sqrt(3) * std;
    return heed_uniform_into(w, -bound, bound);
}

heed_status heed_xavier_uniform_into(heed_tensor *w, double gain)
{
    heed_status status = check_matrix("xavier_uniform_into", w);
    if (status != HEED_OK) {
        return status;
    }
    if (w->numel == 0) {
        return HEED_OK;
    }
    const double std = gain * sqrt(2.0 / (double)(heed_size(w, 0) + heed_size(w, 1)));
    const double bound = sqrt(3) * std;
    return heed_uniform_into(w, -bound, bound);
}
