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

/* The sum over x of (d/dx of sum(tanh(x W)))^2. */
static heed_tensor *penalty(heed_tensor *const *in, void *context)
{
    (void)context;
    heed_tensor *dx = derivative(heed_sum(heed_tanh(heed_matmul(in[0], in[1]))), in[0]);
    return sum_of_squares(dx);
}

START_TEST(a_gradient_penalty_is_differentiated)
{
    heed_tensor *inputs[] = {LEAF(0.5, -0.3, 0.8, 0.2),
                             leaf_of((double[]){0.4, -0.9, 0.6, 0.7}, HEED_SHAPE(4, 1))};
    heed_gradcheck(penalty, NULL, inputs, 2);
    expect_no_error();
    heed_tensor *dx = derivative(heed_sum(heed_square(inputs[0])), inputs[0]);
    heed_backward(heed_sum(heed_square(dx)));
    EXPECT_VALUES(inputs[0]->grad, 1e-12, 4, -2.4, 6.4, 1.6);
    ck_assert(inputs[0]->grad->op == NULL && !inputs[0]->grad->requires_grad);
}
END_TEST

void add_grad_cases(Suite *suite)
{
    TCase *grad = heed_case(suite, "grad");
    tcase_add_test(grad, grad_leaves_dot_grad_alone);
    tcase_add_test(grad, grad_stops_at_xs);
    tcase_add_test(grad, interior_xs_and_leaves_beyond);
    tcase_add_test(grad, xs_given_twice);
    tcase_add_test(grad, y_among_xs);
    tcase_add_test(grad, xs_that_y_does_not_reach);
    tcase_add_test(grad, derivatives_of_a_power);
    tcase_add_test(grad, derivatives_of_piecewise_linear_functions);
    tcase_add_test(grad, create_graph_in_a_no_grad_scope);
    tcase_add_test(grad, mixed_derivatives);
    tcase_add_test(grad, a_gradient_penalty_is_differentiated);
}
