// An operation defined in C++, y = x^3. Its derivatives are checked, and a wrong one is caught.
#include <cstdio>
#include <cstring>
#include <string>

#include "heed.hpp"

namespace
{

void cube_rule(const heed_call *call, heed_result *)
{
    heed::check(heed_expect_dtype(call, 0, HEED_F64));
}

void cube_forward(const heed_call *call, heed::tensor y)
{
    heed::tensor x = heed::contiguous(call->inputs[0]);
    const double *from = heed::const_data_f64(x);
    double *to = heed::data_f64(y);
    for (int64_t i = 0; i < y->numel; i++) {
        to[i] = from[i] * from[i] * from[i];
    }
}

void cube_backward(const heed_vjp *v)
{
    v->grads[0] = v->g * (3 * heed::square(v->inputs[0]));
}

void wrong_backward(const heed_vjp *v)
{
    v->grads[0] = v->g * (-6 * heed::square(v->inputs[0]));
}

void throwing_backward(const heed_vjp *)
{
    throw heed::error(HEED_ERR_VALUE, "cube: no derivative today");
}

const char *const names[] = {"x"};

} // namespace

#if __cplusplus >= 202002L
HEED_OPERATION(cube) = {.name = "cube",
                        .inputs = 1,
                        .names = names,
                        .rule = heed::callback<cube_rule>(),
                        .forward = heed::callback<cube_forward>(),
                        .backward = heed::callback<cube_backward>(),
                        .saves = {HEED_SAVES_INPUT(0)}};
#else
static heed_op op_cube = [] {
    heed_op op{};
    op.name = "cube";
    op.inputs = 1;
    op.names = names;
    op.rule = heed::callback<cube_rule>();
    op.forward = heed::callback<cube_forward>();
    op.backward = heed::callback<cube_backward>();
    op.saves[0] = HEED_SAVES_INPUT(0);
    return op;
}();
static const bool registered = (heed_register(&op_cube), true);
#endif

namespace
{

heed::tensor apply(heed_tensor *const *inputs, const heed_op *op)
{
    return heed::apply(*op, inputs[0]);
}

bool expect(bool holds, const std::string &what)
{
    if (!holds) {
        std::printf("operation.cpp: %s\n", what.c_str());
    }
    return holds;
}

// True if f throws an error of that status, whose message contains `text`.
template <class F> bool fails(heed_status status, const char *text, F f)
{
    try {
        f();
    } catch (const heed::error &e) {
        return expect(e.status() == status && std::strstr(e.what(), text) != nullptr,
                      std::string("another error: ") + e.what());
    }
    return expect(false, std::string("no error: ") + text);
}

bool check_cube()
{
    heed::scope scope;
    heed::tensor x = heed::set_requires_grad(heed::from<double>({-2, -0.5, 1, 3}, {2, 2}), true);
    heed_tensor *inputs[] = {x};
    auto gradcheck = [&](heed_op &op) {
        heed::check(heed_gradcheck(heed::callback<apply>(), &op, inputs, 1));
        heed::check(heed_gradgradcheck(heed::callback<apply>(), &op, inputs, 1));
    };
    bool good = expect(heed::at(heed::apply(op_cube, x), {1, 1}) == 27, "the value");
    gradcheck(op_cube);

    heed_op wrong = op_cube;
    wrong.backward = heed::callback<wrong_backward>();
    good &=
        fails(HEED_ERR_GRADCHECK, "(ratio -2: this factor everywhere)", [&] { gradcheck(wrong); });
    heed_op throwing = op_cube;
    throwing.backward = heed::callback<throwing_backward>();
    good &= fails(HEED_ERR_VALUE, "cube: no derivative today",
                  [&] { heed::backward(heed::sum(heed::apply(throwing, x))); });
    good &= fails(HEED_ERR_DTYPE, "cube: x is f32, not f64",
                  [] { heed::apply(op_cube, heed::ones({2}, HEED_F32)); });
    return good;
}

} // namespace

int main()
{
    bool good = expect(heed_find_operation("cube") == &op_cube, "the registry");
    good &= expect(heed_find_operation("mul") != nullptr, "the library's operations");
    good &= check_cube();
    return good && heed_live_tensors() == 0 && !heed_error_pending() ? 0 : 1;
}
