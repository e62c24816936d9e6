/* Copies: clone, contiguous, to. */
#include "../../tensor/check.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"

#include "../../tensor/iterate.h"
#include "shape.h"

static heed_status copy_forward(const heed_call *call, heed_tensor *y)
{
    heed_copy_elements(call->inputs[0], y);
    return HEED_OK;
}

/* ---- clone ---- */

static void clone_backward(const heed_vjp *v)
{
    v->grads[0] = v->g;
}

HEED_OPERATION(clone) = {
    .name = "clone", .inputs = 1, .forward = copy_forward, .backward = clone_backward};

heed_tensor *heed_clone(heed_tensor *x)
{
    return heed_apply(&op_clone, &x, 1, NULL, 0);
}

heed_tensor *heed_contiguous(heed_tensor *x)
{
    if (heed_blocked() || heed_check_tensor("contiguous", "x", x) != HEED_OK) {
        return NULL;
    }
    return heed_is_row_major(x) ? x : heed_clone(x);
}

/* ---- to ---- */

static heed_status to_rule(const heed_call *call, heed_result *result)
{
    result->dtype = *(const heed_dtype *)call->args;
    return HEED_OK;
}

static void to_backward(const heed_vjp *v)
{
    v->grads[0] = heed_to(v->g, v->inputs[0]->dtype);
}

HEED_OPERATION(to) = {
    .name = "to", .inputs = 1, .rule = to_rule, .forward = copy_forward, .backward = to_backward};

heed_tensor *heed_to(heed_tensor *x, heed_dtype dtype)
{
    if (x != NULL && x->dtype == dtype && x->storage != NULL && !heed_blocked()) {
        return x;
    }
    return heed_apply(&op_to, &x, 1, &dtype, sizeof dtype);
}
