/* matmul compared with plain loops: strides of batches, tile edges, NaN. */
#include <math.h>

#include "tests/common/reference.h"

/* The element of a b at an index into the result. */
static double product_at(const heed_tensor *a, const heed_tensor *b, heed_shape at)
{
    heed_shape of_a = at, of_b = at;
    double sum = 0;
    for (int64_t k = 0; k < a->shape[a->ndim - 1]; k++) {
        of_a.size[at.ndim - 1] = of_b.size[at.ndim - 2] = k;
        sum += element(a, of_a) * element(b, of_b);
    }
    return sum;
}

static void check_product(heed_tensor *a, heed_tensor *b, heed_shape shape)
{
    heed_tensor *y = heed_matmul(a, b);
    expect_kind(y, a->dtype, shape);
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        expect_element("matmul", element(y, at), product_at(a, b, at), 0, a->dtype);
    }
}

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
        a = whole_noise((heed_shape){8, {2, 1, 1, 3, 1, 2, 2, 3}}, dtype, STEPPED, 1);
        b = whole_noise((heed_shape){6, {2, 1, 4, 1, 3, 2}}, dtype, ROTATED, 2);
        check_product(a, b, (heed_shape){8, {2, 1, 2, 3, 4, 2, 2, 2}});
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

void add_matmul_cases(Suite *suite)
{
    TCase *matmul = heed_case(suite, "matmul");
    tcase_add_test(matmul, matmul_of_rows_with_gaps);
    tcase_add_loop_test(matmul, matmul_of_all_sizes, 0, HEED_BOOL);
    tcase_add_loop_test(matmul, matmul_rounds_little, 0, 2);
    tcase_add_test(matmul, whole_products_wrap);
    tcase_add_loop_test(matmul, matmul_passes_nan_to_its_column_alone, 0, 2);
}
