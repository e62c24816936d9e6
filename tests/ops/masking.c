/* masked_fill, tril and triu, compared with plain loops. */
#include <math.h>

#include "tests/common/reference.h"

/* ---- masked_fill ---- */

static void check_masked_fill(heed_shape shape, heed_shape of_mask, heed_dtype dtype, double value)
{
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        heed_tensor *x = noise(shape, dtype, layout, 4);
        heed_tensor *mask = noise(of_mask, HEED_BOOL, (layout + 3) % LAYOUTS, 5);
        heed_tensor *y = heed_masked_fill(x, mask, value);
        const double fill = dtype == HEED_F32    ? (double)(float)value
                            : dtype == HEED_F64  ? value
                            : dtype == HEED_BOOL ? value != 0
                                                 : trunc(value);
        expect_kind(y, dtype, shape);
        for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
            double goal = element(mask, at) != 0 ? fill : element(x, at);
            expect_element("masked_fill", element(y, at), goal, 0, dtype);
        }
    }
}

START_TEST(masked_fill_replaces_where_true)
{
    static const double values[] = {0, -2, 0.1, 1e9, 2.7};
    const heed_dtype dtype = (heed_dtype)_i;
    for (int i = 0; i < 5; i++) {
        check_masked_fill(HEED_SCALAR, HEED_SCALAR, dtype, values[i]);
        check_masked_fill(HEED_SHAPE(600), HEED_SHAPE(600), dtype, values[i]);
        check_masked_fill(HEED_SHAPE(2, 3, 4, 4), HEED_SHAPE(4, 4), dtype, values[i]);
        check_masked_fill(HEED_SHAPE(2, 3, 4), HEED_SHAPE(3, 1), dtype, values[i]);
        check_masked_fill(HEED_SHAPE(2, 0), HEED_SHAPE(1, 1), dtype, values[i]);
    }
    if (dtype <= HEED_F64) {
        check_masked_fill(HEED_SHAPE(3, 4), HEED_SHAPE(4), dtype, -HUGE_VAL);
        check_masked_fill(HEED_SHAPE(3, 4), HEED_SHAPE(4), dtype, (double)NAN);
    }
}
END_TEST

START_TEST(masked_fill_refuses)
{
    heed_tensor *x = heed_zeros(HEED_SHAPE(3), HEED_I64);
    heed_tensor *mask = heed_ones(HEED_SHAPE(3), HEED_BOOL);
    ck_assert_ptr_null(heed_masked_fill(x, x, 0));
    expect_error(HEED_ERR_DTYPE, "masked_fill: replace_mask is i64, not bool");
    ck_assert_ptr_null(heed_masked_fill(x, mask, -HUGE_VAL));
    expect_error(HEED_ERR_VALUE, "masked_fill: i64 cannot hold -inf");
    ck_assert_ptr_null(heed_masked_fill(x, heed_ones(HEED_SHAPE(2, 4), HEED_BOOL), 0));
    expect_error(HEED_ERR_SHAPE, "masked_fill: replace_mask (2, 4) does not fit x (3)");
}
END_TEST

/* ---- tril, triu ---- */

/* Compares without a sum, which could overflow. */
static bool is_kept(int64_t row, int64_t column, int64_t diagonal, bool upper)
{
    return upper ? diagonal <= column - row : diagonal >= column - row;
}

static void check_triangle(heed_shape shape, heed_dtype dtype, enum layout layout, int64_t diagonal,
                           bool upper)
{
    heed_tensor *x = noise(shape, dtype, layout, 6);
    heed_tensor *y = upper ? heed_triu(x, diagonal) : heed_tril(x, diagonal);
    expect_kind(y, dtype, shape);
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        bool kept = is_kept(at.size[shape.ndim - 2], at.size[shape.ndim - 1], diagonal, upper);
        expect_element(upper ? "triu" : "tril", element(y, at), kept ? element(x, at) : 0, 0,
                       dtype);
    }
}

START_TEST(triangles_are_kept)
{
    static const heed_shape shapes[] = {
        {2, {4, 4}}, {2, {3, 7}}, {2, {7, 3}},    {2, {1, 1}},    {2, {0, 4}},
        {2, {4, 0}}, {2, {1, 6}}, {3, {3, 5, 4}}, {3, {0, 2, 2}}, {4, {2, 3, 4, 5}}};
    for (int i = 0; i < 20; i++) {
        const bool upper = i >= 10;
        for (int64_t diagonal = -8; diagonal <= 8; diagonal++) {
            check_triangle(shapes[i % 10], (heed_dtype)_i, (enum layout)(diagonal & 3), diagonal,
                           upper);
        }
        check_triangle(shapes[i % 10], (heed_dtype)_i, ROWS, INT64_MAX, upper);
        check_triangle(shapes[i % 10], (heed_dtype)_i, ROWS, INT64_MIN, upper);
    }
}
END_TEST

START_TEST(triangles_clear_nan_and_infinity)
{
    const double nan = (double)NAN, inf = HUGE_VAL;
    heed_tensor *x = heed_full(HEED_SHAPE(2, 2), nan, HEED_F32);
    EXPECT_VALUES(heed_tril(x, 0), 0, nan, 0, nan, nan);
    EXPECT_VALUES(heed_triu(x, 0), 0, nan, nan, 0, nan);
    EXPECT_VALUES(heed_tril(heed_full(HEED_SHAPE(2, 2), -inf, HEED_F64), -1), 0, 0, 0, -inf, 0);
    EXPECT_VALUES(heed_triu(heed_full(HEED_SHAPE(2, 2), -inf, HEED_F64), 1), 0, 0, -inf, 0, 0);
    ck_assert_ptr_null(heed_tril(heed_zeros(HEED_SHAPE(3), HEED_F32), 0));
    expect_error(HEED_ERR_SHAPE, "tril: x (3) must have 2 dims or more");
    ck_assert_ptr_null(heed_triu(heed_zeros(HEED_SHAPE(3), HEED_F32), 0));
    expect_error(HEED_ERR_SHAPE, "triu: x (3) must have 2 dims or more");
}
END_TEST

void add_masking_cases(Suite *suite)
{
    TCase *select = heed_case(suite, "masking");
    tcase_add_loop_test(select, masked_fill_replaces_where_true, 0, HEED_DTYPES);
    tcase_add_test(select, masked_fill_refuses);
    tcase_add_loop_test(select, triangles_are_kept, 0, HEED_DTYPES);
    tcase_add_test(select, triangles_clear_nan_and_infinity);
}
