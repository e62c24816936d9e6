/* cross_entropy beyond its rows. */
#include <math.h>

#include "tests/common/reference.h"

/* The upstream gradient of an ignored row may be NaN. */
START_TEST(ignored_rows_learn_nothing)
{
    heed_tensor *x = heed_set_requires_grad(noise(HEED_SHAPE(4, 3), HEED_F64, ROWS, 1), true), *dx;
    heed_tensor *t = heed_from_i64((int64_t[]){2, -100, 0, 1}, HEED_SHAPE(4));
    heed_tensor *g = heed_from_f64((double[]){1, (double)NAN, 1, 1}, HEED_SHAPE(4));
    heed_tensor *y = heed_cross_entropy(x, t, .reduction = HEED_NONE);
    ck_assert_str_eq(y->op->name, "cross_entropy"); /* it is one operation */
    ck_assert_ptr_eq(y->inputs[0], x);
    heed_grad(heed_sum(heed_mul(y, g)), &x, 1, &dx, false);
    EXPECT_VALUES(heed_select(dx, 0, 1), 0, 0, 0, 0);
}
END_TEST

/* Exactly 0, whatever 1 / N rounds to: where the target has all probability, and with one class. */
START_TEST(fitted_rows_learn_nothing)
{
    for (int64_t n = 1; n < 20; n++) {
        for (int64_t classes = 1; classes <= 3; classes += 2) {
            HEED_SCOPE(scope);
            heed_tensor *x = heed_mul_scalar(heed_eye(classes, classes, (heed_dtype)_i), 800), *dx;
            x = heed_set_requires_grad(heed_expand(heed_select(x, 0, 0), HEED_SHAPE(n, classes)),
                                       true);
            heed_tensor *t = heed_zeros(HEED_SHAPE(n), HEED_I64);
            heed_grad(heed_cross_entropy(x, t), &x, 1, &dx, false);
            expect_equal(dx, heed_zeros_like(dx));
        }
    }
}
END_TEST

/* Rows of the gradient sum to 0, within the roundings of their elements. */
START_TEST(gradients_of_rows_sum_to_0)
{
    heed_tensor *x =
        heed_set_requires_grad(noise(HEED_SHAPE(35, 9), (heed_dtype)_i, ROWS, 1), true);
    heed_tensor *t = heed_randint(0, 9, HEED_SHAPE(35)), *dx;
    heed_grad(heed_cross_entropy(x, t, .label_smoothing = 0.1), &x, 1, &dx, false);
    heed_tensor *sums = heed_sum_dim(heed_to(dx, HEED_F64), 1, false);
    expect_close(sums, heed_zeros_like(sums), (x->dtype == HEED_F32 ? 0x1p-22 : 0x1p-50) / 35);
}
END_TEST

void add_cross_entropy_cases(Suite *suite)
{
    tcase_add_loop_test(heed_case(suite, "fitted"), fitted_rows_learn_nothing, 0, 2);
    tcase_add_loop_test(heed_case(suite, "row_sums"), gradients_of_rows_sum_to_0, 0, 2);
    tcase_add_test(heed_case(suite, "class_loss"), ignored_rows_learn_nothing);
}
