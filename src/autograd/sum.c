/* sum, mean, and the sum that undoes broadcasting. */
#include "autograd/reduce.h"

#include "autograd/elementwise.h"
#include "autograd/op.h"
#include "autograd/shape.h"
#include "tensor/iterate.h"

/* ---- sum, mean ---- */

typedef struct sum_args {
    heed_dims dims; /* none: all */
    bool keepdim;
} sum_args;

static heed_status summed_dims(const heed_call *call, unsigned *set)
{
    const sum_args *args = call->args;
    const heed_tensor *x = call->inputs[0];
    if (heed_wrap_dims(call->op->name, args->dims, x->ndim, set) != HEED_OK) {
        return heed_self.error;
    }
    if (args->dims.count == 0) {
        *set = (1u << x->ndim) - 1;
    }
    return HEED_OK;
}

static heed_status sum_rule(const heed_call *call, heed_result *result)
{
    const sum_args *args = call->args;
    const heed_tensor *x = call->inputs[0];
    unsigned set;
    if (summed_dims(call, &set) != HEED_OK) {
        return heed_self.error;
    }
    result->dtype = heed_is_float(x->dtype) ? x->dtype : HEED_I64;
    result->shape.ndim = 0;
    for (int i = 0; i < x->ndim; i++) {
        bool summed = set >> i & 1;
        if (!summed || args->keepdim) {
            result->shape.size[result->shape.ndim++] = summed ? 1 : x->shape[i];
        }
    }
    return HEED_OK;
}

static heed_status mean_rule(const heed_call *call, heed_result *result)
{
    if (heed_expect_float(call, 0) != HEED_OK) {
        return heed_self.error;
    }
    return sum_rule(call, result);
}

/* How many elements of x go into one sum. */
static double count_summed(const heed_tensor *x, unsigned set)
{
    double count = 1;
    for (int i = 0; i < x->ndim; i++) {
        count *= set >> i & 1 ? (double)x->shape[i] : 1;
    }
    return count;
}

static heed_status sum_forward(const heed_call *call, heed_tensor *y)
{
    unsigned set;
    heed_status status = summed_dims(call, &set);
    heed_sum_elements(call->inputs[0], set, 1, y);
    return status;
}

static heed_status mean_forward(const heed_call *call, heed_tensor *y)
{
    unsigned set;
    heed_status status = summed_dims(call, &set);
    heed_sum_elements(call->inputs[0], set, count_summed(call->inputs[0], set), y);
    return status;
}

/* g in the shape of the input: the summed dims come back with size 1, then they repeat. */
static heed_tensor *spread(const heed_vjp *v, double *count)
{
    const heed_tensor *x = v->inputs[0];
    const heed_call call = {v->y->op, v->inputs, 1, v->args};
    heed_shape shape = heed_shape_of_tensor(x), kept = shape;
    unsigned set;
    if (summed_dims(&call, &set) != HEED_OK) {
        return NULL;
    }
    for (int i = 0; i < x->ndim; i++) {
        kept.size[i] = set >> i & 1 ? 1 : kept.size[i];
    }
    *count = count_summed(x, set);
    return heed_expand(heed_reshape(v->g, kept), shape);
}

static void sum_backward(const heed_vjp *v)
{
    double count;
    v->grads[0] = spread(v, &count);
}

static void mean_backward(const heed_vjp *v)
{
    double count;
    heed_tensor *g = spread(v, &count);
    v->grads[0] = heed_div_scalar(g, count);
}

HEED_OPERATION(sum) = {
    .name = "sum", .inputs = 1, .rule = sum_rule, .forward = sum_forward, .backward = sum_backward};

HEED_OPERATION(mean) = {.name = "mean",
                        .inputs = 1,
                        .rule = mean_rule,
                        .forward = mean_forward,
                        .backward = mean_backward};

heed_tensor *heed_sum_dims(heed_tensor *x, heed_dims dims, bool keepdim)
{
    const sum_args args = {dims, keepdim};
    return heed_apply(&op_sum, &x, 1, &args, sizeof args);
}

heed_tensor *heed_sum_dim(heed_tensor *x, int dim, bool keepdim)
{
    return heed_sum_dims(x, HEED_DIMS(dim), keepdim);
}

heed_tensor *heed_sum(heed_tensor *x)
{
    return heed_sum_dims(x, (heed_dims){0, {0}}, false);
}

heed_tensor *heed_mean_dims(heed_tensor *x, heed_dims dims, bool keepdim)
{
    const sum_args args = {dims, keepdim};
    return heed_apply(&op_mean, &x, 1, &args, sizeof args);
}

heed_tensor *heed_mean_dim(heed_tensor *x, int dim, bool keepdim)
{
    return heed_mean_dims(x, HEED_DIMS(dim), keepdim);
}

heed_tensor *heed_mean(heed_tensor *x)
{
    return heed_mean_dims(x, (heed_dims){0, {0}}, false);
}

heed_tensor *heed_sum_to(heed_tensor *x, heed_shape shape)
{
    if (heed_blocked() || heed_check_tensor("sum_to", "x", x) != HEED_OK) {
        return NULL;
    }
    heed_dims repeated = {0, {0}};
    const int added = x->ndim - shape.ndim;
    bool fits = added >= 0 && shape.ndim >= 0;
    for (int i = 0; fits && i < x->ndim; i++) {
        bool repeats = i < added || (shape.size[i - added] == 1 && x->shape[i] != 1);
        fits = repeats || shape.size[i - added] == x->shape[i];
        if (repeats) {
            repeated.dim[repeated.count++] = i;
        }
    }
    if (!fits) {
        heed_fail(HEED_ERR_SHAPE, "sum_to: %s does not broadcast to x %s",
                  heed_shape_text(shape.ndim, shape.size).text, HEED_TEXT(x));
        return NULL;
    }
    return repeated.count > 0 ? heed_reshape(heed_sum_dims(x, repeated, false), shape) : x;
}
