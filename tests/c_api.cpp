// The C API from C++, without heed.hpp: its macros, scopes, modules and operations, and names
// shared by a struct and a function.
#include <cstdio>

#include "heed.h"

namespace
{

heed_status half_forward(const heed_call *call, heed_tensor *y)
{
    const float *x = heed_const_data_f32(heed_contiguous(call->inputs[0]));
    float *to = heed_data_f32(y);
    for (int64_t i = 0; x != nullptr && to != nullptr && i < y->numel; i++) {
        to[i] = x[i] / 2;
    }
    return heed_error_pending();
}

void half_backward(const heed_vjp *v)
{
    v->grads[0] = heed_div_scalar(v->g, 2);
}

struct Model {
    heed_module module;
    heed_tensor *scale;
    struct heed_linear *hidden, *output;
};

} // namespace

#if __cplusplus >= 202002L
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
HEED_OPERATION(half) = {
    .name = "half", .inputs = 1, .forward = half_forward, .backward = half_backward};
#else
static heed_op op_half = [] {
    heed_op op{};
    op.name = "half";
    op.inputs = 1;
    op.forward = half_forward;
    op.backward = half_backward;
    return op;
}();
static const bool registered = (heed_register(&op_half), true);
#endif

namespace
{

heed_tensor *forward(Model *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    heed_tensor *hidden = heed_relu(heed_linear_forward(m->hidden, x));
    hidden = heed_apply(&op_half, &hidden, 1, nullptr, 0);
    return heed_mul(heed_linear_forward(m->output, hidden), m->scale);
}

HEED_MODULE_KIND(kind, Model, "Model", nullptr, forward);

Model *new_model()
{
    auto *m = static_cast<Model *>(heed_module_new(&kind));
    HEED_PARAMETER(m, scale, heed_ones(HEED_SCALAR, HEED_F32));
    HEED_CHILD(m, hidden, heed_linear_new(2, 16));
    HEED_CHILD(m, output, heed_linear_new(16, 1));
    return static_cast<Model *>(heed_module_ready(m));
}

// The model learns exclusive or. Returns the last loss.
double train(Model *m)
{
    const float corners[] = {0, 0, 0, 1, 1, 0, 1, 1}, different[] = {0, 1, 1, 0};
    heed_adam_options options{};
    options.eps = 1e-6;
    heed_optimizer *adam = heed_adam_new_with(heed_parameters(m), 0.05, options);
    double last = 0;
    for (int i = 0; i < 200; i++) {
        HEED_SCOPE(step);
        heed_tensor *y = heed_forward(m, heed_from_f32(corners, HEED_SHAPE(4, 2)));
        heed_tensor *loss = heed_mse_loss(y, heed_from_f32(different, HEED_SHAPE(4, 1)));
        heed_optimizer_zero_grad(adam);
        heed_backward(loss);
        heed_optimizer_step(adam);
        last = heed_item(heed_sum_dims(loss, HEED_DIMS(), false));
    }
    heed_optimizer_free(adam);
    return last;
}

} // namespace

int main()
{
    heed_manual_seed(0);
    const bool found = heed_find_operation("half") == &op_half && heed_find_operation("mul");
    Model *m = new_model();
    const double loss = train(m);
    heed_module_free(m);
    std::printf("C API: loss %.6f\n", loss);
    if (heed_error_pending()) {
        std::printf("%s\n", heed_error_message());
    }
    return found && loss < 1e-3 && heed_live_tensors() == 0 && heed_error() == HEED_OK ? 0 : 1;
}
