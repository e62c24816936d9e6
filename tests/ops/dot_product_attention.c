/* scaled_dot_product_attention beyond its rows: NaN of masked keys, weights, dropout, which draws
 * as heed_dropout does. */
#include <math.h>

#include "tests/common/reference.h"

enum { L = 4, S = 6, WIDTH = 3, VALUES = 2 };

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

/* A mask for all keys, which are several where features are one. */
START_TEST(a_mask_may_be_a_column)
{
    heed_tensor *in[] = {of_shape(HEED_SHAPE(L, 1), HEED_F64, 1),
                         of_shape(HEED_SHAPE(S, 1), HEED_F64, 2),
                         of_shape(HEED_SHAPE(S, VALUES), HEED_F64, 3)};
    heed_tensor *mask = heed_from_bool((bool[]){1, 0, 1, 0}, HEED_SHAPE(L, 1));
    expect_same_bits(attend(in, mask, false),
                     attend(in, heed_expand(mask, HEED_SHAPE(L, S)), false));
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
    expect_equal(all, heed_zeros_like(all));
    attend(in, NULL, false);
    heed_tensor *drawn = heed_rand(HEED_SCALAR, HEED_F32); /* neither call drew anything */
    heed_manual_seed(5);
    expect_equal(drawn, heed_rand(HEED_SCALAR, HEED_F32));
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

void add_dot_product_attention_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "attention");
    tcase_add_test(tests, what_is_masked_has_no_influence);
    tcase_add_loop_test(tests, nan_of_masked_keys_is_seen, HEED_F32, HEED_F64 + 1);
    tcase_add_loop_test(tests, weights_are_those_of_the_values, HEED_F32, HEED_F64 + 1);
    tcase_add_test(tests, a_mask_may_be_a_column);
    tcase_add_test(tests, dropout_is_of_the_weights);
    tcase_add_test(tests, errors_leave_no_weights);
}
