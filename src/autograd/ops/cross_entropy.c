/* Classification losses: cross_entropy and nll_loss.
 *
 * A target t gives each class a weight: w_t to t and 0 to the others. With label smoothing s, it
 * gives (1 - s) w_t to t, plus (s / C) w_c to each class c. Its loss is minus the weighted sum of
 * the log-probabilities; an ignored target gives no weight. So nll_loss is linear in log_probs, and
 * its derivative, nll_weights, does not depend on them.
 *
 * With class ids, cross_entropy is one fused operation: it does not save log-probabilities, but two
 * numbers per row from which the gradient recomputes the probabilities. With class probabilities,
 * it is composed of other operations. */

#include "cross_entropy.h"

#include <math.h>

#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/dispatch.h"
#include "../../tensor/elements.h"
#include "../../tensor/grain.h"
#include "../../tensor/handle.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "elementwise.h"
#include "loss_options.h"
#include "masking.h"
#include "operand_checks.h"
#include "softmax.h"
#include "view.h"

/* The operations. Inputs of nll_weights and nll_loss: log_probs, targets and optionally weight. Of
 * cross_entropy: logits, targets, totals and optionally weight; forward fills totals (N, 2) f64
 * with the maximum and the sum of e^(x - max) of each row of logits, for backward. */
static heed_op op_nll_weights, op_cross_entropy;

static heed_tensor *weight_of(const heed_op *op, heed_tensor *const *inputs, int count)
{
    const int place = op == &op_cross_entropy ? 3 : 2;
    return count > place ? inputs[place] : NULL;
}

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

/* Checks the inputs against each other. weight may be NULL. */
static heed_status check_ids(const char *function, const heed_tensor *x, const heed_tensor *targets,
                             const heed_tensor *weight, heed_reduction reduction)
{
    if (!heed_is_float(x->dtype) || targets->dtype != HEED_I64) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: %s with %s targets; it takes a float with i64 targets", function,
                         heed_dtype_name(x->dtype), heed_dtype_name(targets->dtype));
    }
    if (check_shapes(function, x, targets) != HEED_OK ||
        check_weight(function, weight, x) != HEED_OK) {
        return heed_self.error;
    }
    if (weight != NULL && weight->requires_grad && !heed_self.grad_disabled) {
        return heed_fail(
            HEED_ERR_GRAPH,
            "%s: weight %s requires a gradient, but class weights do not get one; heed_detach it",
            function, HEED_TEXT(weight));
    }
    return heed_check_reduction(function, reduction);
}

static heed_status rule(const heed_call *call, heed_result *result)
{
    const bool fused = call->op == &op_cross_entropy;
    const heed_nll_args *args = call->args;
    heed_tensor *const *in = call->inputs;
    if (call->count < 2 + fused || call->count > 3 + fused) {
        return heed_fail(HEED_ERR_VALUE, "%s: %d tensors; it takes %s and optionally weight",
                         call->op->name, call->count,
                         fused ? "logits, targets, totals" : "log_probs, targets");
    }
    if (fused && (in[0]->ndim > 2 || in[2]->dtype != HEED_F64 || !heed_is_contiguous(in[2]) ||
                  in[2]->numel != 2 * in[1]->numel)) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: the %d input tensors were not prepared by heed_cross_entropy",
                         call->op->name, call->count);
    }
    if (check_ids(call->op->name, in[0], in[1], weight_of(call->op, in, call->count),
                  args->reduction) != HEED_OK) {
        return heed_self.error;
    }
    if (call->op != &op_nll_weights) {
        result->shape = args->reduction == HEED_NONE ? heed_shape_of_tensor(in[1]) : HEED_SCALAR;
    }
    return HEED_OK;
}

/* ---- targets, and the weights that they give to classes ---- */

typedef struct class_targets {
    const int64_t *target; /* `count` of them, each in [0, classes) or `ignored` */
    int64_t count, classes, ignored;
    int64_t inner;             /* elements from one class to the next: the product of d... */
    const heed_tensor *weight; /* contiguous; NULL: ones */
    double own, shared;        /* (1 - s), s / C */
    double divisor;            /* of losses and gradients: the sum of w_t for a mean, else 1 */
} class_targets;

static double class_weight(const class_targets *c, int64_t class)
{
    return c->weight != NULL ? heed_number_at(c->weight, class) : 1;
}

/* Fills *c from inputs that have been checked. HEED_ERR_INDEX: a target is not a class. */
static heed_status find_targets(const heed_op *op, heed_tensor *const *inputs, int count,
                                const heed_nll_args *args, class_targets *c)
{
    const heed_tensor *x = inputs[0];
    heed_tensor *targets = inputs[1], *weight = weight_of(op, inputs, count);
    double total = 0;
    *c = (class_targets){.count = targets->numel,
                         .classes = x->shape[class_dim(x)],
                         .ignored = args->ignore_index,
                         .inner = 1,
                         .own = 1 - args->label_smoothing,
                         .divisor = 1};
    c->shared = args->label_smoothing / (double)c->classes;
    for (int i = 2; i < x->ndim && c->count > 0; i++) {
        c->inner *= x->shape[i]; /* without targets, the product could overflow */
    }
    c->target = heed_const_data_i64(heed_contiguous(targets));
    c->weight = weight != NULL ? heed_contiguous(weight) : NULL;
    if (heed_blocked()) {
        return heed_self.error;
    }
    for (int64_t i = 0; i < c->count; i++) {
        if (c->target[i] == c->ignored) {
            continue;
        }
        if (heed_check_index(op->name, "target", c->target[i], i, c->classes) != HEED_OK) {
            return heed_self.error;
        }
        total += class_weight(c, c->target[i]);
    }
    if (args->reduction == HEED_MEAN) { /* NaN if all targets are ignored */
        c->divisor = total != 0 ? total : (double)NAN;
    }
    return HEED_OK;
}

/* The classes to which the i-th target gives weight: those from the result to *end. */
static int64_t weighted_classes(const class_targets *c, int64_t i, int64_t *end)
{
    const int64_t t = c->target[i];
    if (t == c->ignored) { /* `ignored` may be out of range */
        return *end = 0;
    }
    *end = c->shared > 0 ? c->classes : t + 1;
    return c->shared > 0 ? 0 : t;
}

static double weight_on(const class_targets *c, int64_t i, int64_t class)
{
    return (c->shared + (class == c->target[i] ? c->own : 0)) * class_weight(c, class);
}

/* The place of a class in x (N, C, d...). */
static int64_t place_of(const class_targets *c, int64_t i, int64_t class)
{
    return (i / c->inner * c->classes + class) * c->inner + i % c->inner;
}

/* y (N, C, d...) -= the i-th target's weights * factor. */
static void subtract_weights(const class_targets *c, int64_t i, double factor, heed_tensor *y)
{
    int64_t end;
    for (int64_t k = weighted_classes(c, i, &end); k < end; k++) {
        const int64_t place = place_of(c, i, k);
        heed_set_number_at(y, place, heed_number_at(y, place) - weight_on(c, i, k) * factor);
    }
}

/* The loss of the i-th target. x contains logits if `total` is given, else log-probabilities. */
static double loss_of(const class_targets *c, const heed_tensor *x, const double *total, int64_t i)
{
    double loss = 0, max = 0, log_total = 0;
    int64_t end, k = weighted_classes(c, i, &end);
    if (total != NULL && k < end) {
        max = total[0];
        log_total = log(total[1]);
    }
    for (; k < end; k++) {
        const double log_prob = heed_number_at(x, place_of(c, i, k)) - max - log_total;
        loss -= weight_on(c, i, k) * log_prob;
    }
    return loss;
}

/* ---- rows of logits, shared among threads ---- */

typedef struct logit_rows {
    const class_targets *c;
    const heed_kernels *kernels;
    const heed_tensor *x, *g; /* contiguous */
    double *totals;
    heed_tensor *dx;
} logit_rows;

static char *row_of(const heed_tensor *t, int64_t n, int64_t i)
{
    return (char *)t->data + i * n * (int64_t)heed_dtype_size(t->dtype);
}

static void sum_some(void *context, int64_t first, int64_t end)
{
    const logit_rows *w = context;
    const int64_t n = w->c->classes;
    const heed_rows rows = {.count = end - first,
                            .n = n,
                            .in = {row_of(w->x, n, first)},
                            .step = {n},
                            .out = w->totals + 2 * first,
                            .out_step = 2};
    w->kernels->exp_totals(&rows);
}

/* dx = (sum(weights) softmax(x) - weights) g / divisor; 0 if the target is ignored, even if g is
 * NaN. */
static void differentiate_some(void *context, int64_t first, int64_t end)
{
    const logit_rows *w = context;
    const class_targets *c = w->c;
    for (int64_t i = first; i < end; i++) {
        const double *total = w->totals + 2 * i;
        double weights = 0; /* total weight that the target gives to all classes */
        int64_t last, k = weighted_classes(c, i, &last);
        for (; k < last; k++) {
            weights += weight_on(c, i, k);
        }
        const double g = heed_number_at(w->g, w->g->numel > 1 ? i : 0);
        const double factor = c->target[i] == c->ignored ? 0 : g / c->divisor;
        w->kernels->scaled_exps(c->classes, row_of(w->x, c->classes, i), total[0],
                                weights * factor / total[1], row_of(w->dx, c->classes, i));
        subtract_weights(c, i, factor, w->dx);
    }
}

/* ---- the operations ---- */

static heed_status nll_weights_forward(const heed_call *call, heed_tensor *y)
{
    class_targets c;
    if (find_targets(call->op, call->inputs, call->count, call->args, &c) == HEED_OK) {
        heed_fill_elements(y, 0);
        for (int64_t i = 0; i < c.count; i++) {
            subtract_weights(&c, i, 1 / c.divisor, y);
        }
    }
    return heed_self.error;
}

/* For nll_loss and cross_entropy. */
static heed_status loss_forward(const heed_call *call, heed_tensor *y)
{
    const bool fused = call->op == &op_cross_entropy;
    const heed_nll_args *args = call->args;
    const heed_tensor *x = heed_contiguous(call->inputs[0]);
    double *totals = fused ? call->inputs[2]->data : NULL, sum = 0;
    class_targets c;
    if (x == NULL || find_targets(call->op, call->inputs, call->count, args, &c) != HEED_OK) {
        return heed_self.error;
    }
    if (fused) {
        logit_rows w = {.c = &c, .kernels = heed_kernels_for(x->dtype), .x = x, .totals = totals};
        heed_share_rows(c.count, c.classes, HEED_GRAIN_OF_ROWS, sum_some, &w);
    }
    for (int64_t i = 0; i < c.count; i++) {
        const double loss = loss_of(&c, x, fused ? totals + 2 * i : NULL, i);
        if (args->reduction == HEED_NONE) {
            heed_set_number_at(y, i, loss);
        }
        sum += loss;
    }
    if (args->reduction != HEED_NONE) {
        heed_set_number_at(y, 0, sum / c.divisor);
    }
    return HEED_OK;
}

/* g times nll_weights. Reads only the shape of input 0. */
static heed_tensor *nll_gradient(const heed_vjp *v)
{
    const heed_nll_args *args = v->args;
    heed_tensor *x = v->inputs[0], *targets = v->inputs[1], *g = v->g;
    heed_tensor *weight = weight_of(v->y->op, v->inputs, v->y->input_count);
    heed_tensor *inputs[] = {x, targets, weight};
    heed_tensor *weights =
        heed_apply(&op_nll_weights, inputs, weight != NULL ? 3 : 2, args, sizeof *args);
    if (args->reduction == HEED_NONE) { /* ignored targets get 0, even if their g is NaN */
        heed_tensor *ignored = heed_from_i64(&args->ignore_index, HEED_SCALAR);
        ignored = heed_eq(targets, ignored);
        g = heed_unsqueeze(heed_masked_fill(g, ignored, 0), class_dim(x));
    }
    return heed_mul(g, weights);
}

static void nll_loss_backward(const heed_vjp *v)
{
    v->grads[0] = nll_gradient(v);
}

static void cross_entropy_backward(const heed_vjp *v)
{
    heed_tensor *x = v->inputs[0];
    if (heed_is_grad_enabled()) { /* the gradient of nll_loss, taken through log_softmax */
        const int dim = class_dim(x);
        heed_tensor *g = nll_gradient(v);
        v->grads[0] = heed_sub(g, heed_mul(heed_softmax(x, dim), heed_sum_dim(g, dim, true)));
        return;
    }
    heed_tensor *g = heed_contiguous(v->g), *dx = heed_empty_like(x);
    class_targets c;
    x = heed_contiguous(x);
    if (!heed_blocked() &&
        find_targets(v->y->op, v->inputs, v->y->input_count, v->args, &c) == HEED_OK) {
        logit_rows w = {&c, heed_kernels_for(x->dtype), x, g, v->inputs[2]->data, dx};
        heed_share_rows(c.count, c.classes, HEED_GRAIN_OF_ROWS, differentiate_some, &w);
        v->grads[0] = dx;
    }
}

HEED_OPERATION(nll_weights) = {.name = "nll_weights",
                               .inputs = HEED_ANY_COUNT,
                               .args = HEED_NLL_ARGS,
                               .rule = rule,
                               .forward = nll_weights_forward};

HEED_OPERATION(nll_loss) = {
    .name = "nll_loss",
    .inputs = HEED_ANY_COUNT,
    .args = HEED_NLL_ARGS,
    .rule = rule,
    .forward = loss_forward,
    .backward = nll_loss_backward,
    .saves = {HEED_SAVES_INPUT(0) | HEED_SAVES_INPUT(1) | HEED_SAVES_INPUT(2)}};

HEED_OPERATION(cross_entropy) = {.name = "cross_entropy",
                                 .kind = HEED_KIND_LOG_SOFTMAX,
                                 .inputs = HEED_ANY_COUNT,
                                 .args = HEED_NLL_ARGS,
                                 .rule = rule,
                                 .forward = loss_forward,
                                 .backward = cross_entropy_backward,
                                 .saves = {HEED_SAVES_INPUT(0) | HEED_SAVES_INPUT(1) |
                                           HEED_SAVES_INPUT(2) | HEED_SAVES_INPUT(3)}};

/* ---- nll_loss ---- */

heed_tensor *heed_nll_loss_with(heed_tensor *log_probs, heed_tensor *targets,
                                heed_nll_loss_options options)
{
    const heed_nll_args args = {.ignore_index =
                                    options.ignore_index != NULL ? *options.ignore_index : -100,
                                .reduction = options.reduction};
    heed_tensor *inputs[] = {log_probs, targets, options.weight};
    return heed_apply(&op_nll_loss, inputs, options.weight != NULL ? 3 : 2, &args, sizeof args);
}

heed_tensor *heed_nll_loss(heed_tensor *log_probs, heed_tensor *targets)
{
    return heed_nll_loss_with(log_probs, targets, (heed_nll_loss_options){0});
}

/* ---- cross_entropy ---- */

static const char name[] = "cross_entropy";

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
    heed_tensor *weight = options->weight;
    const heed_nll_args args = {.ignore_index =
                                    options->ignore_index != NULL ? *options->ignore_index : -100,
                                .label_smoothing = options->label_smoothing,
                                .reduction = options->reduction};
    if (check_ids(name, logits, targets, weight, args.reduction) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    const heed_shape shape = heed_shape_of_tensor(targets);
    const int64_t count = targets->numel;
    const bool several = logits->ndim > 2;
    if (several) {
        logits = with_classes_last(logits, count);
        targets = heed_reshape(targets, HEED_SHAPE(count));
    }
    const char *outer = heed_self.operation;
    heed_self.operation = name; /* named if memory runs out */
    heed_tensor *totals = heed_tensor_create(name, HEED_SHAPE(count, 2), HEED_F64);
    heed_self.operation = outer;
    heed_tensor *inputs[] = {logits, targets, totals, weight};
    heed_tensor *loss =
        heed_apply(&op_cross_entropy, inputs, weight != NULL ? 4 : 3, &args, sizeof args);
    if (several && args.reduction == HEED_NONE) {
        loss = heed_reshape(loss, shape);
    }
    return heed_scope_end_with(&scope, loss);
}

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
    if (options->ignore_index != NULL && *options->ignore_index >= 0) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: ignore_index %lld is not supported because targets %s are class "
                         "probabilities; fill the rows to ignore with zeros instead",
                         name, (long long)*options->ignore_index, HEED_TEXT(targets));
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
