/* Elementwise losses of two tensors: mse and l1; and the checks and reductions that they share with
 * huber_loss.c and probability_loss.c. Losses with class targets are in cross_entropy.c. */
#include "loss.h"

#include "../../tensor/check.h"
#include "../../tensor/elements.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "elementwise.h"
#include "loss_options.h"
#include "masking.h"
#include "operand_checks.h"
#include "view.h"

/* ---- shared ---- */

heed_status heed_check_loss_weight(const char *function, const char *argument,
                                   const heed_tensor *weight, const heed_tensor *input,
                                   heed_dtype dtype, bool broadcasts)
{
    if (weight == NULL) {
        return HEED_OK;
    }
    if (heed_check_tensor(function, argument, weight) != HEED_OK ||
        heed_common_dtype(function, dtype, weight->dtype, &dtype) != HEED_OK) {
        return heed_self.error;
    }
    if (!broadcasts && !heed_same_shape(weight, input)) {
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

bool heed_begin_loss(const char *function, heed_tensor **input, heed_tensor **target,
                     const heed_tensor *weight, bool broadcasts, heed_reduction reduction,
                     heed_scope *scope)
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
        heed_check_loss_weight(function, "weight", weight, x, dtype, broadcasts) != HEED_OK) {
        return false;
    }
    heed_scope_begin(scope);
    *input = heed_to(*input, dtype);
    *target = heed_to(*target, dtype);
    return true;
}

heed_tensor *heed_end_loss(heed_scope *scope, heed_tensor *losses, heed_tensor *weight,
                           heed_reduction reduction)
{
    losses = weight != NULL ? heed_mul(losses, weight) : losses;
    return heed_scope_end_with(scope, heed_reduce_losses(losses, reduction));
}

/* ---- distances ---- */

/* The loss distance(input - target), reduced. The mean divides by the sum of the weights. */
static heed_tensor *distance_loss(const char *function, heed_tensor *(*distance)(heed_tensor *),
                                  heed_tensor *input, heed_tensor *target,
                                  heed_loss_options options)
{
    heed_scope scope;
    if (!heed_begin_loss(function, &input, &target, options.weight, false, options.reduction,
                         &scope)) {
        return NULL;
    }
    heed_tensor *losses = distance(heed_sub(input, target));
    if (options.weight != NULL && options.reduction == HEED_MEAN) {
        losses = heed_div(heed_sum(heed_mul(losses, options.weight)), heed_sum(options.weight));
        return heed_scope_end_with(&scope, losses);
    }
    return heed_end_loss(&scope, losses, options.weight, options.reduction);
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
