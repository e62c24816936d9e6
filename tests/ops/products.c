/* bmm, outer and addmm. */

#include <math.h>

#include "tests/common/reference.h"

/* ---- bmm, outer, addmm ---- */

START_TEST(bmm_is_matmul_of_3_dims)
{
    static const struct {
        heed_shape a, b, y;
    } batches[] = {{{3, {5, 2, 3}}, {3, {5, 3, 4}}, {3, {5, 2, 4}}},
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
            double goal = beta * element(input, at) + alpha * product_at(a, b, at);
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

void add_products_cases(Suite *suite)
{
    TCase *products = heed_case(suite, "products");
    tcase_add_test(products, bmm_is_matmul_of_3_dims);
    tcase_add_test(products, outer_of_vectors);
    tcase_add_test(products, addmm_adds);
    tcase_add_test(products, addmm_ignores_what_has_no_weight);
}
