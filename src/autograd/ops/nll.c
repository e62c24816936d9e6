/* nll_loss and its derivative, nll_weights.
 *
 * The targets choose a weight for each place of log_probs: w_t at the class t that a target names,
 * 0 elsewhere. The loss is the sum of log_probs times these, divided by the sum of all w_t for the
 * mean, with a minus before it. So the weights are also its derivative, and do not depend on
 * log_probs. Label smoothing (cross_entropy's) shares a part of each weight among all classes. */
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/iterate.h"
#include "../../tensor/read.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "elementwise.h"
#include "loss_parts.h"
#include "shape.h"

/* ---- checks ---- */

static heed_status check_shapes(const char *function, const heed_tensor *x,
                                const heed_tensor *targets)
{
    bool fits = x->ndim >= 1 && targets->ndim == x->ndim - 1;
    for (int i = 0; fits && i < targets->ndim; i++) {
        fits = targets->shape[i] == x->shape[i == 0 ? 0 : i + 1];
    }
    if (fits) {
        return HEED_OK;
    }
    bool last = x->ndim == 3 && targets->ndim == 2 && targets->shape[0] == x->shape[0] &&
                targets->shape[1] == x->shape[1];
    return heed_fail(HEED_ERR_SHAPE, "%s: targets %s do not fit %s, whose classes are dim %d%s",
                     function, HEED_TEXT(targets), HEED_TEXT(x), heed_class_dim(x),
                     last ? "; are they the last? heed_reshape both to (-1, C) and (-1)" : "");
}

heed_status heed_check_weight(const char *function, const heed_tensor *weight, const heed_tensor *x)
{
    const int64_t classes = x->shape[heed_class_dim(x)];
    if (weight == NULL) {
        return HEED_OK;
    }
    if (heed_check_tensor(function, "weight", weight) != HEED_OK) {
        return heed_self.error;
    }
    if (weight->ndim != 1 || weight->shape[0] != classes) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: weight %s for %s; it must have one number per class, (%lld)",
                         function, HEED_TEXT(weight), HEED_TEXT(x), (long long)classes);
    }
    if (weight->dtype != x->dtype) {
        return heed_fail(HEED_ERR_DTYPE, "%s: weight is %s for %s; heed_to casts it", function,
                         heed_dtype_name(weight->dtype), heed_dtype_name(x->dtype));
    }
    return HEED_OK;
}

heed_shape heed_shape_of_losses(const heed_nll_args *args, const heed_tensor *targets)
{
    return args->reduction == HEED_NONE ? heed_shape_of_tensor(targets) : HEED_SCALAR;
}

heed_status heed_check_nll(const heed_nll_args *args, const heed_tensor *log_probs,
                           const heed_tensor *targets, const heed_tensor *weight)
{
    const char *function = args->function;
    if (!heed_is_float(log_probs->dtype) || targets->dtype != HEED_I64) {
        return heed_fail(HEED_ERR_DTYPE, "%s: %s with targets of %s; a float with targets of i64",
                         function, heed_dtype_name(log_probs->dtype),
                         heed_dtype_name(targets->dtype));
    }
    if (check_shapes(function, log_probs, targets) != HEED_OK ||
        heed_check_weight(function, weight, log_probs) != HEED_OK) {
        return heed_self.error;
    }
    if (weight != NULL && weight->requires_grad && !heed_self.grad_disabled) {
        return heed_fail(HEED_ERR_GRAPH,
                         "%s: weight %s requires a gradient, and there is none by the weights of "
                         "classes; heed_detach it",
                         function, HEED_TEXT(weight));
    }
    return heed_check_reduction(function, args->reduction);
}

static heed_tensor *weight_of(const heed_call *call)
{
    return call->count == 3 ? call->inputs[2] : NULL;
}

static heed_status check_call(const heed_call *call)
{
    if (call->count < 2 || call->count > 3) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: %d tensors; it takes log_probs, targets and perhaps weight",
                         call->op->name, call->count);
    }
    return heed_check_nll(call->args, call->inputs[0], call->inputs[1], weight_of(call));
}

static heed_status choose(const heed_call *call, heed_choice *c)
{
    return heed_choose(call->args, call->inputs[0], call->inputs[1], weight_of(call), c);
}

/* ---- nll_weights: dloss / dlog_probs; of NONE, that of each target's own loss ---- */

static heed_status nll_weights_rule(const heed_call *call, heed_result *result)
{
    (void)result;
    return check_call(call);
}

static heed_status nll_weights_forward(const heed_call *call, heed_tensor *y)
{
    heed_choice c;
    if (choose(call, &c) != HEED_OK) {
        return heed_self.error;
    }
    heed_fill_elements(y, 0);
    for (int64_t i = 0; i < c.count; i++) {
        heed_subtract_chosen(&c, i, 1 / c.divisor, y);
    }
    return HEED_OK;
}

HEED_OPERATION(nll_weights) = {.name = "nll_weights",
                               .inputs = HEED_ANY_COUNT,
                               .rule = nll_weights_rule,
                               .forward = nll_weights_forward};

/* ---- nll_loss ---- */

static heed_status nll_loss_rule(const heed_call *call, heed_result *result)
{
    if (check_call(call) != HEED_OK) {
        return heed_self.error;
    }
    result->shape = heed_shape_of_losses(call->args, call->inputs[1]);
    return HEED_OK;
}

static heed_status nll_loss_forward(const heed_call *call, heed_tensor *y)
{
    heed_choice c;
    heed_tensor *log_probs = heed_contiguous(call->inputs[0]);
    if (log_probs == NULL || choose(call, &c) != HEED_OK) {
        return heed_self.error;
    }
    heed_add_up_losses(&c, log_probs, NULL, y);
    return HEED_OK;
}

heed_tensor *heed_nll_gradient(heed_tensor *g, heed_tensor *log_probs, heed_tensor *targets,
                               heed_tensor *weight, const heed_nll_args *args)
{
    heed_tensor *inputs[] = {log_probs, targets, weight};
    heed_tensor *weights =
        heed_apply(&op_nll_weights, inputs, weight != NULL ? 3 : 2, args, sizeof *args);
    if (args->reduction == HEED_NONE) { /* what is ignored gets 0, whatever its g: NaN, say */
        heed_tensor *ignored = heed_from_i64(&args->ignore_index, HEED_SCALAR);
        ignored = heed_eq(targets, ignored);
        g = heed_unsqueeze(heed_masked_fill(g, ignored, 0), heed_class_dim(log_probs));
    }
    return heed_mul(g, weights);
}

static void nll_loss_backward(const heed_vjp *v)
{
    heed_tensor *weight = v->y->input_count == 3 ? v->inputs[2] : NULL;
    v->grads[0] = heed_nll_gradient(v->g, v->inputs[0], v->inputs[1], weight, v->args);
}

HEED_OPERATION(nll_loss) = {
    .name = "nll_loss",
    .inputs = HEED_ANY_COUNT,
    .rule = nll_loss_rule,
    .forward = nll_loss_forward,
    .backward = nll_loss_backward,
    .saves = {HEED_SAVES_INPUT(0) | HEED_SAVES_INPUT(1) | HEED_SAVES_INPUT(2)}};

heed_tensor *heed_nll(heed_tensor *log_probs, heed_tensor *targets, heed_tensor *weight,
                      const heed_nll_args *args)
{
    heed_tensor *inputs[] = {log_probs, targets, weight};
    return heed_apply(&op_nll_loss, inputs, weight != NULL ? 3 : 2, args, sizeof *args);
}

heed_tensor *heed_nll_loss_with(heed_tensor *log_probs, heed_tensor *targets,
                                heed_nll_options options)
{
    const heed_nll_args args = {
        .ignore_index = heed_ignored_or_default(options.ignored_target),
        .function = "nll_loss",
        .reduction = options.reduction,
    };
    return heed_nll(log_probs, targets, options.weight, &args);
}

heed_tensor *heed_nll_loss(heed_tensor *log_probs, heed_tensor *targets)
{
    return heed_nll_loss_with(log_probs, targets, (heed_nll_options){0});
}
