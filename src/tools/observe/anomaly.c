/* Anomaly mode: an observer that looks for NaN and infinity, and for mistakes in training.
 *
 * Only the results of operations that a caller applies are checked. Intermediate values inside an
 * operation's forward or derivative may be infinite if its result is finite. */
#include "anomaly.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../autograd/module_path.h"
#include "../../autograd/notify.h"
#include "../../autograd/observer.h"
#include "../../autograd/ops/cross_entropy.h"
#include "../../autograd/ops/elementwise.h"
#include "../../autograd/ops/reductions.h"
#include "../../autograd/ops/view.h"
#include "../../nn/optimizer.h"
#include "../../tensor/handle.h"
#include "../../tensor/read.h"
#include "../../tensor/shape.h"

/* ---- the elements of a tensor ---- */

typedef struct elements {
    bool has_nan, has_inf;
    int64_t at; /* the first NaN or infinity, in row-major order */
    double first;
    double low, high; /* excluding NaN; low > high: none */
} elements;

static elements scan(heed_tensor *t)
{
    elements e = {.low = HUGE_VAL, .high = -HUGE_VAL};
    t = heed_contiguous(t);
    for (int64_t i = 0; t != NULL && i < t->numel; i++) {
        const double x = heed_number_at(t, i);
        if (!isfinite(x)) {
            e.at = e.has_nan || e.has_inf ? e.at : i;
            e.first = e.at == i ? x : e.first;
            e.has_nan = e.has_nan || isnan(x);
            e.has_inf = e.has_inf || isinf(x);
        }
        e.low = x < e.low ? x : e.low;
        e.high = x > e.high ? x : e.high;
    }
    return e;
}

static bool is_finite(const elements *e)
{
    return !e->has_nan && !e->has_inf;
}

static const char *first_name(const elements *e)
{
    return isnan(e->first) ? "nan" : e->first > 0 ? "inf" : "-inf";
}

/* "(0, 1)" */
static heed_text first_index(const heed_tensor *t, const elements *e)
{
    int64_t index[HEED_MAX_DIMS], rest = e->at;
    for (int d = t->ndim - 1; d >= 0; d--) {
        index[d] = rest % t->shape[d];
        rest /= t->shape[d];
    }
    return heed_shape_text(t->ndim, index);
}

/* "(2, 3) with values from -1 to 4" */
static heed_text range_text(const heed_tensor *t, const elements *e)
{
    heed_text text = heed_shape_text(t->ndim, t->shape);
    const size_t at = strlen(text.text);
    if (e->low <= e->high) {
        snprintf(text.text + at, sizeof text.text - at, " with values from %g to %g", e->low,
                 e->high);
    }
    return text;
}

/* ---- the forward pass ---- */

enum { INPUTS_SHOWN = 4 };

/* Intended infinities: from masks, infinite scalars, and logarithms of constants. */
static bool is_intended(const heed_call *call, const elements *made)
{
    const heed_op_kind kind = call->op->kind;
    if (kind == HEED_KIND_LOG) {
        return !made->has_nan && !call->inputs[0]->requires_grad;
    }
    if (call->count == 1 && (kind == HEED_KIND_ADD || kind == HEED_KIND_MUL)) {
        const double number = *(const double *)call->args;
        return isnan(number) || (isinf(number) && !made->has_nan);
    }
    return kind == HEED_KIND_MASKED_FILL;
}

static heed_status check_result(const heed_call *call, heed_tensor *y)
{
    const bool is_view = y->storage == call->inputs[0]->storage;
    if (is_view || !heed_is_float(y->dtype)) {
        return HEED_OK;
    }
    const elements made = scan(y);
    if (is_finite(&made) || is_intended(call, &made)) {
        return heed_self.error;
    }
    char from[INPUTS_SHOWN * sizeof(heed_text)] = "";
    bool has_nan = false, has_inf = false;
    for (int i = 0; i < call->count; i++) {
        const elements e = scan(call->inputs[i]);
        const size_t at = strlen(from);
        has_nan = has_nan || e.has_nan;
        has_inf = has_inf || e.has_inf;
        if (i < INPUTS_SHOWN) {
            snprintf(from + at, sizeof from - at, "%s%s", i > 0 ? " and " : "",
                     range_text(call->inputs[i], &e).text);
        }
    }
    if (has_nan || (has_inf && !made.has_nan)) {
        return heed_self.error; /* an input already contained it */
    }
    const heed_text path = heed_module_path();
    return heed_fail(HEED_ERR_ANOMALY, "%s%s%s: %s at %s of the result %s, from %s; %s",
                     call->op->name, *path.text != '\0' ? " in " : "", path.text, first_name(&made),
                     first_index(y, &made).text, HEED_TEXT(y), from,
                     call->op->kind == HEED_KIND_SOFTMAX
                         ? "a row has inf, or only -inf, for which heed_safe_softmax gives zeros"
                         : "clamp or mask these inputs, or find out why they have grown");
}

/* ---- mistakes in calls ---- */

/* Recognised by the operations that made the inputs. The patterns are narrow: a false alarm is
 * worse than a missed mistake. */

static heed_op_kind kind_of(const heed_tensor *t)
{
    return t->op != NULL ? t->op->kind : HEED_KIND_OTHER;
}

/* The argument of softmax is the dim. */
static bool is_softmax(const heed_tensor *t)
{
    return kind_of(t) == HEED_KIND_SOFTMAX || kind_of(t) == HEED_KIND_SAFE_SOFTMAX;
}

static heed_status complain(const heed_call *call, const char *sentence)
{
    const heed_text path = heed_module_path();
    return heed_fail(HEED_ERR_ANOMALY, "%s of %s%s%s: %s", call->op->name,
                     HEED_TEXT(call->inputs[0]), *path.text != '\0' ? " in " : "", path.text,
                     sentence);
}

/* ---- the loss of probabilities ---- */

static heed_status check_logits(const heed_call *call)
{
    const heed_tensor *x = call->inputs[0];
    while (x->op != NULL && (x->op->forward == NULL || kind_of(x) == HEED_KIND_RESHAPE)) {
        x = x->inputs[0]; /* a view */
    }
    return is_softmax(x) ? complain(call, "its input was made by softmax, and softmax is applied "
                                          "again; pass the logits instead")
                         : HEED_OK;
}

/* ---- the dim of attention's softmax ---- */

/* True if x is a matrix product, possibly scaled and masked since. */
static bool is_product(const heed_tensor *x)
{
    heed_op_kind kind = kind_of(x);
    while (kind == HEED_KIND_ADD || kind == HEED_KIND_MUL || kind == HEED_KIND_DIV ||
           kind == HEED_KIND_MASKED_FILL) {
        x = x->inputs[0];
        kind = kind_of(x);
    }
    return kind == HEED_KIND_MATMUL;
}

static heed_status check_softmax_dim(const heed_call *call)
{
    const heed_tensor *p = call->inputs[0];
    if (kind_of(p) == HEED_KIND_MUL && p->input_count == 2 && !p->inputs[1]->requires_grad) {
        p = p->inputs[0]; /* dropout */
    }
    return is_softmax(p) && p->shape[p->ndim - 1] > 1 &&
                   heed_wrapped(*(const int *)p->args, p->ndim) < p->ndim - 1 &&
                   is_product(p->inputs[0])
               ? complain(call, "the weights come from a softmax over a dim other than the last, "
                                "so they do not sum to 1 over the keys; use heed_softmax(x, -1)")
               : HEED_OK;
}

/* ---- inverted masks ---- */

typedef enum mask_kind { BLOCK, KEEP, BIAS } mask_kind; /* as in nn/mask.h */

static bool is_kept(const heed_tensor *mask, mask_kind kind, int64_t i, int64_t j)
{
    const double value =
        heed_number_at(mask, i * mask->strides[mask->ndim - 2] + j * mask->strides[mask->ndim - 1]);
    return kind == BIAS ? value > -1e4 : (value != 0) == (kind == KEEP);
}

/* One mask (T, T) that keeps exactly the later keys, the inverse of a causal mask, or exactly the
 * diagonal, the inverse of a mask that blocks the token itself. */
static bool is_inverted(const heed_tensor *mask, mask_kind kind)
{
    const int64_t length = mask->ndim >= 2 ? mask->shape[mask->ndim - 1] : 0;
    bool later = length >= 3 && mask->shape[mask->ndim - 2] == length &&
                 mask->numel == length * length && mask->storage != NULL;
    bool itself = later;
    for (int64_t i = 0; i < length && (later || itself); i++) {
        for (int64_t j = 0; j < length && (later || itself); j++) {
            const bool kept = is_kept(mask, kind, i, j);
            later = later && kept == (j > i);
            itself = itself && kept == (j == i);
        }
    }
    return later || itself;
}

static heed_status check_mask(const heed_call *call, const heed_tensor *mask, mask_kind kind)
{
    return is_inverted(mask, kind)
               ? complain(call, "the attention mask seems to be inverted: each query sees only "
                                "later keys, or only itself; pass heed_logical_not(mask), and see "
                                "nn/mask.h for what true means")
               : HEED_OK;
}

/* where(keep, scores, -inf) or where(block, -inf, scores). Only scores have a gradient. */
static heed_status check_where(const heed_call *call, const heed_tensor *x)
{
    const bool first = x->inputs[1]->requires_grad, second = x->inputs[2]->requires_grad;
    return first != second ? check_mask(call, x->inputs[0], first ? KEEP : BLOCK) : HEED_OK;
}

/* ---- masks of 0 and 1 that are added ---- */

/* The mask is constant; modules may have combined it with one of 0 and -inf. */
static heed_status check_added(const heed_call *call, heed_tensor *mask)
{
    bool zero = false, one = false;
    mask = mask->storage != NULL && !mask->requires_grad ? heed_contiguous(mask) : NULL;
    for (int64_t i = 0; mask != NULL && i < mask->numel; i++) {
        const double x = heed_number_at(mask, i);
        if (x > -1e4 && x != 0 && x != 1) {
            return HEED_OK;
        }
        zero = zero || x == 0;
        one = one || x == 1;
    }
    return zero && one ? complain(call, "the mask is a float tensor of 0 and 1, and is added to "
                                        "the scores, so it blocks nothing; pass a bool mask, or 0 "
                                        "for keys to keep and -inf for keys to block")
                       : heed_self.error;
}

/* softmax(scores + mask) or softmax(mask + scores). Only scores have a gradient. */
static heed_status check_sum(const heed_call *call, const heed_tensor *x)
{
    for (int i = 0; i < 2; i++) {
        if (x->inputs[i]->requires_grad && is_product(x->inputs[i]) &&
            check_added(call, x->inputs[1 - i]) != HEED_OK) {
            return heed_self.error;
        }
    }
    return check_mask(call, x->inputs[1], BIAS);
}

/* ---- one query and one key ---- */

static _Thread_local bool has_attended; /* to several tokens, since the mode was turned on */

/* A batch of texts of one token each: probably tokens in the wrong dim. Not after longer texts. */
static heed_status check_lengths(const heed_call *call, const heed_tensor *scored, int64_t queries,
                                 int64_t keys)
{
    has_attended = has_attended || queries > 1 || keys > 1;
    return !has_attended && scored->ndim > 2 && scored->shape[0] > 1 && scored->requires_grad &&
                   heed_is_grad_enabled()
               ? complain(call, "attention with one query and one key: its only weight is always "
                                "1, so W_q and W_k get no gradient; the tokens must be in the "
                                "second to last dim, (..., tokens, features)")
               : HEED_OK;
}

/* ---- the first loss ---- */

static _Thread_local bool has_loss; /* since the mode was turned on */

/* cross_entropy, with inputs logits, targets, totals and possibly weight. */
static heed_status check_first_loss(const heed_call *call, const heed_tensor *loss)
{
    const heed_tensor *logits = call->inputs[0];
    if (call->count < 3 || has_loss || !loss->requires_grad) {
        return HEED_OK;
    }
    has_loss = true;
    if (((const heed_cross_entropy_args *)call->args)->reduction != HEED_MEAN) {
        return HEED_OK;
    }
    const int64_t classes = logits->shape[logits->ndim - 1];
    const double guessing = log((double)classes), found = heed_item(loss);
    heed_text text;
    snprintf(text.text, sizeof text.text,
             "the first loss is %.4g, but guessing gives ln %lld = %.4g; start from smaller "
             "weights or embeddings, and check the scale of the logits",
             found, (long long)classes, guessing);
    return found > guessing + 3 ? complain(call, text.text) : heed_self.error;
}

/* HEED_ERR_ANOMALY if this call is a likely mistake. */
static heed_status check_call(const heed_call *call, heed_tensor *y)
{
    heed_tensor *x = call->inputs[0], *keys = call->count > 1 ? call->inputs[1] : NULL,
                *mask = call->count > 3 ? call->inputs[3] : NULL;
    switch (call->op->kind) {
    case HEED_KIND_LOG_SOFTMAX:
        return check_logits(call) == HEED_OK ? check_first_loss(call, y) : heed_self.error;
    case HEED_KIND_MATMUL:
        return check_softmax_dim(call);
    case HEED_KIND_ATTEND:
        if (mask != NULL && (check_mask(call, mask, mask->dtype == HEED_BOOL ? KEEP : BIAS) ||
                             (mask->dtype != HEED_BOOL && check_added(call, mask)))) {
            return heed_self.error;
        }
        return check_lengths(call, y, x->shape[x->ndim - 2], keys->shape[keys->ndim - 2]);
    case HEED_KIND_SOFTMAX:
    case HEED_KIND_SAFE_SOFTMAX:
        if (is_product(x) && heed_wrapped(*(const int *)call->args, x->ndim) >= x->ndim - 2 &&
            check_lengths(call, x, x->shape[x->ndim - 2], x->shape[x->ndim - 1])) {
            return heed_self.error;
        }
        return kind_of(x) == HEED_KIND_MASKED_FILL ? check_mask(call, x->inputs[1], BLOCK)
               : kind_of(x) == HEED_KIND_WHERE     ? check_where(call, x)
               : kind_of(x) == HEED_KIND_ADD && x->input_count == 2 ? check_sum(call, x)
                                                                    : HEED_OK;
    default:
        return HEED_OK;
    }
}

static heed_tensor *inspect_result(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    (void)self;
    if (y != NULL && !heed_in_backward() && check_result(call, y) == HEED_OK) {
        check_call(call, y);
    }
    return y;
}

/* ---- the backward pass ---- */

static void inspect_root(heed_observer *self, const char *function, heed_tensor *y)
{
    (void)self;
    const elements e = scan(y);
    if (!is_finite(&e)) {
        heed_fail(HEED_ERR_ANOMALY,
                  "%s: y is %s, although no operation produced it from finite inputs; look for NaN "
                  "and infinity in the data and the parameters",
                  function, first_name(&e));
    }
}

static void inspect_gradients(heed_observer *self, const heed_derivative *derivative)
{
    (void)self;
    const heed_tensor *node = derivative->node;
    heed_tensor *g = derivative->g, *const *grads = derivative->grads;
    for (int i = 0; i < node->input_count; i++) {
        if (grads[i] == NULL) {
            continue;
        }
        const elements e = scan(grads[i]);
        if (is_finite(&e)) {
            continue;
        }
        const elements upstream = scan(g);
        const heed_text path = heed_origin_path(node);
        heed_fail(
            HEED_ERR_ANOMALY,
            "backward of %s%s%s: %s at %s of the gradient of input %d %s, from a gradient %s; "
            "if the derivative is infinite there, replace such inputs before the operation; a "
            "heed_where after it is too late",
            node->op->name, *path.text != '\0' ? " in " : "", path.text, first_name(&e),
            first_index(grads[i], &e).text, i, HEED_TEXT(node->inputs[i]),
            range_text(g, &upstream).text);
        heed_print_origin(node);
        break;
    }
}

/* ---- mistakes around an optimiser's step ---- */

/* A parameter may belong to a part of the model that few batches use. */
enum { STEPS_WITHOUT_GRADIENT = 10 };

static void check_gradients(heed_observer *self, const heed_optimizer *optimizer)
{
    (void)self;
    bool any = false;
    for (int i = 0; i < optimizer->parameters.count; i++) {
        const heed_tensor *p = optimizer->parameters.tensors[i], *grad = p->grad;
        const char *name = optimizer->parameters.names[i];
        if (grad == NULL && p->requires_grad && optimizer->slots[i].steps == 0 &&
            optimizer->steps >= STEPS_WITHOUT_GRADIENT) {
            heed_fail(HEED_ERR_ANOMALY,
                      "optimizer_step: the parameter %s had no gradient in any step so far; "
                      "use it in the loss, or heed_set_requires_grad(p, false)",
                      name);
            return;
        }
        if (grad != NULL && grad->used_up && grad->storage->version != grad->saved_version) {
            heed_fail(HEED_ERR_ANOMALY,
                      "optimizer_step: backward has added to the gradient of %s that the "
                      "last step used; call heed_optimizer_zero_grad before each step's "
                      "first backward",
                      name);
            return;
        }
        any = any || grad != NULL;
    }
    if (!any) {
        heed_fail(
            HEED_ERR_ANOMALY,
            "optimizer_step: no parameter has a gradient; call heed_backward with a loss that "
            "is computed from them, without heed_detach or no_grad");
    }
}

/* Checks the new values, and marks the gradients as used, in fields that only nodes need
 * otherwise. */
static void check_step(heed_observer *self, const heed_optimizer *optimizer)
{
    (void)self;
    for (int i = 0; i < optimizer->parameters.count; i++) {
        heed_tensor *p = optimizer->parameters.tensors[i];
        if (p->grad == NULL) {
            continue;
        }
        p->grad->used_up = true;
        p->grad->saved_version = p->grad->storage->version;
        if (heed_item(heed_all(heed_isfinite(p))) != 1) {
            heed_fail(HEED_ERR_ANOMALY,
                      "optimizer_step: the parameter %s is no longer finite after step %lld; lower "
                      "the learning rate, or clip the gradients",
                      optimizer->parameters.names[i], (long long)optimizer->steps);
        }
    }
}

/* ---- the setting ---- */

static _Thread_local bool is_on;
static _Thread_local heed_observer observer;

bool heed_set_detect_anomaly(bool enabled)
{
    const bool was = is_on;
    is_on = enabled;
    if (enabled && !was) {
        observer = (heed_observer){.result = inspect_result,
                                   .backward = inspect_root,
                                   .derivative = inspect_gradients,
                                   .before_step = check_gradients,
                                   .after_step = check_step};
        has_loss = has_attended = false;
        heed_observer_add(&observer);
    } else if (was && !enabled) {
        heed_observer_remove(&observer);
    }
    return was;
}

bool heed_is_anomaly_enabled(void)
{
    return is_on;
}
