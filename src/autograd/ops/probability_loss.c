/* Elementwise losses of probabilities: binary_cross_entropy, with or without logits, kl_div. */
#include "probability_loss.h"

#include "../../tensor/check.h"
#include "../../tensor/elements.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "elementwise.h"
#include "loss_options.h"
#include "masking.h"

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
    return heed_fail(HEED_ERR_VALUE, "%s: elements of %s %s are outside [0, 1]%s", call->op->name,
                     heed_input_name(call->op, i).text, HEED_TEXT(p), remedy);
}

static heed_status bce_forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor *x = call->inputs[0], *target = call->inputs[1];
    if (check_probabilities(
            call, 0, "; for logits there is heed_binary_cross_entropy_with_logits") != HEED_OK ||
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
    if (!heed_begin_loss("binary_cross_entropy", &input, &target, options.weight, true,
                         options.reduction, &scope)) {
        return NULL;
    }
    heed_tensor *losses =
        heed_apply(&op_binary_cross_entropy, (heed_tensor *[]){input, target}, 2, NULL, 0);
    return heed_end_loss(&scope, losses, options.weight, options.reduction);
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
heed_tensor *
heed_binary_cross_entropy_with_logits_with(heed_tensor *input, heed_tensor *target,
                                           heed_binary_cross_entropy_with_logits_options options)
{
    static const char name[] = "binary_cross_entropy_with_logits";
    heed_scope scope;
    if (!heed_begin_loss(name, &input, &target, options.weight, true, options.reduction, &scope)) {
        return NULL;
    }
    if (input != NULL) { /* the cast in begin succeeded */
        heed_check_loss_weight(name, "pos_weight", options.pos_weight, input, input->dtype, true);
    }
    heed_tensor *yes = heed_gt_scalar(input, 0), *on = target;
    heed_tensor *off = heed_add_scalar(heed_neg(target), 1);
    heed_tensor *rest = heed_softplus(heed_where(yes, heed_neg(input), input));
    if (options.pos_weight != NULL) { /* without pos_weight, on + off is 1 */
        on = heed_mul(target, options.pos_weight);
        rest = heed_mul(rest, heed_add(on, off));
    }
    heed_tensor *losses = heed_add(heed_mul(input, heed_where(yes, off, heed_neg(on))), rest);
    return heed_end_loss(&scope, losses, options.weight, options.reduction);
}

heed_tensor *heed_binary_cross_entropy_with_logits(heed_tensor *input, heed_tensor *target)
{
    return heed_binary_cross_entropy_with_logits_with(
        input, target, (heed_binary_cross_entropy_with_logits_options){0});
}

heed_tensor *heed_kl_div_with(heed_tensor *input, heed_tensor *target, heed_kl_div_options options)
{
    const bool batchmean = options.reduction == HEED_BATCHMEAN;
    const heed_reduction reduction = batchmean ? HEED_SUM : options.reduction;
    heed_scope scope;
    if (!heed_begin_loss("kl_div", &input, &target, NULL, false, reduction, &scope)) {
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
