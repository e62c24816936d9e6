/* softmax, safe_softmax and log_softmax, with row kernels. Each gradient is implemented twice: with
 * a kernel, and with other operations if it is itself differentiated. */
#include "../autograd.h"

static heed_status softmax_rule(const heed_call *call, heed_result *result)
{
    heed_wrap_dim(call->op->name, *(const int *)call->args, result->shape.ndim);
    return HEED_OK;
}

/* y = kernel(x) line by line, or dx = kernel(g, y). */
static heed_status map_lines(heed_row_kernel *kernel, heed_tensor *const *in, int count,
                             const void *args, heed_tensor *out)
{
    heed_map_rows(kernel, in, count, heed_wrapped(*(const int *)args, out->ndim), out);
    return HEED_OK;
}

static heed_status softmax_forward(const heed_call *call, heed_tensor *y)
{
    return map_lines(heed_kernels_for(y->dtype)->softmax, call->inputs, 1, call->args, y);
}

static heed_status safe_softmax_forward(const heed_call *call, heed_tensor *y)
{
    return map_lines(heed_kernels_for(y->dtype)->safe_softmax, call->inputs, 1, call->args, y);
}

static heed_status log_softmax_forward(const heed_call *call, heed_tensor *y)
{
    return map_lines(heed_kernels_for(y->dtype)->log_softmax, call->inputs, 1, call->args, y);
}

static heed_tensor *gradient_by_kernel(const heed_vjp *v, heed_row_kernel *kernel)
{
    heed_tensor *dx = heed_tensor_like(v->y);
    heed_tensor *const in[] = {v->g, v->y};
    map_lines(kernel, in, 2, v->args, dx);
    return dx;
}

/* A row of zeros, as from safe_softmax, has gradient 0. */
static void softmax_backward(const heed_vjp *v)
{
    if (!heed_is_grad_enabled()) {
        v->grads[0] = gradient_by_kernel(v, heed_kernels_for(v->y->dtype)->softmax_gradient);
        return;
    }
    const int dim = *(const int *)v->args;
    heed_tensor *along = heed_sum_dim(heed_mul(v->g, v->y), dim, v->y->ndim > 0);
    v->grads[0] = heed_mul(v->y, heed_sub(v->g, along));
}

static void log_softmax_backward(const heed_vjp *v)
{
    if (!heed_is_grad_enabled()) {
        v->grads[0] = gradient_by_kernel(v, heed_kernels_for(v->y->dtype)->log_softmax_gradient);
        return;
    }
    heed_tensor *along = heed_sum_dim(v->g, *(const int *)v->args, v->y->ndim > 0);
    v->grads[0] = heed_sub(v->g, heed_mul(heed_exp(v->y), along));
}

OPERATION(softmax) = {.name = "softmax",
                      .signature = "x (...) float -> (...)",
                      .args = "int dim",
                      .rule = softmax_rule,
                      .forward = softmax_forward,
                      .backward = softmax_backward,
                      .saves = {HEED_SAVES_OUTPUT}};

OPERATION(safe_softmax) = {.name = "safe_softmax",
                           .signature = "x (...) float -> (...)",
                           .args = "int dim",
                           .rule = softmax_rule,
                           .forward = safe_softmax_forward,
                           .backward = softmax_backward,
                           .saves = {HEED_SAVES_OUTPUT}};

OPERATION(log_softmax) = {.name = "log_softmax",
                          .signature = "x (...) float -> (...)",
                          .args = "int dim",
                          .rule = softmax_rule,
                          .forward = log_softmax_forward,
                          .backward = log_softmax_backward,
                          .saves = {HEED_SAVES_OUTPUT}};

heed_tensor *heed_softmax(heed_tensor *x, int dim)
{
    return heed_apply(&op_softmax, &x, 1, &dim, sizeof dim);
}

heed_tensor *heed_safe_softmax(heed_tensor *x, int dim)
{
    return heed_apply(&op_safe_softmax, &x, 1, &dim, sizeof dim);
}

heed_tensor *heed_log_softmax(heed_tensor *x, int dim)
{
    return heed_apply(&op_log_softmax, &x, 1, &dim, sizeof dim);
}
