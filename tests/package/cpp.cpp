// The C++ header: operators and functions, lifetimes, exceptions through scopes, callbacks,
// threads.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <heed.hpp>

namespace
{

// ---- what must not compile ----

using heed::kept;
using heed::scope;
using heed::tensor;

static_assert(!std::is_copy_constructible_v<scope> && !std::is_move_constructible_v<scope>);
static_assert(!std::is_copy_assignable_v<scope> && !std::is_move_assignable_v<scope>);
static_assert(std::is_nothrow_destructible_v<scope> && std::is_nothrow_destructible_v<kept>);
static_assert(std::is_nothrow_move_constructible_v<kept>);

// A tensor is as cheap as the pointer.
static_assert(std::is_trivially_copyable_v<tensor> && sizeof(tensor) == sizeof(heed_tensor *));

// `if (x < y)`, `double loss = x`
static_assert(!std::is_constructible_v<bool, tensor> && !std::is_convertible_v<tensor, double>);

// A kept cannot be assigned through a reference to its base, which would lose the retained tensor.
static_assert(!std::is_assignable_v<heed::handle &, tensor>);

// A dangling pointer to what the owner frees.
static_assert(!std::is_convertible_v<heed::owner<heed_optimizer>, heed_optimizer *>);
static_assert(std::is_convertible_v<heed::owner<heed_optimizer> &, heed_optimizer *>);

// ---- expectations ----

int failures = 0;

#define EXPECT(condition) expect(condition, #condition, __LINE__)

bool expect(bool holds, const char *condition, int line)
{
    if (!holds) {
        std::printf("tests/package/cpp.cpp:%d: %s\n", line, condition);
        failures++;
    }
    return holds;
}

// True if f throws an error of that status, whose message contains `text`, and leaves none pending.
template <class F> bool fails(heed_status status, const char *text, F f)
{
    try {
        f();
    } catch (const heed::error &e) {
        if (e.status() == status && std::strstr(e.what(), text) != nullptr) {
            return heed_error_pending() == HEED_OK;
        }
        std::printf("another error: %s: %s\n", heed_status_name(e.status()), e.what());
    }
    return false;
}

bool is(const tensor &t, const std::vector<double> &expected)
{
    return heed::values<double>(heed::to(t, HEED_F64)) == expected;
}

bool is_same(const heed_tensor *a, const heed_tensor *b)
{
    return a == b;
}

// Memory that is live before a test must be all that is live after it.
struct nothing_leaks {
    int line;
    int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    ~nothing_leaks()
    {
        expect(heed_live_tensors() == tensors, "tensors are left", line);
        expect(heed_live_bytes() == bytes, "bytes are left", line);
        expect(heed_error() == HEED_OK, heed_error_message(), line);
    }
};
#define NOTHING_LEAKS                                                                              \
    nothing_leaks leaks                                                                            \
    {                                                                                              \
        __LINE__                                                                                   \
    }

// ---- operators and functions ----

void test_operators()
{
    NOTHING_LEAKS;
    scope s;
    tensor a = heed::from<double>({1, 2}, {2});
    kept b = heed::from<double>({4, 5}, {2});
    heed_tensor *c =
        heed_from_values(std::vector<double>{8, 4}.data(), 16, HEED_SHAPE(2), HEED_F64);

    EXPECT(is(a + b, {5, 7}) && is(a + c, {9, 6}) && is(c + a, {9, 6}) && is(b + b, {8, 10}));
    EXPECT(is(a - b, {-3, -3}) && is(a - c, {-7, -2}) && is(c - a, {7, 2}) && is(b - b, {0, 0}));
    EXPECT(is(a * b, {4, 10}) && is(b / a, {4, 2.5}) && is(-b, {-4, -5}) && is(c / b, {2, 0.8}));

    const int64_t two = 2;
    EXPECT(is(a + two, {3, 4}) && is(two + a, {3, 4}) && is(a - 1, {0, 1}) && is(1u - a, {0, -1}));
    EXPECT(is(a + 0, {1, 2}) && is(0 - b, {-4, -5}) && is(0.5 * a, {0.5, 1}) && is(a * 2, {2, 4}));
    EXPECT(is(b / two, {2, 2.5}) && is(2 / a, {2, 1}) && is(2.F / b, {0.5, 0.4}));

    tensor d = heed::from<double>({1, 3}, {2});
    EXPECT(is(a == d, {1, 0}) && is(a != d, {0, 1}) && is(a < d, {0, 1}) && is(a <= d, {1, 1}));
    EXPECT(is(a > d, {0, 0}) && is(a >= d, {1, 0}) && is(a == 1, {1, 0}) && is(a != 0, {1, 1}));
    EXPECT(is(a < 2, {1, 0}) && is(a <= 2L, {1, 1}) && is(a > 1, {0, 1}) && is(a >= 2.5, {0, 0}));
    EXPECT(is(1 == a, {1, 0}) && is(1 != a, {0, 1}) && is(1 < a, {0, 1}) && is(2 <= a, {0, 1}));
    EXPECT(is(2 > a, {1, 0}) && is(1 >= a, {1, 0}) && is(c > a, {1, 1}) && is(a == c, {0, 0}));

    // The operators compute what the C functions compute.
    tensor x = heed::randn({3, 4}, HEED_F32), y = heed::randn({4}, HEED_F32);
    EXPECT(heed::equal(2 * x - y / 3, heed_sub(heed_mul_scalar(x, 2), heed_div_scalar(y, 3))));
    EXPECT(heed::equal(heed::mean(x) + 1, heed_add_scalar(heed_mean(x), 1)));
    EXPECT(heed::item(x[1][-2]) == heed_at(x, HEED_INDEX(1, 2)));
    EXPECT(b[1] != nullptr && tensor() == nullptr && x->ndim == 2);
}

// As in torch: an i64 or bool and a float give f32; integers are compared exactly.
void test_numbers()
{
    NOTHING_LEAKS;
    scope s;
    const int64_t big = 9007199254740993; // 2^53 + 1, not a double
    tensor i = heed::from<int64_t>({big, big - 1, 3}, {3}), flags = heed::from({true, false}, {2});
    tensor d = heed::from<double>({1, 2}, {2});
    EXPECT(is(i == big, {1, 0, 0}) && is(big == i, {1, 0, 0}) && is(i != big, {0, 1, 1}));
    EXPECT(is(i < big, {0, 1, 1}) && is(i >= big, {1, 0, 0}) && is(big > i, {0, 1, 1}));
    EXPECT(heed::values<int64_t>(i - big) == (std::vector<int64_t>{0, -1, 3 - big}));
    EXPECT(heed::values<int64_t>(big - i) == (std::vector<int64_t>{0, 1, big - 3}));
    EXPECT(heed::values<int64_t>(i + -big) == (std::vector<int64_t>{0, -1, 3 - big}));
    EXPECT(heed::values<int64_t>(1 * (i + 0)) == (std::vector<int64_t>{big, big - 1, 3}));
    EXPECT((flags + big)->dtype == HEED_I64 && (d + big)->dtype == HEED_F64);
    EXPECT((i / big)->dtype == HEED_F32 && is(big / (i - i + 1) / 0x1p53, {1, 1, 1}));
    EXPECT(is(i == static_cast<uint64_t>(big), {1, 0, 0}));
    EXPECT(fails(HEED_ERR_VALUE, "i64 cannot hold", [&] { (void)(i == UINT64_MAX); }));

    tensor n = heed::from<int64_t>({1, 2}, {2});
    for (const tensor &y : {n * 2.0, 2.0 * n, n * 2.F, n + 1.0, 1.0 - n, n - 1.0, n / 2, 1.0 / n}) {
        EXPECT(y->dtype == HEED_F32);
    }
    EXPECT(is(n * 2.5, {2.5, 5}) && is(0.5 + n, {1.5, 2.5}) && is(0.5 - n, {-0.5, -1.5}));
    EXPECT((n * 2)->dtype == HEED_I64 && (flags * 2)->dtype == HEED_I64);
    EXPECT((flags * 0.5)->dtype == HEED_F32 && is(flags * 0.5, {0.5, 0}));
    EXPECT((d * 2.F)->dtype == HEED_F64 && is(n > 1.5, {0, 1}) && is(n == 2.0, {0, 1}));

    const char *words = "9007199254740993 may not be exact as a double; make a tensor of it";
    EXPECT(fails(HEED_ERR_VALUE, words, [&] { heed::scalar(big, HEED_I64); }));
    EXPECT(fails(HEED_ERR_VALUE, words, [&] { heed::full({2}, big, HEED_I64); }));
    EXPECT(fails(HEED_ERR_VALUE, words, [&] { heed::maximum_scalar(i, big); }));
    EXPECT(heed::item_i64(heed::scalar(-(big - 1), HEED_I64)) == -(big - 1));

    for (const tensor &y : {heed::ones({2, 3}), heed::zeros({2, 3}), heed::empty({2, 3}),
                            heed::rand({2, 3}), heed::randn({2, 3}), heed::eye(2, 3)}) {
        EXPECT(y->dtype == HEED_F32 && y->numel == 6);
    }
    EXPECT(is(heed::ones({2}), {1, 1}) && heed::zeros({})->ndim == 0);
    EXPECT(is(heed::linspace(0, 1, 3), {0, 0.5, 1}) && heed::linspace(0, 1, 3)->dtype == HEED_F32);
    EXPECT(heed::eye(2, 2, HEED_BOOL)->dtype == HEED_BOOL);
    EXPECT(fails(HEED_ERR_SHAPE, "eye", [] { heed::eye(-1, 2); }));
}

void test_functions()
{
    NOTHING_LEAKS;
    scope s;
    heed::check(heed_fill_into(heed::zeros({}, HEED_F32), 1));
    tensor x = heed::set_requires_grad(heed::from<double>({1, 2, 3, 4}, {2, 2}), true);
    EXPECT(heed::same_shape(heed::zeros({2, 2}, HEED_F32), x) &&
           heed::scalar(3, HEED_F32)->ndim == 0);
    EXPECT(is(heed::sum_dims(x, {0, 1}, true), {10}) && is(heed::permute(x, {1, 0}), {1, 3, 2, 4}));
    EXPECT(is(heed::matmul(x, x), {7, 10, 15, 22}) && is(heed::reshape(x, {-1})[3], {4}));
    EXPECT(is(heed::linear(x, x, nullptr), {5, 11, 11, 25}) && heed::at(x, {1, -1}) == 4);
    EXPECT(is(heed::cat({x, 2 * x}, 1), {1, 2, 2, 4, 3, 4, 6, 8}));
    EXPECT(is(heed::stack({x[0], x[1]}, 1), {1, 3, 2, 4}));

    // d/dx sum(x^3) = 3 x^2; its sum's derivative is 6 x.
    std::vector<tensor> dx = heed::grad(heed::sum(x * x * x), {x}, true);
    EXPECT(dx.size() == 1 && is(dx[0], {3, 12, 27, 48}));
    EXPECT(is(heed::grad(heed::sum(dx[0]), {x})[0], {6, 12, 18, 24}));
    EXPECT(x->grad == nullptr && tensor(x->grad) == nullptr);
    heed::backward(heed::sum(heed::square(x)));
    EXPECT(is(x->grad, {2, 4, 6, 8}) && is(x - x->grad, {-1, -2, -3, -4}));

    const float table[] = {1, 2};
    const std::vector<int64_t> ids{3, -1};
    EXPECT(heed::from(table, {2})->dtype == HEED_F32 && heed::from(ids, {2})->dtype == HEED_I64);
    EXPECT(heed::from({true, false}, {2})->dtype == HEED_BOOL && is(heed::from(ids, {2}), {3, -1}));
    EXPECT(heed::values<int64_t>(heed::transpose(heed::from(ids, {2, 1}), 0, 1)) == ids);
    EXPECT(fails(HEED_ERR_SHAPE, "values has 2 elements", [&] { heed::from(ids, {3}); }));
    EXPECT(heed::values<bool>(heed::from({1., 3.}, {2}) > 2) == (std::vector<bool>{false, true}));
    EXPECT(fails(HEED_ERR_DTYPE, "values: x is f64, not f32", [&] { heed::values<float>(x); }));
    EXPECT(fails(HEED_ERR_NULL, "values: x", [] { heed::values<float>(nullptr); }));

    std::ostringstream text;
    text << heed::from<double>({1, 2.5}, {2}) << '\n' << kept(heed::scalar(3, HEED_I64));
    EXPECT(text.str() == "tensor([1.0000, 2.5000], dtype=torch.float64)\ntensor(3)");

    constexpr heed::function<heed_causal_keep_mask> my_mask{};
    EXPECT(is(my_mask(2), {1, 0, 1, 1}));
}

// ---- lifetimes ----

void test_kept()
{
    NOTHING_LEAKS;
    kept outer, moved;
    {
        scope s;
        tensor x = heed::ones({1000}, HEED_F32);
        outer = x;
        EXPECT(x->retains == 1);
        kept copy = outer;
        EXPECT(x->retains == 2);
        kept &same = copy;
        copy = same;
        EXPECT(x->retains == 2 && is_same(copy, x));
        copy = std::move(same);
        EXPECT(x->retains == 2 && is_same(copy, x));
        moved = std::move(copy);
        EXPECT(x->retains == 2 && is_same(moved, x) && copy == nullptr);
        copy = moved;
        EXPECT(x->retains == 3);
        copy = nullptr;
        EXPECT(x->retains == 2);
        std::vector<kept> many(5, outer);
        many.resize(100);
        EXPECT(x->retains == 7);
        const tensor view = outer;
        EXPECT(is_same(view, outer) && x->retains == 7);
    }
    EXPECT(outer->retains == 2 && heed_live_tensors() == leaks.tensors + 1);
    scope s;
    EXPECT(heed::item(heed::sum(outer)) == 1000);
    outer = moved;
    moved = kept();
    EXPECT(outer->retains == 1);
    EXPECT(fails(HEED_ERR_SHAPE, "matmul", [] {
        kept k = heed_matmul(heed::ones({2, 3}, HEED_F32), heed::ones({2, 3}, HEED_F32));
    }));

    // Without a value, there is nothing to keep, and an error that was not checked is thrown.
    EXPECT(kept(nullptr) == nullptr && kept(tensor()) == nullptr);
    heed_fail(HEED_ERR_VALUE, "unchecked");
    EXPECT(fails(HEED_ERR_VALUE, "unchecked", [&] { kept copy = outer; }));
    EXPECT(outer->retains == 1);
}

// An expression of several operations on w; each result is a temporary.
tensor loss_of(const tensor &x, const tensor &w)
{
    return heed::mean(heed::square(heed::relu(heed::matmul(x, w) + 1) * 2 - heed::exp(-x)));
}

heed_tensor *loss_of_c(heed_tensor *x, heed_tensor *w)
{
    heed_tensor *relu = heed_relu(heed_add_scalar(heed_matmul(x, w), 1));
    return heed_mean(heed_square(heed_sub(heed_mul_scalar(relu, 2), heed_exp(heed_neg(x)))));
}

// Bytes live at five points of a training step: the graph is built in an inner scope.
template <class Loss> std::vector<int64_t> bytes_of_step(Loss loss)
{
    std::vector<int64_t> bytes{};
    bytes.reserve(5);
    const int64_t before = heed_live_bytes();
    const auto measure = [&] { bytes.push_back(heed_live_bytes() - before); };
    scope s;
    tensor x = heed::ones({64, 64}, HEED_F32);
    tensor w = heed::set_requires_grad(heed::ones({64, 64}, HEED_F32), true);
    tensor y;
    {
        scope inner;
        y = inner.keep(loss(x, w));
        measure();
    }
    measure();
    heed::backward(y);
    measure();
    y = loss(x, w);
    measure();
    heed::backward(y);
    measure();
    return bytes;
}

// The temporaries of an expression must not keep values that C would free.
void test_activations()
{
    NOTHING_LEAKS;
    const std::vector<int64_t> in_c = bytes_of_step(loss_of_c), in_cpp = bytes_of_step(loss_of);
    EXPECT(in_cpp == in_c);
    EXPECT(in_c[1] < in_c[0] && in_c[2] < in_c[1] && in_c[4] <= in_c[3]); // something is freed
}

// ---- errors ----

void test_errors()
{
    NOTHING_LEAKS;
    scope s;
    tensor a = heed::ones({2, 3}, HEED_F32), none;
    EXPECT(fails(HEED_ERR_SHAPE, "matmul: inner sizes differ", [&] { heed::matmul(a, a); }));
    EXPECT(fails(HEED_ERR_SHAPE, "matmul: inner sizes differ", [&] { a = heed_matmul(a, a); }));
    EXPECT(fails(HEED_ERR_SHAPE, "matmul", [&] { heed::check(heed_exp(heed_matmul(a, a))); }));
    EXPECT(fails(HEED_ERR_SHAPE, "add", [&] { a = a + heed::ones({4}, HEED_F32); }));
    EXPECT(fails(HEED_ERR_SHAPE, "item", [&] { heed::item(a); }));
    EXPECT(fails(HEED_ERR_SHAPE, "item", [&] { heed::check(heed_item(a)); }));
    EXPECT(fails(HEED_ERR_INDEX, "select", [&] { a[2]; }));
    EXPECT(fails(HEED_ERR_GRAPH, "backward", [&] { heed::backward(heed::sum(a)); }));
    EXPECT(fails(HEED_ERR_GRAPH, "backward", [&] { heed::check(heed_backward(heed::sum(a))); }));
    EXPECT(fails(HEED_ERR_NULL, "add", [&] { a = a + none; }));
    EXPECT(
        fails(HEED_ERR_DTYPE, "linear", [&] { heed::linear(a, heed::to(a, HEED_F64), nullptr); }));
    EXPECT(heed::check(heed_item_i64(heed::scalar(7, HEED_I64))) == 7);
    heed::check(); // nothing is pending
}

// Several scopes deep, with the grad mode changed, in the middle of an expression.
void throw_deep(int depth)
{
    if (depth % 2 == 0) {
        scope s;
        tensor x = heed::ones({100}, HEED_F32);
        kept k = x + 1;
        throw_deep(depth - 1);
    } else if (depth > 1) {
        scope s(heed::no_grad);
        HEED_SCOPE(in_c);
        EXPECT(!heed_is_grad_enabled());
        std::vector<kept> cache(3, heed::ones({100}, HEED_F32));
        throw_deep(depth - 1);
    } else {
        heed::matmul(heed::ones({2, 3}, HEED_F32) + 1, heed::ones({2, 3}, HEED_F32));
    }
}

void test_exceptions_through_scopes()
{
    NOTHING_LEAKS;
    EXPECT(fails(HEED_ERR_SHAPE, "matmul", [] { throw_deep(10); }));
    EXPECT(heed_is_grad_enabled() && heed_live_tensors() == leaks.tensors);
    EXPECT(fails(HEED_ERR_SCOPE, "no scope is open", [] { heed::ones({2}, HEED_F32); }));

    scope s;
    tensor x = heed::set_requires_grad(heed::ones({2}, HEED_F32), true), y;
    try {
        scope inner;
        y = inner.keep(x * 3);
        throw 1;
    } catch (int) {
    }
    EXPECT(is(y, {3, 3}));
    {
        scope inner(heed::no_grad);
        EXPECT(!(x * 2)->requires_grad);
    }
    EXPECT((x * 2)->requires_grad);
    EXPECT(fails(HEED_ERR_SCOPE, "no scope is open outside", [&] { s.keep(x * 2); }));
}

// Destructors leave errors pending, also while another exception passes.
void test_errors_in_destructors()
{
    NOTHING_LEAKS;
    heed_scope left_open;
    {
        scope s;
        heed_scope_begin(&left_open);
    }
    EXPECT(heed_error_pending() == HEED_ERR_SCOPE);
    EXPECT(fails(HEED_ERR_SCOPE, "were still open", [] { heed::check(); }));
    bool caught = false;
    try {
        scope s;
        heed_scope_begin(&left_open);
        throw std::logic_error("first");
    } catch (const std::logic_error &e) {
        caught = std::strcmp(e.what(), "first") == 0;
    }
    EXPECT(caught && heed_error_pending() == HEED_ERR_SCOPE);
    EXPECT(heed_error() == HEED_ERR_SCOPE);

    // An error that C left pending passes through a scope, and the next checked call throws it.
    scope outer;
    {
        scope s;
        kept k = heed::ones({2}, HEED_F32);
        heed_fail(HEED_ERR_VALUE, "from C");
    }
    EXPECT(fails(HEED_ERR_VALUE, "from C", [] { heed::ones({2}, HEED_F32); }));
}

// ---- functions that C calls ----

enum exception_kind { ERROR, BAD_ALLOC, STANDARD, OTHER, NO_EXCEPTION, PENDING };

heed::tensor throwing(heed_tensor *const *inputs, exception_kind *kind)
{
    scope s;
    tensor y = heed::square(inputs[0]);
    switch (*kind) {
    case ERROR:
        heed::matmul(heed::ones({2, 3}, HEED_F64), heed::ones({2, 3}, HEED_F64));
        break;
    case BAD_ALLOC:
        throw std::bad_alloc();
    case STANDARD:
        throw std::runtime_error("100 % mine");
    case OTHER:
        throw 7;
    case PENDING:
        heed_fail(HEED_ERR_INDEX, "left pending");
        throw std::runtime_error("later");
    case NO_EXCEPTION:
        break;
    }
    return s.keep(y);
}

void test_callbacks()
{
    NOTHING_LEAKS;
    scope s;
    heed_tensor *x = heed::set_requires_grad(heed::ones({2}, HEED_F64), true);
    exception_kind kind;
    const auto run = [&](exception_kind which) {
        kind = which;
        heed::check(heed_gradcheck(heed::callback<throwing>(), &kind, &x, 1));
    };
    run(NO_EXCEPTION);
    EXPECT(fails(HEED_ERR_SHAPE, "matmul: inner sizes differ", [&] { run(ERROR); }));
    EXPECT(fails(HEED_ERR_MEMORY, "std::bad_alloc", [&] { run(BAD_ALLOC); }));
    EXPECT(fails(HEED_ERR_VALUE, "100 % mine", [&] { run(STANDARD); }));
    EXPECT(fails(HEED_ERR_VALUE, "not a std::exception", [&] { run(OTHER); }));
    EXPECT(fails(HEED_ERR_INDEX, "left pending", [&] { run(PENDING); }));
}

// ---- modules and other objects ----

struct Gate {
    heed_module module;
    heed_tensor *scale;
    struct heed_linear *project;
};

tensor gate_forward(Gate *m, const tensor &x)
{
    HEED_FORWARD(m);
    if (x->ndim > 3) {
        throw std::out_of_range("gate: too many dims");
    }
    const tensor y = heed_linear_forward(m->project, x);
    return y * m->scale;
}

const heed_module_kind gate_kind = heed::kind<Gate, gate_forward>("Gate");

heed::owner<Gate> new_gate(int64_t d, bool throws = false)
{
    return heed::make<Gate>(gate_kind, [&](Gate *m) {
        HEED_PARAMETER(m, scale, heed::ones({d}, HEED_F32) * 2);
        if (throws) {
            throw std::length_error("in a constructor");
        }
        HEED_CHILD(m, project, heed_linear_new(d, d));
    });
}

void test_modules()
{
    NOTHING_LEAKS;
    {
        auto gate = new_gate(3);
        auto adam = heed::own(heed_adam_new(heed_parameters(gate), 0.1));
        scope s;
        tensor y = heed_forward(gate, heed::ones({2, 3}, HEED_F32));
        EXPECT(heed::equal(y, 2 * heed::linear(heed::ones({2, 3}, HEED_F32), gate->project->weight,
                                               gate->project->bias)));
        heed::backward(heed::sum(y));
        heed::check(heed_optimizer_step(adam));
        EXPECT(fails(HEED_ERR_VALUE, "gate: too many dims", [&] {
            heed::check(heed_forward(gate, heed::ones({1, 1, 1, 3}, HEED_F32)));
        }));

        // Modules in a C module.
        auto layers = heed::own(heed_sequential_new());
        heed::check(heed_sequential_append(layers, new_gate(3).release()));
        heed::check(heed_sequential_append(layers, heed_relu_new()));
        heed::check(heed_sequential_append(layers, gate.release()));
        y = heed_forward(layers, heed::ones({2, 3}, HEED_F32));
        EXPECT(y->shape[1] == 3 && heed_parameters(layers).count == 6 && gate == nullptr);
        heed::owner<heed_sequential> moved = std::move(layers);
        EXPECT(layers == nullptr && moved != nullptr);
    }
    EXPECT(heed_live_tensors() == leaks.tensors && heed_live_bytes() == leaks.bytes);

    bool caught = false;
    try {
        new_gate(3, true);
    } catch (const std::length_error &) {
        caught = true;
    }
    EXPECT(caught && heed_live_bytes() == leaks.bytes);
    EXPECT(fails(HEED_ERR_SHAPE, "ones", [] { new_gate(-1); }));
    EXPECT(fails(HEED_ERR_SCOPE, "no scope is open", [] { heed::ones({2}, HEED_F32); }));
    EXPECT(fails(HEED_ERR_VALUE, "make: this Gate is incomplete: registering 'project' failed", [] {
        heed::make<Gate>(gate_kind, [](Gate *m) {
            HEED_CHILD(m, project, nullptr);
            heed_error(); // ignored
        });
    }));
    EXPECT(fails(HEED_ERR_VALUE, "lr", [] {
        auto gate = new_gate(3);
        heed::own(heed_adam_new(heed_parameters(gate), -1));
    }));
    auto batches = heed::own(heed_batches_new(10, 2, heed_batches_options{}));
    EXPECT(heed_batches_count(batches) == 5);
}

// ---- threads ----

void test_threads()
{
    NOTHING_LEAKS;
    kept weight;
    {
        scope s;
        weight = heed::share(heed::ones({10}, HEED_F32));
    }
    bool good[4] = {};
    std::vector<std::thread> threads{};
    for (bool &one : good) {
        threads.emplace_back([&one, weight] {
            one = true;
            for (int i = 0; i < 200; i++) {
                kept copy = weight;
                scope s;
                one &= heed::item(heed::sum(copy * 2)) == 20;
                one &= fails(HEED_ERR_SHAPE, "matmul",
                             [&] { heed::matmul(heed::ones({3}, HEED_F32), copy); });
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    threads.clear();
    EXPECT(good[0] && good[1] && good[2] && good[3] && weight->retains == 1);
}

// ---- a global: released after main ----

struct at_exit {
    ~at_exit()
    {
        if (heed_live_tensors() != 0) {
            std::printf("tests/package/cpp.cpp: a kept global is not released\n");
            std::fflush(stdout);
            _exit(1);
        }
    }
} at_exit;

kept global;

} // namespace

int main()
{
    test_operators();
    test_numbers();
    test_functions();
    test_kept();
    test_activations();
    test_errors();
    test_exceptions_through_scopes();
    test_errors_in_destructors();
    test_callbacks();
    test_modules();
    test_threads();
    scope s;
    global = heed::ones({3}, HEED_F32);
    return failures == 0 ? 0 : 1;
}
