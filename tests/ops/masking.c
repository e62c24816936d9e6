/* where, masked_fill, masked_select, tril and triu, compared with plain loops. */
#include <math.h>

#include "tests/common/ops_cases.h"

/* ---- where ---- */

/* clang-format off */
static const struct triple {
    heed_shape condition, a, b, y;
} triples[] = {
    {{0, {0}}, {0, {0}}, {0, {0}}, {0, {0}}},
    {{1, {300}}, {1, {300}}, {1, {300}}, {1, {300}}},
    {{1, {300}}, {0, {0}}, {1, {1}}, {1, {300}}},
    {{2, {3, 1}}, {2, {1, 4}}, {0, {0}}, {2, {3, 4}}},
    {{0, {0}}, {2, {3, 4}}, {1, {4}}, {2, {3, 4}}},
    {{3, {2, 1, 5}}, {2, {3, 1}}, {4, {4, 1, 1, 1}}, {4, {4, 2, 3, 5}}},
    {{2, {0, 1}}, {1, {3}}, {0, {0}}, {2, {0, 3}}},
};
/* clang-format on */
enum { TRIPLES = sizeof triples / sizeof *triples };

static void check_where(const struct triple *shapes, heed_dtype of_a, heed_dtype of_b,
                        enum layout layout)
{
    heed_tensor *condition = noise(shapes->condition, HEED_BOOL, layout, 1);
    heed_tensor *a = noise(shapes->a, of_a, (layout + 1) % LAYOUTS, 2);
    heed_tensor *b = noise(shapes->b, of_b, (layout + 2) % LAYOUTS, 3);
    heed_tensor *y = heed_where(condition, a, b);
    if (of_a != of_b && of_a <= HEED_F64 && of_b <= HEED_F64) {
        ck_assert_ptr_null(y);
        expect_error(HEED_ERR_DTYPE, "where");
        return;
    }
    expect_kind(y, of_a < of_b ? of_a : of_b, shapes->y);
    for (heed_shape at = first_index(shapes->y); at.ndim >= 0; next_index(shapes->y, &at)) {
        double goal = element(condition, at) != 0 ? element(a, at) : element(b, at);
        expect_element("where", element(y, at), goal, 0, y->dtype);
    }
}

START_TEST(where_chooses)
{
    for (int dtypes = 0; dtypes < HEED_DTYPES * HEED_DTYPES; dtypes++) {
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            check_where(&triples[_i], (heed_dtype)(dtypes / HEED_DTYPES),
                        (heed_dtype)(dtypes % HEED_DTYPES), layout);
        }
    }
}
END_TEST

START_TEST(where_passes_no_nan_of_the_other_side)
{
    heed_tensor *c = heed_from_bool((bool[]){1, 0}, HEED_SHAPE(2));
    heed_tensor *a = heed_from_f32((float[]){1, NAN}, HEED_SHAPE(2));
    heed_tensor *b = heed_from_f32((float[]){INFINITY, 2}, HEED_SHAPE(2));
    EXPECT_VALUES(heed_where(c, a, b), 0, 1, 2);
    ck_assert_ptr_null(heed_where(a, a, b));
    expect_error(HEED_ERR_DTYPE, "where: condition is f32, not bool");
    ck_assert_ptr_null(heed_where(c, heed_ones(HEED_SHAPE(3), HEED_F32), b));
    expect_error(HEED_ERR_SHAPE, "where");
}
END_TEST

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
    expect_error(HEED_ERR_SHAPE, "masked_fill: shapes (3) and (2, 4) do not broadcast");
}
END_TEST

/* ---- masked_select ---- */

static void check_masked(heed_shape of_x, heed_shape of_mask, heed_shape both, heed_dtype dtype,
                         enum layout layout)
{
    static double goals[1000];
    heed_tensor *x = noise(of_x, dtype, layout, 5);
    heed_tensor *mask = noise(of_mask, HEED_BOOL, (layout + 1) % LAYOUTS, 6);
    int64_t count = 0;
    for (heed_shape at = first_index(both); at.ndim >= 0; next_index(both, &at)) {
        if (element(mask, at) != 0) {
            goals[count++] = element(x, at);
        }
    }
    heed_tensor *y = heed_masked_select(x, mask);
    expect_kind(y, dtype, HEED_SHAPE(count));
    ck_assert(y->storage != x->storage);
    for (int64_t i = 0; i < count; i++) {
        expect_element("masked_select", element(y, HEED_INDEX(i)), goals[i], 0, dtype);
    }
}

START_TEST(masks_choose)
{
    const heed_dtype dtype = (heed_dtype)_i;
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        check_masked(HEED_SCALAR, HEED_SCALAR, HEED_SCALAR, dtype, layout);
        check_masked(HEED_SHAPE(600), HEED_SHAPE(600), HEED_SHAPE(600), dtype, layout);
        check_masked(HEED_SHAPE(3, 4), HEED_SHAPE(4), HEED_SHAPE(3, 4), dtype, layout);
        check_masked(HEED_SHAPE(4), HEED_SHAPE(3, 1), HEED_SHAPE(3, 4), dtype, layout);
        check_masked(HEED_SHAPE(2, 1, 3), HEED_SHAPE(4, 1), HEED_SHAPE(2, 4, 3), dtype, layout);
        check_masked(HEED_SCALAR, HEED_SHAPE(2, 3), HEED_SHAPE(2, 3), dtype, layout);
        check_masked(HEED_SHAPE(2, 3), HEED_SCALAR, HEED_SHAPE(2, 3), dtype, layout);
        check_masked(HEED_SHAPE(0, 3), HEED_SHAPE(3), HEED_SHAPE(0, 3), dtype, layout);
    }
    expect_kind(
        heed_masked_select(heed_ones(HEED_SCALAR, dtype), heed_zeros(HEED_SCALAR, HEED_BOOL)),
        dtype, HEED_SHAPE(0));
    expect_kind(
        heed_masked_select(heed_ones(HEED_SCALAR, dtype), heed_ones(HEED_SCALAR, HEED_BOOL)), dtype,
        HEED_SHAPE(1));
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

void add_select_cases(Suite *suite)
{
    TCase *select = heed_case(suite, "select");
    tcase_add_loop_test(select, where_chooses, 0, TRIPLES);
    tcase_add_test(select, where_passes_no_nan_of_the_other_side);
    tcase_add_loop_test(select, masked_fill_replaces_where_true, 0, HEED_DTYPES);
    tcase_add_test(select, masked_fill_refuses);
    tcase_add_loop_test(select, masks_choose, 0, HEED_DTYPES);
    tcase_add_loop_test(select, triangles_are_kept, 0, HEED_DTYPES);
    tcase_add_test(select, triangles_clear_nan_and_infinity);
}
