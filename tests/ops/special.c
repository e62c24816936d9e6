/* Operations on extreme i64 values, bools, bounds and infinities that parity.def does not cover:
 * its inputs are f32, and its results must be PyTorch's. */
#include <math.h>

#include "tests/common/ops_cases.h"

#define INF HUGE_VAL
#define NaN (double)NAN

START_TEST(whole_numbers_wrap)
{
    heed_tensor *min = heed_from_i64((int64_t[]){INT64_MIN}, HEED_SCALAR);
    heed_tensor *max = heed_from_i64((int64_t[]){INT64_MAX}, HEED_SCALAR);
    heed_tensor *odd = heed_from_i64((int64_t[]){(INT64_C(1) << 62) + 1}, HEED_SCALAR);
    ck_assert_int_eq(heed_item_i64(heed_neg(min)), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_pow(heed_scalar(-1, HEED_I64), odd)), -1);
    ck_assert_int_eq(heed_item_i64(heed_add_scalar(max, 1)), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_sub(min, max)), 1);
    ck_assert_int_eq(heed_item_i64(heed_mul(max, max)), 1);
    ck_assert_int_eq(heed_item_i64(heed_maximum(max, min)), INT64_MAX);
    ck_assert_int_eq(heed_item_i64(heed_minimum(max, min)), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_relu(min)), 0);
    ck_assert_int_eq(heed_item_i64(heed_abs(min)), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_abs(heed_add_scalar(min, 1))), INT64_MAX);
    ck_assert_int_eq(heed_item_i64(heed_floor(max)), INT64_MAX); /* not converted to double */
    ck_assert_int_eq(heed_item_i64(heed_square(heed_scalar(-3, HEED_I64))), 9);
    ck_assert_int_eq(heed_item_i64(heed_clamp(min, -INF, INF)), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_clamp(min, -5, INF)), -5);
    ck_assert_int_eq(heed_item_i64(heed_add(heed_sub_scalar(max, 7), heed_scalar(7, HEED_I64))),
                     INT64_MAX);
}
END_TEST

/* Integers above 2^53, which double cannot represent, are compared exactly. */
START_TEST(large_whole_numbers_are_compared_exactly)
{
    const int64_t two53 = INT64_C(1) << 53;
    heed_tensor *a = heed_from_i64((int64_t[]){two53 - 1, two53, two53 + 1}, HEED_SHAPE(3));
    heed_tensor *b = heed_from_i64((int64_t[]){two53}, HEED_SHAPE(1));
    EXPECT_VALUES(heed_eq(a, b), 0, 0, 1, 0);
    EXPECT_VALUES(heed_gt(a, b), 0, 0, 0, 1);
    EXPECT_VALUES(heed_eq_scalar(a, 0x1p53), 0, 0, 1, 0);
    EXPECT_VALUES(heed_gt_scalar(a, 0x1p53), 0, 0, 0, 1);
    EXPECT_VALUES(heed_le_scalar(a, 0x1p53), 0, 1, 1, 0);
    /* Scalars that i64 cannot represent can still be compared. */
    EXPECT_VALUES(heed_lt_scalar(a, 0.5), 0, 0, 0, 0);
    EXPECT_VALUES(heed_lt_scalar(a, 1e30), 0, 1, 1, 1);
    EXPECT_VALUES(heed_gt_scalar(a, -INF), 0, 1, 1, 1);
    EXPECT_VALUES(heed_ne_scalar(a, NaN), 0, 1, 1, 1);
    EXPECT_VALUES(heed_ge_scalar(a, NaN), 0, 0, 0, 0);
}
END_TEST

START_TEST(numbers_that_i64_cannot_take)
{
    static const double numbers[] = {INF, -INF, NaN, 0x1p63, 1e300, 0.25};
    heed_tensor *x = heed_ones(HEED_SHAPE(2), HEED_I64), *b = heed_ones(HEED_SHAPE(2), HEED_BOOL);
    for (int i = 0; i < 6; i++) {
        ck_assert_ptr_null(heed_add_scalar(x, numbers[i]));
        expect_error(HEED_ERR_VALUE, "add_scalar");
        ck_assert_ptr_null(heed_maximum_scalar(b, numbers[i]));
        expect_error(HEED_ERR_VALUE, "maximum_scalar");
        expect_kind(heed_div_scalar(x, numbers[i]), HEED_F32, HEED_SHAPE(2));
    }
}
END_TEST

/* Bools are logical: + is or, * is and; with a number they count as i64. */
START_TEST(bools_are_logic)
{
    heed_tensor *a = heed_from_bool((bool[]){0, 0, 1, 1}, HEED_SHAPE(4));
    heed_tensor *b = heed_from_bool((bool[]){0, 1, 0, 1}, HEED_SHAPE(4));
    EXPECT_VALUES(heed_add(a, b), 0, 0, 1, 1, 1);
    EXPECT_VALUES(heed_mul(a, b), 0, 0, 0, 0, 1);
    EXPECT_VALUES(heed_maximum(a, b), 0, 0, 1, 1, 1);
    EXPECT_VALUES(heed_minimum(a, b), 0, 0, 0, 0, 1);
    EXPECT_VALUES(heed_lt(a, b), 0, 0, 1, 0, 0);
    EXPECT_VALUES(heed_sign(a), 0, 0, 0, 1, 1);
    expect_kind(heed_sign(a), HEED_BOOL, HEED_SHAPE(4));
    expect_kind(heed_clamp(a, 0, 1), HEED_I64, HEED_SHAPE(4));
    EXPECT_VALUES(heed_div(a, b), 0, NaN, 0, INF, 1);
    EXPECT_VALUES(heed_add_scalar(a, 2), 0, 2, 2, 3, 3);
    EXPECT_VALUES(heed_eq_scalar(a, 1), 0, 0, 0, 1, 1);
}
END_TEST

START_TEST(truth_of_any_dtype)
{
    heed_tensor *x =
        heed_from_f32((float[]){0, -0.0f, 2, NAN, INFINITY, -INFINITY, 0x1p-149f}, HEED_SHAPE(7));
    EXPECT_VALUES(heed_isnan(x), 0, 0, 0, 0, 1, 0, 0, 0);
    EXPECT_VALUES(heed_isinf(x), 0, 0, 0, 0, 0, 1, 1, 0);
    EXPECT_VALUES(heed_isfinite(x), 0, 1, 1, 1, 0, 0, 0, 1);
    EXPECT_VALUES(heed_logical_not(x), 0, 1, 1, 0, 0, 0, 0, 0);
    expect_kind(heed_isnan(x), HEED_BOOL, HEED_SHAPE(7));
    for (heed_dtype dtype = HEED_I64; dtype <= HEED_BOOL; dtype++) {
        heed_tensor *whole = heed_to(heed_from_i64((int64_t[]){0, 3}, HEED_SHAPE(2)), dtype);
        EXPECT_VALUES(heed_isnan(whole), 0, 0, 0);
        EXPECT_VALUES(heed_isinf(whole), 0, 0, 0);
        EXPECT_VALUES(heed_isfinite(whole), 0, 1, 1);
        EXPECT_VALUES(heed_logical_not(whole), 0, 1, 0);
        EXPECT_VALUES(heed_logical_xor(whole, heed_full(HEED_SHAPE(1), 0.5, HEED_F32)), 0, 1, 0);
    }
    ck_assert_ptr_null(heed_logical_and(x, heed_ones(HEED_SHAPE(1), HEED_F64)));
    expect_error(HEED_ERR_DTYPE, "logical_and");
}
END_TEST

/* The gradient passes inside the bounds and on them, as in torch up to 1.13; 2.15 blocks it on a
 * bound. */
START_TEST(clamp_of_special_values)
{
    static const double values[] = {-INF, -1, -0.5, 0, 1, 3, INF, NaN};
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_tensor *x =
            heed_set_requires_grad(lay_out(values, HEED_SHAPE(8), dtype, STEPPED), true);
        heed_tensor *y = heed_clamp(x, -1, 1), *dx;
        EXPECT_VALUES(y, 0, -1, -1, -0.5, 0, 1, 1, 1, NaN);
        for (int create_graph = 0; create_graph < 2; create_graph++) {
            heed_tensor *again = heed_clamp(x, -1, 1);
            heed_grad(heed_sum(again), &x, 1, &dx, create_graph);
            EXPECT_VALUES(dx, 0, 0, 1, 1, 1, 1, 0, 0, 0);
        }
        EXPECT_VALUES(heed_clamp(x, 0, INF), 0, 0, 0, 0, 0, 1, 3, INF, NaN);
        EXPECT_VALUES(heed_clamp(x, -INF, 0), 0, -INF, -1, -0.5, 0, 0, 0, 0, NaN);
        EXPECT_VALUES(heed_clamp(x, 2, 1), 0, 1, 1, 1, 1, 1, 1, 1, NaN);
    }
}
END_TEST

/* The ends are exact, and the numbers are torch.lerp's. */
START_TEST(lerp_meets_both_ends)
{
    heed_tensor *a = heed_full(HEED_SHAPE(7), 1e8, HEED_F32), *b = heed_ones(HEED_SCALAR, HEED_F32);
    heed_tensor *w = heed_from_f32((float[]){-1, 0, 0.3f, 0.5f, 0.7f, 1, 2}, HEED_SHAPE(7));
    EXPECT_VALUES(heed_lerp(a, b, w), 8, 2e8, 1e8, 7e7, 5e7, 3e7, 1, -1e8);
    ck_assert_double_eq(heed_at(heed_lerp(a, b, w), HEED_INDEX(5)), 1);
    EXPECT_VALUES(heed_lerp_scalar(a, b, 1), 0, 1, 1, 1, 1, 1, 1, 1);
    expect_kind(heed_lerp_scalar(heed_ones(HEED_SHAPE(1), HEED_I64), w, 0.5), HEED_F32,
                HEED_SHAPE(7));
}
END_TEST

static double slope(heed_tensor *(*f)(heed_tensor *x), double at, double g, bool create_graph)
{
    heed_tensor *x = heed_set_requires_grad(heed_scalar(at, HEED_F32), true), *dx;
    heed_grad(heed_mul_scalar(f(x), g), &x, 1, &dx, create_graph);
    expect_no_error();
    return heed_item(dx);
}

/* Intermediate values do not overflow if the result fits f32. */
START_TEST(no_overflow_on_the_way)
{
    EXPECT_VALUES(heed_gelu(heed_scalar(INF, HEED_F32)), 0, INF);
    EXPECT_VALUES(heed_gelu(heed_scalar(3e38, HEED_F32)), 1e32, 3e38);
    EXPECT_VALUES(heed_gelu_tanh(heed_scalar(3e38, HEED_F32)), 1e32, 3e38);
    for (int create_graph = 0; create_graph < 2; create_graph++) {
        expect_element("erf", slope(heed_erf, 1, 3.2e38, create_graph), 1.3283439713e38, 4,
                       HEED_F32);
        for (double x = 10; x < 1e38; x *= 10) {
            ck_assert_double_eq(slope(heed_gelu_tanh, x, 1, create_graph), 1);
            expect_element("gelu_tanh", slope(heed_gelu_tanh, -x, 1, create_graph) + 1, 1, 0,
                           HEED_F32);
        }
    }
}
END_TEST

/* A zero next to tiny elements: 1 / y would overflow. */
START_TEST(norm_of_tiny_elements_and_a_zero)
{
    static const double ps[] = {2.5, 3, 7};
    for (int i = 0; i < 3; i++) {
        const double p = ps[i], y = 1e-20 * pow(1 + pow(2, p), 1 / p);
        heed_tensor *x = heed_from_f32((float[]){0, 1e-20f, -2e-20f}, HEED_SHAPE(3)), *dx, *ddx;
        heed_set_requires_grad(x, true);
        heed_grad(heed_norm(x, p), &x, 1, &dx, true);
        EXPECT_VALUES(dx, 1e-6, 0, pow(1e-20 / y, p - 1), -pow(2e-20 / y, p - 1));
        heed_grad(heed_sum(heed_mul(dx, dx)), &x, 1, &ddx, false);
        EXPECT(heed_item_i64(heed_all(heed_isfinite(ddx))) == 1, "p = %g", p);
    }
}
END_TEST

START_TEST(the_norm_of_order_0_has_no_gradient)
{
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(3), HEED_F32), true);
    heed_backward(heed_norm(x, 0));
    expect_no_error();
    ck_assert_ptr_null(x->grad);
}
END_TEST

void add_special_cases(Suite *suite)
{
    TCase *special = heed_case(suite, "special");
    tcase_add_test(special, whole_numbers_wrap);
    tcase_add_test(special, large_whole_numbers_are_compared_exactly);
    tcase_add_test(special, numbers_that_i64_cannot_take);
    tcase_add_test(special, bools_are_logic);
    tcase_add_test(special, truth_of_any_dtype);
    tcase_add_test(special, clamp_of_special_values);
    tcase_add_test(special, lerp_meets_both_ends);
    tcase_add_test(special, no_overflow_on_the_way);
    tcase_add_test(special, norm_of_tiny_elements_and_a_zero);
    tcase_add_test(special, the_norm_of_order_0_has_no_gradient);
}
