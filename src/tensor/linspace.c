/* linspace. It matches torch 2 on AVX2 bit for bit: each multiply-add is fused, as in torch's
 * compiled code. */

#include <math.h>

#include "check.h"
#include "create.h"
#include "elements.h"
#include "handle.h"
#include "read.h"

static double rounded(double value, heed_dtype dtype)
{
    return dtype == HEED_F32 ? (double)(float)value : value;
}

/* from + place * step, computed in the dtype */
static double on_line(double from, double step, int64_t place, heed_dtype dtype)
{
    return dtype == HEED_F32 ? (double)fmaf((float)step, (float)place, (float)from)
                             : fma(step, (double)place, from);
}

heed_tensor *heed_linspace(double start, double end, int64_t steps, heed_dtype dtype)
{
    if (heed_blocked()) {
        return NULL;
    }
    if (dtype == HEED_BOOL) {
        heed_fail(HEED_ERR_DTYPE, "linspace: bool is not supported; use a float or i64");
        return NULL;
    }
    if (steps < 0) {
        heed_fail(HEED_ERR_VALUE, "linspace: steps is %lld; it must be 0 or more",
                  (long long)steps);
        return NULL;
    }
    if (heed_check_value("linspace", start, dtype) != HEED_OK ||
        heed_check_value("linspace", end, dtype) != HEED_OK) {
        return NULL;
    }
    heed_tensor *t = heed_tensor_create("linspace", HEED_SHAPE(steps), dtype);
    if (t == NULL) {
        return NULL;
    }
    const bool whole = dtype == HEED_I64;
    start = whole ? trunc(start) : rounded(start, dtype);
    end = whole ? trunc(end) : rounded(end, dtype);
    if (steps == 1) {
        heed_fill_elements(t, start);
        return t;
    }
    /* The first half counts forward from the start; the second half counts back from the end. */
    const int64_t last = steps - 1, half = steps / 2;
    const double parts = rounded((double)last, dtype);
    const double step = rounded(rounded(end - start, dtype) / parts, dtype);
    for (int64_t i = 0; i < half; i++) {
        heed_set_number_at(t, i, on_line(start, step, i, dtype));
    }
    for (int64_t i = half; i <= last; i++) {
        heed_set_number_at(t, i, on_line(end, -step, last - i, dtype));
    }
    return t;
}
