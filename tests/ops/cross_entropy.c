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

void add_cross_entropy_cases(Suite *suite)
{
    tcase_add_test(heed_case(suite, "class_loss"), ignored_rows_learn_nothing);
}
