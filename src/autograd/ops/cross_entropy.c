/* Classification losses: nll_loss and its derivative nll_weights; cross_entropy, which is
 * log_softmax followed by nll_loss for class ids, or a sum of products for class probabilities. The
 * sums over targets are in tensor/class_losses.c.
 *
 * nll_loss is linear in log_probs. Its derivative, nll_weights, is minus the weight that a target
 * gives each class, and does not depend on log_probs. With class ids, cross_entropy is one fused
 * operation: it does not save log-probabilities, but two numbers per row from which the gradient
 * recomputes the probabilities. */

#include "cross_entropy.h"

#include <math.h>

#include "../../tensor/class_losses.h"
#include "../../tensor/create.h"
#include "../../tensor/map.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../apply.h"
#include "elementwise.h"
#include "loss_options.h"
#include "masking.h"
#include "operand_checks.h"
#include "softmax.h"
#include "view.h"

/* ---- checks of class ids ---- */

/* The class dim of x (C), (N, C) or (N, C, d...). */
static int class_dim(const heed_tensor *x)
{
    return x->ndim > 1;
}

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
    return heed_fail(HEED_ERR_SHAPE, "%s: targets %s do not fit %s, whose class dim is %d%s",
                     function, HEED_TEXT(targets), HEED_TEXT(x), class_dim(x),
                     last ? "; if the classes are in the last dim, heed_reshape the scores to "
                            "(-1, C) and the targets to (-1)"
                          : "");
}

/* weight must have one number per class of x, in x's dtype; NULL: no weights. */
static heed_status check_weight(const char *function, const heed_tensor *weight,
                                const heed_tensor *x)
{
    const int64_t classes = x->shape[class_dim(x)];
    if (weight == NULL) {
        return HEED_OK;
    }
    if (heed_check_tensor(function, "weight", weight) != HEED_OK) {
        return heed_self.error;
    }
    if (weight->ndim != 1 || weight->shape[0] != classes) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: weight %s does not fit %s; it must have one number per class: (%lld)",
                         function, HEED_TEXT(weight), HEED_TEXT(x), (long long)classes);
    }
    if (weight->dtype != x->dtype) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: weight is %s, but the input is %s; cast weight with heed_to",
                         function, heed_dtype_name(weight->dtype), heed_dtype_name(x->dtype));
    }
    return HEED_OK;
}

static heed_shape shape_of_losses(const heed_nll_args *args, const heed_tensor *targets)
{
    return args->reduction == HEED_NONE ? heed_shape_of_tensor(targets) : HEED_SCALAR;
}

/* Checks the inputs against each other. weight may be NULL. */
static heed_status check_nll(const heed_nll_args *args, const heed_tensor *log_probs,
                             const heed_tensor *targets, const heed_tensor *weight)
{
    const char *function = args->function;
    if (!heed_is_float(log_probs->dtype) || targets->dtype != HEED_I64) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: %s with %s targets; it takes a float with i64 targets", function,
                         heed_dtype_name(log_probs->dtype), heed_dtype_name(targets->dtype));
    }
    if (check_shapes(function, log_probs, targets) != HEED_OK ||
        check_weight(function, weight, log_probs) != HEED_OK) {
        return heed_self.error;
    }
    if (weight != NULL && weight->requires_grad && !heed_self.grad_disabled) {
        return heed_fail(
            HEED_ERR_GRAPH,
            "%s: weight %s requires a gradient, but class weights do not get one; heed_detach it",
            function, HEED_TEXT(weight));
    }
    return heed_check_reduction(function, args->reduction);
}

/* Fills *c from tensors that have been checked. HEED_ERR_INDEX: a target is not a class of x. */
static heed_status find_targets(const heed_nll_args *args, const heed_tensor *x,
                                heed_tensor *targets, heed_tensor *weight, heed_class_targets *c)
{
    *c = (heed_class_targets){.count = targets->numel,
                              .classes = x->shape[class_dim(x)],
                              .inner = 1,
                              .ignored = args->ignore_index,
                              .smoothing = args->label_smoothing,
                              .divisor = 1};
    for (int i = 2; i < x->ndim && c->count > 0;
         i++) { /* without targets, the product of d... could overflow */
        c->inner *= x->shape[i];
    }
    c->target = heed_const_data_i64(heed_contiguous(targets));
    c->weight = weight != NULL ? heed_contiguous(weight) : NULL;
    if (heed_blocked()) {
        return heed_self.error;
    }
    for (int64_t i = 0; i < c->count; i++) {
        if (c->target[i] != c->ignored &&
            heed_check_index(args->function, "target", c->target[i], i, c->classes) != HEED_OK) {
            return heed_self.error;
        }
    }
    if (args->reduction == HEED_MEAN) { /* NaN if all targets are ignored */
        const double total = heed_weigh_targets(c);
        c->divisor = total != 0 ? total : (double)NAN;
    }
    return HEED_OK;
}

/* The target to ignore: the option's value, or torch's default for ignore_index. */
static int64_t ignored_or_default(const int64_t *ignored_target)
{
    return ignored_target != NULL ? *ignored_target : -100;
}

/* The optional last input, class weights; NULL if absent. */
static heed_tensor *weight_of(heed_tensor *const *inputs, int count, int place)
{
    return count > place ? inputs[place] : NULL;
}

/* ---- nll_weights: dloss / dlog_probs; for HEED_NONE, loss is each target's own loss ---- */

static heed_status nll_weights_rule(const heed_call *call, heed_result *result)
{
    (void)result;
    if (call->count < 2 || call->count > 3) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: %d tensors; it takes log_probs, targets and optionally weight",
                         call->op->name, call->count);
    }
    return check_nll(call->args, call->inputs[0], call->inputs[1],
                     weight_of(call->inputs, call->count, 2));
}

static heed_status find_targets_of_nll(const heed_call *call, heed_class_targets *c)
{
    return find_targets(call->args, call->inputs[0], call->inputs[1],
                        weight_of(call->inputs, call->count, 2), c);
}

static heed_status nll_weights_forward(const heed_call *call, heed_tensor *y)
{
    heed_class_targets c;
    if (find_targets_of_nll(call, &c) == HEED_OK) {
        heed_fill_elements(y, 0);
        heed_subtract_class_weights(&c, y);
    }
    return heed_self.error;
}

HEED_OPERATION(nll_weights) = {.name = "nll_weights",
                               .inputs = HEED_ANY_COUNT,
                               .args = HEED_NLL_ARGS,
                               .rule = nll_weights_rule,
                               .forward = nll_weights_forward};

/* g times nll_weights. Reads only the shape of log_probs. */
static heed_tensor *nll_gradient(heed_tensor *g, heed_tensor *log_probs, heed_tensor *targets,
                                 heed_tensor *weight, const heed_nll_args *args)
{
    heed_tensor *inputs[] = {log_probs, targets, weight};
    heed_tensor *weights =
        heed_apply(&op_nll_weights, inputs, weight != NULL ? 3 : 2, args, sizeof *args);
    if (args->reduction == HEED_NONE) { /* ignored targets get 0, even if their g is NaN */
        heed_tensor *ignored = heed_from_i64(&args->ignore_index, HEED_SCALAR);
        ignored = heed_eq(targets, ignored);
        g = heed_unsqueeze(heed_masked_fill(g, ignored, 0), class_dim(log_probs));
    }
    return heed_mul(g, weights);
}

/* ---- nll_loss ---- */

static heed_status nll_loss_rule(const heed_call *call, heed_result *result)
{
    if (nll_weights_rule(call, result) != HEED_OK) {
        return heed_self.error;
    }
    result->shape = shape_of_losses(call->args, call->inputs[1]);
    return HEED_OK;
}

static heed_status nll_loss_forward(const heed_call *call, heed_tensor *y)
{
    const heed_nll_args *args = call->args;
    heed_class_targets c;
    heed_tensor *log_probs = heed_contiguous(call->inputs[0]);
    if (log_probs != NULL && find_targets_of_nll(call, &c) == HEED_OK) {
        heed_add_up_class_losses(&c, log_probs, NULL, args->reduction == HEED_NONE, y);
    }
    return heed_self.error;
}

static void nll_loss_backward(const heed_vjp *v)
{
    v->grads[0] = nll_gradient(v->g, v->inputs[0], v->inputs[1],
                               weight_of(v->inputs, v->y->input_count, 2), v->args);
}

HEED_OPERATION(nll_loss) = {
    .name = "nll_loss",
    .inputs = HEED_ANY_COUNT,
    .args = HEED_NLL_ARGS,
    .rule = nll_loss_rule,
    .forward = nll_loss_forward,
    .backward = nll_loss_backward,
    .saves = {HEED_SAVES_INPUT(0) | HEED_SAVES_INPUT(1) | HEED_SAVES_INPUT(2)}};

heed_tensor *heed_nll_loss_with(heed_tensor *log_probs, heed_tensor *targets,
                                heed_nll_options options)
{
    const heed_nll_args args = {
        .ignore_index = ignored_or_default(options.ignored_target),
        .function = "nll_loss",
        .reduction = options.reduction,
    };
    heed_tensor *inputs[] = {log_probs, targets, options.weight};
    return heed_apply(&op_nll_loss, inputs, options.weight != NULL ? 3 : 2, &args, sizeof args);
}

heed_tensor *heed_nll_loss(heed_tensor *log_probs, heed_tensor *targets)
{
    return heed_nll_loss_with(log_probs, targets, (heed_nll_options){0});
}

/* ---- the operation cross_entropy, for class ids ---- */

static const char name[] = "cross_entropy";

/* Inputs: logits, targets, totals and optionally weight. totals (N, 2) f64 contains the max and the
 * sum of e^(x - max) of each row of logits. */
static heed_status rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *logits = call->inputs[0];
    const heed_tensor *totals = call->count > 2 ? call->inputs[2] : NULL;
    if (totals == NULL || call->count > 4 || logits->ndim > 2 || totals->dtype != HEED_F64 ||
        totals->numel != 2 * call->inputs[1]->numel || !heed_is_contiguous(totals)) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: the %d input tensors were not prepared by heed_cross_entropy",
                         call->op->name, call->count);
    }
    if (check_nll(call->args, logits, call->inputs[1], weight_of(call->inputs, call->count, 3)) !=
        HEED_OK) {
        return heed_self.error;
    }
    result->shape = shape_of_losses(call->args, call->inputs[1]);
    return HEED_OK;
}

static heed_status forward(const heed_call *call, heed_tensor *y)
{
    const heed_nll_args *args = call->args;
    heed_tensor *logits = heed_contiguous(call->inputs[0]);
    heed_tensor *weight = weight_of(call->inputs, call->count, 3);
    heed_class_targets c;
    if (logits != NULL && find_targets(args, logits, call->inputs[1], weight, &c) == HEED_OK) {
        heed_add_up_class_losses(&c, logits, call->inputs[2]->data, args->reduction == HEED_NONE,
                                 y);
    }
    return heed_self.error;
}

static void backward(const heed_vjp *v)
{
    heed_tensor *logits = v->inputs[0], *targets = v->inputs[1];
    heed_tensor *weight = weight_of(v->inputs, v->y->input_count, 3);
    if (heed_grad_enabled()) { /* the gradient of nll_loss, taken through log_softmax */
        const int dim = class_dim(logits);
        heed_tensor *g = nll_gradient(v->g, logits, targets, weight, v->args);
        v->grads[0] = heed_sub(g, heed_mul(heed_softmax(logits, dim), heed_sum_dim(g, dim, true)));
        return;
    }
    heed_tensor *g = heed_contiguous(v->g), *dx = heed_empty_like(logits);
    heed_class_targets c;
    logits = heed_contiguous(logits);
    if (!heed_blocked() && find_targets(v->args, logits, targets, weight, &c) == HEED_OK) {
        heed_cross_entropy_gradient(&c, logits, v->inputs[2]->data, g, dx);
        v->grads[0] = dx;
    }
}

HEED_OPERATION(cross_entropy) = {.name = "cross_entropy",
                                 .inputs = HEED_ANY_COUNT,
                                 .args = HEED_NLL_ARGS,
                                 .rule = rule,
                                 .forward = forward,
                                 .backward = backward,
                                 .saves = {HEED_SAVES_INPUT(0) | HEED_SAVES_INPUT(1) |
                                           HEED_SAVES_INPUT(2) | HEED_SAVES_INPUT(3)}};

/* ---- cross_entropy with class ids ---- */

/* The third input of the operation. */
static heed_tensor *totals_of(heed_tensor *logits)
{
    if (logits == NULL) {
        return NULL;
    }
    const char *outer = heed_self.operation;
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_self.operation = name; /* named in errors */
    heed_tensor *totals =
        heed_empty(HEED_SHAPE(logits->ndim > 1 ? logits->shape[0] : 1, 2), HEED_F64);
    const heed_tensor *rows = heed_contiguous(logits);
    if (!heed_blocked()) {
        heed_sum_exponentials(rows, totals->data);
    }
    heed_self.operation = outer;
    return heed_scope_end_with(&scope, totals);
}

/* logits (N, C, d...) rearranged to (N d..., C). */
static heed_tensor *with_classes_last(heed_tensor *logits, int64_t count)
{
    const int64_t classes = logits->shape[class_dim(logits)];
    heed_dims dims = {.count = logits->ndim};
    for (int i = 0; i < logits->ndim; i++) {
        dims.dim[i] = i == 0 ? 0 : i + 1 < logits->ndim ? i + 1 : 1;
    }
    return heed_reshape(heed_permute(logits, dims), HEED_SHAPE(count, classes));
}

static heed_tensor *of_ids(heed_tensor *logits, heed_tensor *targets,
                           const heed_cross_entropy_options *options)
{
    const heed_nll_args args = {
        .ignore_index = ignored_or_default(options->ignored_target),
        .label_smoothing = options->label_smoothing,
        .function = name,
        .reduction = options->reduction,
    };
    if (check_nll(&args, logits, targets, options->weight) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    const heed_shape shape = shape_of_losses(&args, targets);
    const bool several = logits->ndim > 2;
    if (several) {
        logits = with_classes_last(logits, targets->numel);
        targets = heed_reshape(targets, HEED_SHAPE(targets->numel));
    }
    heed_tensor *inputs[] = {logits, targets, totals_of(logits), options->weight};
    heed_tensor *loss =
        heed_apply(&op_cross_entropy, inputs, options->weight != NULL ? 4 : 3, &args, sizeof args);
    return heed_scope_end_with(&scope, several ? heed_reshape(loss, shape) : loss);
}

/* ---- cross_entropy with class probabilities ---- */

static heed_status check_probabilities(const heed_tensor *logits, const heed_tensor *targets,
                                       const heed_cross_entropy_options *options)
{
    if (logits->ndim == 0 || !heed_same_shape(logits, targets)) {
        return heed_fail(
            HEED_ERR_SHAPE,
            "%s: targets %s are %s and logits are %s: float targets are class probabilities and "
            "must have the same shape as logits; class ids must be i64: heed_to(targets, HEED_I64)",
            name, HEED_TEXT(targets), heed_dtype_name(targets->dtype), HEED_TEXT(logits));
    }
    if (logits->dtype != targets->dtype) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: %s with %s targets; it takes a float with probabilities of the same "
                         "dtype or with i64 class ids",
                         name, heed_dtype_name(logits->dtype), heed_dtype_name(targets->dtype));
    }
    if (options->ignored_target != NULL && *options->ignored_target >= 0) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: ignored_target %lld is not supported because targets %s are class "
                         "probabilities; fill the rows to ignore with zeros instead",
                         name, (long long)*options->ignored_target, HEED_TEXT(targets));
    }
    return check_weight(name, options->weight, logits);
}

static heed_tensor *of_probabilities(heed_tensor *logits, heed_tensor *targets,
                                     const heed_cross_entropy_options *options)
{
    const int dim = class_dim(logits);
    const double smoothing = options->label_smoothing;
    if (check_probabilities(logits, targets, options) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    if (smoothing > 0) {
        targets = heed_add_scalar(heed_mul_scalar(targets, 1 - smoothing),
                                  smoothing / (double)logits->shape[dim]);
    }
    heed_tensor *products = heed_mul(heed_log_softmax(logits, dim), targets);
    if (options->weight != NULL) {
        heed_shape shape = heed_shape_of_tensor(options->weight); /* (C, 1...) */
        for (int i = dim + 1; i < logits->ndim; i++) {
            shape.size[shape.ndim++] = 1;
        }
        products = heed_mul(products, heed_reshape(options->weight, shape));
    }
    heed_tensor *losses = heed_neg(heed_sum_dim(products, dim, false));
    return heed_scope_end_with(&scope, heed_reduce_losses(losses, options->reduction));
}

/* ---- cross_entropy ---- */

heed_tensor *heed_cross_entropy_with(heed_tensor *logits, heed_tensor *targets,
                                     heed_cross_entropy_options options)
{
    if (heed_check_operand(name, "logits", logits) != HEED_OK ||
        heed_check_tensor(name, "targets", targets) != HEED_OK ||
        heed_check_probability(name, "label_smoothing", options.label_smoothing) != HEED_OK ||
        heed_check_reduction(name, options.reduction) != HEED_OK) {
        return NULL;
    }
    return heed_is_float(targets->dtype) ? of_probabilities(logits, targets, &options)
                                         : of_ids(logits, targets, &options);
}

heed_tensor *heed_cross_entropy(heed_tensor *logits, heed_tensor *targets)
{
    return heed_cross_entropy_with(logits, targets, (heed_cross_entropy_options){0});
}
