/* The same elements in another order, or several times: flip, roll, repeat. */
#include "autograd/op.h"
#include "autograd/shape.h"
#include "tensor/iterate.h"

/* ---- flip ---- */

static heed_status flip_rule(const heed_call *call, heed_result *result)
{
    unsigned set;
    return heed_wrap_dims("flip", *(const heed_dims *)call->args, result->shape.ndim, &set);
}

/* Copies x as it is seen from the other end of those dims. */
static heed_status flip_forward(const heed_call *call, heed_tensor *y)
{
    const heed_tensor *x = call->inputs[0];
    int64_t strides[HEED_MAX_DIMS], first = 0;
    unsigned set;
    if (heed_wrap_dims("flip", *(const heed_dims *)call->args, x->ndim, &set) != HEED_OK) {
        return heed_self.error;
    }
    for (int i = 0; i < x->ndim; i++) {
        const bool turns = (set >> i & 1) && x->numel > 0;
        strides[i] = turns ? -x->strides[i] : x->strides[i];
        first += turns ? (x->shape[i] - 1) * x->strides[i] : 0;
    }
    heed_tensor *flipped = heed_tensor_view("flip", x, x->ndim, x->shape, strides, first);
    if (flipped == NULL) {
        return heed_self.error;
    }
    heed_copy_elements(flipped, y);
    heed_unref(flipped);
    return HEED_OK;
}

static void flip_backward(const heed_vjp *v)
{
    v->grads[0] = heed_flip_dims(v->g, *(const heed_dims *)v->args);
}

HEED_OPERATION(flip) = {.name = "flip",
                        .inputs = 1,
                        .rule = flip_rule,
                        .forward = flip_forward,
                        .backward = flip_backward};

heed_tensor *heed_flip_dims(heed_tensor *x, heed_dims dims)
{
    return heed_apply(&op_flip, &x, 1, &dims, sizeof dims);
}

heed_tensor *heed_flip(heed_tensor *x, int dim)
{
    return heed_flip_dims(x, HEED_DIMS(dim));
}
