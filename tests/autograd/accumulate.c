/* Accumulating gradients: adding in place gives the same sums as separate tensors, and never
 * changes a tensor that someone else sees. */
#include <math.h>

#include "tests/common/engine_util.h"

/* ---- the same numbers either way ---- */

enum { ROWS = 4, COLUMNS = 6 };

static heed_tensor *weighted(heed_tensor *x, double by)
{
    return heed_sum(heed_mul(heed_mul_scalar(x, by), x));
}

static heed_tensor *sum_parts(heed_tensor *const *parts, int count)
{
    heed_tensor *sum = weighted(parts[0], 1);
    for (int i = 1; i < count; i++) {
        sum = heed_add(sum, weighted(parts[i], i + 1));
    }
    return sum;
}

static heed_tensor *overlapping_steps(heed_tensor *x)
{
    heed_tensor *parts[] = {heed_slice(x, 1, 0, COLUMNS, 2), heed_slice(x, 1, 1, 5, 3),
                            heed_slice(x, 0, -2, ROWS, 1), heed_slice(x, 1, 2, 2, 1), x};
    return sum_parts(parts, 5);
}

/* x first receives the gradient of the sum itself, which is not x's alone. */
static heed_tensor *shared_first(heed_tensor *x)
{
    heed_tensor *part = heed_slice(x, 0, 1, 3, 1);
    return heed_add(weighted(part, 2), heed_sum(heed_exp(heed_add(x, heed_add(x, x)))));
}

static heed_tensor *products(heed_tensor *x)
{
    heed_tensor *once = heed_matmul(x, heed_transpose(x, 0, 1)); /* both factors are x */
    return heed_add(weighted(once, 0.1), weighted(heed_matmul(once, x), 0.01));
}

static heed_tensor *tied(heed_tensor *x)
{
    heed_tensor *ids = heed_from_i64((int64_t[]){3, 0, 3, 1}, HEED_SHAPE(2, 2));
    heed_tensor *rows = heed_embedding(ids, x);
    heed_tensor *again = heed_embedding(heed_select(ids, 0, 1), x);
    heed_tensor *logits = heed_matmul(rows, heed_transpose(x, 0, 1));
    return heed_add(weighted(logits, 0.1), heed_add(weighted(again, 3), weighted(rows, 1)));
}

static heed_tensor *(*const ways[])(heed_tensor *) = {overlapping_steps, shared_first, products,
                                                      tied};
enum { WAYS = sizeof ways / sizeof *ways };

static heed_tensor *input(heed_dtype dtype)
{
    heed_manual_seed(3);
    return heed_to(heed_add_scalar(heed_rand(HEED_SHAPE(ROWS, COLUMNS), HEED_F32), -0.4), dtype);
}

/* With create_graph nothing is added in place. */
START_TEST(sums_are_those_of_a_pass_with_a_graph)
{
    const heed_dtype dtype = _i % 2 ? HEED_F64 : HEED_F32;
    const double tolerance = dtype == HEED_F64 ? 1e-13 : 2e-5;
    heed_tensor *x = heed_set_requires_grad(input(dtype), true), *plain = NULL, *dx = NULL,
                *both[2];
    heed_grad(ways[_i / 2](x), &x, 1, &plain, true);
    heed_grad(ways[_i / 2](x), &x, 1, &dx, false);
    expect_close(dx, plain, tolerance);
    for (int i = 1; i <= 3; i++) { /* from the second pass on it adds to .grad */
        heed_backward(ways[_i / 2](x));
        expect_close(x->grad, heed_mul_scalar(plain, i), i * tolerance);
    }
    heed_tensor *h = heed_mul_scalar(x, 2), *xs[] = {x, h}, *unlike;
    heed_retain_grad(h);
    heed_tensor *y = ways[_i / 2](h);
    heed_grad(y, &h, 1, &unlike, true);
    heed_grad(y, xs, 2, both, true);
    expect_close(both[1], unlike, 0);
    heed_clear_grad(x);
    heed_backward_retain(y);
    heed_backward(y);
    expect_close(h->grad, heed_mul_scalar(unlike, 2), 2 * tolerance);
    expect_close(x->grad, heed_mul_scalar(unlike, 4), 4 * tolerance);
}
END_TEST

/* ---- sums in place ---- */

/* h and k first receive the same gradient tensor, that of the sum: adding to h's must not change
 * k's. */
START_TEST(a_gradient_of_others_is_left_alone)
{
    heed_tensor *x = LEAF(1, 2), *xs[2], *grads[2];
    xs[0] = heed_neg(x);
    xs[1] = heed_exp(xs[0]);
    heed_tensor *aside = heed_mul_scalar(xs[0], 2);
    heed_grad(heed_sum(heed_add(heed_add(xs[0], xs[1]), aside)), xs, 2, grads, false);
    EXPECT_VALUES(grads[1], 0, 1, 1);
    EXPECT_VALUES(grads[0], 1e-12, 3 + exp(-1), 3 + exp(-2));
}
END_TEST

/* ---- a .grad set by the user ---- */

/* If the derivative reads the memory of the sum, the addition waits until after the read. */
START_TEST(a_gradient_in_the_memory_of_an_input)
{
    heed_tensor *x = LEAF(1, 2, 3, 4), *part = heed_slice(x, 0, 0, 3, 1);
    heed_set_grad(x, heed_ones(HEED_SHAPE(4), HEED_F64));
    heed_tensor *y = heed_sum(heed_mul(part, heed_narrow(x->grad, 0, 1, 3)));
    heed_backward(y);
    EXPECT_VALUES(x->grad, 0, 2, 2, 2, 1);
}
END_TEST

START_TEST(adding_to_a_gradient_raises_the_version)
{
    heed_tensor *x = LEAF(1, 2), *w = LEAF(3, 4);
    heed_set_grad(x, heed_ones(HEED_SHAPE(2), HEED_F64));
    heed_tensor *y = heed_sum(heed_mul(w, x->grad));
    heed_backward(heed_sum(heed_mul_scalar(x, 2)));
    EXPECT_VALUES(x->grad, 0, 3, 3);
    heed_backward(y);
    expect_error(HEED_ERR_VERSION, "derivative of mul");
}
END_TEST

void add_accumulate_cases(Suite *suite)
{
    TCase *sums = heed_case(suite, "sums_in_place");
    tcase_add_loop_test(sums, sums_are_those_of_a_pass_with_a_graph, 0, 2 * WAYS);
    tcase_add_test(sums, a_gradient_of_others_is_left_alone);
    TCase *given = heed_case(suite, "adding_to_a_given_gradient");
    tcase_add_test(given, a_gradient_in_the_memory_of_an_input);
    tcase_add_test(given, adding_to_a_gradient_raises_the_version);
}
