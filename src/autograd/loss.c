/* Losses. cross_entropy is log_softmax and nll_loss; mse_loss is a mean of squares. */
#include "autograd/loss.h"

#include "autograd/elementwise.h"
#include "autograd/op.h"
#include "autograd/reduce.h"
#include "autograd/shape.h"
#include "tensor/iterate.h"

/* ---- the places that targets choose ---- */

/* How log_probs (N, C, d...) is walked: `outer` times C lines of `inner`; one line where it has one
 * dim. */
typedef struct classes {
    int64_t outer, count, inner;
} classes;

static classes classes_of(const heed_tensor *log_probs)
{
    classes c = {1, log_probs->shape[log_probs->ndim > 1], 1};
    for (int i = 2; i < log_probs->ndim; i++) {
        c.inner *= log_probs->shape[i];
    }
    c.outer = log_probs->ndim > 1 ? log_probs->shape[0] : 1;
    return c;
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
    return heed_fail(HEED_ERR_SHAPE, "%s: targets %s do not fit %s, whose classes are dim %d%s",
                     function, HEED_TEXT(targets), HEED_TEXT(x), x->ndim > 1,
                     last ? "; are they the last? heed_reshape both to (-1, C) and (-1)" : "");
}

/* The place in log_probs of the i-th target, t. */
static int64_t place_of(const classes *c, int64_t i, int64_t t)
{
    return (i / c->inner * c->count + t) * c->inner + i % c->inner;
}

/* What a target must not be counted for, and who asks: cross_entropy or nll_loss. */
typedef struct nll_args {
    int64_t ignore_index;
    const char *function;
} nll_args;

/* The targets, contiguous, all inside [0, C) or ignored, and how many count. NULL on error. */
static const int64_t *check_targets(const heed_call *call, const classes *c, int64_t *counted)
{
    const nll_args *args = call->args;
    const int64_t *targets = heed_const_data_i64(heed_contiguous(call->inputs[1]));
    *counted = 0;
    for (int64_t i = 0; targets != NULL && i < call->inputs[1]->numel; i++) {
        if (targets[i] == args->ignore_index) {
            continue;
        }
        if (targets[i] < 0 || targets[i] >= c->count) {
            heed_fail(HEED_ERR_INDEX, "%s: target %lld at place %lld is outside [0, %lld)",
                      args->function, (long long)targets[i], (long long)i, (long long)c->count);
            return NULL;
        }
        ++*counted;
    }
    return targets;
}

static heed_status check_nll(const heed_call *call)
{
    const nll_args *args = call->args;
    const heed_tensor *x = call->inputs[0], *targets = call->inputs[1];
    if (!heed_is_float(x->dtype) || targets->dtype != HEED_I64) {
        return heed_fail(HEED_ERR_DTYPE, "%s: %s with targets of %s; a float with targets of i64",
                         args->function, heed_dtype_name(x->dtype),
                         heed_dtype_name(targets->dtype));
    }
    return check_shapes(args->function, x, targets);
}

/* ---- nll_weights: -1 / count where a target chooses, else 0. nll_loss is the sum of log_probs
 *      times these, so they are its derivative; they do not depend on log_probs themselves. ---- */

static heed_status nll_weights_rule(const heed_call *call, heed_result *result)
{
    (void)result;
    return check_nll(call);
}

static heed_status nll_weights_forward(const heed_call *call, heed_tensor *y)
{
    const int64_t ignore_index = ((const nll_args *)call->args)->ignore_index;
    const classes c = classes_of(y);
    int64_t counted;
    const int64_t *targets = check_targets(call, &c, &counted);
    heed_fill_elements(y, 0);
    for (int64_t i = 0; targets != NULL && i < c.outer * c.inner; i++) {
        if (targets[i] == ignore_index) {
            continue;
        }
        const int64_t place = place_of(&c, i, targets[i]);
        if (y->dtype == HEED_F32) {
            ((float *)y->data)[place] = -1.0f / (float)counted;
        } else {
            ((double *)y->data)[place] = -1.0 / (double)counted;
        }
    }
    return heed_self.error;
}

HEED_OPERATION(nll_weights) = {
    .name = "nll_weights", .inputs = 2, .rule = nll_weights_rule, .forward = nll_weights_forward};

/* ---- nll_loss ---- */

static heed_status nll_loss_rule(const heed_call *call, heed_result *result)
{
    result->shape.ndim = 0;
    return check_nll(call);
}

static heed_status nll_loss_forward(const heed_call *call, heed_tensor *y)
{
    const int64_t ignore_index = ((const nll_args *)call->args)->ignore_index;
    heed_tensor *log_probs = heed_contiguous(call->inputs[0]);
    if (log_probs == NULL) {
        return heed_self.error;
    }
    const classes c = classes_of(log_probs);
    int64_t counted;
    const int64_t *targets = check_targets(call, &c, &counted);
    double total = 0;
    for (int64_t i = 0; targets != NULL && i < c.outer * c.inner; i++) {
        if (targets[i] != ignore_index) {
            const int64_t place = place_of(&c, i, targets[i]);
            total -= y->dtype == HEED_F32 ? (double)((const float *)log_probs->data)[place]
                                          : ((const double *)log_probs->data)[place];
        }
    }
    heed_fill_elements(y, total / (double)counted); /* 0 / 0 is NaN, as in torch */
    return heed_self.error;
}

static void nll_loss_backward(const heed_vjp *v)
{
    heed_tensor *weights = heed_apply(&op_nll_weights, v->inputs, 2, v->args, sizeof(nll_args));
    v->grads[0] = heed_mul(v->g, weights);
}

HEED_OPERATION(nll_loss) = {.name = "nll_loss",
                            .inputs = 2,
                            .rule = nll_loss_rule,
                            .forward = nll_loss_forward,
                            .backward = nll_loss_backward,
                            .saves = {HEED_SAVES_INPUT(0) | HEED_SAVES_INPUT(1)}};

static heed_tensor *nll_loss(heed_tensor *log_probs, heed_tensor *targets, const nll_args *args)
{
    return heed_apply(&op_nll_loss, (heed_tensor *[]){log_probs, targets}, 2, args, sizeof *args);
}

heed_tensor *heed_nll_loss(heed_tensor *log_probs, heed_tensor *targets, int64_t ignore_index)
{
    return nll_loss(log_probs, targets, &(nll_args){ignore_index, "nll_loss"});
}

/* ---- the losses made of others ---- */

heed_tensor *heed_cross_entropy_ignore(heed_tensor *logits, heed_tensor *targets,
                                       int64_t ignore_index)
{
    if (heed_blocked() || heed_check_tensor("cross_entropy", "logits", logits) != HEED_OK ||
        heed_check_tensor("cross_entropy", "targets", targets) != HEED_OK ||
        check_shapes("cross_entropy", logits, targets) != HEED_OK) {
        return NULL;
    }
    const nll_args args = {ignore_index, "cross_entropy"};
    heed_tensor *scores = heed_is_float(logits->dtype) /* else nll_loss says what is wrong */
                              ? heed_log_softmax(logits, logits->ndim > 1)
                              : logits;
    return nll_loss(scores, targets, &args);
}

heed_tensor *heed_cross_entropy(heed_tensor *logits, heed_tensor *targets)
{
    return heed_cross_entropy_ignore(logits, targets, -100);
}

heed_tensor *heed_mse_loss(heed_tensor *input, heed_tensor *target)
{
    if (heed_blocked() || heed_check_tensor("mse_loss", "input", input) != HEED_OK ||
        heed_check_tensor("mse_loss", "target", target) != HEED_OK) {
        return NULL;
    }
    if (!heed_is_float(input->dtype) && !heed_is_float(target->dtype)) {
        heed_fail(HEED_ERR_DTYPE, "mse_loss: %s and %s; one of them must be a float",
                  heed_dtype_name(input->dtype), heed_dtype_name(target->dtype));
        return NULL;
    }
    if (!heed_same_shape(input, target)) {
        heed_fail(HEED_ERR_SHAPE, "mse_loss: input %s and target %s; their shapes must be equal",
                  HEED_TEXT(input), HEED_TEXT(target));
        return NULL;
    }
    heed_tensor *difference = heed_sub(input, target);
    return heed_mean(heed_mul(difference, difference));
}
