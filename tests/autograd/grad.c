/* heed_grad: gradients by chosen tensors, and gradients of gradients. */
#include <math.h>

#include "tests/common/engine_util.h"

/* dy/dx with a graph. */
static heed_tensor *derivative(heed_tensor *y, heed_tensor *x)
{
    heed_tensor *dx = NULL;
    heed_grad(y, &x, 1, &dx, true);
    return dx;
}

/* ---- by chosen tensors ---- */

START_TEST(grad_leaves_dot_grad_alone)
{
    heed_tensor *xs[] = {LEAF(1, 2), LEAF(3, 4)}, *grads[2];
    heed_tensor *h = heed_retain_grad(heed_mul(xs[0], xs[1]));
    ck_assert_int_eq(heed_grad(heed_sum(h), xs, 2, grads, false), HEED_OK);
    EXPECT_VALUES(grads[0], 0, 3, 4);
    EXPECT_VALUES(grads[1], 0, 1, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_null(xs[i]->grad);
        ck_assert(!grads[i]->requires_grad && grads[i]->op == NULL);
    }
    ck_assert_ptr_null(h->grad);
    heed_grad(heed_sum(heed_mul(xs[0], xs[1])), xs, 1, grads, false);
    ck_assert_ptr_null(xs[1]->grad); /* reached, but not requested */
}
END_TEST

static int passes; /* calls of count_passes' derivative */

static void counting_backward(const heed_vjp *v)
{
    passes++;
    v->grads[0] = v->g;
}

static heed_tensor *count_passes(heed_tensor *x)
{
    static const heed_op op = {.name = "count_passes",
                               .inputs = 1,
                               .forward = copy_forward,
                               .backward = counting_backward};
    return heed_apply(&op, &x, 1, NULL, 0);
}

START_TEST(grad_stops_at_xs)
{
    heed_tensor *x = LEAF(1, 2), *other = LEAF(5, 6), *dh;
    heed_tensor *h = count_passes(heed_mul(x, x));
    heed_tensor *aside = count_passes(other); /* leads to none of the xs */
    heed_tensor *y = heed_sum(heed_mul(heed_mul(h, h), aside));
    passes = 0;
    heed_grad(y, &h, 1, &dh, false);
    EXPECT_VALUES(dh, 0, 2 * 1 * 5, 2 * 4 * 6);
    ck_assert_int_eq(passes, 0);
    heed_backward(heed_sum(h)); /* the graph behind h is intact */
    EXPECT_VALUES(x->grad, 0, 2, 4);
    ck_assert_int_eq(passes, 1);
    ck_assert_ptr_null(other->grad);
}
END_TEST

START_TEST(interior_xs_and_leaves_beyond)
{
    heed_tensor *x = LEAF1(2);
    heed_tensor *h = heed_mul(x, x), *k = heed_mul(h, x); /* x^2, x^3 */
    heed_tensor *y = heed_mul(heed_mul(h, k), k);         /* x^8 = h k^2 */
    heed_tensor *xs[] = {x, y, h, k}, *grads[4];
    ck_assert_int_eq(heed_grad(y, xs, 4, grads, false), HEED_OK);
    EXPECT_VALUES(grads[0], 0, 8 * 128);
    EXPECT_VALUES(grads[1], 0, 1);
    EXPECT_VALUES(grads[2], 0, 64 + 2 * 4 * 8 * 2); /* k^2 + 2 h k dk/dh, k = h x */
    EXPECT_VALUES(grads[3], 0, 2 * 4 * 8);
}
END_TEST

START_TEST(xs_given_twice)
{
    heed_tensor *x = LEAF(1, 2);
    heed_tensor *h = heed_mul(x, x), *xs[] = {x, h, x, h, x}, *grads[5];
    ck_assert_int_eq(heed_grad(heed_sum(h), xs, 5, grads, false), HEED_OK);
    for (int i = 0; i < 5; i += 2) {
        EXPECT_VALUES(grads[i], 0, 2, 4);
    }
    EXPECT_VALUES(grads[1], 0, 1, 1);
    EXPECT_VALUES(grads[3], 0, 1, 1);
}
END_TEST

START_TEST(y_among_xs)
{
    heed_tensor *x = LEAF1(3), *y = heed_mul(x, x), *xs[] = {y, x}, *grads[2];
    heed_grad(y, xs, 2, grads, false);
    EXPECT_VALUES(grads[0], 0, 1);
    EXPECT_VALUES(grads[1], 0, 6);
    heed_grad(x, &x, 1, grads, false);
    EXPECT_VALUES(grads[0], 0, 1);
    xs[0] = xs[1] = y = heed_mul(x, x);
    heed_grad(y, xs, 2, grads, true);
    EXPECT_VALUES(grads[1], 0, 1);
    EXPECT_VALUES(heed_mul(grads[0], heed_scalar(2, HEED_F64)), 0, 2);
}
END_TEST

START_TEST(xs_that_y_does_not_reach)
{
    heed_tensor *x = LEAF(1, 2), *far = LEAF(1, 2, 3);
    heed_tensor *single = heed_set_requires_grad(heed_ones(HEED_SHAPE(2, 0), HEED_F32), true);
    heed_tensor *later = heed_exp(x), *xs[] = {far, x, single, later}, *grads[4];
    for (int graph = 0; graph < 2; graph++) {
        heed_grad(sum_of_squares(x), xs, 4, grads, graph == 1);
        EXPECT_VALUES(grads[0], 0, 0, 0, 0);
        EXPECT_VALUES(grads[1], 0, 2, 4);
        ck_assert_int_eq(grads[2]->dtype, HEED_F32);
        ck_assert_int_eq(grads[2]->shape[1], 0);
        EXPECT_VALUES(grads[3], 0, 0, 0);
    }
    heed_grad(heed_sum(far), &x, 1, grads, false);
    EXPECT_VALUES(grads[0], 0, 0, 0);
    heed_grad(LEAF1(2), &x, 1, grads, false); /* y is a leaf other than x */
    EXPECT_VALUES(grads[0], 0, 0, 0);
}
END_TEST

START_TEST(grad_refuses)
{
    heed_tensor *x = LEAF(1, 2), *c = heed_ones(HEED_SHAPE(2), HEED_F64), *y = sum_of_squares(x);
    heed_tensor *xs[] = {x, c}, *none[] = {x, NULL}, *grads[2] = {x, x};
    heed_grad(y, xs, 2, grads, false);
    expect_error(HEED_ERR_GRAPH, "grad: x 1 (2) does not require a gradient");
    ck_assert(grads[0] == NULL && grads[1] == NULL);
    heed_grad(y, none, 2, grads, false);
    expect_error(HEED_ERR_NULL, "an x is NULL");
    heed_grad(y, NULL, 1, grads, false);
    expect_error(HEED_ERR_NULL, "no tensors to differentiate with respect to");
    heed_grad(y, xs, 0, grads, false);
    expect_error(HEED_ERR_NULL, "no tensors to differentiate with respect to");
    heed_grad(heed_mul(x, x), xs, 1, grads, false);
    expect_error(HEED_ERR_SHAPE, "grad: y (2) is not a single number");
    heed_grad(heed_sum(c), xs, 1, grads, false);
    expect_error(HEED_ERR_GRAPH, "has no graph");
    heed_grad(y, xs, 1, grads, false);
    EXPECT_VALUES(grads[0], 0, 2, 4);
    heed_grad(y, xs, 1, grads, false);
    expect_error(HEED_ERR_GRAPH, "was used up");
    ck_assert_ptr_null(grads[0]);
}
END_TEST

START_TEST(gradients_belong_to_the_innermost_scope)
{
    heed_tensor *x = LEAF(1, 2), *dx;
    const int64_t before = heed_live_tensors();
    heed_scope scope;
    for (int graph = 0; graph < 2; graph++) {
        heed_scope_begin(&scope);
        heed_tensor *xs[] = {x, LEAF(3, 4)}, *grads[2];
        heed_grad(heed_sum(heed_add(xs[0], xs[1])), xs, 2, grads, graph == 1);
        dx = heed_retain(grads[0]);
        heed_scope_end(&scope);
        EXPECT_VALUES(dx, 0, 1, 1);
        heed_release(dx);
        ck_assert_int_eq(heed_live_tensors(), before);
    }
}
END_TEST

static void add_first_cases(Suite *suite)
{
    TCase *grad = heed_case(suite, "grad");
    tcase_add_test(grad, grad_leaves_dot_grad_alone);
    tcase_add_test(grad, grad_stops_at_xs);
    tcase_add_test(grad, interior_xs_and_leaves_beyond);
    tcase_add_test(grad, xs_given_twice);
    tcase_add_test(grad, y_among_xs);
    tcase_add_test(grad, xs_that_y_does_not_reach);
    tcase_add_test(grad, grad_refuses);
    tcase_add_test(grad, gradients_belong_to_the_innermost_scope);
}

/* ---- gradients of gradients ---- */

START_TEST(derivatives_of_a_power)
{
    heed_tensor *x = LEAF1(3), *y = heed_mul(heed_mul(x, x), heed_mul(x, x));
    const double expected[] = {4 * 27, 12 * 9, 24 * 3, 24, 0, 0};
    for (int i = 0; i < 6; i++) {
        y = derivative(y, x);
        EXPECT_VALUES(y, 1e-12, expected[i]);
    }
}
END_TEST

/* The derivative of a gradient that does not depend on x is 0. */
START_TEST(derivatives_of_piecewise_linear_functions)
{
    heed_tensor *x = LEAF(-1, (double)NAN, 3), *other = LEAF1(2), *xs[] = {x, other}, *first[2],
                *second[2];
    heed_tensor *y = heed_sum(heed_relu(x));
    heed_grad(y, xs, 2, first, true);
    EXPECT_VALUES(first[0], 0, 0, 1, 1);
    EXPECT_VALUES(first[1], 0, 0); /* y does not reach it */
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(heed_grad(heed_sum(heed_square(first[i])), xs, 2, second, false), HEED_OK);
        EXPECT_VALUES(second[0], 0, 0, 0, 0);
        EXPECT_VALUES(second[1], 0, 0);
    }
    heed_grad(y, xs, 1, first, true);
    heed_backward(heed_sum(first[0]));
    EXPECT_VALUES(x->grad, 0, 0, 0, 0);
    heed_grad(y, xs, 1, first, false);
    ck_assert(!first[0]->requires_grad);
}
END_TEST

/* create_graph records a graph even where the caller's scope records none. */
START_TEST(create_graph_in_a_no_grad_scope)
{
    heed_tensor *x = LEAF1(3), *y = heed_relu(x), *xs[] = {x, y}, *first[2], *second[2];
    heed_tensor *cube = heed_mul(y, heed_square(y));
    HEED_SCOPE_NO_GRAD(scope);
    heed_grad(cube, xs, 2, first, true); /* the gradients of x and y share a handle */
    ck_assert(!heed_is_grad_enabled());
    for (int i = 0; i < 2; i++) {
        EXPECT_VALUES(first[i], 0, 27);
        heed_grad(first[i], xs, 2, second, true);
        EXPECT_VALUES(second[0], 0, 18);
    }
    heed_grad(y, xs, 1, first, true);
    ck_assert(first[0]->requires_grad);
}
END_TEST

START_TEST(derivatives_of_pow_scalar)
{
    heed_tensor *x = LEAF1(2), *y = heed_pow_scalar(x, 3);
    const double expected[] = {12, 12, 6, 0};
    for (int i = 0; i < 4; i++) {
        y = derivative(y, x);
        EXPECT_VALUES(y, 1e-12, expected[i]);
    }
}
END_TEST

START_TEST(derivatives_of_a_bell)
{
    const double at = 0.7, bell = exp(-at * at);
    heed_tensor *x = LEAF1(at), *y = heed_exp(heed_neg(heed_mul(x, x)));
    const double expected[] = {-2 * at * bell, (4 * at * at - 2) * bell,
                               (12 * at - 8 * at * at * at) * bell};
    for (int i = 0; i < 3; i++) {
        y = derivative(y, x);
        EXPECT_VALUES(y, 1e-12, expected[i]);
    }
}
END_TEST

START_TEST(derivatives_of_tanh)
{
    const double at = 0.4, t = tanh(at), s = 1 - t * t;
    heed_tensor *x = LEAF1(at), *y = heed_tanh(x);
    const double expected[] = {s, -2 * t * s, s * (6 * t * t - 2)};
    for (int i = 0; i < 3; i++) {
        y = derivative(y, x);
        EXPECT_VALUES(y, 1e-12, expected[i]);
    }
}
END_TEST

START_TEST(mixed_derivatives)
{
    heed_tensor *x = LEAF1(2), *y = LEAF1(3), *xs[] = {x, y}, *first[2], *second[2];
    heed_tensor *f = heed_mul(heed_mul(x, x), heed_pow_scalar(y, 3)); /* x^2 y^3 */
    heed_grad(f, xs, 2, first, true);
    heed_grad(first[0], xs, 2, second, true);
    EXPECT_VALUES(second[0], 1e-12, 2 * 27);
    EXPECT_VALUES(second[1], 1e-12, 6 * 2 * 9);
    heed_grad(first[1], xs, 2, second, false); /* first[0] has its own graph */
    EXPECT_VALUES(second[0], 1e-12, 6 * 2 * 9);
    EXPECT_VALUES(second[1], 1e-12, 6 * 4 * 3);
}
END_TEST

/* d/dx of (H v) for f = sum(x^3): H v = 6 x v. */
START_TEST(hessian_times_vector)
{
    heed_tensor *x = LEAF(1, -2, 3), *v = heed_from_f64((double[]){1, 2, 3}, HEED_SHAPE(3));
    heed_tensor *dx = derivative(heed_sum(heed_mul(x, heed_mul(x, x))), x);
    EXPECT_VALUES(dx, 1e-12, 3, 12, 27);
    heed_tensor *hv = derivative(heed_sum(heed_mul(dx, v)), x);
    EXPECT_VALUES(hv, 1e-12, 6, -24, 54);
    heed_backward(heed_sum(hv));
    EXPECT_VALUES(x->grad, 1e-12, 6, 12, 18);
    ck_assert(x->grad->op == NULL && !x->grad->requires_grad);
}
END_TEST

/* The sum over x of (d/dx of sum(tanh(x W)))^2. */
static heed_tensor *penalty(heed_tensor *const *in, void *context)
{
    (void)context;
    heed_tensor *dx = derivative(heed_sum(heed_tanh(heed_matmul(in[0], in[1]))), in[0]);
    return sum_of_squares(dx);
}

START_TEST(a_gradient_penalty_trains)
{
    heed_tensor *x = LEAF(0.5, -0.3, 0.8, 0.2), *w = LEAF(0.4, -0.9, 0.6, 0.7);
    heed_tensor *inputs[] = {x, heed_detach(heed_reshape(w, HEED_SHAPE(4, 1)))};
    heed_set_requires_grad(inputs[1], true);
    heed_gradcheck(penalty, NULL, inputs, 2);
    expect_no_error();
    const double before = heed_item(penalty(inputs, NULL));
    for (int step = 0; step < 100; step++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_clear_grad(inputs[1]);
        heed_backward(penalty(inputs, NULL));
        heed_copy_into(inputs[1], heed_sub(heed_detach(inputs[1]), inputs[1]->grad));
        heed_scope_end(&scope);
        expect_no_error();
    }
    ck_assert_double_lt(heed_item(penalty(inputs, NULL)), before / 10);
}
END_TEST

START_TEST(grad_mode_stays_as_it_was)
{
    heed_tensor *x = LEAF1(2), *y = heed_mul(x, x), *dx;
    heed_set_grad_enabled(false);
    heed_grad(y, &x, 1, &dx, true);
    ck_assert(!heed_is_grad_enabled());
    heed_set_grad_enabled(true);
    EXPECT_VALUES(derivative(dx, x), 0, 2);
}
END_TEST

static void add_higher_cases(Suite *suite)
{
    TCase *higher = heed_case(suite, "higher");
    tcase_add_test(higher, derivatives_of_a_power);
    tcase_add_test(higher, derivatives_of_piecewise_linear_functions);
    tcase_add_test(higher, create_graph_in_a_no_grad_scope);
    tcase_add_test(higher, derivatives_of_pow_scalar);
    tcase_add_test(higher, derivatives_of_a_bell);
    tcase_add_test(higher, derivatives_of_tanh);
    tcase_add_test(higher, mixed_derivatives);
    tcase_add_test(higher, hessian_times_vector);
    tcase_add_test(higher, a_gradient_penalty_trains);
    tcase_add_test(higher, grad_mode_stays_as_it_was);
}

void add_grad_cases(Suite *suite)
{
    add_first_cases(suite);
    add_higher_cases(suite);
}
