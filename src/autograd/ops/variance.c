/* var and std: how far elements lie from their mean. */
#include "../../tensor/reduce.h"
#include "../../tensor/thread.h"
#include "elementwise.h"
#include "reduce.h"
#include "reduction.h"

typedef struct var_args {
    heed_reduce_args reduction;
    int correction;
} var_args;

/* torch divides by 0 where the correction leaves nothing, not by less; and the spread of nothing is
 * NaN, whatever the correction. */
static heed_status fold(const heed_call *call, bool root, heed_tensor *y)
{
    const heed_tensor *x = call->inputs[0];
    unsigned set;
    if (heed_reduced_dims(call, &set) != HEED_OK) {
        return heed_self.error;
    }
    const double count = heed_count_reduced(x, set);
    const double left = count - ((const var_args *)call->args)->correction;
    const heed_var_args args = {count > 0 && left > 0 ? left : 0, root};
    return heed_fold(heed_kernels_for(x->dtype)->var, &args, x->dtype, x, set, y);
}

static heed_status var_forward(const heed_call *call, heed_tensor *y)
{
    return fold(call, false, y);
}

static heed_status std_forward(const heed_call *call, heed_tensor *y)
{
    return fold(call, true, y);
}

/* dL/dx, given g = dL/dvar: the mean moves with x, but that cancels. */
static heed_tensor *gradient(const heed_vjp *v, heed_tensor *g)
{
    const var_args *args = v->args;
    heed_tensor *x = v->inputs[0];
    heed_tensor *scaled = heed_mul_scalar(g, 2 / (heed_count_of_node(v) - args->correction));
    heed_tensor *mean = heed_mean_dims(x, args->reduction.dims, true);
    return heed_mul(heed_keep_dims(v, scaled), heed_sub(x, mean));
}

static void var_backward(const heed_vjp *v)
{
    v->grads[0] = gradient(v, v->g);
}

/* dvar = g / (2 std), but 0 where std is 0, as torch has it. */
static void std_backward(const heed_vjp *v)
{
    heed_tensor *flat = heed_eq_scalar(v->y, 0);
    heed_tensor *slope = heed_div(v->g, heed_mul_scalar(heed_masked_fill(v->y, flat, 1), 2));
    v->grads[0] = gradient(v, heed_masked_fill(slope, flat, 0));
}

HEED_OPERATION(var) = {.name = "var",
                       .inputs = 1,
                       .rule = heed_float_reduction_rule,
                       .forward = var_forward,
                       .backward = var_backward,
                       .saves = {HEED_SAVES_INPUT(0)}};

HEED_OPERATION(std) = {.name = "std",
                       .inputs = 1,
                       .rule = heed_float_reduction_rule,
                       .forward = std_forward,
                       .backward = std_backward,
                       .saves = {HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT}};

#define FORMS(name)                                                                                \
    heed_tensor *heed_##name##_dims(heed_tensor *x, heed_dims dims, int correction, bool keepdim)  \
    {                                                                                              \
        const var_args args = {{dims, keepdim}, correction};                                       \
        return heed_apply(&op_##name, &x, 1, &args, sizeof args);                                  \
    }                                                                                              \
    heed_tensor *heed_##name##_dim(heed_tensor *x, int dim, int correction, bool keepdim)          \
    {                                                                                              \
        return heed_##name##_dims(x, HEED_DIMS(dim), correction, keepdim);                         \
    }                                                                                              \
    heed_tensor *heed_##name(heed_tensor *x)                                                       \
    {                                                                                              \
        return heed_##name##_dims(x, HEED_ALL_DIMS, 1, false);                                     \
    }
FORMS(var)
FORMS(std)
