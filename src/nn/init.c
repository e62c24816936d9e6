/* Initialisers. Bounds and standard deviations are computed in double, as in torch, and cast by the
 * generator. */
#include "init.h"

#include <math.h>

#include "../autograd/ops/elementwise.h"
#include "../autograd/ops/reductions.h"
#include "../tensor/create.h"
#include "../tensor/random/random.h"
#include "../tensor/read.h"
#include "../tensor/scope.h"
#include "arguments.h"

static heed_status check_float(const char *function, const heed_tensor *w)
{
    const heed_status status = heed_check_not_null(function, "w", w);
    return status != HEED_OK || heed_is_float(w->dtype)
               ? status
               : heed_fail(HEED_ERR_DTYPE, "%s: w is %s, not a float", function,
                           heed_dtype_name(w->dtype));
}

static heed_status check(const char *function, const heed_tensor *w)
{
    if (check_float(function, w) == HEED_OK && w->ndim != 2) {
        heed_fail(HEED_ERR_SHAPE, "%s: w has %d dims, not 2: (fan_out, fan_in)", function, w->ndim);
    }
    return heed_error_pending();
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

/* ---- truncated normal numbers: rejection sampling, in the order of PyTorch 2.15 ---- */

typedef struct truncation {
    double mean, std, a, b;
    bool draws_normal; /* draws normal numbers; else uniform ones in [a, b] */
} truncation;

/* The share of the normal distribution between its mean and x; negative if x is below the mean. */
static double normal_share(const truncation *t, double x)
{
    return erf((x - t->mean) / t->std / sqrt(2)) / 2;
}

/* The logarithm of the density at x relative to its maximum in [a, b]. */
static heed_tensor *log_density(const truncation *t, heed_tensor *x)
{
    const double mode = fmin(fmax(t->mean, t->a), t->b), peak = (mode - t->mean) / t->std;
    x = heed_div_scalar(heed_sub_scalar(x, t->mean), t->std);
    return heed_sub_scalar(heed_mul_scalar(heed_square(x), -0.5), -0.5 * peak * peak);
}

/* Draws all elements of w, copies the pending ones to `chosen`, and clears `pending` where they are
 * accepted. Returns the number of pending elements. */
static int64_t draw_pending(const truncation *t, heed_tensor *w, heed_tensor *chosen,
                            heed_tensor *pending)
{
    heed_tensor *refused;
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    if (t->draws_normal) {
        heed_normal_into(w, t->mean, t->std);
        refused = heed_logical_or(heed_lt_scalar(w, t->a), heed_gt_scalar(w, t->b));
        heed_copy_into(chosen, heed_where(pending, w, chosen));
    } else {
        heed_uniform_into(w, t->a, t->b);
        heed_tensor *density = log_density(t, w);
        heed_copy_into(chosen, heed_where(pending, w, chosen));
        heed_uniform_into(w, 0, 1);
        refused = heed_gt(heed_log(w), density);
    }
    heed_copy_into(pending, heed_logical_and(pending, refused));
    const int64_t left = heed_item_i64(heed_sum(pending));
    heed_scope_end(&scope);
    return left;
}

static heed_status fill_truncated(const truncation *t, heed_tensor *w)
{
    enum { MOST_ROUNDS = 10000 }; /* enough if one number in 500 is accepted */
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_tensor *chosen = heed_empty_like(w);
    heed_tensor *pending = heed_ones(heed_shape_of_tensor(w), HEED_BOOL);
    int64_t left = w->numel;
    for (int round = 0; left > 0 && round < MOST_ROUNDS && !heed_error_pending(); round++) {
        left = draw_pending(t, w, chosen, pending);
    }
    if (left > 0) {
        heed_fail(HEED_ERR_VALUE,
                  "trunc_normal_into: [%g, %g] is too wide, and too far from mean %g for std %g; "
                  "choose b closer to a",
                  t->a, t->b, t->mean, t->std);
    }
    heed_copy_into(w, chosen);
    heed_scope_end(&scope);
    return heed_error_pending();
}

heed_status heed_trunc_normal_into(heed_tensor *w, double mean, double std, double a, double b)
{
    static const char name[] = "trunc_normal_into";
    truncation t = {mean, std, a, b, true};
    if (check_float(name, w) != HEED_OK) {
        return heed_error_pending();
    }
    if (!isfinite(mean) || !(std > 0) || isinf(std)) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: mean %g, std %g; they must be finite, and std above 0", name, mean,
                         std);
    }
    if (!(a <= b)) {
        return heed_fail(HEED_ERR_VALUE, "%s: a %g, b %g; a must not be above b", name, a, b);
    }
    t.draws_normal = normal_share(&t, b) - normal_share(&t, a) > 0.3;
    if (!t.draws_normal && !isfinite(b - a)) {
        return heed_fail(
            HEED_ERR_VALUE,
            "%s: [%g, %g] is unbounded, and too far from mean %g for std %g; choose finite a and b",
            name, a, b, mean, std);
    }
    return fill_truncated(&t, w);
}
