/* logsumexp: the logarithm of a sum of exponentials, without their overflow. */
#include "elementwise.h"
#include "reduce.h"
#include "reduction.h"

static heed_status logsumexp_rule(const heed_call *call, heed_result *result)
{
    result->dtype = heed_is_float(result->dtype) ? result->dtype : HEED_F32;
    return heed_reduction_rule(call, result);
}

static heed_status logsumexp_forward(const heed_call *call, heed_tensor *y)
{
    return heed_fold_reduced(call, heed_kernels_for(y->dtype)->logsumexp, NULL, y->dtype, y);
}

static void logsumexp_backward(const heed_vjp *v)
{
    heed_tensor *softmax = heed_exp(heed_sub(v->inputs[0], heed_keep_dims(v, v->y)));
    v->grads[0] = heed_mul(heed_keep_dims(v, v->g), softmax);
}

HEED_OPERATION(logsumexp) = {.name = "logsumexp",
                             .inputs = 1,
                             .rule = logsumexp_rule,
                             .forward = logsumexp_forward,
                             .backward = logsumexp_backward,
                             .saves = {HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT}};

HEED_REDUCTION_FORMS(logsumexp)
