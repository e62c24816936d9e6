/* The tester tested: operations whose derivatives are broken on purpose, each of which the gradient
 * checks must catch, naming the operation, the element and the mistake; and right ones that fail
 * for another reason, which the checks must tell apart. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/test_util.h"
#include "tests/ops/table.h"

/* ---- forwards; the derivatives differ ---- */

static heed_status same_rule(const heed_call *call, heed_result *result)
{
    (void)call, (void)result;
    return HEED_OK;
}

static heed_status cube_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_pow_scalar(call->inputs[0], 3));
}

static heed_status exp_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_exp(call->inputs[0]));
}

static heed_status transpose_rule(const heed_call *call, heed_result *result)
{
    result->shape = HEED_SHAPE(call->inputs[0]->shape[1], call->inputs[0]->shape[0]);
    return HEED_OK;
}

static heed_status transpose_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_transpose(call->inputs[0], 0, 1));
}

static heed_status relu_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_relu(call->inputs[0]));
}

static heed_status add_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_add(call->inputs[0], call->inputs[1]));
}

static heed_status matmul_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_matmul(call->inputs[0], call->inputs[1]));
}

/* ---- of x^3: g 3 x^2 ---- */

static heed_tensor *cube_gradient(heed_tensor *g, heed_tensor *x)
{
    return heed_mul_scalar(heed_mul(g, heed_mul(x, x)), 3);
}

static void cube(const heed_vjp *v)
{
    v->grads[0] = cube_gradient(v->g, v->inputs[0]);
}

static void wrong_sign(const heed_vjp *v)
{
    v->grads[0] = heed_neg(cube_gradient(v->g, v->inputs[0]));
}

static void slightly_more(const heed_vjp *v)
{
    v->grads[0] = heed_mul_scalar(cube_gradient(v->g, v->inputs[0]), 1.0001);
}

static void none(const heed_vjp *v)
{
    v->grads[0] = NULL;
}

static void nan_everywhere(const heed_vjp *v)
{
    v->grads[0] = heed_mul_scalar(v->g, (double)NAN);
}

static void infinite(const heed_vjp *v)
{
    v->grads[0] = heed_mul_scalar(v->g, HUGE_VAL);
}

/* Off in the one element (1, 2). */
static void one_element_off(const heed_vjp *v)
{
    double off[] = {1, 1, 1, 1, 1, 1.001};
    heed_tensor *factors = heed_from_f64(off, HEED_SHAPE(2, 3));
    v->grads[0] = heed_mul(cube_gradient(v->g, v->inputs[0]), factors);
}

/* Right where all of g is 1: (sum g - count) is 0 there. */
static void right_for_ones(const heed_vjp *v)
{
    heed_tensor *off = heed_sub_scalar(heed_sum(v->g), (double)v->g->numel);
    v->grads[0] = heed_add(cube_gradient(v->g, v->inputs[0]), off);
}

/* Right where g has one element that is 1: g^2 is g there. */
static void right_for_unit_vectors(const heed_vjp *v)
{
    v->grads[0] = cube_gradient(heed_mul(v->g, v->g), v->inputs[0]);
}

/* Right, but what it is made of has lost its graph. */
static void wrong_second(const heed_vjp *v)
{
    v->grads[0] = cube_gradient(v->g, heed_detach(v->inputs[0]));
}

static void wrong_second_by_g(const heed_vjp *v)
{
    v->grads[0] = cube_gradient(heed_detach(v->g), v->inputs[0]);
}

/* Right where no graph of gradients is asked for. */
static void wrong_with_graph(const heed_vjp *v)
{
    heed_tensor *g = heed_is_grad_enabled() ? heed_mul_scalar(v->g, 2) : v->g;
    v->grads[0] = cube_gradient(g, v->inputs[0]);
}

static void exp_from_output(const heed_vjp *v)
{
    v->grads[0] = heed_mul(v->g, v->y);
}

static void of_f32(const heed_vjp *v)
{
    v->grads[0] = heed_to(v->g, HEED_F32);
}

static void of_another_shape(const heed_vjp *v)
{
    v->grads[0] = heed_slice(v->g, 1, 0, 2, 1);
}

static void with_an_error(const heed_vjp *v)
{
    v->grads[0] = heed_matmul(v->g, v->g);
}

/* ---- of x^T: g^T ---- */

static void reshaped(const heed_vjp *v)
{
    v->grads[0] = heed_reshape(v->g, heed_shape_of_tensor(v->inputs[0]));
}

/* ---- of relu(x): g where x > 0, at x = 0, 0.5, -1, ... ---- */

static void leaking(const heed_vjp *v)
{
    v->grads[0] = v->g;
}

static void twice_relu(const heed_vjp *v)
{
    v->grads[0] = heed_mul_scalar(heed_masked_fill(v->g, heed_le_scalar(v->inputs[0], 0), 0), 2);
}

static void mirrored_relu(const heed_vjp *v)
{
    v->grads[0] = heed_masked_fill(v->g, heed_gt_scalar(v->inputs[0], 0), 0);
}

/* Wrong only in the element at the kink itself, where it is no slope of either side. */
static void wrong_at_the_kink(const heed_vjp *v)
{
    heed_tensor *x = v->inputs[0], *right = heed_masked_fill(v->g, heed_le_scalar(x, 0), 0);
    v->grads[0] =
        heed_add(right, heed_masked_fill(heed_mul_scalar(v->g, 3), heed_ne_scalar(x, 0), 0));
}

static void nan_at_the_kink(const heed_vjp *v)
{
    v->grads[0] = heed_div(heed_mul(v->g, v->y), v->inputs[0]); /* 0 / 0 */
}

/* ---- of a (3, 3) + b (3) ---- */

static void along_the_wrong_dim(const heed_vjp *v)
{
    v->grads[0] = v->g;
    v->grads[1] = heed_sum_dim(v->g, 1, false);
}

/* ---- of a b, batches (2, 2, 2) ---- */

static void matmul_transposing_0_and_1(const heed_vjp *v)
{
    v->grads[0] = heed_matmul(v->g, heed_transpose(v->inputs[1], 0, 1));
    v->grads[1] = heed_matmul(heed_transpose(v->inputs[0], 0, 1), v->g);
}

/* ---- all of them ---- */

/* What a derivative is given to: a function that is right. */
typedef struct host {
    heed_status (*rule)(const heed_call *call, heed_result *result);
    heed_status (*forward)(const heed_call *call, heed_tensor *y);
    uint8_t saves; /* of input 0; input 1 reads the other one */
    heed_shape a, b;
} host;

#define SIZES(...)                                                                                 \
    {                                                                                              \
        (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                                 \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define NO_B                                                                                       \
    {                                                                                              \
        -1,                                                                                        \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
static const host cubes = {same_rule, cube_forward, HEED_SAVES_INPUT(0), SIZES(2, 3), NO_B};
static const host bare_cubes = {same_rule, cube_forward, 0, SIZES(2, 3), NO_B};
static const host exps = {same_rule, exp_forward, HEED_SAVED_OUTPUT, SIZES(2, 3), NO_B};
static const host transposes = {transpose_rule, transpose_forward, 0, SIZES(2, 3), NO_B};
static const host relus = {same_rule, relu_forward, HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT,
                           SIZES(6), NO_B};
static const host sums = {same_rule, add_forward, 0, SIZES(3, 3), SIZES(3)};
static const host products = {same_rule, matmul_forward, HEED_SAVES_INPUT(1), SIZES(2, 2, 2),
                              SIZES(2, 2, 2)};

typedef struct broken {
    const char *name;
    const host *host;
    void (*backward)(const heed_vjp *v);
    heed_status first, second; /* what the checks must say; the second one where the first is OK */
    const char *words;         /* that the message must hold */
} broken;

#define CAUGHT     HEED_ERR_GRADCHECK, HEED_OK
#define LATER      HEED_OK, HEED_ERR_GRADCHECK
/* A derivative that reads what .saves does not declare. */
#define UNDECLARED HEED_ERR_SCOPE
#define UNDECLARED_WORDS(name, argument)                                                           \
    "backward of " name ": mul: the value of " argument                                            \
    " (2, 3) has been freed; if it is an input or the result, declare it in .saves"

static const broken derivatives[] = {
    {"cube", &cubes, cube, HEED_OK, HEED_OK, ""},
    {"exp_from_output", &exps, exp_from_output, HEED_OK, HEED_OK, ""},
    {"wrong_sign", &cubes, wrong_sign, CAUGHT, "(ratio -1)"},
    {"slightly_more", &cubes, slightly_more, CAUGHT, "(ratio 1.0001)"},
    {"none", &cubes, none, CAUGHT, "analytic 0, numeric "},
    {"nan", &cubes, nan_everywhere, CAUGHT, "nan, numeric "},
    {"infinite", &cubes, infinite, CAUGHT, "inf, numeric "},
    {"one_element", &cubes, one_element_off, CAUGHT, "at (1, 2), of output (1, 2)"},
    {"right_for_ones", &cubes, right_for_ones, CAUGHT, "of output ("},
    {"right_for_units", &cubes, right_for_unit_vectors, CAUGHT, "output (random upstream)"},
    {"wrong_with_graph", &cubes, wrong_with_graph, CAUGHT, "(random upstream, create_graph)"},
    {"wrong_second", &cubes, wrong_second, LATER, "with respect to input 0 (2, 3) at ("},
    {"wrong_second_g", &cubes, wrong_second_by_g, LATER,
     "with respect to the upstream gradient (2, 3) at ("},
    {"undeclared_x", &bare_cubes, cube, UNDECLARED, HEED_OK,
     UNDECLARED_WORDS("undeclared_x", "input 0")},
    {"of_f32", &cubes, of_f32, HEED_ERR_DTYPE, HEED_OK,
     "backward of of_f32: the gradient of input 0 is f32 (2, 3), but the input is f64 (2, 3)"},
    {"of_another_shape", &cubes, of_another_shape, HEED_ERR_SHAPE, HEED_OK,
     "backward of of_another_shape: the gradient of input 0 is f64 (2, 2), but the input is f64 "
     "(2, 3)"},
    {"with_an_error", &cubes, with_an_error, HEED_ERR_SHAPE, HEED_OK,
     "backward of with_an_error: matmul: b (2, 3) does not fit a (2, 3)"},
    {"reshaped", &transposes, reshaped, CAUGHT,
     "at (0, 1), of output (0, 1): analytic 1, numeric 0"},
    {"leaking", &relus, leaking, CAUGHT,
     "wrong: the quotient converges to 0.0000, the gradient is 1.0000 (ratio "},
    {"twice_relu", &relus, twice_relu, CAUGHT,
     "wrong: the quotient converges to 1.0000, the gradient is 2.0000 (ratio 2"},
    {"mirrored_relu", &relus, mirrored_relu, CAUGHT, "wrong: "},
    {"wrong_at_kink", &relus, wrong_at_the_kink, CAUGHT,
     "wrong: the quotient converges to 0.50000, the gradient is 3.0000"},
    {"nan_at_kink", &relus, nan_at_the_kink, CAUGHT,
     "wrong: the quotient converges to 0.50000, the gradient is nan (ratio nan)"},
    {"wrong_dim", &sums, along_the_wrong_dim, CAUGHT, "with respect to input 1 (3) at ("},
    {"matmul_0_and_1", &products, matmul_transposing_0_and_1, CAUGHT,
     "with respect to input 0 (2, 2, 2) at ("},
};

static heed_tensor *apply(heed_tensor *const *inputs, void *context)
{
    const heed_op *op = context;
    return heed_apply(op, inputs, op->inputs, NULL, 0);
}

/* Inputs of relu have elements at its kink and within eps of it. */
static heed_tensor *numbers(const host *h, heed_shape shape)
{
    heed_tensor *x = heed_empty(shape, HEED_F64);
    heed_uniform_into(x, 0.5, 1.5);
    if (h == &relus) {
        x = heed_from_f64((double[]){0, 0.5, -1, 3e-7, -2e-7, 2}, shape);
    }
    return heed_set_requires_grad(x, true);
}

/* The message names the operation, and holds the words. */
static void expect_caught(const broken *b, heed_status status)
{
    char operation[64];
    snprintf(operation, sizeof operation, "through %s with respect to ", b->name);
    if (status == HEED_ERR_GRADCHECK) {
        ck_assert_msg(strstr(heed_error_message(), operation) != NULL, "\"%s\" does not say \"%s\"",
                      heed_error_message(), operation);
    }
    expect_error(status, b->words);
    heed_ones(HEED_SHAPE(-1), HEED_F32);
    ck_assert(strstr(heed_error_message(), "backward") == NULL);
    heed_error();
}

START_TEST(is_caught)
{
    const broken *b = &derivatives[_i];
    const host *h = b->host;
    heed_op op = {.name = b->name,
                  .inputs = h->b.ndim < 0 ? 1 : 2,
                  .rule = h->rule,
                  .forward = h->forward,
                  .backward = b->backward,
                  .saves = {h->saves, h->b.ndim >= 0 && h->saves ? HEED_SAVES_INPUT(0) : 0}};
    heed_tensor *inputs[2] = {numbers(h, h->a), op.inputs == 2 ? numbers(h, h->b) : NULL};
    heed_gradcheck_report report = {.verdict = HEED_GRADCHECK_KINK};
    heed_status first = heed_gradcheck(apply, &op, inputs, op.inputs, .report = &report);
    ck_assert_msg(first == b->first, "%s: %s: %s", b->name, heed_status_name(first),
                  heed_error_message());
    if (first == HEED_OK) {
        first = heed_gradgradcheck(apply, &op, inputs, op.inputs, .report = &report,
                                   .linear = h == &sums ? HEED_ALL_INPUTS : 0);
        ck_assert_msg(first == b->second, "%s, second: %s: %s", b->name, heed_status_name(first),
                      heed_error_message());
    }
    ck_assert_int_eq(report.verdict,
                     first == HEED_ERR_GRADCHECK ? HEED_GRADCHECK_WRONG : HEED_GRADCHECK_OK);
    expect_caught(b, first);
}
END_TEST

/* Near a kink, and nowhere else, a single element may hide that it is wrong. */
START_TEST(wrong_ones_are_never_called_kinks)
{
    void (*const wrong[])(const heed_vjp *v) = {leaking, twice_relu, mirrored_relu};
    heed_manual_seed(3);
    for (int i = 0; i < 300; i++) {
        HEED_SCOPE(scope);
        const heed_op op = {.name = "wrong",
                            .inputs = 1,
                            .forward = relu_forward,
                            .backward = wrong[i % 3],
                            .saves = {relus.saves}};
        heed_tensor *x = heed_empty(HEED_SHAPE(1), HEED_F64);
        heed_uniform_into(x, -1.1e-6, 1.1e-6);
        heed_set_requires_grad(x, true);
        heed_gradcheck_report report;
        heed_gradcheck(apply, (void *)&op, &x, 1, .report = &report);
        heed_error();
        ck_assert_int_ne(report.verdict, HEED_GRADCHECK_KINK);
    }
}
END_TEST

/* ---- right derivatives, of functions with kinks, jumps and noise ---- */

static heed_tensor *constant(double a, double b, double c)
{
    return heed_from_f64((double[]){a, b, c}, HEED_SHAPE(1, 3));
}

#define FUNCTION(name, expression)                                                                 \
    static heed_tensor *name(heed_tensor *const *in, void *context)                                \
    {                                                                                              \
        heed_tensor *x = in[0];                                                                    \
        (void)context;                                                                             \
        return expression;                                                                         \
    }
FUNCTION(relu, heed_relu(x))
FUNCTION(absolute, heed_abs(x))
FUNCTION(leaky, heed_where(heed_gt_scalar(x, 0), x, heed_mul_scalar(x, 0.01)))
FUNCTION(largest, heed_amax_dim(x, -1, false))
FUNCTION(layer, heed_matmul(heed_relu(x), heed_transpose(constant(1, -2, 3), 0, 1)))
FUNCTION(squared_relu, heed_square(heed_relu(x)))
FUNCTION(jump, heed_add(heed_floor(x), x))
FUNCTION(fast, heed_sin(heed_mul_scalar(x, 1e5)))
FUNCTION(coarse, heed_to(heed_exp(heed_to(x, HEED_F32)), HEED_F64))

static heed_tensor *unseeded(heed_tensor *const *in, void *context)
{
    double *state = context;
    *state = fmod(*state * 997.13 + 0.1, 1);
    return heed_add_scalar(in[0], *state);
}

static const struct {
    heed_function *f;
    double x[3];
    int order;
    heed_gradcheck_verdict verdict;
    double left, right;
    const char *words;
} rough[] = {
#define KINK(f, a, b, c, order, left, right, words)                                                \
    {                                                                                              \
        f, {a, b, c}, order, HEED_GRADCHECK_KINK, left, right, words                               \
    }
#define NOISE(f, order)                                                                            \
    {                                                                                              \
        f, {1, 0.3, 2}, order, HEED_GRADCHECK_NOISE, 0, 0,                                         \
            "noise: the difference quotient does not settle between eps 0.0001 and 1e-07"          \
    }
    KINK(relu, 0, 1, -1, 1, 0, 1, "kink: left and right slopes differ (0, 1); move x away from 0"),
    KINK(relu, 3e-7, 1, -1, 1, 0, 1, "move x away from 3e-07"),
    KINK(absolute, 2e-7, 1, 2, 1, -1, 1, "kink: left and right slopes differ (-1, 1)"),
    KINK(leaky, 0, 1, -1, 1, 0.01, 1, "(0.01, 1)"),
    KINK(largest, 2, 2, 2, 1, 0, 1, "move x away from 2"),
    KINK(layer, 0, 0, 0, 1, 0, 3, "at (0, 2), of output (0, 0)"),
    KINK(squared_relu, 0, 1, 2, 2, 0, 0, "kink: "),
    NOISE(jump, 1),
    NOISE(fast, 1),
    NOISE(coarse, 1),
    NOISE(unseeded, 1),
};

START_TEST(is_told_apart)
{
    double state = 0.1;
    heed_tensor *x = heed_from_f64(rough[_i].x, HEED_SHAPE(1, 3));
    heed_set_requires_grad(x, true);
    heed_gradcheck_report report;
    if (rough[_i].order == 1) {
        heed_gradcheck(rough[_i].f, &state, &x, 1, .report = &report);
    } else {
        heed_gradgradcheck(rough[_i].f, NULL, &x, 1, .report = &report, .linear = HEED_ALL_INPUTS);
    }
    expect_error(HEED_ERR_GRADCHECK, rough[_i].words);
    ck_assert_int_eq(report.verdict, rough[_i].verdict);
    if (report.verdict == HEED_GRADCHECK_KINK && rough[_i].order == 1) {
        ck_assert_double_eq_tol(report.left, rough[_i].left, 1e-4);
        ck_assert_double_eq_tol(report.right, rough[_i].right, 1e-4);
    }
}
END_TEST

void add_gradcheck_broken_cases(Suite *suite)
{
    TCase *broken_case = heed_case(suite, "broken");
    tcase_add_loop_test(broken_case, is_caught, 0, (int)(sizeof derivatives / sizeof *derivatives));
    tcase_add_test(broken_case, wrong_ones_are_never_called_kinks);
    TCase *rough_case = heed_case(suite, "rough");
    tcase_add_loop_test(rough_case, is_told_apart, 0, (int)(sizeof rough / sizeof *rough));
}
