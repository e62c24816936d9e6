/* Vector norms: the length of lines, as the sum of powers measures it. */
#include <math.h>

#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "../../tensor/thread.h"
#include "elementwise.h"
#include "reduce.h"
#include "reduction.h"

typedef struct norm_args {
    heed_reduce_args reduction;
    double p;
} norm_args;

/* The norm of nothing is 0; but the largest size, or a power below 0, of nothing is none. */
static heed_status norm_rule(const heed_call *call, heed_result *result)
{
    const double p = ((const norm_args *)call->args)->p;
    if (heed_expect_float(call, 0) != HEED_OK) {
        return heed_self.error;
    }
    return p < 0 || isinf(p) ? heed_refuse_nothing(call, result)
                             : heed_reduction_rule(call, result);
}

static heed_status norm_forward(const heed_call *call, heed_tensor *y)
{
    const heed_norm_args args = {((const norm_args *)call->args)->p};
    return heed_fold_reduced(call, heed_kernels_for(y->dtype)->norm, &args, y->dtype, y);
}

/* p = inf, -inf: the elements whose size is the norm share the gradient, and NaN do. */
static heed_tensor *gradient_of_extreme(const heed_vjp *v)
{
    heed_tensor *x = v->inputs[0];
    heed_tensor *extreme = heed_eq(heed_abs(x), heed_keep_dims(v, v->y));
    return heed_mul(heed_sign(x), heed_divide_among(v, heed_logical_or(extreme, heed_isnan(x))));
}

/* (|x| / y)^(p - 1). Between 0 and 2 the root of each is taken before they are divided: |x| / y may
 * leave the range of floats, its root does not. */
static heed_tensor *power_of_ratio(heed_tensor *size, heed_tensor *y, double p)
{
    if (p > 0 && p < 2) {
        return heed_mul(heed_pow_scalar(size, p - 1), heed_pow_scalar(y, 1 - p));
    }
    return heed_pow_scalar(heed_div(size, y), p - 1);
}

/* dx = g sign(x) (|x| / y)^(p - 1): 0 where x is 0, and where y is. What is raised to a power is
 * kept from 0, or the second derivative would meet 0 * inf. */
static heed_tensor *gradient_of_power(const heed_vjp *v, double p)
{
    heed_tensor *x = v->inputs[0];
    heed_tensor *flat = heed_eq_scalar(v->y, 0);
    heed_tensor *g = heed_keep_dims(v, heed_masked_fill(v->g, flat, 0));
    heed_tensor *y = heed_keep_dims(v, heed_masked_fill(v->y, flat, 1));
    if (p == 2) {
        return heed_mul(g, heed_div(x, y));
    }
    heed_tensor *size = heed_abs(heed_masked_fill(x, heed_eq_scalar(x, 0), 1));
    return heed_mul(g, heed_mul(heed_sign(x), power_of_ratio(size, y, p)));
}

static void norm_backward(const heed_vjp *v)
{
    const double p = ((const norm_args *)v->args)->p;
    if (p == 1) {
        v->grads[0] = heed_mul(heed_keep_dims(v, v->g), heed_sign(v->inputs[0]));
    } else if (isinf(p)) {
        v->grads[0] = gradient_of_extreme(v);
    } else if (p == 0) { /* a count is flat */
        v->grads[0] = heed_zeros(heed_shape_of_tensor(v->inputs[0]), v->g->dtype);
    } else {
        v->grads[0] = gradient_of_power(v, p);
    }
}

HEED_OPERATION(norm) = {.name = "norm",
                        .inputs = 1,
                        .rule = norm_rule,
                        .forward = norm_forward,
                        .backward = norm_backward,
                        .saves = {HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT}};

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
