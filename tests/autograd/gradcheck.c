/* What heed_gradcheck and heed_gradgradcheck promise, besides catching wrong derivatives. */
#include <math.h>
#include <string.h>

#include "tests/common/test_util.h"
#include "tests/ops/table.h"

static heed_tensor *leaf(heed_shape shape)
{
    heed_tensor *x = heed_empty(shape, HEED_F64);
    heed_uniform_into(x, 0.5, 1.5);
    return heed_set_requires_grad(x, true);
}

static heed_tensor *square(heed_tensor *const *in, void *context)
{
    (void)context;
    return heed_mul(in[0], in[0]);
}

static heed_tensor *sum_of_products(heed_tensor *const *in, void *context)
{
    (void)context;
    return heed_sum(heed_mul(in[0], in[1]));
}

/* ---- functions that do not change ---- */

static heed_tensor *constant(heed_tensor *const *in, void *context)
{
    (void)context;
    return heed_ones(heed_shape_of_tensor(in[0]), HEED_F64);
}

START_TEST(unused_inputs_must_be_declared)
{
    heed_tensor *inputs[] = {leaf(HEED_SHAPE(2)), leaf(HEED_SHAPE(3))};
    heed_gradcheck(constant, NULL, inputs, 1);
    expect_error(HEED_ERR_GRADCHECK, "all derivatives of the function by input 0 (2) are 0");
    ck_assert_int_eq(heed_gradcheck(constant, NULL, inputs, 1, .unused = HEED_INPUT(0)), HEED_OK);
    heed_gradcheck(square, NULL, inputs, 2);
    expect_error(HEED_ERR_GRADCHECK,
                 "all derivatives of the function by input 1 (3) are 0 (it is not used, or x is a "
                 "point like 0 of x^2 and |x|), so the check proves nothing; move x away, or set "
                 ".unused = HEED_INPUT(1)");
    heed_gradcheck(square, NULL, inputs, 2, .unused = HEED_INPUT(0));
    expect_error(HEED_ERR_GRADCHECK, "input 1 (3)");
    ck_assert_int_eq(heed_gradcheck(square, NULL, inputs, 2, .unused = HEED_INPUT(1)), HEED_OK);
    ck_assert_int_eq(heed_gradgradcheck(square, NULL, inputs, 2, .unused = HEED_INPUT(1)), HEED_OK);
}
END_TEST

/* a^2 + b; c is unused. */
static heed_tensor *square_plus(heed_tensor *const *in, void *context)
{
    (void)context;
    return heed_add(heed_mul(in[0], in[0]), in[1]);
}

START_TEST(second_order_tells_unused_from_linear)
{
    heed_tensor *inputs[] = {leaf(HEED_SHAPE(2)), leaf(HEED_SHAPE(2)), leaf(HEED_SHAPE(3))};
    heed_gradgradcheck(square_plus, NULL, inputs, 3);
    expect_error(HEED_ERR_GRADCHECK, "all derivatives of the gradient by input 1 (2) are 0");
    ck_assert_ptr_nonnull(strstr(heed_error_message(), "or set .linear = HEED_INPUT(1)"));
    heed_gradgradcheck(square_plus, NULL, inputs, 3, .linear = HEED_ALL_INPUTS);
    expect_error(HEED_ERR_GRADCHECK, "all derivatives of the function by input 2 (3) are 0");
    ck_assert_ptr_nonnull(strstr(heed_error_message(), "or set .unused = HEED_INPUT(2)"));
    ck_assert_int_eq(heed_gradgradcheck(square_plus, NULL, inputs, 3, .linear = HEED_INPUT(1),
                                        .unused = HEED_INPUT(2)),
                     HEED_OK);
    heed_gradgradcheck(constant, NULL, inputs, 1, .linear = HEED_ALL_INPUTS);
    expect_error(HEED_ERR_GRADCHECK, "of the function by input 0 (2) are 0");
    ck_assert_int_eq(heed_gradgradcheck(constant, NULL, inputs, 1, .unused = HEED_INPUT(0)),
                     HEED_OK);
}
END_TEST

static heed_tensor *detached(heed_tensor *const *in, void *context)
{
    (void)context;
    return heed_detach(heed_mul(in[0], in[0]));
}

static heed_tensor *half_detached(heed_tensor *const *in, void *context)
{
    (void)context;
    return heed_mul(in[0], heed_detach(in[0]));
}

START_TEST(a_lost_graph_is_caught)
{
    heed_tensor *x = leaf(HEED_SHAPE(2));
    heed_gradcheck(detached, NULL, &x, 1);
    expect_error(HEED_ERR_GRADCHECK, "analytic 0");
    heed_gradcheck(detached, NULL, &x, 1, .unused = HEED_ALL_INPUTS);
    expect_error(HEED_ERR_GRADCHECK, "analytic 0");
}
END_TEST

/* ---- what it refuses ---- */

static heed_tensor *in_f32(heed_tensor *const *in, void *context)
{
    (void)context;
    return heed_to(in[0], HEED_F32);
}

START_TEST(refuses_what_it_cannot_check)
{
    heed_tensor *many[17],
        *expanded = heed_expand(heed_ones(HEED_SHAPE(2), HEED_F64), HEED_SHAPE(3, 2));
    for (int i = 0; i < 17; i++) {
        many[i] = leaf(HEED_SHAPE(1));
    }
    heed_gradgradcheck(in_f32, NULL, many, 1);
    expect_error(HEED_ERR_DTYPE, "gradgradcheck: the function returned f32, not f64");
    heed_gradcheck(square, NULL, many, 17);
    expect_error(HEED_ERR_NULL, "needs a function and 1 to 16 inputs");
    heed_gradcheck(square, NULL, many, 0);
    expect_error(HEED_ERR_NULL, "needs a function and 1 to 16 inputs");
    heed_gradcheck(square, NULL, many, 16, .unused = HEED_ALL_INPUTS);
    heed_gradgradcheck(square, NULL, many, 16, .unused = HEED_ALL_INPUTS);
    expect_no_error();
    many[1] = expanded; /* requires no gradient */
    heed_gradcheck(sum_of_products, NULL, many, 2);
    expect_no_error();
    heed_fail(HEED_ERR_VALUE, "an error before");
    ck_assert_int_eq(heed_gradcheck(square, NULL, many, 1), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, "an error before");
}
END_TEST

/* ---- what it leaves alone ---- */

START_TEST(inputs_stay_as_they_were)
{
    heed_tensor *inputs[] = {leaf(HEED_SHAPE(2, 3)), heed_ones(HEED_SHAPE(3), HEED_F64)};
    heed_tensor *before = heed_clone(heed_detach(inputs[0]));
    const uint32_t version = inputs[0]->storage->version;
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    ck_assert_int_eq(heed_gradcheck(sum_of_products, NULL, inputs, 2), HEED_OK);
    ck_assert_int_eq(heed_gradgradcheck(sum_of_products, NULL, inputs, 2, .linear = HEED_INPUT(0)),
                     HEED_OK);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
    ck_assert(heed_equal(before, inputs[0]));
    ck_assert_ptr_null(inputs[0]->grad);
    ck_assert_uint_eq(inputs[0]->storage->version, version);
    ck_assert(heed_is_grad_enabled());
    heed_set_grad_enabled(false);
    ck_assert_int_eq(heed_gradcheck(square, NULL, inputs, 1), HEED_OK);
    ck_assert_int_eq(heed_gradgradcheck(square, NULL, inputs, 1), HEED_OK);
    ck_assert(!heed_is_grad_enabled());
    heed_set_grad_enabled(true);
}
END_TEST

START_TEST(results_of_operations_are_inputs_too)
{
    heed_tensor *x = heed_transpose(heed_exp(leaf(HEED_SHAPE(2, 3))), 0, 1);
    ck_assert_int_eq(heed_gradcheck(square, NULL, &x, 1), HEED_OK);
    ck_assert_int_eq(heed_gradgradcheck(square, NULL, &x, 1), HEED_OK);
}
END_TEST

/* ---- chance ---- */

static heed_tensor *dropout(heed_tensor *const *in, void *context)
{
    int *calls = context;
    ++*calls;
    heed_tensor *mask = heed_dropout(heed_ones(heed_shape_of_tensor(in[0]), HEED_F64), 0.5, true);
    heed_tensor *noise = heed_randn(HEED_SHAPE(3), HEED_F64);
    return heed_mul(heed_mul(in[0], mask), heed_exp(heed_mul(in[0], noise)));
}

static bool same_generator(const heed_generator *a, const heed_generator *b)
{
    return memcmp(a->state, b->state, sizeof a->state) == 0 && a->next == b->next &&
           a->has_normal == b->has_normal;
}

START_TEST(random_functions_draw_the_same_each_time)
{
    heed_tensor *x = leaf(HEED_SHAPE(4, 3)), *inputs[] = {x, leaf(HEED_SHAPE(1))};
    int calls = 0;
    heed_manual_seed(5);
    heed_randn(HEED_SHAPE(1), HEED_F64); /* half of a pair waits */
    const heed_generator before = heed_get_generator();
    ck_assert_int_eq(heed_gradcheck(dropout, &calls, &x, 1), HEED_OK);
    heed_generator after = heed_get_generator();
    ck_assert(same_generator(&before, &after));
    ck_assert_int_eq(heed_gradgradcheck(dropout, &calls, &x, 1), HEED_OK);
    after = heed_get_generator();
    ck_assert(same_generator(&before, &after));
    ck_assert_int_gt(calls, 4 * 3 * 2);
    heed_gradcheck(dropout, &calls, inputs, 2);
    expect_error(HEED_ERR_GRADCHECK, "input 1");
    after = heed_get_generator();
    ck_assert(same_generator(&before, &after));
}
END_TEST

/* ---- options ---- */

START_TEST(tolerances_are_the_callers)
{
    heed_tensor *x = heed_set_requires_grad(heed_full(HEED_SHAPE(1), 1, HEED_F64), true);
    heed_gradcheck(half_detached, NULL, &x, 1);
    expect_error(HEED_ERR_GRADCHECK, "analytic 1, numeric 2");
    ck_assert_int_eq(heed_gradcheck(half_detached, NULL, &x, 1, .rtol = 2), HEED_OK);
    heed_tensor *inputs[] = {x, heed_ones(HEED_SHAPE(1), HEED_F64)};
    ck_assert_int_eq(heed_gradcheck(sum_of_products, NULL, inputs, 2, .eps = 0.5, .atol = 1e-3),
                     HEED_OK);
}
END_TEST

/* ---- the second look, at a derivative that differs ---- */

static heed_tensor *kinked(heed_tensor *const *in, void *context)
{
    return heed_mul_scalar(heed_relu(in[0]), *(double *)context);
}

START_TEST(the_second_look_leaves_no_trace)
{
    double factor = 2;
    heed_tensor *x = heed_set_requires_grad(heed_zeros(HEED_SHAPE(2, 3), HEED_F64), true);
    heed_tensor *before = heed_clone(heed_detach(x));
    const heed_generator generator = heed_get_generator();
    heed_status status = HEED_ERR_MEMORY;
    int failures = -1;
    for (int n = 0; status == HEED_ERR_MEMORY; n++, failures++) {
        const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
        heed_fail_allocation(n);
        status = heed_gradcheck(kinked, &factor, &x, 1);
        heed_fail_allocation(-1);
        ck_assert_int_eq(heed_error(), status);
        ck_assert(heed_equal(before, x));
        ck_assert_int_eq(heed_live_tensors(), tensors);
        ck_assert_int_eq(heed_live_bytes(), bytes);
    }
    ck_assert_int_eq(status, HEED_ERR_GRADCHECK);
    ck_assert_ptr_nonnull(strstr(heed_error_message(), "; kink: slopes beside x differ (0, 2)"));
    ck_assert_int_gt(failures, 300);
    const heed_generator after = heed_get_generator();
    ck_assert(same_generator(&generator, &after));
}
END_TEST

/* Tolerances are not adapted: the difference quotient with another step would agree. */
static heed_tensor *steep(heed_tensor *const *in, void *context)
{
    (void)context;
    return heed_sin(heed_mul_scalar(in[0], 1e3));
}

START_TEST(the_second_look_lets_nothing_pass)
{
    heed_tensor *x = heed_set_requires_grad(heed_full(HEED_SHAPE(1), 0.01, HEED_F64), true);
    heed_gradcheck_report report;
    heed_gradcheck(steep, NULL, &x, 1, .eps = 1e-4, .report = &report);
    expect_error(HEED_ERR_GRADCHECK, "; noise: the difference quotient does not settle between "
                                     "eps 10 and 1e-05; the function may");
    ck_assert_int_eq(report.verdict, HEED_GRADCHECK_NOISE);
    ck_assert_int_eq(heed_gradcheck(steep, NULL, &x, 1, .report = &report), HEED_OK);
    ck_assert_int_eq(report.verdict, HEED_GRADCHECK_OK);
}
END_TEST

START_TEST(the_report_has_what_the_message_says)
{
    heed_tensor *x =
        heed_set_requires_grad(heed_from_f64((double[]){1, 2, 5, 4, 3, 2}, HEED_SHAPE(2, 3)), true);
    heed_tensor *inputs[] = {leaf(HEED_SHAPE(2, 3)), x};
    heed_gradcheck_report report;
    heed_tensor *y[] = {x};
    heed_gradcheck(half_detached, NULL, y, 1, .report = &report, .unused = HEED_INPUT(0));
    expect_error(HEED_ERR_GRADCHECK, "input 0 (2, 3) at (0, 2), of output (0, 2): analytic 5, "
                                     "numeric 10, off by 5; wrong: the quotient converges to "
                                     "10.000, the gradient is 5.0000 (ratio 0.5)");
    ck_assert_int_eq(report.verdict, HEED_GRADCHECK_WRONG);
    ck_assert_int_eq(report.input, 0);
    ck_assert_int_eq(report.element, 2);
    ck_assert_int_eq(report.output, 2);
    ck_assert_double_eq(report.analytic, 5);
    ck_assert_double_eq_tol(report.numeric, 10, 1e-6);
    ck_assert_double_eq_tol(report.limit, 10, 1e-6);

    heed_gradcheck(square, NULL, inputs, 2, .report = &report);
    expect_error(HEED_ERR_GRADCHECK, "by input 1");
    ck_assert_int_eq(report.verdict, HEED_GRADCHECK_NO_EFFECT);
    ck_assert_int_eq(report.input, 1);
    heed_gradcheck(square, NULL, inputs, 2, .report = &report, .unused = HEED_INPUT(1));
    expect_no_error();
    ck_assert_int_eq(report.verdict, HEED_GRADCHECK_OK);
}
END_TEST

void add_gradcheck_cases(Suite *suite)
{
    TCase *checks = heed_case(suite, "gradcheck");
    tcase_add_test(checks, unused_inputs_must_be_declared);
    tcase_add_test(checks, second_order_tells_unused_from_linear);
    tcase_add_test(checks, a_lost_graph_is_caught);
    tcase_add_test(checks, refuses_what_it_cannot_check);
    tcase_add_test(checks, inputs_stay_as_they_were);
    tcase_add_test(checks, results_of_operations_are_inputs_too);
    tcase_add_test(checks, random_functions_draw_the_same_each_time);
    tcase_add_test(checks, tolerances_are_the_callers);
    tcase_add_test(checks, the_second_look_leaves_no_trace);
    tcase_add_test(checks, the_second_look_lets_nothing_pass);
    tcase_add_test(checks, the_report_has_what_the_message_says);
}
