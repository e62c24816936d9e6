/* scaled_dot_product_attention beyond its comparison with PyTorch in dot_product_attention.def: all
 * kinds of masks agree, fully masked queries give zero gradients, dropout draws as heed_dropout
 * does, and errors leak nothing. */
#include <math.h>

#include "tests/common/reference.h"

enum { L = 4, S = 6, WIDTH = 3, VALUES = 2, CLOSED = 2 };

static heed_tensor *of_shape(heed_shape shape, heed_dtype dtype, uint64_t seed)
{
    return heed_set_requires_grad(noise(shape, dtype, ROWS, seed), true);
}

/* q, k and v of two sentences. */
static void make_inputs(heed_dtype dtype, heed_tensor **in)
{
    in[0] = of_shape(HEED_SHAPE(2, L, WIDTH), dtype, 1);
    in[1] = of_shape(HEED_SHAPE(2, S, WIDTH), dtype, 2);
    in[2] = of_shape(HEED_SHAPE(2, S, VALUES), dtype, 3);
}

static heed_tensor *attend(heed_tensor *const *in, heed_tensor *mask, bool is_causal)
{
    return heed_scaled_dot_product_attention(in[0], in[1], in[2], mask, 0, is_causal, 0);
}

static void expect_zeros(heed_tensor *x)
{
    expect_equal(x, heed_zeros_like(x));
}

/* ---- masks ---- */

START_TEST(all_kinds_of_masks_agree)
{
    heed_tensor *in[3], *grads[5][3], *y[5];
    make_inputs((heed_dtype)_i, in);
    heed_tensor *keep = heed_tril(heed_ones(HEED_SHAPE(L, S), HEED_BOOL), 0);
    heed_tensor *block = heed_logical_not(keep);
    y[0] = attend(in, NULL, true);
    y[1] = attend(in, keep, false);
    y[2] = attend(in, heed_logical_not(block), false);
    y[3] = attend(in, heed_masked_fill(heed_scalar(0, in[0]->dtype), block, -HUGE_VAL), false);
    y[4] = attend(in, heed_expand(keep, HEED_SHAPE(2, L, S)), false);
    for (int i = 0; i < 5; i++) {
        heed_grad(heed_sum(heed_mul(y[i], y[i])), in, 3, grads[i], false);
        expect_equal(y[i], y[0]);
        for (int j = 0; j < 3; j++) {
            expect_equal(grads[i][j], grads[0][j]);
        }
    }
    ck_assert(!heed_equal(heed_detach(y[0]), heed_detach(attend(in, block, false))));
}
END_TEST

/* The first query attends to the first key alone, whatever the lengths. */
START_TEST(causal_begins_at_the_first_key)
{
    heed_tensor *in[3];
    make_inputs(HEED_F64, in);
    for (int64_t keys = 1; keys <= S; keys++) {
        heed_tensor *some[] = {in[0], heed_narrow(in[1], 1, 0, keys),
                               heed_narrow(in[2], 1, 0, keys)};
        heed_tensor *weights;
        heed_scaled_dot_product_attention(some[0], some[1], some[2], NULL, 0, true, 0, &weights);
        const heed_shape shape = HEED_SHAPE(2, L, keys);
        expect_kind(heed_detach(weights), HEED_F64, shape);
        for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
            const double weight = element(weights, at);
            EXPECT(at.size[2] <= at.size[1] ? weight > 0 : weight == 0, "%g", weight);
            EXPECT(at.size[1] > 0 || at.size[2] > 0 || weight == 1, "%g", weight);
        }
    }
}
END_TEST

/* A keep mask blocks padding even if its keys and scores are NaN or infinite. */
START_TEST(what_is_masked_has_no_influence)
{
    static const double garbage[] = {1e30, (double)NAN, HUGE_VAL};
    heed_tensor *in[3], *keep = heed_ones(HEED_SHAPE(S), HEED_BOOL);
    make_inputs(HEED_F32, in);
    heed_fill_into(heed_narrow(keep, 0, 4, 2), 0);
    heed_tensor *some[] = {in[0], heed_narrow(in[1], 1, 0, 4), heed_narrow(in[2], 1, 0, 4)};
    heed_tensor *without = attend(some, NULL, false);
    for (int i = 0; i < 3; i++) {
        heed_tensor *k = heed_clone(heed_detach(in[1]));
        heed_fill_into(heed_narrow(k, 1, 4, 2), garbage[i]);
        expect_close(attend((heed_tensor *[]){in[0], k, in[2]}, keep, false), without, 1e-6);
    }
}
END_TEST

/* 0 times NaN, of a key that a mask blocks, is NaN, as in torch. v may have any strides. */
START_TEST(nan_of_masked_keys_is_seen)
{
    enum { KEYS = 40, WIDE = 20 };
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        heed_tensor *v = noise(HEED_SHAPE(1, KEYS, WIDE), (heed_dtype)_i, layout, 3);
        heed_tensor *q = noise(HEED_SHAPE(1, 2, WIDTH), v->dtype, ROWS, 1);
        heed_tensor *k = noise(HEED_SHAPE(1, KEYS, WIDTH), v->dtype, ROWS, 2);
        heed_fill_into(heed_select(heed_select(v, 1, KEYS - 1), 1, WIDE - 3), (double)NAN);
        heed_tensor *keep = heed_tril(heed_ones(HEED_SHAPE(2, KEYS), HEED_BOOL), 0);
        heed_tensor *y = heed_scaled_dot_product_attention(q, k, v, keep, 0, false, 0);
        for (int64_t i = 0; i < 2 * WIDE; i++) {
            const double value = heed_at(y, HEED_INDEX(0, i / WIDE, i % WIDE));
            EXPECT(isnan(value) == (i % WIDE == WIDE - 3), "layout %d, %d: %g", (int)layout, (int)i,
                   value);
        }
    }
}
END_TEST

/* The gradient of the result is a view whose elements are not adjacent. */
START_TEST(gradients_may_be_views)
{
    heed_tensor *in[3], *whole[3], *w = noise(HEED_SHAPE(2, VALUES, L), HEED_F64, ROWS, 4);
    make_inputs(HEED_F64, in);
    heed_backward(heed_sum(heed_mul(heed_transpose(attend(in, NULL, false), 1, 2), w)));
    for (int i = 0; i < 3; i++) {
        whole[i] = heed_clone(in[i]->grad);
        heed_clear_grad(in[i]);
    }
    heed_backward(heed_sum(heed_mul(attend(in, NULL, false), heed_transpose(w, 1, 2))));
    for (int i = 0; i < 3; i++) {
        expect_close(whole[i], in[i]->grad, 1e-14);
    }
}
END_TEST

/* ---- fully masked queries ---- */

static heed_tensor *closing_mask(int kind, heed_dtype dtype)
{
    heed_tensor *keep = heed_ones(HEED_SHAPE(L, S), HEED_BOOL);
    heed_fill_into(heed_narrow(keep, 0, CLOSED, 1), 0);
    return kind == 0   ? keep
           : kind == 1 ? heed_masked_fill(heed_scalar(-HUGE_VAL, dtype), keep, 0)
                       : heed_set_requires_grad(
                             heed_masked_fill(heed_scalar(-HUGE_VAL, dtype), keep, 0), true);
}

START_TEST(closed_queries_give_zeros_and_learn_nothing)
{
    const heed_dtype dtype = _i < 3 ? HEED_F32 : HEED_F64;
    heed_tensor *in[4], *grads[4], *weights;
    make_inputs(dtype, in);
    in[3] = closing_mask(_i % 3, dtype);
    const int count = in[3]->requires_grad ? 4 : 3;
    heed_tensor *y =
        heed_scaled_dot_product_attention(in[0], in[1], in[2], in[3], 0, false, 0, &weights);
    heed_tensor *closed = heed_narrow(y, 1, CLOSED, 1);
    expect_zeros(closed);
    expect_zeros(heed_narrow(weights, 1, CLOSED, 1));
    heed_grad(heed_sum(heed_mul_scalar(closed, 3)), in, count, grads, false);
    for (int i = 0; i < count; i++) {
        expect_zeros(grads[i]);
    }
    make_inputs(dtype, in);
    y = attend(in, in[3], false);
    heed_grad(heed_sum(heed_mul(y, y)), in, count, grads, false);
    expect_zeros(heed_narrow(grads[0], 1, CLOSED, 1));
    for (int i = 0; i < count; i++) {
        const double square = heed_item(heed_sum(heed_square(grads[i])));
        EXPECT(square > 0 && isfinite(square), "input %d: %g", i, square);
    }
}
END_TEST

START_TEST(without_keys_all_are_closed)
{
    heed_tensor *in[] = {of_shape(HEED_SHAPE(2, 3, 4), HEED_F32, 1),
                         of_shape(HEED_SHAPE(2, 0, 4), HEED_F32, 2),
                         of_shape(HEED_SHAPE(2, 0, 5), HEED_F32, 3)};
    heed_tensor *weights, *grads[3];
    heed_tensor *y =
        heed_scaled_dot_product_attention(in[0], in[1], in[2], NULL, 0.5, true, 0, &weights);
    expect_kind(heed_detach(y), HEED_F32, HEED_SHAPE(2, 3, 5));
    expect_kind(heed_detach(weights), HEED_F32, HEED_SHAPE(2, 3, 0));
    expect_zeros(y);
    heed_grad(heed_sum(y), in, 3, grads, false);
    expect_zeros(grads[0]);
}
END_TEST

/* ---- scale, weights, dropout ---- */

START_TEST(scale_0_is_torchs_default)
{
    heed_tensor *in[3];
    make_inputs(HEED_F64, in);
    const double root = 1 / sqrt(WIDTH);
    expect_equal(attend(in, NULL, false),
                 heed_scaled_dot_product_attention(in[0], in[1], in[2], NULL, 0, false, root));
    ck_assert(!heed_equal(heed_detach(attend(in, NULL, false)),
                          heed_detach(heed_scaled_dot_product_attention(in[0], in[1], in[2], NULL,
                                                                        0, false, -root))));
}
END_TEST

START_TEST(weights_are_those_of_the_values)
{
    heed_tensor *in[3], *weights;
    make_inputs((heed_dtype)_i, in);
    heed_tensor *y =
        heed_scaled_dot_product_attention(in[0], in[1], in[2], NULL, 0, true, 0, &weights);
    expect_equal(y, attend(in, NULL, true));
    expect_equal(y, heed_matmul(weights, in[2]));
    heed_tensor *ones = heed_ones(HEED_SHAPE(2, L), (heed_dtype)_i);
    expect_close(heed_sum_dim(weights, -1, false), ones, 3e-7);
}
END_TEST

/* As in torch: dropout applies to the weights, draws the same numbers in the same order, and has no
 * eval mode: callers pass p = 0. */
START_TEST(dropout_is_of_the_weights)
{
    heed_tensor *in[3], *plain, *weights;
    make_inputs(HEED_F32, in);
    heed_scaled_dot_product_attention(in[0], in[1], in[2], NULL, 0, false, 0, &plain);
    heed_manual_seed(5);
    heed_tensor *expected = heed_dropout(plain, 0.3, true);
    const double next = heed_item(heed_rand(HEED_SCALAR, HEED_F32));
    heed_manual_seed(5);
    heed_tensor *y =
        heed_scaled_dot_product_attention(in[0], in[1], in[2], NULL, 0.3, false, 0, &weights);
    ck_assert(heed_item(heed_rand(HEED_SCALAR, HEED_F32)) == next);
    expect_equal(weights, expected);
    expect_equal(y, heed_matmul(expected, in[2]));
    ck_assert(!heed_equal(heed_detach(weights), heed_detach(plain)));
    heed_manual_seed(5);
    heed_tensor *all = heed_scaled_dot_product_attention(in[0], in[1], in[2], NULL, 1, false, 0);
    expect_zeros(all);
    attend(in, NULL, false);
    heed_tensor *drawn = heed_rand(HEED_SCALAR, HEED_F32); /* neither call drew anything */
    heed_manual_seed(5);
    expect_equal(drawn, heed_rand(HEED_SCALAR, HEED_F32));
}
END_TEST

/* ---- graphs and errors ---- */

START_TEST(no_graph_where_nothing_is_to_learn)
{
    heed_tensor *in[3], *weights;
    make_inputs(HEED_F32, in);
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_set_grad_enabled(false);
    heed_tensor *y =
        heed_scaled_dot_product_attention(in[0], in[1], in[2], NULL, 0, true, 0, &weights);
    ck_assert(y->op == NULL && weights->op == NULL && !y->requires_grad);
    heed_scope_end(&scope);
}
END_TEST

START_TEST(errors_leave_no_weights)
{
    heed_tensor *in[3];
    make_inputs(HEED_F32, in);
    heed_tensor *weights = in[0];
    ck_assert_ptr_null(
        heed_scaled_dot_product_attention(in[0], in[1], in[0], NULL, 0, false, 0, &weights));
    ck_assert_ptr_null(weights);
    expect_error(HEED_ERR_SHAPE, "v (2, 4, 3) does not fit q (2, 4, 3), k (2, 6, 3)");
    heed_fail(HEED_ERR_VALUE, "an error that is pending");
    weights = in[0];
    ck_assert_ptr_null(
        heed_scaled_dot_product_attention(in[0], in[1], in[2], NULL, 0, false, 0, &weights));
    ck_assert_ptr_null(weights);
    expect_error(HEED_ERR_VALUE, "an error that is pending");
}
END_TEST

START_TEST(memory_may_end_anywhere)
{
    heed_tensor *in[3], *mask = closing_mask(0, HEED_F32), *weights;
    make_inputs(HEED_F32, in);
    int failures = 0;
    for (heed_tensor *y = NULL; y == NULL; failures++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_fail_allocation(failures);
        y = heed_scaled_dot_product_attention(in[0], in[1], in[2], mask, 0.5, false, 0, &weights);
        heed_backward(heed_sum(y));
        heed_fail_allocation(-1);
        ck_assert((y == NULL) == (weights == NULL));
        if (heed_error_pending()) {
            expect_error(HEED_ERR_MEMORY, "out of memory");
            y = NULL;
        }
        heed_scope_end(&scope);
    }
    ck_assert_int_gt(failures, 20);
}
END_TEST

void add_dot_product_attention_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "attention");
    tcase_add_loop_test(tests, all_kinds_of_masks_agree, HEED_F32, HEED_F64 + 1);
    tcase_add_test(tests, causal_begins_at_the_first_key);
    tcase_add_test(tests, what_is_masked_has_no_influence);
    tcase_add_loop_test(tests, nan_of_masked_keys_is_seen, HEED_F32, HEED_F64 + 1);
    tcase_add_test(tests, gradients_may_be_views);
    tcase_add_loop_test(tests, closed_queries_give_zeros_and_learn_nothing, 0, 6);
    tcase_add_test(tests, without_keys_all_are_closed);
    tcase_add_test(tests, scale_0_is_torchs_default);
    tcase_add_loop_test(tests, weights_are_those_of_the_values, HEED_F32, HEED_F64 + 1);
    tcase_add_test(tests, dropout_is_of_the_weights);
    tcase_add_test(tests, no_graph_where_nothing_is_to_learn);
    tcase_add_test(tests, errors_leave_no_weights);
    tcase_add_test(tests, memory_may_end_anywhere);
}
