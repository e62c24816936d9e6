/* cross_entropy: log_softmax, then nll_loss where targets are class ids, or a sum of products where
 * they are the probabilities of all classes. Of ids it is one operation, by kernels: it keeps no
 * log-probabilities but two numbers of each line, from which the gradient makes them again. */
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/grain.h"
#include "../../tensor/kernels/kernels.h"
#include "../../tensor/parallel.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "elementwise.h"
#include "loss_parts.h"
#include "reduce.h"
#include "shape.h"

static const char name[] = "cross_entropy";

static heed_status check_options(const heed_cross_entropy_options *options)
{
    const heed_status status =
        heed_check_probability(name, "label_smoothing", options->label_smoothing);
    return status == HEED_OK ? heed_check_reduction(name, options->reduction) : status;
}

/* ---- class ids: the operation ---- */

/* Its inputs: logits, targets, lines (N, 2) f64: of each line of logits max and the sum of e^(x - max); and
 * perhaps weight. */
static heed_tensor *weight_of(heed_tensor *const *inputs, int count)
{
    return count > 3 ? inputs[3] : NULL;
}

static heed_status rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *logits = call->inputs[0], *lines = call->count > 2 ? call->inputs[2] : NULL;
    if (lines == NULL || call->count > 4 || logits->ndim > 2 || lines->dtype != HEED_F64 ||
        lines->numel != 2 * call->inputs[1]->numel || !heed_is_contiguous(lines)) {
        return heed_fail(HEED_ERR_VALUE, "%s: %d tensors that heed_cross_entropy did not make",
                         call->op->name, call->count);
    }
    const heed_nll_args *args = call->args;
    heed_tensor *weight = weight_of(call->inputs, call->count);
    if (heed_check_nll(args, logits, call->inputs[1], weight) != HEED_OK) {
        return heed_self.error;
    }
    result->shape = heed_shape_of_losses(args, call->inputs[1]);
    return HEED_OK;
}

static heed_status forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor *logits = heed_contiguous(call->inputs[0]);
    heed_tensor *weight = weight_of(call->inputs, call->count);
    heed_choice c;
    if (logits == NULL || heed_choose(call->args, logits, call->inputs[1], weight, &c) != HEED_OK) {
        return heed_self.error;
    }
    heed_add_up_losses(&c, logits, call->inputs[2]->data, y);
    return HEED_OK;
}

/* Lines of n classes, on their way through a kernel. */
typedef struct class_lines {
    int64_t n;
    const heed_tensor *logits, *g; /* contiguous */
    double *lines;
    heed_tensor *dx;
    const heed_choice *choice;
    const heed_kernels *kernels;
} class_lines;

static const char *line_of(const class_lines *l, const heed_tensor *t, int64_t i)
{
    return (const char *)t->data + i * l->n * (int64_t)heed_dtype_size(t->dtype);
}

/* dlogits = (total softmax(logits) - what is chosen) g / divisor */
static void some_gradients(void *context, int64_t first, int64_t end)
{
    const class_lines *l = context;
    for (int64_t i = first; i < end; i++) {
        const double total = heed_total_chosen(l->choice, i), *line = l->lines + 2 * i;
        const int64_t place = l->g->numel > 1 ? i : 0;
        const double g = l->g->dtype == HEED_F32 ? (double)((const float *)l->g->data)[place]
                                                 : ((const double *)l->g->data)[place];
        const bool ignored = l->choice->targets[i] == l->choice->args->ignore_index;
        const double factor = ignored ? 0 : g / l->choice->divisor; /* whatever g is: NaN, say */
        l->kernels->scaled_exps(l->n, line_of(l, l->logits, i), line[0], total * factor / line[1],
                                (char *)line_of(l, l->dx, i));
        heed_subtract_chosen(l->choice, i, factor, l->dx);
    }
}

static void gradient_by_kernel(const heed_vjp *v, heed_tensor *weight)
{
    heed_choice c;
    class_lines l = {.logits = heed_contiguous(v->inputs[0]),
                     .g = heed_contiguous(v->g),
                     .dx = heed_empty_like(v->inputs[0]),
                     .choice = &c,
                     .kernels = heed_kernels_for(v->y->dtype)};
    if (heed_blocked() || heed_choose(v->args, v->inputs[0], v->inputs[1], weight, &c) != HEED_OK) {
        return;
    }
    l.n = c.classes;
    l.lines = v->inputs[2]->data;
    heed_parallel_for(c.count, HEED_GRAIN_OF_LINES / (l.n + 1) + 1, some_gradients, &l);
    v->grads[0] = l.dx;
}

/* The same in other operations: that of nll_loss goes through log_softmax. */
static void gradient_by_operations(const heed_vjp *v, heed_tensor *weight)
{
    heed_tensor *logits = v->inputs[0];
    const int dim = heed_class_dim(logits);
    heed_tensor *g = heed_nll_gradient(v->g, logits, v->inputs[1], weight, v->args);
    v->grads[0] = heed_sub(g, heed_mul(heed_softmax(logits, dim), heed_sum_dim(g, dim, true)));
}

static void backward(const heed_vjp *v)
{
    heed_tensor *weight = weight_of(v->inputs, v->y->input_count);
    if (heed_grad_enabled()) {
        gradient_by_operations(v, weight);
    } else {
        gradient_by_kernel(v, weight);
    }
}

HEED_OPERATION(cross_entropy) = {.name = "cross_entropy",
                                 .inputs = HEED_ANY_COUNT,
                                 .rule = rule,
                                 .forward = forward,
                                 .backward = backward,
                                 .saves = {HEED_SAVES_INPUT(0) | HEED_SAVES_INPUT(1) |
                                           HEED_SAVES_INPUT(2) | HEED_SAVES_INPUT(3)}};

/* ---- class ids ---- */

static void some_totals(void *context, int64_t first, int64_t end)
{
    const class_lines *l = context;
    const heed_lines lines = {.count = end - first,
                              .n = l->n,
                              .in = {line_of(l, l->logits, first)},
                              .step = {l->n},
                              .out = l->lines + 2 * first,
                              .out_step = 2};
    l->kernels->exp_totals(&lines);
}

/* (N, 2): of each line of logits max and the sum of e^(x - max). */
static heed_tensor *totals_of(heed_tensor *logits)
{
    if (logits == NULL) {
        return NULL;
    }
    const int64_t n = logits->shape[heed_class_dim(logits)];
    const int64_t count = logits->ndim > 1 ? logits->shape[0] : 1;
    const char *outer = heed_self.operation;
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_self.operation = name; /* whoever is out of memory */
    heed_tensor *lines = heed_empty(HEED_SHAPE(count, 2), HEED_F64);
    class_lines l = {.n = n, .logits = heed_contiguous(logits)};
    if (!heed_blocked()) {
        l.lines = lines->data;
        l.kernels = heed_kernels_for(logits->dtype);
        heed_parallel_for(count, HEED_GRAIN_OF_LINES / (n + 1) + 1, some_totals, &l);
    }
    heed_self.operation = outer;
    return heed_scope_end_with(&scope, lines);
}

/* (N, C, d...) as (N d..., C). */
static heed_tensor *with_classes_last(heed_tensor *logits, int64_t count)
{
    const int64_t classes = logits->shape[heed_class_dim(logits)];
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
        .ignore_index = heed_ignored_or_default(options->ignored_target),
        .label_smoothing = options->label_smoothing,
        .function = name,
        .reduction = options->reduction,
    };
    if (heed_check_nll(&args, logits, targets, options->weight) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    const heed_shape shape = heed_shape_of_losses(&args, targets);
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

/* ---- class probabilities ---- */

static heed_status check_probabilities(const heed_tensor *logits, const heed_tensor *targets,
                                       const heed_cross_entropy_options *options)
{
    if (logits->ndim == 0 || !heed_same_shape(logits, targets)) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: targets %s of %s for logits %s: floats are the probabilities of the "
                         "classes, in the shape of logits; class ids are i64: heed_to(targets, "
                         "HEED_I64)",
                         name, HEED_TEXT(targets), heed_dtype_name(targets->dtype),
                         HEED_TEXT(logits));
    }
    if (logits->dtype != targets->dtype) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: %s with targets of %s; a float with probabilities of the same dtype, "
                         "or with class ids of i64",
                         name, heed_dtype_name(logits->dtype), heed_dtype_name(targets->dtype));
    }
    if (options->ignored_target != NULL && *options->ignored_target >= 0) {
        return heed_fail(
            HEED_ERR_VALUE,
            "%s: ignored_target %lld has no meaning where targets %s are probabilities "
            "of classes; give those rows zeros, or no ignored_target",
            name, (long long)*options->ignored_target, HEED_TEXT(targets));
    }
    return heed_check_weight(name, options->weight, logits);
}

/* weight (C) as a shape that broadcasts to the logits, (C, 1...). */
static heed_tensor *along_classes(heed_tensor *weight, const heed_tensor *logits)
{
    heed_shape shape = heed_shape_of_tensor(weight);
    for (int i = heed_class_dim(logits) + 1; i < logits->ndim; i++) {
        shape.size[shape.ndim++] = 1;
    }
    return heed_reshape(weight, shape);
}

static heed_tensor *of_probabilities(heed_tensor *logits, heed_tensor *targets,
                                     const heed_cross_entropy_options *options)
{
    const int dim = heed_class_dim(logits);
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
        products = heed_mul(products, along_classes(options->weight, logits));
    }
    heed_tensor *losses = heed_neg(heed_sum_dim(products, dim, false));
    return heed_scope_end_with(&scope, heed_reduce_losses(losses, options->reduction));
}

/* ---- both ---- */

heed_tensor *heed_cross_entropy_with(heed_tensor *logits, heed_tensor *targets,
                                     heed_cross_entropy_options options)
{
    if (heed_check_operand(name, "logits", logits) != HEED_OK ||
        heed_check_tensor(name, "targets", targets) != HEED_OK ||
        check_options(&options) != HEED_OK) {
        return NULL;
    }
    return heed_is_float(targets->dtype) ? of_probabilities(logits, targets, &options)
                                         : of_ids(logits, targets, &options);
}

heed_tensor *heed_cross_entropy(heed_tensor *logits, heed_tensor *targets)
{
    return heed_cross_entropy_with(logits, targets, (heed_cross_entropy_options){0});
}
