/* A program in C11, C17, C23 and C++17. It uses every public macro (tests/source/docs.sh), and is
 * compiled with warnings about conversions, of which the headers must cause none. Its structs and
 * functions share names. */
#include <stdio.h>

#include "heed.h"

/* ---- an operation ---- */

static heed_status half_forward(const heed_call *call, heed_tensor *y)
{
    const double *x = heed_const_data_f64(heed_contiguous(call->inputs[0]));
    double *to = heed_data_f64(y);
    for (int64_t i = 0; x != NULL && to != NULL && i < y->numel; i++) {
        to[i] = x[i] / 2;
    }
    return heed_error_pending();
}

static void half_backward(const heed_vjp *v)
{
    v->grads[0] = heed_div_scalar(v->g, 2);
}

#ifndef __cplusplus
HEED_OPERATION(half) = {.name = "half",
                        .signature = "x float",
                        .forward = half_forward,
                        .backward = half_backward,
                        .saves = {HEED_SAVES_INPUT(0)}};
#else /* without designated initialisers */
static heed_op op_half = [] {
    heed_op op{};
    op.name = "half";
    op.signature = "x float";
    op.forward = half_forward;
    op.backward = half_backward;
    return op;
}();
static const bool registered = (heed_register(&op_half), true);
#endif

static HEED_NEW *half(heed_tensor *const *inputs, void *context)
{
    (void)context;
    return heed_apply(&op_half, inputs, 1, NULL, 0);
}

/* ---- a module ---- */

struct model {
    heed_module module;
    heed_tensor *scale, *shift;
    struct heed_linear *hidden, *output;
};

static heed_tensor *model_forward(struct model *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    heed_tensor *hidden = heed_relu(heed_linear_forward(m->hidden, x));
    return heed_add(heed_mul(heed_linear_forward(m->output, hidden), m->scale), m->shift);
}

HEED_MODULE_KIND(kind, struct model, "Model", NULL, model_forward);

static struct model *model_new(void)
{
    struct model *m = (struct model *)heed_module_new(&kind);
    HEED_PARAMETER(m, scale, heed_ones(HEED_SCALAR, HEED_F32));
    HEED_BUFFER(m, shift, heed_zeros(HEED_SHAPE(1), HEED_F32));
    HEED_CHILD(m, hidden, heed_linear_new(2, 16));
    HEED_CHILD(m, output, heed_linear_new(16, 1));
    return m;
}

/* The model learns exclusive or. Returns the last loss. */
static double train(struct model *m)
{
    const float corners[] = {0, 0, 0, 1, 1, 0, 1, 1};
    const bool different[] = {false, true, true, false};
    heed_optimizer *adam = heed_adam_new(heed_parameters(m), 0.05);
    adam->eps = 1e-6;
    double last = 0;
    for (int i = 0; i < 200; i++) {
        HEED_SCOPE(step);
        heed_tensor *y = heed_forward(m, heed_from_f32(corners, HEED_SHAPE(4, 2)));
        heed_tensor *target = heed_from_bool(different, HEED_SHAPE(heed_size(y, 0), 1));
        heed_tensor *loss = heed_mse_loss(y, heed_to(target, HEED_F32));
        heed_optimizer_zero_grad(adam);
        heed_backward(loss);
        heed_optimizer_step(adam);
        last = heed_item(loss);
    }
    heed_optimizer_free(adam);
    return last;
}

/* ---- the rest ---- */

/* The macros for shapes and sets, with numbers of several types. */
static bool halves(int rows, int64_t columns)
{
    const double numbers[] = {1, 2, 3, 4, 5, 6};
    const int64_t ids[] = {1};
    HEED_SCOPE(scope);
    heed_tensor *x = heed_from_f64(numbers, HEED_SHAPE(rows, columns));
    x = heed_set_requires_grad(x, true);
    heed_gradcheck(half, NULL, &x, 1, 0, 0, 0, HEED_ALL_INPUTS & ~HEED_INPUT(0));
    HEED_SCOPE_NO_GRAD(no_grad);
    heed_tensor *y = heed_sum_dim(heed_permute(half(&x, NULL), HEED_DIMS(0, -1)), -1, true);
    y = heed_index_select(y, 0, heed_from_i64(ids, HEED_SHAPE(1)));
    return heed_at(y, HEED_INDEX(rows - 2, 0)) == 7.5 && !y->requires_grad;
}

int main(void)
{
    heed_manual_seed(0);
    struct model *m = model_new();
    const double loss = train(m);
    heed_module_free(m);
    printf("Heed %s: loss %.6f\n", HEED_VERSION, loss);
    const bool right = loss < 1e-3 && halves(2, 3);
    if (heed_error_pending() != HEED_OK) {
        printf("%s\n", heed_error_message());
    }
    return right && heed_live_tensors() == 0 && heed_error() == HEED_OK ? 0 : 1;
}
