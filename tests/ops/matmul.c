/* matmul compared with plain loops: shapes, strides, tile edges, NaN. */
#include <math.h>
#include <stdlib.h>

#include "tests/common/reference.h"

/* ---- shapes ---- */

/* clang-format off */
static const struct product {
    heed_shape a, b, y;
} products[] = {
    {{1, {3}}, {1, {3}}, {0, {0}}},
    {{1, {0}}, {1, {0}}, {0, {0}}},
    {{1, {3}}, {2, {3, 4}}, {1, {4}}},
    {{2, {2, 3}}, {1, {3}}, {1, {2}}},
    {{1, {3}}, {3, {5, 3, 4}}, {2, {5, 4}}},
    {{3, {5, 2, 3}}, {1, {3}}, {2, {5, 2}}},
    {{2, {2, 3}}, {2, {3, 4}}, {2, {2, 4}}},
    {{2, {1, 1}}, {2, {1, 1}}, {2, {1, 1}}},
    {{3, {5, 2, 3}}, {2, {3, 4}}, {3, {5, 2, 4}}},
    {{4, {3, 5, 2, 3}}, {2, {3, 4}}, {4, {3, 5, 2, 4}}},
    {{3, {5, 1, 3}}, {2, {3, 1}}, {3, {5, 1, 1}}},
    {{2, {2, 3}}, {3, {5, 3, 4}}, {3, {5, 2, 4}}},
    {{3, {5, 2, 3}}, {3, {5, 3, 4}}, {3, {5, 2, 4}}},
    {{3, {1, 2, 3}}, {3, {5, 3, 4}}, {3, {5, 2, 4}}},
    {{3, {5, 2, 3}}, {3, {1, 3, 4}}, {3, {5, 2, 4}}},
    {{4, {7, 1, 2, 3}}, {3, {5, 3, 4}}, {4, {7, 5, 2, 4}}},
    {{4, {2, 1, 3, 2}}, {4, {1, 4, 2, 5}}, {4, {2, 4, 3, 5}}},
    {{1, {2}}, {4, {3, 4, 2, 5}}, {3, {3, 4, 5}}},
    {{4, {3, 4, 5, 2}}, {1, {2}}, {3, {3, 4, 5}}},
    {{8, {2, 1, 1, 3, 1, 2, 2, 3}}, {6, {2, 1, 4, 1, 3, 2}}, {8, {2, 1, 2, 3, 4, 2, 2, 2}}},
    {{2, {0, 3}}, {2, {3, 4}}, {2, {0, 4}}},
    {{2, {2, 0}}, {2, {0, 4}}, {2, {2, 4}}},
    {{2, {2, 3}}, {2, {3, 0}}, {2, {2, 0}}},
    {{3, {0, 2, 3}}, {3, {1, 3, 4}}, {3, {0, 2, 4}}},
    {{3, {5, 2, 0}}, {2, {0, 4}}, {3, {5, 2, 4}}},
    {{2, {3, 0}}, {1, {0}}, {1, {3}}},
};
/* clang-format on */
enum { PRODUCTS = sizeof products / sizeof *products };

static void check_product(heed_tensor *a, heed_tensor *b, heed_shape shape)
{
    heed_tensor *y = heed_matmul(a, b);
    expect_kind(y, a->dtype, shape);
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        expect_element("matmul", element(y, at), product_at(a, b, at), 0, a->dtype);
    }
}

START_TEST(matmul_of_all_shapes)
{
    const struct product *p = &products[_i];
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_I64; dtype++) {
        for (int layouts = 0; layouts < LAYOUTS * LAYOUTS; layouts++) {
            heed_tensor *a = whole_noise(p->a, dtype, (enum layout)(layouts / LAYOUTS), 1);
            heed_tensor *b = whole_noise(p->b, dtype, (enum layout)(layouts % LAYOUTS), 2);
            check_product(a, b, p->y);
        }
    }
}
END_TEST

/* Operands whose rows, columns or matrices share memory. */
START_TEST(matmul_of_expanded_operands)
{
    heed_tensor *a = whole_noise(HEED_SHAPE(1, 2, 3), HEED_F32, ROWS, 3);
    heed_tensor *b = whole_noise(HEED_SHAPE(3, 4), HEED_F32, COLUMNS, 4);
    heed_tensor *column = whole_noise(HEED_SHAPE(3, 1), HEED_F32, ROWS, 5);
    heed_tensor *row = whole_noise(HEED_SHAPE(1, 3), HEED_F32, ROWS, 6);
    check_product(heed_expand(a, HEED_SHAPE(5, 2, 3)), b, HEED_SHAPE(5, 2, 4));
    check_product(heed_expand(row, HEED_SHAPE(7, 3)), b, HEED_SHAPE(7, 4));
    check_product(heed_expand(row, HEED_SHAPE(5, 7, 3)), heed_expand(column, HEED_SHAPE(3, 9)),
                  HEED_SHAPE(5, 7, 9));
    check_product(heed_expand(a, HEED_SHAPE(5, 2, 3)), heed_expand(b, HEED_SHAPE(5, 3, 4)),
                  HEED_SHAPE(5, 2, 4));
    heed_tensor *turned = heed_transpose(heed_expand(a, HEED_SHAPE(5, 2, 3)), 0, 1);
    check_product(turned, b, HEED_SHAPE(2, 5, 4));
    check_product(heed_slice(turned, 1, 1, 5, 2), b, HEED_SHAPE(2, 2, 4));
}
END_TEST

/* Dims of size 1 with any stride, and batches with and without constant stride, by one matrix or
 * several. */
START_TEST(matmul_of_rows_with_gaps)
{
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_I64; dtype++) {
        heed_tensor *a = whole_noise(HEED_SHAPE(5, 7, 3), dtype, ROWS, 11);
        heed_tensor *b = whole_noise(HEED_SHAPE(1, 3, 4), dtype, COLUMNS, 12);
        heed_tensor *matrix = heed_squeeze(b, 0), *many = heed_unsqueeze(b, 0);
        heed_tensor *second = heed_slice(a, 1, 2, 3, 1); /* (5, 1, 3), batch stride 21 */
        check_product(second, matrix, HEED_SHAPE(5, 1, 4));
        check_product(second, b, HEED_SHAPE(5, 1, 4));
        check_product(second, many, HEED_SHAPE(1, 5, 1, 4));
        check_product(heed_transpose(second, 0, 1), b, HEED_SHAPE(1, 5, 4));
        check_product(heed_slice(a, 0, 3, 4, 1), b, HEED_SHAPE(1, 7, 4));
        check_product(heed_slice(a, 1, 0, 7, 2), b, HEED_SHAPE(5, 4, 4));
        check_product(heed_slice(a, 0, 0, 5, 2), b, HEED_SHAPE(3, 7, 4));
        check_product(heed_unsqueeze(a, 1), many, HEED_SHAPE(5, 1, 7, 4));
        check_product(heed_transpose(heed_unsqueeze(a, 1), 0, 2), b, HEED_SHAPE(7, 1, 5, 4));
        check_product(heed_expand(heed_slice(a, 1, 2, 3, 1), HEED_SHAPE(5, 6, 3)), matrix,
                      HEED_SHAPE(5, 6, 4));
    }
}
END_TEST

/* ---- sizes around the edges of tiles, panels and blocks ---- */

static void check_sizes(int64_t m, int64_t n, int64_t k, heed_dtype dtype, int layouts)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *a = whole_noise(HEED_SHAPE(m, k), dtype, (enum layout)(layouts & 3), 7);
    heed_tensor *b = whole_noise(HEED_SHAPE(k, n), dtype, (enum layout)(layouts >> 2 & 3), 8);
    heed_tensor *y = heed_to(heed_matmul(a, b), HEED_F64);
    expect_kind(y, HEED_F64, HEED_SHAPE(m, n));
    const double *x1 = heed_const_data_f64(heed_contiguous(heed_to(a, HEED_F64)));
    const double *x2 = heed_const_data_f64(heed_contiguous(heed_to(b, HEED_F64)));
    const double *found = heed_const_data_f64(y);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double goal = 0;
            for (int64_t p = 0; p < k; p++) {
                goal += x1[i * k + p] * x2[p * n + j];
            }
            EXPECT(found[i * n + j] == goal, "(%lld, %lld) x (%lld, %lld): %g, not %g, in (%d, %d)",
                   (long long)m, (long long)k, (long long)k, (long long)n, found[i * n + j], goal,
                   (int)i, (int)j);
        }
    }
    heed_scope_end(&scope);
}

START_TEST(matmul_of_all_sizes)
{
    static const int64_t rows[] = {0, 1, 2, 5, 6, 7, 11, 12, 13, 31, 70};
    static const int64_t columns[] = {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65};
    static const int64_t inner[] = {0, 1, 2, 17, 70, 255, 256, 257, 513};
    int layouts = 0;
    for (int i = 0; i < 11; i++) {
        for (int j = 0; j < 17; j++) {
            for (int p = 0; p < 9; p++, layouts += 7) {
                check_sizes(rows[i], columns[j], inner[p], (heed_dtype)_i, layouts);
            }
        }
    }
}
END_TEST

START_TEST(matmul_rounds_little)
{
    const heed_dtype dtype = (heed_dtype)_i;
    const double epsilon = dtype == HEED_F32 ? 0x1p-24 : 0x1p-53;
    heed_tensor *a = noise(HEED_SHAPE(33, 1500), dtype, COLUMNS, 9);
    heed_tensor *b = noise(HEED_SHAPE(1500, 40), dtype, ROWS, 10), *y = heed_matmul(a, b);
    const heed_shape shape = HEED_SHAPE(33, 40);
    expect_kind(y, dtype, shape);
    double worst = 0;
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        worst = fmax(worst, fabs(element(y, at) - product_at(a, b, at)));
    }
    /* 1500 products of about 4/3: the sum of independent rounding errors stays below this. */
    ck_assert_msg(worst > 0 || dtype == HEED_F64, "f32 without rounding errors");
    ck_assert_msg(worst <= 1500 * epsilon * 4, "off by %g", worst);
}
END_TEST

START_TEST(whole_products_wrap)
{
    const int64_t big = INT64_C(1) << 62;
    heed_tensor *a = heed_from_i64((int64_t[]){big, 3, 1, big + 1}, HEED_SHAPE(2, 2));
    const int64_t *y = heed_const_data_i64(heed_matmul(a, a));
    ck_assert_int_eq(y[0], 3);
    ck_assert_int_eq(y[1], INT64_MIN + 3);
    ck_assert_int_eq(y[2], INT64_MIN + 1);
    ck_assert_int_eq(y[3], 4 + INT64_MIN);
}
END_TEST

/* ---- NaN and infinity ---- */

START_TEST(matmul_passes_nan_to_its_column_alone)
{
    const heed_dtype dtype = (heed_dtype)_i;
    for (int64_t n = 1; n < 40; n++) {
        heed_tensor *a = heed_zeros(HEED_SHAPE(7, 3), dtype);
        double values[3 * 40] = {0};
        values[n + n / 2] = (double)NAN;
        heed_tensor *b = lay_out(values, HEED_SHAPE(3, n), dtype, n % 2 ? ROWS : COLUMNS);
        heed_tensor *y = heed_matmul(a, b);
        expect_kind(y, dtype, HEED_SHAPE(7, n));
        for (int64_t i = 0; i < 7 * n; i++) {
            double found = element(y, HEED_INDEX(i / n, i % n));
            EXPECT(i % n == n / 2 ? isnan(found) : found == 0, "%g in column %d", found,
                   (int)(i % n));
        }
    }
}
END_TEST

START_TEST(matmul_of_infinities)
{
    const double inf = HUGE_VAL, nan = (double)NAN;
    heed_tensor *a =
        lay_out((double[]){-inf, 1, 0, inf, inf, -inf}, HEED_SHAPE(3, 2), HEED_F32, COLUMNS);
    heed_tensor *b = lay_out((double[]){1, 0, 2, 1, -1, 0}, HEED_SHAPE(2, 3), HEED_F32, STEPPED);
    EXPECT_VALUES(heed_matmul(a, b), 0, -inf, nan, -inf, inf, -inf, nan, nan, nan, nan);
    heed_tensor *large = heed_full(HEED_SHAPE(1, 2), 1e30, HEED_F32);
    EXPECT_VALUES(heed_matmul(large, heed_transpose(large, 0, 1)), 0, inf);
}
END_TEST

START_TEST(matmul_refuses)
{
    heed_tensor *a = heed_ones(HEED_SHAPE(3, 2), HEED_F32), *v = heed_ones(HEED_SHAPE(4), HEED_F32);
    ck_assert_ptr_null(heed_matmul(a, a));
    expect_error(
        HEED_ERR_SHAPE,
        "matmul: b (3, 2) does not fit a (3, 2): takes a (..., m, k), b (..., k, n); did you mean");
    ck_assert_ptr_null(heed_matmul(a, v));
    expect_error(HEED_ERR_SHAPE, "matmul: b (4) does not fit a (3, 2)");
    ck_assert_ptr_null(heed_matmul(v, a));
    expect_error(HEED_ERR_SHAPE, "matmul: b (3, 2) does not fit a (4)");
    ck_assert_ptr_null(heed_matmul(a, heed_scalar(1, HEED_F32)));
    expect_error(HEED_ERR_SHAPE, "matmul: (3, 2) x ()");
    ck_assert_ptr_null(heed_matmul(heed_ones(HEED_SHAPE(2, 1, 1), HEED_F32),
                                   heed_ones(HEED_SHAPE(3, 1, 1), HEED_F32)));
    expect_error(HEED_ERR_SHAPE, "matmul: b (3, 1, 1) does not fit a (2, 1, 1): takes a (..., m, "
                                 "k), b (..., k, n); \"...\" is (2) and (3)");
    ck_assert_ptr_null(heed_matmul(a, heed_ones(HEED_SHAPE(2, 2), HEED_I64)));
    expect_error(HEED_ERR_DTYPE, "matmul: a is f32 and b i64");
    heed_tensor *mask = heed_ones(HEED_SHAPE(2, 2), HEED_BOOL);
    ck_assert_ptr_null(heed_matmul(mask, mask));
    expect_error(HEED_ERR_DTYPE, "matmul: a is bool, not a number");
}
END_TEST

void add_matmul_cases(Suite *suite)
{
    TCase *matmul = heed_case(suite, "matmul");
    tcase_add_loop_test(matmul, matmul_of_all_shapes, 0, PRODUCTS);
    tcase_add_test(matmul, matmul_of_expanded_operands);
    tcase_add_test(matmul, matmul_of_rows_with_gaps);
    tcase_add_loop_test(matmul, matmul_of_all_sizes, 0, HEED_BOOL);
    tcase_add_loop_test(matmul, matmul_rounds_little, 0, 2);
    tcase_add_test(matmul, whole_products_wrap);
    tcase_add_loop_test(matmul, matmul_passes_nan_to_its_column_alone, 0, 2);
    tcase_add_test(matmul, matmul_of_infinities);
    tcase_add_test(matmul, matmul_refuses);
}
