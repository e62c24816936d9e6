/* matmul compared with plain loops: shapes, strides, tile edges, NaN; bmm, outer and addmm. */
#include <math.h>
#include <stdlib.h>

#include "tests/common/ops_cases.h"

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

/* The element of a b at an index into the result. */
static double dot(const heed_tensor *a, const heed_tensor *b, heed_shape at)
{
    const bool row = a->ndim == 1, column = b->ndim == 1;
    heed_shape batch = at, of_a, of_b;
    batch.ndim = at.ndim - !row - !column;
    of_a = of_b = batch;
    of_a.ndim = of_b.ndim = batch.ndim + 2;
    of_a.size[batch.ndim] = row ? 0 : at.size[batch.ndim];
    of_b.size[batch.ndim + 1] = column ? 0 : at.size[batch.ndim + !row];
    of_b.ndim -= column;
    double sum = 0;
    for (int64_t k = 0; k < a->shape[a->ndim - 1]; k++) {
        of_a.size[batch.ndim + 1] = of_b.size[batch.ndim] = k;
        sum += element(a, of_a) * element(b, of_b);
    }
    return sum;
}

static void check_product(heed_tensor *a, heed_tensor *b, heed_shape shape)
{
    heed_tensor *y = heed_matmul(a, b);
    expect_kind(y, a->dtype, shape);
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        expect_element("matmul", element(y, at), dot(a, b, at), 0, a->dtype);
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
        worst = fmax(worst, fabs(element(y, at) - dot(a, b, at)));
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

/* ---- bmm, outer, addmm ---- */

START_TEST(bmm_is_matmul_of_3_dims)
{
    static const struct product batches[] = {{{3, {5, 2, 3}}, {3, {5, 3, 4}}, {3, {5, 2, 4}}},
                                             {{3, {1, 1, 1}}, {3, {1, 1, 1}}, {3, {1, 1, 1}}},
                                             {{3, {0, 2, 3}}, {3, {0, 3, 4}}, {3, {0, 2, 4}}},
                                             {{3, {2, 2, 0}}, {3, {2, 0, 3}}, {3, {2, 2, 3}}}};
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_I64; dtype++) {
        for (int i = 0; i < 4; i++) {
            heed_tensor *a = whole_noise(batches[i].a, dtype, STEPPED, 13);
            heed_tensor *b = whole_noise(batches[i].b, dtype, ROTATED, 14), *y = heed_bmm(a, b);
            expect_kind(y, dtype, batches[i].y);
            expect_close(y, heed_matmul(a, b), 0);
        }
    }
}
END_TEST

/* As torch.outer, with the dtypes of torch.mul. */
START_TEST(outer_of_vectors)
{
    for (heed_dtype da = 0; da < HEED_DTYPES; da++) {
        for (heed_dtype db = 0; db < HEED_DTYPES; db++) {
            heed_tensor *a = noise(HEED_SHAPE(3), da, STEPPED, 15);
            heed_tensor *b = noise(HEED_SHAPE(4), db, ROWS, 16), *y = heed_outer(a, b);
            if (da + db == HEED_F32 + HEED_F64 && da != db) {
                ck_assert_ptr_null(y);
                expect_error(HEED_ERR_DTYPE, "outer: f");
                continue;
            }
            expect_kind(y, da < db ? da : db, HEED_SHAPE(3, 4));
            for (heed_shape at = HEED_INDEX(0, 0); at.ndim >= 0;
                 next_index(HEED_SHAPE(3, 4), &at)) {
                double goal =
                    element(a, HEED_INDEX(at.size[0])) * element(b, HEED_INDEX(at.size[1]));
                expect_element("outer", element(y, at), goal, ROUNDED_ONCE, y->dtype);
            }
        }
    }
    heed_tensor *none = heed_zeros(HEED_SHAPE(0), HEED_F32);
    expect_kind(heed_outer(heed_ones(HEED_SHAPE(2), HEED_F32), none), HEED_F32, HEED_SHAPE(2, 0));
    const double nan = (double)NAN;
    heed_tensor *x = heed_from_f32((float[]){HUGE_VALF, 0, 2}, HEED_SHAPE(3));
    EXPECT_VALUES(heed_outer(x, x), 0, HUGE_VAL, nan, HUGE_VAL, nan, 0, 0, HUGE_VAL, 0, 4);
}
END_TEST

START_TEST(addmm_adds)
{
    static const heed_shape inputs[] = {{2, {3, 4}}, {2, {3, 1}}, {2, {1, 4}}, {1, {4}},
                                        {1, {1}},    {0, {0}},    {2, {1, 1}}};
    static const double factors[][2] = {{1, 1}, {2, -3}, {0, 1}, {1, 0}, {0, 0}, {-1, 2}};
    const heed_shape shape = HEED_SHAPE(3, 4);
    for (int i = 0; i < 7 * 6 * 3; i++) {
        const heed_dtype dtype = (heed_dtype)(i / 42);
        const double beta = factors[i % 6][0], alpha = factors[i % 6][1];
        heed_tensor *input = whole_noise(inputs[i / 6 % 7], dtype, STEPPED, 17);
        heed_tensor *a = whole_noise(HEED_SHAPE(3, 2), dtype, COLUMNS, 18);
        heed_tensor *b = whole_noise(HEED_SHAPE(2, 4), dtype, ROWS, 19);
        heed_tensor *y = heed_addmm(input, a, b, beta, alpha);
        expect_kind(y, dtype, shape);
        for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
            double goal = beta * element(input, at) + alpha * dot(a, b, at);
            expect_element("addmm", element(y, at), goal, 0, dtype);
        }
    }
}
END_TEST

/* Operands scaled by 0 are not read. torch.addmm(tensor([[1.], [2]]), ones(2, 0), ones(0, 3),
 * beta=2) is beta times the input. */
START_TEST(addmm_ignores_what_has_no_weight)
{
    const double nan = (double)NAN;
    heed_tensor *x = heed_full(HEED_SHAPE(2), nan, HEED_F32),
                *one = heed_ones(HEED_SHAPE(2), HEED_F32);
    heed_tensor *a = heed_from_f32((float[]){1, 2, 3, 4, 5, 6}, HEED_SHAPE(2, 3));
    heed_tensor *b = heed_reshape(a, HEED_SHAPE(3, 2));
    heed_tensor *nans = heed_full(HEED_SHAPE(2, 3), HUGE_VAL, HEED_F32);
    EXPECT_VALUES(heed_addmm(x, a, b, 0, 1), 0, 22, 28, 49, 64);
    EXPECT_VALUES(heed_addmm(x, a, b, 1, 1), 0, nan, nan, nan, nan);
    EXPECT_VALUES(heed_addmm(one, nans, b, 1, 0), 0, 1, 1, 1, 1);
    EXPECT_VALUES(heed_addmm(x, nans, b, 0, 0), 0, 0, 0, 0, 0);
    heed_tensor *column = heed_from_f32((float[]){1, 2}, HEED_SHAPE(2, 1));
    EXPECT_VALUES(heed_addmm(column, heed_zeros(HEED_SHAPE(2, 0), HEED_F32),
                             heed_zeros(HEED_SHAPE(0, 3), HEED_F32), 2, 1),
                  0, 2, 2, 2, 4, 4, 4);
    heed_set_requires_grad(x, true);
    heed_set_requires_grad(nans, true);
    heed_backward(heed_sum(heed_addmm(x, nans, b, 0, 0)));
    EXPECT_VALUES(x->grad, 0, 0, 0);
    EXPECT_VALUES(nans->grad, 0, 0, 0, 0, 0, 0, 0);
}
END_TEST

START_TEST(matmul_refuses)
{
    heed_tensor *a = heed_ones(HEED_SHAPE(3, 2), HEED_F32), *v = heed_ones(HEED_SHAPE(4), HEED_F32);
    ck_assert_ptr_null(heed_matmul(a, a));
    expect_error(HEED_ERR_SHAPE, "matmul: inner sizes differ: (3, 2) x (3, 2); did you mean");
    ck_assert_ptr_null(heed_matmul(a, v));
    expect_error(HEED_ERR_SHAPE, "matmul: inner sizes differ: (3, 2) x (4)");
    ck_assert_ptr_null(heed_matmul(v, a));
    expect_error(HEED_ERR_SHAPE, "matmul: inner sizes differ: (4) x (3, 2)");
    ck_assert_ptr_null(heed_matmul(a, heed_scalar(1, HEED_F32)));
    expect_error(HEED_ERR_SHAPE, "matmul: (3, 2) x ()");
    ck_assert_ptr_null(heed_matmul(heed_ones(HEED_SHAPE(2, 1, 1), HEED_F32),
                                   heed_ones(HEED_SHAPE(3, 1, 1), HEED_F32)));
    expect_error(HEED_ERR_SHAPE,
                 "matmul: the batch dims (2) and (3) of (2, 1, 1) x (3, 1, 1) do not");
    ck_assert_ptr_null(heed_matmul(a, heed_ones(HEED_SHAPE(2, 2), HEED_I64)));
    expect_error(HEED_ERR_DTYPE, "matmul: f32 with i64");
    heed_tensor *mask = heed_ones(HEED_SHAPE(2, 2), HEED_BOOL);
    ck_assert_ptr_null(heed_matmul(mask, mask));
    expect_error(HEED_ERR_DTYPE, "matmul: bool with bool");
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
    tcase_add_test(matmul, bmm_is_matmul_of_3_dims);
    tcase_add_test(matmul, outer_of_vectors);
    tcase_add_test(matmul, addmm_adds);
    tcase_add_test(matmul, addmm_ignores_what_has_no_weight);
    tcase_add_test(matmul, matmul_refuses);
}
