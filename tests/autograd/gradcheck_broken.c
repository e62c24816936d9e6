/* The tester tested: operations whose derivatives are broken on purpose, each of which the gradient
 * checks must catch, naming the operation and the element. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/tensor/debug.h"
#include "tests/common/test_util.h"
#include "tests/ops/table.h"

/* ---- forwards; the derivatives differ ---- */

static heed_status same_rule(const heed_call *call, heed_result *result)
{
    (void)call, (void)result;
    return HEED_OK;
}

static heed_status mean_rule(const heed_call *call, heed_result *result)
{
    result->shape = HEED_SHAPE(call->inputs[0]->shape[1]);
    return HEED_OK;
}

static heed_status cube_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_pow_scalar(call->inputs[0], 3));
}

static heed_status copy_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, call->inputs[0]);
}

static heed_status exp_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_exp(call->inputs[0]));
}

static heed_status softmax_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_softmax(call->inputs[0], -1));
}

static heed_status mean_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_mean_dim(call->inputs[0], 0, false));
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

static void one_percent_more(const heed_vjp *v)
{
    v->grads[0] = heed_mul_scalar(cube_gradient(v->g, v->inputs[0]), 1.01);
}

static void slightly_more(const heed_vjp *v)
{
    v->grads[0] = heed_mul_scalar(cube_gradient(v->g, v->inputs[0]), 1.0001);
}

static void zero(const heed_vjp *v)
{
    v->grads[0] = heed_mul_scalar(v->g, 0);
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

static void nan_in_one_element(const heed_vjp *v)
{
    double off[] = {1, 1, (double)NAN, 1, 1, 1};
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

/* ---- of x: g ---- */

static void transposed(const heed_vjp *v)
{
    v->grads[0] = heed_transpose(v->g, 0, 1);
}

/* ---- of softmax(x, -1), mean(x, 0) ---- */

static void softmax_over_everything(const heed_vjp *v)
{
    v->grads[0] = heed_mul(v->y, heed_sub(v->g, heed_sum(heed_mul(v->g, v->y))));
}

static void softmax_along_0(const heed_vjp *v)
{
    heed_tensor *along = heed_sum_dim(heed_mul(v->g, v->y), 0, true);
    v->grads[0] = heed_mul(v->y, heed_sub(v->g, along));
}

static void mean_by_numel(const heed_vjp *v)
{
    const double count = (double)v->inputs[0]->numel;
    v->grads[0] = heed_expand(heed_div_scalar(v->g, count), heed_shape_of_tensor(v->inputs[0]));
}

/* ---- of a (3, 3) + b (3) ---- */

static void first_row_only(const heed_vjp *v)
{
    v->grads[0] = v->g;
    v->grads[1] = heed_slice(v->g, 0, 0, 1, 1);
}

static void left_only(const heed_vjp *v)
{
    v->grads[0] = v->g;
}

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
static const host bare_exps = {same_rule, exp_forward, 0, SIZES(2, 3), NO_B};
static const host copies = {same_rule, copy_forward, 0, SIZES(3, 3), NO_B};
static const host softmaxes = {same_rule, softmax_forward, HEED_SAVED_OUTPUT, SIZES(3, 3), NO_B};
static const host means = {mean_rule, mean_forward, 0, SIZES(2, 3), NO_B};
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
/* A derivative that reads what .saves does not declare: only a debug build knows which value. */
#define UNDECLARED (HEED_IS_DEBUG ? HEED_ERR_GRAPH : HEED_ERR_SCOPE)
#define UNDECLARED_WORDS(name, debug, argument)                                                    \
    (HEED_IS_DEBUG ? "backward of " name ": it reads " debug "; declare it in .saves"              \
                   : "backward of " name ": mul: the value of " argument                           \
                     " (2, 3) has been freed; if it is an input or the result, declare it in "     \
                     ".saves")

static const broken derivatives[] = {
    {"cube", &cubes, cube, HEED_OK, HEED_OK, ""},
    {"exp_from_output", &exps, exp_from_output, HEED_OK, HEED_OK, ""},
    {"wrong_sign", &cubes, wrong_sign, CAUGHT, "analytic / numeric is -1 everywhere"},
    {"one_percent_more", &cubes, one_percent_more, CAUGHT, "analytic / numeric is 1.01 everywhere"},
    {"slightly_more", &cubes, slightly_more, CAUGHT, "analytic / numeric is 1.0001 everywhere"},
    {"zero", &cubes, zero, CAUGHT, "analytic / numeric is 0 everywhere"},
    {"none", &cubes, none, CAUGHT, "analytic 0, numeric "},
    {"nan", &cubes, nan_everywhere, CAUGHT, "nan, numeric "},
    {"infinite", &cubes, infinite, CAUGHT, "inf, numeric "},
    {"one_element", &cubes, one_element_off, CAUGHT, "at (1, 2), of output (1, 2)"},
    {"one_nan", &cubes, nan_in_one_element, CAUGHT, "at (0, 2), of output ("},
    {"right_for_ones", &cubes, right_for_ones, CAUGHT, "of output ("},
    {"right_for_units", &cubes, right_for_unit_vectors, CAUGHT, "output (random upstream)"},
    {"wrong_with_graph", &cubes, wrong_with_graph, CAUGHT, "(random upstream, create_graph)"},
    {"wrong_second", &cubes, wrong_second, LATER, "with respect to input 0 (2, 3) at ("},
    {"wrong_second_g", &cubes, wrong_second_by_g, LATER,
     "with respect to the upstream gradient (2, 3) at ("},
    {"undeclared_x", &bare_cubes, cube, UNDECLARED, HEED_OK,
     UNDECLARED_WORDS("undeclared_x", "input 0", "input 0")},
    {"undeclared_y", &bare_exps, exp_from_output, UNDECLARED, HEED_OK,
     UNDECLARED_WORDS("undeclared_y", "the result", "input 1")},
    {"of_f32", &cubes, of_f32, HEED_ERR_DTYPE, HEED_OK,
     "backward of of_f32: the gradient of input 0 is f32 (2, 3), but the input is f64 (2, 3)"},
    {"of_another_shape", &cubes, of_another_shape, HEED_ERR_SHAPE, HEED_OK,
     "backward of of_another_shape: the gradient of input 0 is f64 (2, 2), but the input is f64 "
     "(2, 3)"},
    {"with_an_error", &cubes, with_an_error, HEED_ERR_SHAPE, HEED_OK,
     "backward of with_an_error: matmul: inner sizes differ: (2, 3) x (2, 3)"},
    {"transposed", &copies, transposed, CAUGHT, "with respect to input 0 (3, 3) at ("},
    {"softmax_all", &softmaxes, softmax_over_everything, CAUGHT,
     "with respect to input 0 (3, 3) at ("},
    {"softmax_along_0", &softmaxes, softmax_along_0, CAUGHT, "with respect to input 0 (3, 3) at ("},
    {"mean_by_numel", &means, mean_by_numel, CAUGHT, "of output ("},
    {"first_row_only", &sums, first_row_only, CAUGHT, "with respect to input 1 (3) at ("},
    {"left_only", &sums, left_only, CAUGHT, "with respect to input 1 (3) at ("},
    {"wrong_dim", &sums, along_the_wrong_dim, CAUGHT, "with respect to input 1 (3) at ("},
    {"matmul_0_and_1", &products, matmul_transposing_0_and_1, CAUGHT,
     "with respect to input 0 (2, 2, 2) at ("},
};

static heed_tensor *apply(heed_tensor *const *inputs, void *context)
{
    const heed_op *op = context;
    return heed_apply(op, inputs, op->inputs, NULL, 0);
}

static heed_tensor *numbers(heed_shape shape)
{
    heed_tensor *x = heed_empty(shape, HEED_F64);
    heed_uniform_into(x, 0.5, 1.5);
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
    heed_tensor *inputs[2] = {numbers(h->a), op.inputs == 2 ? numbers(h->b) : NULL};
    const heed_gradcheck_options linear = {.linear =
                                               h == &sums || h == &means ? HEED_ALL_INPUTS : 0};
    heed_status first = heed_gradcheck(apply, &op, inputs, op.inputs);
    ck_assert_msg(first == b->first, "%s: %s: %s", b->name, heed_status_name(first),
                  heed_error_message());
    if (first == HEED_OK) {
        first = heed_gradgradcheck_with(apply, &op, inputs, op.inputs, linear);
        ck_assert_msg(first == b->second, "%s, second: %s: %s", b->name, heed_status_name(first),
                      heed_error_message());
    }
    expect_caught(b, first);
}
END_TEST

/* A broken operation inside a function is caught as well; what is named is what the function ends
 * in. */
static heed_tensor *in_the_middle(heed_tensor *const *inputs, void *context)
{
    heed_tensor *x = heed_neg(inputs[0]);
    return heed_neg(heed_apply(context, &x, 1, NULL, 0));
}

START_TEST(is_caught_inside_a_function)
{
    for (size_t i = 0; i < sizeof derivatives / sizeof *derivatives; i++) {
        const broken *b = &derivatives[i];
        if (b->host->b.ndim >= 0 || b->host == &means) {
            continue;
        }
        heed_op op = {.name = b->name,
                      .inputs = 1,
                      .rule = b->host->rule,
                      .forward = b->host->forward,
                      .backward = b->backward,
                      .saves = {b->host->saves}};
        heed_tensor *x = numbers(b->host->a);
        heed_status status = heed_gradcheck(in_the_middle, &op, &x, 1);
        ck_assert_msg(status == b->first, "%s: %s: %s", b->name, heed_status_name(status),
                      heed_error_message());
        heed_error();
    }
}
END_TEST

void add_gradcheck_broken_cases(Suite *suite)
{
    TCase *broken_case = heed_case(suite, "broken");
    tcase_add_loop_test(broken_case, is_caught, 0, (int)(sizeof derivatives / sizeof *derivatives));
    tcase_add_test(broken_case, is_caught_inside_a_function);
}
