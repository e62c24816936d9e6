/* sum, mean, and the sum that undoes broadcasting. */
#include "../../tensor/check.h"
#include "../../tensor/reduce.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "reduce.h"

#include "elementwise.h"
#include "reduction.h"
#include "shape.h"

/* ---- sum, mean ---- */

static heed_status sum_rule(const heed_call *call, heed_result *result)
{
    result->dtype = heed_is_float(result->dtype) ? result->dtype : HEED_I64;
    return heed_reduction_rule(call, result);
}

static heed_status sum_forward(const heed_call *call, heed_tensor *y)
{
    unsigned set;
    if (heed_reduced_dims(call, &set) == HEED_OK) {
        heed_sum_elements(call->inputs[0], set, 1, y);
    }
    return heed_self.error;
}

static heed_status mean_forward(const heed_call *call, heed_tensor *y)
{
    const heed_tensor *x = call->inputs[0];
    unsigned set;
    if (heed_reduced_dims(call, &set) == HEED_OK) {
        heed_sum_elements(x, set, heed_count_reduced(x, set), y);
    }
    return heed_self.error;
}

static void sum_backward(const heed_vjp *v)
{
    v->grads[0] = heed_spread(v, v->g);
}

static void mean_backward(const heed_vjp *v)
{
    v->grads[0] = heed_spread(v, heed_div_scalar(v->g, heed_count_of_node(v)));
}

HEED_OPERATION(sum) = {
    .name = "sum", .inputs = 1, .rule = sum_rule, .forward = sum_forward, .backward = sum_backward};

HEED_OPERATION(mean) = {.name = "mean",
                        .inputs = 1,
                        .rule = heed_float_reduction_rule,
                        .forward = mean_forward,
                        .backward = mean_backward};

HEED_REDUCTION_FORMS(sum)
HEED_REDUCTION_FORMS(mean)

/* ---- sum_to ---- */

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
