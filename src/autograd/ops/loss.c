/* Losses of two tensors, composed of operations: they need no gradient code. */
#include "operations.h"

#include "../../tensor/elements.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "operand_checks.h"

/* Checks the arguments, casts both to one dtype, and opens a scope for intermediate results.
 * Returns false on error, without opening a scope. */
static bool begin_loss(const char *function, heed_tensor **input, heed_tensor **target,
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
    if (heed_common_dtype(function, x->dtype, t->dtype, &dtype) != HEED_OK) {
        return false;
    }
    heed_scope_begin(scope);
    *input = heed_to(*input, dtype);
    *target = heed_to(*target, dtype);
    return true;
}

heed_tensor *heed_mse_loss(heed_tensor *input, heed_tensor *target)
{
    heed_scope scope;
    if (!begin_loss("mse_loss", &input, &target, &scope)) {
        return NULL;
    }
    return heed_scope_end_with(&scope, heed_mean(heed_square(heed_sub(input, target))));
}

/* With off = 1 - target, the loss of an element x is
 *
 *     target * softplus(-x) + off * softplus(x)
 *   = x * (off where x > 0, else -target) + softplus(-|x|)
 *
 * The second form is computed: no large terms cancel in it or in its gradients. The kinks of |x| in
 * its two terms do cancel. */
heed_tensor *heed_binary_cross_entropy_with_logits(heed_tensor *input, heed_tensor *target)
{
    heed_scope scope;
    if (!begin_loss("binary_cross_entropy_with_logits", &input, &target, &scope)) {
        return NULL;
    }
    heed_tensor *yes = heed_gt_scalar(input, 0), *off = heed_add_scalar(heed_neg(target), 1);
    heed_tensor *rest = heed_softplus(heed_where(yes, heed_neg(input), input));
    heed_tensor *product = heed_mul(input, heed_where(yes, off, heed_neg(target)));
    return heed_scope_end_with(&scope, heed_mean(heed_add(product, rest)));
}
