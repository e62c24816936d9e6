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

static heed_status cube_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_pow_scalar(call->inputs[0], 3));
}

static heed_status exp_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_exp(call->inputs[0]));
}

static heed_status relu_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_relu(call->inputs[0]));
}

static heed_status add_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_add(call->inputs[0], call->inputs[1]));
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

/* ---- of a (2, 3) + b (3) ---- */

static void first_row_only(const heed_vjp *v)
{
    v->grads[0] = v->g;
    v->grads[1] = heed_slice(v->g, 0, 0, 1, 1);
}

/* ---- all of them ---- */

typedef struct broken {
    const char *name;
    heed_status (*forward)(const heed_call *call, heed_tensor *y);
    unsigned saves;
    void (*backward)(const heed_vjp *v);
    heed_status first, second; /* what the checks must say; the second one where the first is OK */
    const char *words;         /* that the message must hold */
} broken;

#define CUBE   cube_forward, HEED_SAVES_INPUT(0)
#define RELU   relu_forward, HEED_SAVES_INPUT(0) | HEED_SAVES_OUTPUT
#define CAUGHT HEED_ERR_GRADCHECK, HEED_OK
#define LATER  HEED_OK, HEED_ERR_GRADCHECK

static const broken derivatives[] = {
    {"cube", CUBE, cube, HEED_OK, HEED_OK, ""},
    {"exp", exp_forward, HEED_SAVES_OUTPUT, exp_from_output, HEED_OK, HEED_OK, ""},
    {"wrong_sign", CUBE, wrong_sign, CAUGHT, "(ratio -1)"},
    {"slightly_more", CUBE, slightly_more, CAUGHT, "(ratio 1.0001)"},
    {"none", CUBE, none, CAUGHT, "analytic 0, numeric "},
    {"nan", CUBE, nan_everywhere, CAUGHT, "nan, numeric "},
    {"infinite", CUBE, infinite, CAUGHT, "inf, numeric "},
    {"one_element", CUBE, one_element_off, CAUGHT, "at (1, 2), of output (1, 2)"},
    {"right_for_ones", CUBE, right_for_ones, CAUGHT, "of output ("},
    {"right_for_units", CUBE, right_for_unit_vectors, CAUGHT, "output (random upstream)"},
    {"wrong_with_graph", CUBE, wrong_with_graph, CAUGHT, "(random upstream, create_graph)"},
    {"wrong_second", CUBE, wrong_second, LATER, "with respect to input 0 (2, 3) at ("},
    {"wrong_second_g", CUBE, wrong_second_by_g, LATER,
     "with respect to the upstream gradient (2, 3) at ("},
    {"undeclared", cube_forward, 0, cube, HEED_ERR_SCOPE, HEED_OK,
     "backward of undeclared: mul: the value of input 0 (2, 3) has been freed; if it is an input "
     "or the result, declare it in .saves"},
    {"of_f32", CUBE, of_f32, HEED_ERR_DTYPE, HEED_OK,
     "backward of of_f32: the gradient of input 0 is f32 (2, 3), but the input is f64 (2, 3)"},
    {"of_another_shape", CUBE, of_another_shape, HEED_ERR_SHAPE, HEED_OK,
     "backward of of_another_shape: the gradient of input 0 is f64 (2, 2), but the input is f64 "
     "(2, 3)"},
    {"with_an_error", CUBE, with_an_error, HEED_ERR_SHAPE, HEED_OK,
     "backward of with_an_error: matmul: b (2, 3) does not fit a (2, 3)"},
    {"leaking", RELU, leaking, CAUGHT,
     "wrong: the quotient converges to 0.0000, the gradient is 1.0000 (ratio "},
    {"twice_relu", RELU, twice_relu, CAUGHT,
     "wrong: the quotient converges to 1.0000, the gradient is 2.0000 (ratio 2"},
    {"mirrored_relu", RELU, mirrored_relu, CAUGHT, "wrong: "},
    {"wrong_at_kink", RELU, wrong_at_the_kink, CAUGHT,
     "wrong: the quotient converges to 0.50000, the gradient is 3.0000"},
    {"nan_at_kink", RELU, nan_at_the_kink, CAUGHT,
     "wrong: the quotient converges to 0.50000, the gradient is nan (ratio nan)"},
    {"first_row_only", add_forward, 0, first_row_only, CAUGHT, "with respect to input 1 (3) at ("},
};

static heed_tensor *apply(heed_tensor *const *inputs, void *context)
{
    const heed_op *op = context;
    return heed_apply(op, inputs, op->inputs, NULL, 0);
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
    heed_op op = {.name = b->name,
                  .inputs = b->forward == add_forward ? 2 : 1,
                  .forward = b->forward,
                  .backward = b->backward,
                  .saves = {(uint8_t)b->saves}};
    heed_tensor *inputs[] = {heed_empty(HEED_SHAPE(2, 3), HEED_F64),
                             heed_set_requires_grad(heed_ones(HEED_SHAPE(3), HEED_F64), true)};
    heed_uniform_into(inputs[0], 0.5, 1.5);
    if (b->forward == relu_forward) { /* at its kink, and within eps of it */
        inputs[0] = heed_from_f64((double[]){0, 0.5, -1, 3e-7, -2e-7, 2}, HEED_SHAPE(2, 3));
    }
    heed_set_requires_grad(inputs[0], true);
    heed_gradcheck_report report = {.verdict = HEED_GRADCHECK_KINK};
    heed_status status = heed_gradcheck(apply, &op, inputs, op.inputs, .report = &report);
    ck_assert_msg(status == b->first, "%s: %s", heed_status_name(status), heed_error_message());
    if (status == HEED_OK) {
        status = heed_gradgradcheck(apply, &op, inputs, op.inputs, .report = &report);
        ck_assert_msg(status == b->second, "%s: %s", heed_status_name(status),
                      heed_error_message());
    }
    ck_assert_int_eq(report.verdict,
                     status == HEED_ERR_GRADCHECK ? HEED_GRADCHECK_WRONG : HEED_GRADCHECK_OK);
    ck_assert(op.inputs == 1 || report.input == 1);
    expect_caught(b, status);
}
END_TEST

/* Its weights are the same in each call, and all its hidden units have kinks at 0. */
static heed_tensor *network(heed_tensor *const *inputs, void *relu_op)
{
    heed_tensor *x = heed_matmul(inputs[0], heed_randn(HEED_SHAPE(4, 5), HEED_F64));
    x = relu_op != NULL ? heed_apply(relu_op, &x, 1, NULL, 0) : heed_relu(x);
    return heed_matmul(x, heed_randn(HEED_SHAPE(5, 3), HEED_F64));
}

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
                            .saves = {HEED_SAVES_INPUT(0) | HEED_SAVES_OUTPUT}};
        heed_tensor *x = heed_zeros(i < 270 ? HEED_SHAPE(1) : HEED_SHAPE(2, 4), HEED_F64);
        if (i < 270) {
            heed_uniform_into(x, -1.1e-6, 1.1e-6);
        }
        heed_set_requires_grad(x, true);
        heed_gradcheck_report report;
        heed_gradcheck(i < 270 ? apply : network, (void *)&op, &x, 1, .report = &report);
        ck_assert(i < 270 || report.verdict == HEED_GRADCHECK_WRONG);
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
            "noise: the difference quotient does not settle between eps 0.1 and 1e-07"             \
    }
    KINK(relu, 0, 1, -1, 1, 0, 1, "kink: slopes beside x differ (0, 1); move x away from 0"),
    KINK(relu, 3e-7, 1, -1, 1, 0, 1, "move x away from 3e-07"),
    KINK(absolute, 2e-7, 1, 2, 1, -1, 1, "kink: slopes beside x differ (-1, 1)"),
    KINK(leaky, 0, 1, -1, 1, 0.01, 1, "(0.01, 1)"),
    KINK(largest, 2, 2, 2, 1, 0, 1, "move x away from 2"),
    KINK(layer, 0, 0, 0, 1, 0, 3, "at (0, 2), of output (0, 0)"),
    KINK(squared_relu, 0, 1, 2, 2, 0, 0, "kink: "),
    NOISE(jump, 1),
    NOISE(fast, 1),
    NOISE(coarse, 1),
    NOISE(unseeded, 1),
};

/* sign(x) |x|^p has derivative 0 at 0 here, and quotients that change by 10^(p - 1) from step to
 * step. They settle if two changes are at most a tenth of the quotient. */
static heed_tensor *root(heed_tensor *const *in, void *power)
{
    return heed_mul(heed_sign(in[0]), heed_pow_scalar(heed_abs(in[0]), *(double *)power));
}

FUNCTION(square_of_small, heed_mul_scalar(heed_square(x), 1e-9))
FUNCTION(detached_small, heed_mul(heed_square(heed_detach(x)), heed_mul_scalar(x, -1e-9)))
FUNCTION(detached, heed_exp(heed_mul(heed_detach(x), x)))
FUNCTION(logarithm, heed_log(x))
FUNCTION(absolute_of_square, heed_abs(heed_square(x)))

/* What the message says of functions at one value. */
START_TEST(the_reason_is_told)
{
    static const struct {
        heed_function *f;
        double x;
        const char *words;
    } rows[] = {{coarse, 1, "the function may jump, be random, round to f32, or be too steep"},
                {square_of_small, 1, NULL},
                {detached_small, 1, "wrong: "},
                {detached_small, 1, "through the operations that end with mul with"},
                {detached, 1, "gradient through the operations that end with exp with"},
                {logarithm, 1e-7, "beside x the function is NaN, outside its domain"},
                {absolute, 0, "all derivatives of the function by input 0 (1) are 0"},
                {absolute_of_square, 0, "move x away"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        heed_tensor *x = heed_full(HEED_SHAPE(1), rows[i].x, HEED_F64);
        x = heed_set_requires_grad(x, true);
        if ((rows[i].f == detached ? heed_gradgradcheck(rows[i].f, NULL, &x, 1)
                                   : heed_gradcheck(rows[i].f, NULL, &x, 1)) != HEED_OK) {
            expect_error(HEED_ERR_GRADCHECK, rows[i].words != NULL ? rows[i].words : "no error");
        } else {
            ck_assert_ptr_null(rows[i].words);
        }
    }
}
END_TEST

/* ---- joint kinks, and f32 within f64 ---- */

/* A stable sort of a vector. */
static heed_tensor *sorted(heed_tensor *const *in, void *context)
{
    double x[5];
    int64_t order[5] = {0, 1, 2, 3, 4};
    (void)context;
    heed_copy_out(in[0], x, 5);
    for (int i = 1; i < 5; i++) {
        for (int j = i; j > 0 && x[order[j]] < x[order[j - 1]]; j--) {
            const int64_t other = order[j];
            order[j] = order[j - 1];
            order[j - 1] = other;
        }
    }
    return heed_index_select(in[0], 0, heed_from_i64(order, HEED_SHAPE(5)));
}

static heed_tensor *median(heed_tensor *const *in, void *context)
{
    return heed_select(sorted(in, context), 0, 2);
}

static heed_tensor *two_largest(heed_tensor *const *in, void *context)
{
    return heed_slice(sorted(in, context), 0, 3, 5, 1);
}

START_TEST(joint_kinks_are_kinks)
{
    heed_function *const functions[] = {sorted, median, two_largest, network};
    const double values[][5] = {{1, 2, 2, 2, 3}, {2, 2, 2, 2, 2}, {1, 2, 3, 3, 3}};
    for (int i = 0; i < 24; i++) {
        HEED_SCOPE(scope);
        heed_gradcheck_report report;
        heed_manual_seed((uint64_t)i);
        const bool is_network = i >= 9;
        heed_tensor *x = is_network ? heed_zeros(HEED_SHAPE(2, 4), HEED_F64)
                                    : heed_from_f64(values[i % 3], HEED_SHAPE(5));
        heed_set_requires_grad(x, true);
        if (heed_gradcheck(functions[is_network ? 3 : i / 3], NULL, &x, 1, .report = &report)) {
            expect_error(HEED_ERR_GRADCHECK, "kink: slopes beside x differ (");
            ck_assert(report.verdict == HEED_GRADCHECK_KINK && report.left < report.right);
        }
    }
}
END_TEST

/* Right, but its forward rounds to f32, which the graph does not show. */
static heed_status softmax_in_f32(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_softmax(heed_to(call->inputs[0], HEED_F32), -1));
}

static void softmax_gradient(const heed_vjp *v)
{
    heed_tensor *sum = heed_sum_dim(heed_mul(v->g, v->y), -1, true);
    v->grads[0] = heed_mul(v->y, heed_sub(v->g, sum));
}

static void wrong_softmax_gradient(const heed_vjp *v)
{
    v->grads[0] = heed_mul(v->y, v->g);
}

START_TEST(rounding_to_f32_is_noise)
{
    for (int i = 0; i < 6; i++) {
        HEED_SCOPE(scope);
        heed_op op = {.name = "softmax_in_f32",
                      .inputs = 1,
                      .forward = softmax_in_f32,
                      .backward = i < 5 ? softmax_gradient : wrong_softmax_gradient,
                      .saves = {HEED_SAVES_OUTPUT}};
        heed_gradcheck_report report;
        heed_manual_seed((uint64_t)i);
        heed_tensor *x = heed_randn(HEED_SHAPE(16, 16), HEED_F64);
        heed_set_requires_grad(x, true);
        heed_gradcheck(apply, &op, &x, 1, .report = &report);
        expect_error(HEED_ERR_GRADCHECK, i < 5 ? "; noise: " : "; wrong: ");
    }
}
END_TEST

START_TEST(quotients_settle_within_a_tenth)
{
    static double powers[] = {1.021, 1.0225};
    for (int i = 0; i < 2; i++) {
        heed_gradcheck_report report;
        heed_tensor *x = heed_set_requires_grad(heed_zeros(HEED_SHAPE(1), HEED_F64), true);
        heed_gradcheck(root, &powers[i], &x, 1, .report = &report);
        expect_error(HEED_ERR_GRADCHECK, i == 0 ? "wrong: " : "noise: ");
        ck_assert_int_eq(report.verdict, i == 0 ? HEED_GRADCHECK_WRONG : HEED_GRADCHECK_NOISE);
    }
}
END_TEST

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
    tcase_add_test(rough_case, joint_kinks_are_kinks);
    tcase_add_test(rough_case, rounding_to_f32_is_noise);
    tcase_add_test(rough_case, quotients_settle_within_a_tenth);
    tcase_add_test(rough_case, the_reason_is_told);
    tcase_add_loop_test(rough_case, is_told_apart, 0, (int)(sizeof rough / sizeof *rough));
}
