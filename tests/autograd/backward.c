/* The backward pass: what is accumulated in .grad, and which graphs are allowed. */
#include <math.h>

#include "tests/common/engine_util.h"

/* ---- leaves ---- */

START_TEST(gradients_add_up)
{
    heed_tensor *x = LEAF(1, -2, 3);
    ck_assert_ptr_null(x->grad);
    heed_backward(sum_of_squares(x));
    EXPECT_VALUES(x->grad, 0, 2, -4, 6);
    heed_backward(sum_of_squares(x));
    EXPECT_VALUES(x->grad, 0, 4, -8, 12);
    heed_clear_grad(x);
    ck_assert_ptr_null(x->grad);
    heed_backward(sum_of_squares(x));
    EXPECT_VALUES(x->grad, 0, 2, -4, 6);
}
END_TEST

START_TEST(backward_of_a_leaf)
{
    heed_tensor *x = LEAF1(3), *one = leaf_of((double[]){3}, HEED_SHAPE(1, 1));
    heed_backward(x);
    heed_backward(x);
    EXPECT_VALUES(x->grad, 0, 2);
    heed_backward(one);
    ck_assert_int_eq(one->grad->ndim, 2);
    EXPECT_VALUES(one->grad, 0, 1);
}
END_TEST

/* .grad has its own contiguous memory, and no graph. */
static void expect_own_grad(heed_tensor *x)
{
    expect_no_error();
    ck_assert_ptr_nonnull(x->grad);
    ck_assert(heed_is_contiguous(x->grad));
    ck_assert(!x->grad->requires_grad && x->grad->op == NULL);
    ck_assert_int_eq(x->grad->storage->references, 1);
    ck_assert_int_eq(x->grad->dtype, x->dtype);
    ck_assert_int_eq(x->grad->numel, x->numel);
}

START_TEST(grads_are_contiguous_and_bare)
{
    heed_tensor *base = heed_arange(0, 6, 1, HEED_F64);
    heed_tensor *transposed = heed_transpose(heed_reshape(base, HEED_SHAPE(2, 3)), 0, 1);
    heed_tensor *expanded = heed_expand(heed_ones(HEED_SHAPE(3, 1), HEED_F64), HEED_SHAPE(3, 2));
    heed_set_requires_grad(transposed, true);
    heed_set_requires_grad(expanded, true);
    heed_tensor *weights = heed_reshape(heed_arange(1, 7, 1, HEED_F64), HEED_SHAPE(3, 2));
    for (int i = 1; i <= 2; i++) {
        heed_backward(heed_sum(heed_mul(heed_add(transposed, expanded), weights)));
        expect_own_grad(transposed);
        expect_own_grad(expanded);
        EXPECT_VALUES(transposed->grad, 0, i, i * 2, i * 3, i * 4, i * 5, i * 6);
        EXPECT_VALUES(expanded->grad, 0, i, i * 2, i * 3, i * 4, i * 5, i * 6);
    }
    heed_backward(heed_sum(transposed)); /* its gradient is an expanded tensor */
    expect_own_grad(transposed);
    heed_clear_grad(expanded);
    heed_backward(heed_sum(expanded));
    expect_own_grad(expanded);
}
END_TEST

/* Operations whose gradient is g itself, or a view of it. */
static heed_tensor *sharing(int i, heed_tensor *x, heed_tensor *y)
{
    switch (i) {
    case 0:
        return heed_add(x, y);
    case 1:
        return heed_add(heed_clone(x), heed_clone(y));
    case 2:
        return heed_add(heed_reshape(x, HEED_SHAPE(3, 1)), heed_unsqueeze(y, 1));
    case 3:
        return heed_cat((heed_tensor *[]){x, y}, 2, 0);
    case 4:
        return heed_add(heed_slice(x, 0, 0, 3, 1), heed_expand(y, HEED_SHAPE(3)));
    default:
        return heed_add_scalar(heed_sub_scalar(heed_add(x, y), 1), 2);
    }
}

START_TEST(no_two_grads_share_memory)
{
    for (int i = 0; i < 6; i++) {
        heed_tensor *x = LEAF(1, 2, 3), *y = LEAF(4, 5, 6);
        heed_tensor *h = heed_retain_grad(sharing(i, x, y));
        heed_backward(heed_sum(h));
        expect_own_grad(x);
        expect_own_grad(y);
        expect_own_grad(h);
        heed_backward(heed_sum(heed_mul_scalar(x, 10)));
        EXPECT_VALUES(x->grad, 0, 11, 11, 11);
        EXPECT_VALUES(y->grad, 0, 1, 1, 1);
        ck_assert_double_eq(heed_item(heed_mean(h->grad)), 1);
    }
}
END_TEST

/* ---- shapes of graphs ---- */

START_TEST(nodes_used_again)
{
    heed_tensor *x = LEAF1(2), *power = x;
    for (int i = 0; i < 3; i++) {
        power = heed_mul(power, power); /* x^8 */
    }
    heed_backward(power);
    EXPECT_VALUES(x->grad, 0, 8 * 128.0);
    heed_tensor *y = LEAF1(1), *doubled = y;
    for (int i = 0; i < 50; i++) {
        doubled = heed_add(doubled, doubled); /* 2^50 paths */
    }
    heed_backward(doubled);
    EXPECT_VALUES(y->grad, 0, ldexp(1, 50));
    heed_tensor *z = LEAF1(3);
    heed_backward(heed_add(heed_mul(z, z), heed_add(z, heed_mul(heed_mul(z, z), z))));
    EXPECT_VALUES(z->grad, 0, 2 * 3 + 1 + 3 * 9);
}
END_TEST

static heed_tensor *through_many(heed_tensor *x, int count)
{
    for (int i = 0; i < count; i++) {
        x = heed_add_scalar(x, 1);
    }
    return x;
}

/* a feeds b and c at different depths; its gradient must be complete before a is processed. */
START_TEST(diamonds_of_unequal_sides)
{
    heed_tensor *x = LEAF1(0.5);
    heed_tensor *a = heed_mul(x, x), *far = through_many(a, 10);
    heed_backward(heed_add(a, heed_mul(far, a))); /* a + (a + 10) a */
    EXPECT_VALUES(x->grad, 1e-15, (1 + 2 * 0.25 + 10) * 2 * 0.5);
}
END_TEST

/* p and q receive views of one gradient, and later further gradients. */
START_TEST(gradients_on_their_way_share_nothing)
{
    heed_tensor *x = LEAF(1, 2), *y = LEAF(3, 4);
    heed_tensor *p = heed_mul_scalar(x, 1), *q = heed_mul_scalar(y, 1);
    const heed_shape column = HEED_SHAPE(2, 1);
    heed_tensor *early = heed_add(heed_reshape(p, column), heed_reshape(q, column));
    heed_tensor *later = heed_add(through_many(p, 6), through_many(q, 12));
    heed_backward(heed_add(heed_sum(heed_mul(early, early)), heed_sum(later)));
    EXPECT_VALUES(x->grad, 0, 2 * 4 + 1, 2 * 6 + 1);
    EXPECT_VALUES(y->grad, 0, 2 * 4 + 1, 2 * 6 + 1);
}
END_TEST

START_TEST(backward_works_without_grad_mode)
{
    heed_tensor *x = LEAF(1, 2), *y = sum_of_squares(x);
    heed_set_grad_enabled(false);
    ck_assert_int_eq(heed_backward(y), HEED_OK);
    ck_assert(!heed_is_grad_enabled());
    heed_set_grad_enabled(true);
    EXPECT_VALUES(x->grad, 0, 2, 4);
}
END_TEST

START_TEST(constants_get_none)
{
    heed_tensor *x = LEAF(1, 2, 3), *c = heed_ones(HEED_SHAPE(3), HEED_F64);
    heed_tensor *ids = heed_from_i64((int64_t[]){2, 0, 2, 2}, HEED_SHAPE(2, 2));
    heed_backward(
        heed_sum(heed_mul(heed_embedding(ids, heed_unsqueeze(x, 1)), heed_scalar(2, HEED_F64))));
    heed_backward(heed_sum(heed_mul(x, c)));
    EXPECT_VALUES(x->grad, 0, 3, 1, 7);
    ck_assert_ptr_null(c->grad);
    ck_assert_ptr_null(ids->grad);
}
END_TEST

void add_backward_cases(Suite *suite)
{
    TCase *leaves = heed_case(suite, "leaves");
    tcase_add_test(leaves, gradients_add_up);
    tcase_add_test(leaves, backward_of_a_leaf);
    tcase_add_test(leaves, grads_are_contiguous_and_bare);
    tcase_add_test(leaves, no_two_grads_share_memory);
    TCase *graphs = heed_case(suite, "graphs");
    tcase_add_test(graphs, nodes_used_again);
    tcase_add_test(graphs, diamonds_of_unequal_sides);
    tcase_add_test(graphs, gradients_on_their_way_share_nothing);
    tcase_add_test(graphs, backward_works_without_grad_mode);
    tcase_add_test(graphs, constants_get_none);
}
