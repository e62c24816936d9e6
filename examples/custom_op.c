/* Your own operation, y = max(x, 0)^2 (Primer; So et al., 2021): its forward, its backward, and a
 * gradient check. */
#include "heed.h"

static heed_status forward(const heed_call *call, heed_tensor *y)
{
    const double *x = heed_const_data_f64(heed_contiguous(call->inputs[0]));
    double *to = heed_data_f64(y);
    for (int64_t i = 0; x != NULL && to != NULL && i < y->numel; i++) {
        to[i] = x[i] < 0 ? 0 : x[i] * x[i];
    }
    return heed_error_pending();
}

static void backward(const heed_vjp *v)
{
    v->grads[0] = heed_mul(v->g, heed_mul_scalar(heed_relu(v->inputs[0]), 2));
}

HEED_OPERATION(squared_relu) = {.name = "squared_relu",
                                .signature = "x (...) float -> (...)",
                                .forward = forward,
                                .backward = backward,
                                .saves = {HEED_SAVES_INPUT(0)}};

static heed_tensor *squared_relu(heed_tensor *const *inputs, void *none)
{
    return heed_apply(&op_squared_relu, inputs, 1, none, 0);
}

int main(void)
{
    heed_on_error(heed_die);
    HEED_SCOPE(scope);
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(2, 3), HEED_F64), true);
    heed_gradcheck(squared_relu, NULL, &x, 1);
    heed_gradgradcheck(squared_relu, NULL, &x, 1);
    heed_print(squared_relu(&x, NULL));
    return ferror(stdout) || fflush(stdout) != 0;
}
