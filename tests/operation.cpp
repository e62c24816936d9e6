// An operation defined in C++, y = x^3: in C++20 with HEED_OPERATION and designated initialisers,
// in C++17 by filling a heed_op. Its derivatives are checked, and a wrong one is caught.
#include <cstdio>
#include <cstring>

#include "heed.h"

namespace {

heed_status cube_rule(const heed_call *call, heed_result *)
{
    return heed_expect_dtype(call, 0, HEED_F64);
}

heed_status cube_forward(const heed_call *call, heed_tensor *y)
{
    const double *x = heed_const_data_f64(heed_contiguous(call->inputs[0]));
    double *to = heed_data_f64(y);
    for (int64_t i = 0; x != nullptr && to != nullptr && i < y->numel; i++) {
        to[i] = x[i] * x[i] * x[i];
    }
    return heed_error_pending();
}

void cube_backward(const heed_vjp *v)
{
    v->grads[0] = heed_mul(v->g, heed_mul_scalar(heed_square(v->inputs[0]), 3));
}

void wrong_backward(const heed_vjp *v)
{
    v->grads[0] = heed_mul(v->g, heed_mul_scalar(heed_square(v->inputs[0]), -6));
}

const char *const names[] = {"x"};

} // namespace

#if __cplusplus >= 202002L
// g++ warns of fields that designated initialisers leave out; C and clang++ do not.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
HEED_OPERATION(cube) = {.name = "cube",
                        .inputs = 1,
                        .names = names,
                        .rule = cube_rule,
                        .forward = cube_forward,
                        .backward = cube_backward,
                        .saves = {HEED_SAVES_INPUT(0)}};
#else
static heed_op op_cube = [] {
    heed_op op{};
    op.name = "cube";
    op.inputs = 1;
    op.names = names;
    op.rule = cube_rule;
    op.forward = cube_forward;
    op.backward = cube_backward;
    op.saves[0] = HEED_SAVES_INPUT(0);
    return op;
}();
static const bool registered = (heed_register(&op_cube), true);
#endif

namespace {

heed_tensor *apply(heed_tensor *const *inputs, void *op)
{
    return heed_apply(static_cast<const heed_op *>(op), inputs, 1, nullptr, 0);
}

bool expect(bool holds, const char *what)
{
    if (!holds) {
        std::printf("operation.cpp: %s: \"%s\"\n", what, heed_error_message());
    }
    return holds;
}

bool check()
{
    double numbers[] = {-2, -0.5, 1, 3};
    heed_tensor *x = heed_set_requires_grad(heed_from_f64(numbers, HEED_SHAPE(2, 2)), true);
    heed_tensor *y = apply(&x, &op_cube);
    bool good = expect(y != nullptr && heed_at(y, HEED_INDEX(1, 1)) == 27, "the value");
    good &= expect(heed_gradcheck(apply, &op_cube, &x, 1) == HEED_OK, "the gradient");
    good &= expect(heed_gradgradcheck(apply, &op_cube, &x, 1) == HEED_OK, "its gradient");

    heed_op wrong = op_cube;
    wrong.backward = wrong_backward;
    good &= expect(heed_gradcheck(apply, &wrong, &x, 1) == HEED_ERR_GRADCHECK &&
                       std::strstr(heed_error_message(), "analytic / numeric is -2") != nullptr,
                   "a wrong gradient");
    heed_error();

    heed_tensor *f32 = heed_ones(HEED_SHAPE(2), HEED_F32);
    good &= expect(apply(&f32, &op_cube) == nullptr && heed_error() == HEED_ERR_DTYPE &&
                       std::strstr(heed_error_message(), "cube: x is f32, not f64") != nullptr,
                   "the rule's error");
    return good;
}

} // namespace

int main()
{
    bool good = expect(heed_find_operation("cube") == &op_cube, "the registry");
    good &= expect(heed_find_operation("mul") != nullptr, "the library's operations");
    heed_scope scope;
    heed_scope_begin(&scope);
    good &= check();
    good &= expect(heed_scope_end(&scope) == HEED_OK, "the scope");
    return good && heed_live_tensors() == 0 ? 0 : 1;
}
