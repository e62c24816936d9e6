/* Norms, and logsumexp. */

#include <math.h>

#include "../../tensor/thread.h"
#include "elementwise.h"
#include "masking.h"
#include "reduction_rules.h"
#include "reductions.h"

/* ---- norm ---- */

typedef struct norm_args {
    heed_reduce_args reduction;
    double p;
} norm_args;

/* Without elements, the norm is 0, or undefined if p is infinite or negative. */
static heed_status norm_rule(const heed_call *call, heed_result *result)
{
    const double p = ((const norm_args *)call->args)->p;
    if (heed_expect_float(call, 0) != HEED_OK) {
        return heed_self.error;
    }
    return p < 0 || isinf(p) ? heed_nonempty_rule(call, result) : heed_reduction_rule(call, result);
}

static heed_status norm_forward(const heed_call *call, heed_tensor *y)
{
    const heed_norm_args args = {((const norm_args *)call->args)->p};
    return heed_fold_reduced(call, heed_kernels_for(y->dtype)->norm, &args, y->dtype, y);
}

/* p = inf, -inf: elements with |x| equal to the norm, and NaN elements, share the gradient. */
static heed_tensor *gradient_of_extreme(const heed_vjp *v)
{
    heed_tensor *x = v->inputs[0];
    heed_tensor *extreme = heed_eq(heed_abs(x), heed_keep_dims(v, v->y));
    return heed_mul(heed_sign(x), heed_divide_among(v, heed_logical_or(extreme, heed_isnan(x))));
}

/* (|x| / y)^(p - 1). For p between 0 and 2, |x| and y are raised to the power before the division,
 * because |x| / y may leave the range of floats, but these powers do not. */
static heed_tensor *power_of_ratio(heed_tensor *size, heed_tensor *y, double p)
{
    if (p > 0 && p < 2) {
        return heed_mul(heed_pow_scalar(size, p - 1), heed_pow_scalar(y, 1 - p));
    }
    return heed_pow_scalar(heed_div(size, y), p - 1);
}

/* dx = g sign(x) (|x| / y)^(p - 1), 0 where x or y is 0. Zeros are replaced before the power;
 * otherwise the second derivative would contain 0 * inf. Their replacement is at most y, so that
 * its ratio to y is finite. */
static heed_tensor *gradient_of_power(const heed_vjp *v, double p)
{
    heed_tensor *x = v->inputs[0];
    heed_tensor *flat = heed_eq_scalar(v->y, 0);
    heed_tensor *g = heed_keep_dims(v, heed_masked_fill(v->g, flat, 0));
    heed_tensor *y = heed_keep_dims(v, heed_masked_fill(v->y, flat, 1));
    if (p == 2) {
        return heed_mul(g, heed_div(x, y));
    }
    heed_tensor *size = heed_where(heed_eq_scalar(x, 0), heed_minimum_scalar(y, 1), heed_abs(x));
    return heed_mul(g, heed_mul(heed_sign(x), power_of_ratio(size, y, p)));
}

static void norm_backward(const heed_vjp *v)
{
    const double p = ((const norm_args *)v->args)->p;
    if (p == 1) {
        v->grads[0] = heed_mul(heed_keep_dims(v, v->g), heed_sign(v->inputs[0]));
    } else if (isinf(p)) {
        v->grads[0] = gradient_of_extreme(v);
    } else if (p != 0) { /* a count has no gradient, as in torch */
        v->grads[0] = gradient_of_power(v, p);
    }
}

HEED_REDUCTION(norm, ", double p", norm_rule, norm_forward, norm_backward, HEED_SAVES_BOTH)

heed_tensor *heed_norm_dims(heed_tensor *x, double p, heed_dims dims, bool keepdim)
{
    const norm_args args = {{dims, keepdim}, p};
    return heed_apply(&op_norm, &x, 1, &args, sizeof args);
}

heed_tensor *heed_norm_dim(heed_tensor *x, double p, int dim, bool keepdim)
{
    return heed_norm_dims(x, p, HEED_DIMS(dim), keepdim);
}

heed_tensor *heed_norm(heed_tensor *x, double p)
{
    return heed_norm_dims(x, p, HEED_ALL_DIMS, false);
}

/* ---- logsumexp ---- */

static heed_status logsumexp_rule(const heed_call *call, heed_result *result)
{
    result->dtype = heed_is_float(result->dtype) ? result->dtype : HEED_F32;
    return heed_reduction_rule(call, result);
}

static heed_status logsumexp_forward(const heed_call *call, heed_tensor *y)
{
    return heed_fold_reduced(call, heed_kernels_for(y->dtype)->logsumexp, NULL, y->dtype, y);
}

static void logsumexp_backward(const heed_vjp *v)
{
    heed_tensor *softmax = heed_exp(heed_sub(v->inputs[0], heed_keep_dims(v, v->y)));
    v->grads[0] = heed_mul(heed_keep_dims(v, v->g), softmax);
}

HEED_REDUCTION(logsumexp, "", logsumexp_rule, logsumexp_forward, logsumexp_backward,
               HEED_SAVES_BOTH)
HEED_REDUCTION_FORMS(logsumexp)
