/* The gradient settings of leaves. The backward pass is in backward.c. */
#include "grad.h"

#include "../tensor/handle.h"
#include "../tensor/read.h"
#include "../tensor/scope.h"
#include "../tensor/shape.h"
#include "../tensor/thread.h"
#include "op.h"

heed_tensor *heed_set_requires_grad(heed_tensor *x, bool requires_grad)
{
    if (heed_blocked() || heed_check_tensor("set_requires_grad", "x", x) != HEED_OK) {
        return NULL;
    }
    if (x->op != NULL) {
        heed_fail(HEED_ERR_GRAPH, "set_requires_grad: x %s is a result of %s; heed_detach it first",
                  HEED_TEXT(x), x->op->name);
        return NULL;
    }
    if (!heed_is_float(x->dtype) && requires_grad) {
        heed_fail(HEED_ERR_DTYPE, "set_requires_grad: %s has no gradient; heed_to(x, HEED_F32)",
                  heed_dtype_name(x->dtype));
        return NULL;
    }
    x->requires_grad = requires_grad;
    return x;
}

heed_tensor *heed_retain_grad(heed_tensor *x)
{
    if (heed_blocked() || heed_check_tensor("retain_grad", "x", x) != HEED_OK) {
        return NULL;
    }
    if (!x->requires_grad) {
        heed_fail(HEED_ERR_GRAPH, "retain_grad: x %s does not require a gradient", HEED_TEXT(x));
        return NULL;
    }
    x->retain_grad = true;
    return x;
}

heed_status heed_clear_grad(heed_tensor *x)
{
    if (x == NULL) {
        return heed_fail(HEED_ERR_NULL, "clear_grad: x is NULL");
    }
    heed_replace_grad(x, NULL);
    return heed_self.error;
}

/* Stores a view rather than `grad` itself: `grad` may have a graph or a .grad, and storing it could
 * create a reference cycle. */
heed_status heed_set_grad(heed_tensor *x, heed_tensor *grad)
{
    if (heed_blocked() || heed_check_tensor("set_grad", "x", x) != HEED_OK ||
        heed_check_tensor("set_grad", "grad", grad) != HEED_OK) {
        return heed_self.error;
    }
    if (!heed_same_shape(x, grad)) {
        return heed_fail(HEED_ERR_SHAPE, "set_grad: x is %s and grad %s; the shapes must be equal",
                         HEED_TEXT(x), HEED_TEXT(grad));
    }
    if (x->dtype != grad->dtype) {
        return heed_fail(HEED_ERR_DTYPE, "set_grad: x is %s and grad %s; cast grad with heed_to",
                         heed_dtype_name(x->dtype), heed_dtype_name(grad->dtype));
    }
    if (!heed_is_row_major(grad)) {
        return heed_fail(HEED_ERR_SHAPE, "set_grad: grad %s is not contiguous; heed_contiguous it",
                         HEED_TEXT(grad));
    }
    if (x == grad) {
        return heed_fail(HEED_ERR_VALUE, "set_grad: grad is x itself; heed_clone it");
    }
    heed_tensor *view =
        heed_tensor_view("set_grad", grad, grad->ndim, grad->shape, grad->strides, 0);
    if (view == NULL) {
        return heed_self.error;
    }
    heed_replace_grad(x, view);
    return HEED_OK;
}
