/* Elementwise losses of two tensors: mse, l1, huber, binary_cross_entropy, bce_with_logits, kl_div.
 * They share checks and reductions. Losses with class targets are in cross_entropy.c.
 *
 * A new loss composed of operations needs no gradient code. Add a function like
 * heed_huber_loss_with below, its prototype to loss.h, and rows to tests/gradients/loss.def and
 * docs/pytorch.md. */
#include "loss.h"

#include "../../tensor/map.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../apply.h"
#include "elementwise.h"
#include "loss_options.h"
#include "masking.h"
#include "operand_checks.h"
#include "view.h"

/* ---- shared ---- */

/* How a weight's shape must match the input's. */
typedef enum fit { BROADCASTS, EQUALS } fit;

/* weight may be NULL. */
static heed_status check_weight(const char *function, const char *argument,
                                const heed_tensor *weight, const heed_tensor *input,
                                heed_dtype dtype, fit how)
{
    if (weight == NULL) {
        return HEED_OK;
    }
    if (heed_check_tensor(function, argument, weight) != HEED_OK ||
        heed_common_dtype(function, dtype, weight->dtype, &dtype) != HEED_OK) {
        return heed_self.error;
    }
    if (how == EQUALS && !heed_same_shape(weight, input)) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: %s %s and input %s; their shapes must be equal: heed_expand the %s",
                         function, argument, HEED_TEXT(weight), HEED_TEXT(input), argument);
    }
    const heed_shape shape = heed_shape_of_tensor(input);
    if (!heed_broadcasts_to(weight, &shape)) {
        return heed_fail(HEED_ERR_SHAPE, "%s: %s %s does not broadcast to input %s", function,
                         argument, HEED_TEXT(weight), HEED_TEXT(input));
    }
    return HEED_OK;
}

/* Checks the arguments, casts input and target to one dtype, and opens a scope for intermediate
 * results. Returns false on error, without opening a scope. */
static bool begin(const char *function, heed_tensor **input, heed_tensor **target,
                  const heed_tensor *weight, fit how, heed_reduction reduction, heed_scope *scope)
{
    const heed_tensor *x = *input, *t = *target;
    heed_dtype dtype = HEED_F32;
    if (heed_check_operand(function, "input", x) != HEED_OK ||
        heed_check_tensor(function, "target", t) != HEED_OK) {
        return false;
    }
    if (!heed_same_shape(x, t)) {
        heed_fail(HEED_ERR_SHAPE,
                  "%s: input %s and target %s; their shapes must be equal: heed_expand or "
                  "heed_reshape one of them",
                  function, HEED_TEXT(x), HEED_TEXT(t));
        return false;
    }
    if (!heed_is_float(x->dtype) && !heed_is_float(t->dtype)) {
        heed_fail(HEED_ERR_DTYPE, "%s: %s with %s; one of them must be a float", function,
                  heed_dtype_name(x->dtype), heed_dtype_name(t->dtype));
        return false;
    }
    if (heed_common_dtype(function, x->dtype, t->dtype, &dtype) != HEED_OK ||
        heed_check_reduction(function, reduction) != HEED_OK ||
        check_weight(function, "weight", weight, x, dtype, how) != HEED_OK) {
        return false;
    }
    heed_scope_begin(scope);
    *input = heed_to(*input, dtype);
    *target = heed_to(*target, dtype);
    return true;
}

static heed_tensor *weighted(heed_tensor *losses, heed_tensor *weight)
{
    return weight == NULL ? losses : heed_mul(losses, weight);
}

/* ---- distances ---- */

/* The loss distance(input - target), reduced. The mean divides by the sum of the weights. */
static heed_tensor *distance_loss(const char *function, heed_tensor *(*distance)(heed_tensor *),
                                  heed_tensor *input, heed_tensor *target,
                                  heed_loss_options options)
{
    heed_scope scope;
    if (!begin(function, &input, &target, options.weight, EQUALS, options.reduction, &scope)) {
        return NULL;
    }
    heed_tensor *losses = weighted(distance(heed_sub(input, target)), options.weight);
    heed_tensor *y = options.weight != NULL && options.reduction == HEED_MEAN
                         ? heed_div(heed_sum(losses), heed_sum(options.weight))
                         : heed_reduce_losses(losses, options.reduction);
    return heed_scope_end_with(&scope, y);
}

heed_tensor *heed_mse_loss_with(heed_tensor *input, heed_tensor *target, heed_loss_options options)
{
    return distance_loss("mse_loss", heed_square, input, target, options);
}

heed_tensor *heed_mse_loss(heed_tensor *input, heed_tensor *target)
{
    return heed_mse_loss_with(input, target, (heed_loss_options){0});
}

heed_tensor *heed_l1_loss_with(heed_tensor *input, heed_tensor *target, heed_loss_options options)
{
    return distance_loss("l1_loss", heed_abs, input, target, options);
}

heed_tensor *heed_l1_loss(heed_tensor *input, heed_tensor *target)
{
    return heed_l1_loss_with(input, target, (heed_loss_options){0});
}

/* With c = d clamped to +-delta, both branches become c (d - c / 2). This never squares an infinite
 * d, so its gradient stays defined. */
heed_tensor *heed_huber_loss_with(heed_tensor *input, heed_tensor *target,
                                  heed_huber_options options)
{
    const double delta = options.delta != 0 ? options.delta : 1;
    heed_scope scope;
    if (!begin("huber_loss", &input, &target, options.weight, EQUALS, options.reduction, &scope)) {
        return NULL;
    }
    if (!(delta > 0)) {
        heed_fail(HEED_ERR_VALUE, "huber_loss: delta %g is not above 0", delta);
    }
    heed_tensor *difference = heed_sub(input, target);
    heed_tensor *cut = heed_clamp(difference, -delta, delta);
    heed_tensor *losses = heed_mul(cut, heed_sub(difference, heed_div_scalar(cut, 2)));
    losses = weighted(losses, options.weight);
    return heed_scope_end_with(&scope, heed_reduce_losses(losses, options.reduction));
}

heed_tensor *heed_huber_loss(heed_tensor *input, heed_tensor *target)
{
    return heed_huber_loss_with(input, target, (heed_huber_options){0});
}

/* ---- probabilities ---- */

static heed_status bce_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *input = call->inputs[0], *target = call->inputs[1];
    if (heed_expect_float(call, 0) != HEED_OK ||
        heed_expect_dtype(call, 1, result->dtype) != HEED_OK) {
        return heed_self.error;
    }
    return heed_same_shape(input, target)
               ? HEED_OK
               : heed_fail(HEED_ERR_SHAPE, "%s: input %s and target %s; their shapes must be equal",
                           call->op->name, HEED_TEXT(input), HEED_TEXT(target));
}

static heed_status check_probabilities(const heed_call *call, int i, const char *remedy)
{
    heed_tensor *p = call->inputs[i];
    heed_tensor *all = heed_all(heed_logical_and(heed_ge_scalar(p, 0), heed_le_scalar(p, 1)));
    if (all == NULL || heed_item_i64(all) != 0) {
        return heed_self.error;
    }
    return heed_fail(HEED_ERR_VALUE, "%s: elements of %s are outside [0, 1]%s", call->op->name,
                     heed_input_name(call->op, i).text, remedy);
}

static heed_status bce_forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor *x = call->inputs[0], *target = call->inputs[1];
    if (check_probabilities(call, 0, "; for logits there is heed_bce_with_logits") != HEED_OK ||
        check_probabilities(call, 1, "") != HEED_OK) {
        return heed_self.error;
    }
    heed_tensor *log_yes = heed_maximum_scalar(heed_log(x), -100);
    heed_tensor *log_no = heed_maximum_scalar(heed_log1p(heed_neg(x)), -100);
    heed_tensor *no = heed_mul(heed_sub_scalar(target, 1), log_no);
    heed_tensor *losses = heed_sub(no, heed_mul(target, log_yes));
    if (losses != NULL) {
        heed_copy_elements(losses, y);
    }
    return heed_self.error;
}

/* As in torch, the bound of the logarithms is not part of the gradients: dinput has a bound of its
 * own, a float, and dtarget has none. */
static void bce_backward(const heed_vjp *v)
{
    heed_tensor *x = v->inputs[0], *target = v->inputs[1];
    if (heed_wants_grad(v, 0)) {
        heed_tensor *variance = heed_mul(x, heed_add_scalar(heed_neg(x), 1));
        v->grads[0] = heed_div(heed_mul(v->g, heed_sub(x, target)),
                               heed_maximum_scalar(variance, (double)1e-12f));
    }
    if (heed_wants_grad(v, 1)) {
        v->grads[1] = heed_mul(v->g, heed_sub(heed_log1p(heed_neg(x)), heed_log(x)));
    }
}

/* The losses of the elements; not composed of operations, because 0 * the infinite slope of ln 0
 * would be NaN. */
HEED_OPERATION(binary_cross_entropy) = {
    .name = "binary_cross_entropy",
    .inputs = 2,
    .names = HEED_NAMES("input", "target"),
    .rule = bce_rule,
    .forward = bce_forward,
    .backward = bce_backward,
    .saves = {HEED_SAVES_INPUT(0) | HEED_SAVES_INPUT(1), HEED_SAVES_INPUT(0)}};

heed_tensor *heed_binary_cross_entropy_with(heed_tensor *input, heed_tensor *target,
                                            heed_loss_options options)
{
    heed_scope scope;
    if (!begin("binary_cross_entropy", &input, &target, options.weight, BROADCASTS,
               options.reduction, &scope)) {
        return NULL;
    }
    heed_tensor *losses =
        heed_apply(&op_binary_cross_entropy, (heed_tensor *[]){input, target}, 2, NULL, 0);
    losses = weighted(losses, options.weight);
    return heed_scope_end_with(&scope, heed_reduce_losses(losses, options.reduction));
}

heed_tensor *heed_binary_cross_entropy(heed_tensor *input, heed_tensor *target)
{
    return heed_binary_cross_entropy_with(input, target, (heed_loss_options){0});
}

/* With on = pos_weight * target and off = 1 - target, the loss is
 *
 *     on * softplus(-x) + off * softplus(x)
 *   = x * (off where x > 0, else -on) + (on + off) * softplus(-|x|)
 *
 * The second form is computed: no large terms cancel in it or in its gradients. The kinks of |x| in
 * its two terms do cancel. */
heed_tensor *heed_bce_with_logits_with(heed_tensor *input, heed_tensor *target,
                                       heed_bce_options options)
{
    static const char name[] = "bce_with_logits";
    heed_scope scope;
    if (!begin(name, &input, &target, options.weight, BROADCASTS, options.reduction, &scope)) {
        return NULL;
    }
    if (input != NULL) { /* the cast in begin succeeded */
        check_weight(name, "pos_weight", options.pos_weight, input, input->dtype, BROADCASTS);
    }
    heed_tensor *yes = heed_gt_scalar(input, 0), *on = target;
    heed_tensor *off = heed_add_scalar(heed_neg(target), 1);
    heed_tensor *rest = heed_softplus(heed_where(yes, heed_neg(input), input));
    if (options.pos_weight != NULL) { /* without pos_weight, on + off is 1 */
        on = heed_mul(target, options.pos_weight);
        rest = heed_mul(rest, heed_add(on, off));
    }
    heed_tensor *losses = heed_add(heed_mul(input, heed_where(yes, off, heed_neg(on))), rest);
    losses = weighted(losses, options.weight);
    return heed_scope_end_with(&scope, heed_reduce_losses(losses, options.reduction));
}

heed_tensor *heed_bce_with_logits(heed_tensor *input, heed_tensor *target)
{
    return heed_bce_with_logits_with(input, target, (heed_bce_options){0});
}

heed_tensor *heed_kl_div_with(heed_tensor *input, heed_tensor *target, heed_kl_div_options options)
{
    const bool batchmean = options.reduction == HEED_BATCHMEAN;
    const heed_reduction reduction = batchmean ? HEED_SUM : options.reduction;
    heed_scope scope;
    if (!begin("kl_div", &input, &target, NULL, EQUALS, reduction, &scope)) {
        return NULL;
    }
    heed_tensor *p = options.log_target ? heed_exp(target) : target;
    heed_tensor *log_p = target;
    if (!options.log_target) { /* p ln p is 0 at p = 0; the mask keeps its gradient finite */
        log_p = heed_log(heed_masked_fill(p, heed_eq_scalar(p, 0), 1));
    }
    heed_tensor *y = heed_reduce_losses(heed_mul(p, heed_sub(log_p, input)), reduction);
    if (batchmean && input != NULL && input->ndim > 0) {
        y = heed_div_scalar(y, (double)input->shape[0]);
    }
    return heed_scope_end_with(&scope, y);
}

heed_tensor *heed_kl_div(heed_tensor *input, heed_tensor *target)
{
    return heed_kl_div_with(input, target, (heed_kl_div_options){0});
}
