/* cross_entropy: masked classes, special cases of ignored targets, and rejected arguments. Values
 * and gradients are compared with PyTorch's by the parity cases. */
#include <math.h>

#include "tests/common/reference.h"

#define INF HUGE_VAL
#define NaN (double)NAN

/* ---- nothing to average ---- */

static heed_tensor *wanted(heed_tensor *x)
{
    return heed_set_requires_grad(x, true);
}

static heed_tensor *logits_43(void)
{
    return wanted(noise(HEED_SHAPE(4, 3), HEED_F64, ROWS, 1));
}

static heed_tensor *gradient(heed_tensor *y, heed_tensor *x)
{
    heed_tensor *dx = NULL;
    heed_grad(y, &x, 1, &dx, false);
    expect_no_error();
    return dx;
}

START_TEST(no_targets_at_all)
{
    heed_tensor *none = heed_zeros(HEED_SHAPE(0), HEED_I64),
                *rows = heed_zeros(HEED_SHAPE(0, 3), HEED_F64);
    EXPECT_VALUES(heed_cross_entropy(rows, none, .label_smoothing = 0.1), 0, NaN);
    EXPECT_VALUES(heed_cross_entropy(rows, none, .reduction = HEED_SUM), 0, 0);
    expect_kind(heed_cross_entropy(rows, none, .reduction = HEED_NONE), HEED_F64, HEED_SHAPE(0));
    heed_tensor *no_classes = heed_zeros(HEED_SHAPE(2, 0), HEED_F64);
    heed_tensor *ignored = heed_full(HEED_SHAPE(2), -100, HEED_I64);
    EXPECT_VALUES(heed_cross_entropy(no_classes, ignored), 0, NaN);
    EXPECT_VALUES(heed_cross_entropy(no_classes, ignored, .reduction = HEED_NONE), 0, 0, 0);
}
END_TEST

START_TEST(ignored_rows_may_hold_anything)
{
    const double lost[] = {0, 1, 2, NaN, INF, -INF};
    heed_tensor *x = wanted(heed_from_f64(lost, HEED_SHAPE(2, 3)));
    heed_tensor *t = heed_from_i64((int64_t[]){2, -100}, HEED_SHAPE(2));
    const double loss = log(1 + exp(-1) + exp(-2)), smooth = loss + 0.1;
    EXPECT_VALUES(heed_cross_entropy(x, t, .reduction = HEED_NONE), 1e-12, loss, 0);
    EXPECT_VALUES(heed_cross_entropy(x, t, .reduction = HEED_SUM), 1e-12, loss);
    EXPECT_VALUES(heed_cross_entropy(x, t, .label_smoothing = 0.1), 1e-12, smooth);
    /* So may their upstream gradient. */
    x = logits_43();
    t = heed_from_i64((int64_t[]){2, -100, 0, 1}, HEED_SHAPE(4));
    heed_tensor *g = heed_from_f64((double[]){1, NaN, 1, 1}, HEED_SHAPE(4));
    heed_tensor *y = heed_sum(heed_mul(heed_cross_entropy(x, t, .reduction = HEED_NONE), g));
    EXPECT_VALUES(heed_select(gradient(y, x), 0, 1), 0, 0, 0, 0);
}
END_TEST

/* Whichever allocation fails. */
START_TEST(who_is_out_of_memory_says_its_name)
{
    heed_tensor *logits = logits_43(), *targets = heed_zeros(HEED_SHAPE(4), HEED_I64);
    heed_tensor *y = NULL;
    int n = 0;
    for (; y == NULL; n++) {
        heed_fail_allocation(n);
        y = heed_cross_entropy(logits, targets);
        heed_fail_allocation(-1);
        if (y == NULL) {
            expect_error(HEED_ERR_MEMORY, "cross_entropy: out of memory: ");
        }
    }
    ck_assert_int_gt(n, 3);
}
END_TEST

/* ---- rejected arguments ---- */

START_TEST(options_are_checked)
{
    heed_tensor *x = heed_zeros(HEED_SHAPE(2, 3), HEED_F32);
    heed_tensor *t = heed_zeros(HEED_SHAPE(2), HEED_I64);
    static const double smoothings[] = {-0.1, 1.1, (double)NAN, (double)INFINITY};
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_null(heed_cross_entropy(x, t, .label_smoothing = smoothings[i]));
        expect_error(HEED_ERR_VALUE, "cross_entropy: label_smoothing");
    }
}
END_TEST

START_TEST(it_is_one_operation)
{
    heed_tensor *x = logits_43();
    const int64_t ids[] = {0, 2, 1, 1};
    heed_tensor *y = heed_cross_entropy(x, heed_from_i64(ids, HEED_SHAPE(4)));
    ck_assert_str_eq(y->op->name, "cross_entropy");
    ck_assert_ptr_eq(y->inputs[0], x);
}
END_TEST

START_TEST(losses_of_masked_classes)
{
    const float inf = INFINITY;
    heed_tensor *x = heed_from_f32((float[]){-inf, 0, 1, 2, -inf, 2}, HEED_SHAPE(2, 3));
    heed_tensor *good = heed_from_i64((int64_t[]){2, 0}, HEED_SHAPE(2));
    heed_tensor *bad = heed_from_i64((int64_t[]){0, 0}, HEED_SHAPE(2));
    EXPECT_VALUES(heed_cross_entropy(x, good), 1e-7, (log1p(exp(-1)) + log(2)) / 2);
    EXPECT_VALUES(heed_cross_entropy(x, bad), 0, INF);
    heed_tensor *lost = heed_full(HEED_SHAPE(2, 3), -INF, HEED_F32);
    EXPECT_VALUES(heed_cross_entropy(lost, good), 0, NaN);
    /* Ignored rows may contain anything. */
    heed_tensor *half = heed_from_i64((int64_t[]){-100, 0}, HEED_SHAPE(2));
    heed_tensor *rows[] = {heed_slice(lost, 0, 0, 1, 1), heed_slice(x, 0, 1, 2, 1)};
    EXPECT_VALUES(heed_cross_entropy(heed_cat(rows, 2, 0), half), 1e-7, log(2));
    heed_tensor *large = heed_from_f32((float[]){1e30f, 0, -1e30f, 0, 0, 0}, HEED_SHAPE(2, 3));
    EXPECT_VALUES(heed_cross_entropy(large, bad), 1e-7, log(3) / 2);
}
END_TEST

START_TEST(losses_refuse)
{
    heed_tensor *x = heed_zeros(HEED_SHAPE(2, 3), HEED_F32);
    static const int64_t outside[] = {3, -1, -101, INT64_MAX};
    for (int i = 0; i < 4; i++) {
        heed_tensor *t = heed_from_i64((int64_t[]){0, outside[i]}, HEED_SHAPE(2));
        ck_assert_ptr_null(heed_cross_entropy(x, t));
        expect_error(HEED_ERR_INDEX, "at position 1 is outside [0, 3)");
        expect_kind(heed_cross_entropy(x, t, .ignore_index = outside[i]), HEED_F32, HEED_SCALAR);
    }
    heed_tensor *t = heed_zeros(HEED_SHAPE(3), HEED_I64);
    ck_assert_ptr_null(heed_cross_entropy(x, t));
    expect_error(HEED_ERR_SHAPE,
                 "takes logits (N, C) and targets (N), not (2, 3) and (3); heed_flatten");
    ck_assert_ptr_null(heed_cross_entropy(heed_zeros(HEED_SHAPE(2, 4, 3), HEED_F32),
                                          heed_zeros(HEED_SHAPE(2, 4), HEED_I64)));
    expect_error(HEED_ERR_SHAPE, "not (2, 4, 3) and (2, 4); heed_flatten them");
    ck_assert_ptr_null(heed_cross_entropy(heed_scalar(1, HEED_F32), heed_scalar(0, HEED_I64)));
    expect_error(HEED_ERR_SHAPE, "cross_entropy");
    ck_assert_ptr_null(heed_cross_entropy(x, heed_zeros(HEED_SHAPE(2), HEED_F32)));
    expect_error(HEED_ERR_DTYPE, "cross_entropy: targets is f32, not i64");
    ck_assert_ptr_null(
        heed_cross_entropy(heed_to(x, HEED_I64), heed_zeros(HEED_SHAPE(2), HEED_I64)));
    expect_error(HEED_ERR_DTYPE, "cross_entropy: logits is i64, not a float");
}
END_TEST

void add_cross_entropy_cases(Suite *suite)
{
    TCase *loss = heed_case(suite, "class_loss");
    tcase_add_test(loss, no_targets_at_all);
    tcase_add_test(loss, ignored_rows_may_hold_anything);
    tcase_add_test(loss, who_is_out_of_memory_says_its_name);
    tcase_add_test(loss, options_are_checked);
    tcase_add_test(loss, it_is_one_operation);
    tcase_add_test(loss, losses_of_masked_classes);
    tcase_add_test(loss, losses_refuse);
}
