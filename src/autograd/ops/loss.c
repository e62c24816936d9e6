/* Losses: mse_loss, composed of operations; and cross_entropy, one fused operation. */
#include <math.h>

#include "../autograd.h"

heed_tensor *heed_mse_loss(heed_tensor *input, heed_tensor *target)
{
    HEED_DOOR(NULL);
    heed_check_operand("mse_loss", "input", input);
    heed_check_tensor("mse_loss", "target", target);
    if (!heed_same_shape(input, target)) {
        heed_raise(HEED_ERR_SHAPE,
                   "mse_loss: input %s and target %s; their shapes must be equal: heed_expand or "
                   "heed_reshape one of them",
                   HEED_TEXT(input), HEED_TEXT(target));
    }
    if (!heed_is_float(input->dtype) && !heed_is_float(target->dtype)) {
        heed_raise(HEED_ERR_DTYPE, "mse_loss: %s with %s; one of them must be a float",
                   heed_dtype_name(input->dtype), heed_dtype_name(target->dtype));
    }
    const heed_dtype dtype = heed_common_dtype("mse_loss", input->dtype, target->dtype);
    HEED_SCOPE(scope);
    heed_tensor *away = heed_sub(heed_to(input, dtype), heed_to(target, dtype));
    return heed_scope_keep(&scope, heed_mean(heed_square(away)));
}

/* ---- cross_entropy ----
 *
 * It does not save log-probabilities, but two numbers per row from which the gradient recomputes
 * the probabilities.
 *
 * A target t gives weight 1 to its class; with label smoothing s, it gives (1 - s) to t plus s / C
 * to each class. Its loss is minus the weighted sum of the log-probabilities; an ignored target
 * gives no weight. */

static const char op_name[] = "cross_entropy";

static void check_inputs(const heed_tensor *x, const heed_tensor *targets)
{
    if (x->ndim != 2 || targets->ndim != 1 || targets->shape[0] != x->shape[0]) {
        heed_raise(HEED_ERR_SHAPE,
                   "%s: takes logits (N, C) and targets (N), not %s and %s; heed_flatten them",
                   op_name, HEED_TEXT(x), HEED_TEXT(targets));
    }
}

typedef struct class_loss_args {
    int64_t ignore_index;
    double label_smoothing;
    heed_reduction reduction;
} class_loss_args;

/* Inputs: logits (N, C), targets (N), totals. forward fills totals (N, 2) f64 with the maximum
 * and the sum of e^(x - max) of each row of logits, for backward. */
static heed_status cross_entropy_rule(const heed_call *call, heed_result *result)
{
    const class_loss_args *args = call->args;
    heed_tensor *const *in = call->inputs;
    check_inputs(in[0], in[1]);
    if (in[2]->dtype != HEED_F64 || !heed_is_contiguous(in[2]) ||
        in[2]->numel != 2 * in[1]->numel) {
        heed_raise(HEED_ERR_VALUE, "%s: the inputs were not prepared by heed_cross_entropy",
                   op_name);
    }
    result->shape = args->reduction == HEED_NONE ? heed_shape_of_tensor(in[1]) : HEED_SCALAR;
    return HEED_OK;
}

/* ---- rows of logits, shared among threads ---- */

typedef struct logit_rows {
    const int64_t *target; /* `count` of them, each in [0, classes) or `ignored` */
    int64_t count, classes, ignored;
    double of_target, of_each; /* (1 - s), s / C */
    double divisor; /* of losses and gradients: the number of targets for a mean, else 1 */
    const heed_kernels *kernels;
    const heed_tensor *x, *g; /* contiguous; g and dx are set for gradients */
    double *totals;
    heed_tensor *dx;
} logit_rows;

/* From inputs that have been checked. HEED_ERR_INDEX: a target is not a class. */
static logit_rows find_rows(heed_tensor *const *inputs, const class_loss_args *args)
{
    heed_tensor *x = heed_contiguous(inputs[0]), *targets = inputs[1];
    double counted = 0;
    logit_rows w = {.target = heed_const_data_i64(heed_contiguous(targets)),
                    .count = targets->numel,
                    .classes = x->shape[1],
                    .ignored = args->ignore_index,
                    .of_target = 1 - args->label_smoothing,
                    .divisor = 1,
                    .kernels = heed_kernels_for(x->dtype),
                    .x = x,
                    .totals = inputs[2]->data};
    w.of_each = args->label_smoothing / (double)w.classes;
    for (int64_t i = 0; i < w.count; i++) {
        if (w.target[i] != w.ignored) {
            heed_check_index(op_name, "target", w.target[i], i, w.classes);
            counted++;
        }
    }
    if (args->reduction == HEED_MEAN) { /* NaN if all targets are ignored */
        w.divisor = counted != 0 ? counted : (double)NAN;
    }
    return w;
}

/* The classes to which the i-th target gives weight: those from the result to *end. */
static int64_t weighted_classes(const logit_rows *w, int64_t i, int64_t *end)
{
    const int64_t t = w->target[i];
    if (t == w->ignored) { /* `ignored` may be out of range */
        return *end = 0;
    }
    *end = w->of_each > 0 ? w->classes : t + 1;
    return w->of_each > 0 ? 0 : t;
}

static double weight_on(const logit_rows *w, int64_t i, int64_t class)
{
    return w->of_each + (class == w->target[i] ? w->of_target : 0);
}

/* y (N, C) -= the i-th target's weights * factor. */
static void subtract_weights(const logit_rows *w, int64_t i, double factor, heed_tensor *y)
{
    int64_t end;
    for (int64_t k = weighted_classes(w, i, &end); k < end; k++) {
        const int64_t place = i * w->classes + k;
        heed_set_number_at(y, place, heed_number_at(y, place) - weight_on(w, i, k) * factor);
    }
}

static double loss_of(const logit_rows *w, int64_t i)
{
    const double *total = w->totals + 2 * i;
    double loss = 0;
    int64_t end, k = weighted_classes(w, i, &end);
    const double log_total = k < end ? log(total[1]) : 0;
    for (; k < end; k++) {
        const double log_prob = heed_number_at(w->x, i * w->classes + k) - total[0] - log_total;
        loss -= weight_on(w, i, k) * log_prob;
    }
    return loss;
}

static char *row_of(const heed_tensor *t, int64_t n, int64_t i)
{
    return (char *)t->data + i * n * (int64_t)heed_dtype_size(t->dtype);
}

static void sum_some(void *context, int64_t first, int64_t end)
{
    const logit_rows *w = context;
    w->kernels->exp_totals(&(heed_rows){.count = end - first,
                                        .n = w->classes,
                                        .in = {row_of(w->x, w->classes, first)},
                                        .step = {w->classes},
                                        .out = w->totals + 2 * first,
                                        .out_step = 2});
}

/* dx = (sum(weights) softmax(x) - weights) g / divisor; 0 if the target is ignored, even if g is
 * NaN. */
static void differentiate_some(void *context, int64_t first, int64_t end)
{
    const logit_rows *w = context;
    for (int64_t i = first; i < end; i++) {
        const double *total = w->totals + 2 * i;
        double weights = 0; /* total weight that the target gives to all classes */
        int64_t last, k = weighted_classes(w, i, &last);
        for (; k < last; k++) {
            weights += weight_on(w, i, k);
        }
        const double g = heed_number_at(w->g, w->g->numel > 1 ? i : 0);
        const double exact = w->target[i] == w->ignored ? 0 : g / w->divisor;
        /* rounded once, so that a row of which the target has all probability gives exactly 0 */
        const double factor = w->x->dtype == HEED_F32 ? (double)(float)exact : exact;
        w->kernels->scaled_exps(w->classes, row_of(w->x, w->classes, i), total[0],
                                weights * factor / total[1], row_of(w->dx, w->classes, i));
        subtract_weights(w, i, factor, w->dx);
    }
}

/* ---- the operation ---- */

static heed_status cross_entropy_forward(const heed_call *call, heed_tensor *y)
{
    const class_loss_args *args = call->args;
    double sum = 0;
    logit_rows w = find_rows(call->inputs, args);
    heed_share_rows(w.count, w.classes, HEED_GRAIN_OF_ROWS, sum_some, &w);
    for (int64_t i = 0; i < w.count; i++) {
        const double loss = loss_of(&w, i);
        if (args->reduction == HEED_NONE) {
            heed_set_number_at(y, i, loss);
        }
        sum += loss;
    }
    if (args->reduction != HEED_NONE) {
        heed_set_number_at(y, 0, sum / w.divisor);
    }
    return HEED_OK;
}

/* The gradient as operations: that of the linear loss -weights * log_probs, through log_softmax. */
static heed_tensor *cross_entropy_gradient(const heed_vjp *v)
{
    const class_loss_args *args = v->args;
    heed_tensor *x = v->inputs[0], *targets = v->inputs[1], *g = v->g;
    heed_tensor *weights = heed_zeros(heed_shape_of_tensor(x), x->dtype);
    const logit_rows w = find_rows(v->inputs, args);
    for (int64_t i = 0; i < w.count; i++) {
        subtract_weights(&w, i, 1 / w.divisor, weights);
    }
    if (args->reduction == HEED_NONE) { /* ignored targets get 0, even if their g is NaN */
        heed_tensor *ignored = heed_from_i64(&args->ignore_index, HEED_SCALAR);
        g = heed_unsqueeze(heed_masked_fill(g, heed_eq(targets, ignored), 0), 1);
    }
    g = heed_mul(g, weights);
    return heed_sub(g, heed_mul(heed_softmax(x, 1), heed_sum_dim(g, 1, true)));
}

static void cross_entropy_backward(const heed_vjp *v)
{
    if (heed_is_grad_enabled()) {
        v->grads[0] = cross_entropy_gradient(v);
        return;
    }
    logit_rows w = find_rows(v->inputs, v->args);
    w.g = heed_contiguous(v->g);
    w.dx = heed_tensor_like(v->inputs[0]);
    heed_share_rows(w.count, w.classes, HEED_GRAIN_OF_ROWS, differentiate_some, &w);
    v->grads[0] = w.dx;
}

OPERATION(cross_entropy) = {
    .name = "cross_entropy",
    .signature = "logits float, targets i64, totals any",
    .args = "int64 ignore_index, double label_smoothing, reduction reduction",
    .rule = cross_entropy_rule,
    .forward = cross_entropy_forward,
    .backward = cross_entropy_backward,
    .saves = {HEED_SAVES_INPUT(0) | HEED_SAVES_INPUT(1) | HEED_SAVES_INPUT(2)}};

heed_tensor *(heed_cross_entropy)(heed_cross_entropy_args options)
{
    HEED_DOOR(NULL);
    heed_tensor *logits = options.logits, *targets = options.targets;
    const int64_t ignored = options.ignore_index != 0 ? options.ignore_index : -100;
    const class_loss_args args = {.ignore_index = options.ignore_class_0 ? 0 : ignored,
                                  .label_smoothing = options.label_smoothing,
                                  .reduction = options.reduction};
    heed_check_operand(op_name, "logits", logits);
    heed_check_tensor(op_name, "targets", targets);
    heed_check_probability(op_name, "label_smoothing", options.label_smoothing);
    check_inputs(logits, targets);
    if ((unsigned)options.reduction > HEED_NONE) {
        heed_raise(HEED_ERR_VALUE, "%s: reduction is %d; use HEED_MEAN, HEED_SUM or HEED_NONE",
                   op_name, (int)options.reduction);
    }
    HEED_SCOPE(scope);
    const char *outer = heed_self.operation;
    heed_self.operation = op_name; /* named if memory runs out */
    heed_tensor *totals = heed_tensor_new(op_name, &HEED_SHAPE(targets->numel, 2), HEED_F64);
    heed_self.operation = outer;
    heed_tensor *inputs[] = {logits, targets, totals};
    return heed_scope_keep(&scope, heed_apply(&op_cross_entropy, inputs, 3, &args, sizeof args));
}
