/* cross_entropy and nll_loss: masked classes, special cases of ignored targets, weights, smoothing
 * and probabilities, and rejected arguments. Values and gradients are compared with PyTorch's by
 * the parity cases. */
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

static void expect_result(const heed_tensor *y, heed_dtype dtype, heed_shape shape)
{
    expect_kind(heed_detach((heed_tensor *)y), dtype, shape);
}

static heed_tensor *gradient(heed_tensor *y, heed_tensor *x)
{
    heed_tensor *dx = NULL;
    heed_grad(y, &x, 1, &dx, false);
    expect_no_error();
    return dx;
}

#define CROSS_ENTROPY(x, t, ...)                                                                   \
    heed_cross_entropy_with(x, t, (heed_cross_entropy_options){__VA_ARGS__})

START_TEST(all_weights_zero)
{
    heed_tensor *weight = heed_zeros(HEED_SHAPE(3), HEED_F64), *x = logits_43();
    heed_tensor *t = heed_from_i64((int64_t[]){0, 2, 1, 0}, HEED_SHAPE(4));
    heed_tensor *y = heed_nll_loss_with(x, t, (heed_nll_loss_options){.weight = weight});
    EXPECT_VALUES(y, 0, NaN);
    EXPECT_VALUES(gradient(y, x), 0, NaN, 0, 0, 0, 0, NaN, 0, NaN, 0, NaN, 0, 0);
    y = CROSS_ENTROPY(x, t, .weight = weight, .label_smoothing = 0.1);
    EXPECT_VALUES(y, 0, NaN);
    EXPECT_VALUES(gradient(y, x), 0, NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN);
    EXPECT_VALUES(CROSS_ENTROPY(x, t, .weight = weight, .reduction = HEED_SUM), 0, 0);
    /* Smoothing gives a share to classes of weight 1, but the mean still divides by weight 0. */
    weight = heed_from_f64((double[]){0, 1, 0}, HEED_SHAPE(3));
    t = heed_from_i64((int64_t[]){0, 2, 2, 0}, HEED_SHAPE(4));
    EXPECT_VALUES(CROSS_ENTROPY(x, t, .weight = weight, .label_smoothing = 0.1), 0, NaN);
}
END_TEST

START_TEST(no_targets_at_all)
{
    heed_tensor *none = heed_zeros(HEED_SHAPE(0), HEED_I64),
                *rows = heed_zeros(HEED_SHAPE(0, 3), HEED_F64);
    EXPECT_VALUES(CROSS_ENTROPY(rows, none, .label_smoothing = 0.1), 0, NaN);
    EXPECT_VALUES(CROSS_ENTROPY(rows, none, .reduction = HEED_SUM), 0, 0);
    expect_kind(CROSS_ENTROPY(rows, none, .reduction = HEED_NONE), HEED_F64, HEED_SHAPE(0));
    EXPECT_VALUES(heed_cross_entropy(rows, rows), 0, NaN);
    EXPECT_VALUES(CROSS_ENTROPY(rows, rows, .reduction = HEED_SUM), 0, 0);
    expect_kind(CROSS_ENTROPY(rows, rows, .reduction = HEED_NONE), HEED_F64, HEED_SHAPE(0));
    heed_tensor *no_classes = heed_zeros(HEED_SHAPE(2, 0), HEED_F64);
    heed_tensor *ignored = heed_full(HEED_SHAPE(2), -100, HEED_I64);
    EXPECT_VALUES(heed_cross_entropy(no_classes, ignored), 0, NaN);
    EXPECT_VALUES(CROSS_ENTROPY(no_classes, ignored, .reduction = HEED_NONE), 0, 0, 0);
    EXPECT_VALUES(CROSS_ENTROPY(no_classes, no_classes, .reduction = HEED_NONE), 0, 0, 0);
}
END_TEST

START_TEST(ignored_rows_may_hold_anything)
{
    const double lost[] = {0, 1, 2, NaN, INF, -INF};
    heed_tensor *x = wanted(heed_from_f64(lost, HEED_SHAPE(2, 3)));
    heed_tensor *t = heed_from_i64((int64_t[]){2, -100}, HEED_SHAPE(2));
    const double loss = log(1 + exp(-1) + exp(-2)), smooth = loss + 0.1;
    EXPECT_VALUES(CROSS_ENTROPY(x, t, .reduction = HEED_NONE), 1e-12, loss, 0);
    EXPECT_VALUES(CROSS_ENTROPY(x, t, .reduction = HEED_SUM), 1e-12, loss);
    EXPECT_VALUES(CROSS_ENTROPY(x, t, .label_smoothing = 0.1), 1e-12, smooth);
    heed_tensor *log_probs = wanted(heed_from_f64(lost, HEED_SHAPE(2, 3)));
    EXPECT_VALUES(gradient(heed_nll_loss(log_probs, t), log_probs), 0, 0, 0, -1, 0, 0, 0);
    /* So may their upstream gradient. */
    heed_tensor *g = heed_from_f64((double[]){1, NaN}, HEED_SHAPE(2));
    heed_tensor *each =
        heed_nll_loss_with(log_probs, t, (heed_nll_loss_options){.reduction = HEED_NONE});
    heed_tensor *y = heed_sum(heed_mul(each, g));
    EXPECT_VALUES(gradient(y, log_probs), 0, 0, 0, -1, 0, 0, 0);
}
END_TEST

/* ---- weights with and without gradients ---- */

START_TEST(weights_and_gradients)
{
    heed_tensor *weight = wanted(heed_ones(HEED_SHAPE(3), HEED_F64)), *x = logits_43();
    heed_tensor *t = heed_zeros(HEED_SHAPE(4), HEED_I64);
    ck_assert_ptr_null(CROSS_ENTROPY(x, t, .weight = weight));
    expect_error(HEED_ERR_GRAPH, "cross_entropy: weight (3) requires a gradient");
    ck_assert_ptr_null(heed_nll_loss_with(x, t, (heed_nll_loss_options){.weight = weight}));
    expect_error(HEED_ERR_GRAPH, "nll_loss: weight (3) requires a gradient");
    expect_result(CROSS_ENTROPY(x, t, .weight = heed_detach(weight)), HEED_F64, HEED_SCALAR);
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    expect_result(CROSS_ENTROPY(x, t, .weight = weight), HEED_F64, HEED_SCALAR);
    heed_scope_end(&scope);
}
END_TEST

/* Values that backward reads must not change: the weight's too. */
START_TEST(a_weight_that_moves_is_noticed)
{
    heed_tensor *weight = heed_ones(HEED_SHAPE(3), HEED_F64);
    heed_tensor *y =
        CROSS_ENTROPY(logits_43(), heed_zeros(HEED_SHAPE(4), HEED_I64), .weight = weight);
    heed_fill_into(weight, 2);
    ck_assert_int_eq(heed_backward(y), HEED_ERR_VERSION);
    expect_error(HEED_ERR_VERSION, "cross_entropy");
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
    heed_tensor *t = heed_zeros(HEED_SHAPE(2), HEED_I64),
                *none = heed_zeros(HEED_SHAPE(0), HEED_F32);
    static const double smoothings[] = {-0.1, 1.1, (double)NAN, (double)INFINITY};
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_null(CROSS_ENTROPY(x, t, .label_smoothing = smoothings[i]));
        expect_error(HEED_ERR_VALUE, "cross_entropy: label_smoothing");
    }
    static const heed_shape shapes[] = {{0, {0}}, {1, {2}}, {1, {4}}, {2, {1, 3}}, {1, {0}}};
    for (int i = 0; i < 5; i++) {
        heed_tensor *weight = heed_ones(shapes[i], HEED_F32);
        ck_assert_ptr_null(CROSS_ENTROPY(x, t, .weight = weight));
        expect_error(HEED_ERR_SHAPE, "it must have one number per class: (3)");
        ck_assert_ptr_null(CROSS_ENTROPY(x, x, .weight = weight));
        expect_error(HEED_ERR_SHAPE, "it must have one number per class: (3)");
    }
    for (heed_dtype dtype = HEED_F64; dtype < HEED_DTYPES; dtype++) {
        heed_tensor *weight = heed_ones(HEED_SHAPE(3), dtype);
        ck_assert_ptr_null(CROSS_ENTROPY(x, t, .weight = weight));
        expect_error(HEED_ERR_DTYPE, "but the input is f32; cast weight with heed_to");
        ck_assert_ptr_null(CROSS_ENTROPY(x, x, .weight = weight));
        expect_error(HEED_ERR_DTYPE, "but the input is f32; cast weight with heed_to");
    }
    expect_kind(CROSS_ENTROPY(none, none, .reduction = HEED_SUM), HEED_F32, HEED_SCALAR);
}
END_TEST

START_TEST(ids_and_probabilities_are_told_apart)
{
    heed_tensor *x = heed_zeros(HEED_SHAPE(2, 3), HEED_F32);
    ck_assert_ptr_null(heed_cross_entropy(x, heed_zeros(HEED_SHAPE(2), HEED_F32)));
    expect_error(HEED_ERR_SHAPE, "class ids must be i64: heed_to(targets, HEED_I64)");
    ck_assert_ptr_null(heed_cross_entropy(x, heed_zeros(HEED_SHAPE(2, 3), HEED_I64)));
    expect_error(HEED_ERR_SHAPE, "cross_entropy: targets (2, 3) do not fit (2, 3)");
    ck_assert_ptr_null(heed_cross_entropy(x, heed_zeros(HEED_SHAPE(2, 3), HEED_F64)));
    expect_error(HEED_ERR_DTYPE, "cross_entropy: f32 with f64 targets");
    ck_assert_ptr_null(heed_cross_entropy(heed_to(x, HEED_I64), x));
    expect_error(HEED_ERR_DTYPE, "cross_entropy: i64 with f32 targets");
    ck_assert_ptr_null(heed_cross_entropy(heed_scalar(0, HEED_F32), heed_scalar(0, HEED_F32)));
    expect_error(HEED_ERR_SHAPE, "cross_entropy: targets () are f32 and logits are ()");
    const int64_t ignored[] = {0, 7, -1};
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_null(CROSS_ENTROPY(x, x, .ignore_index = &ignored[i]));
        expect_error(HEED_ERR_VALUE, "cross_entropy: ignore_index");
    }
    expect_kind(CROSS_ENTROPY(x, x, .ignore_index = &ignored[2]), HEED_F32, HEED_SCALAR);
}
END_TEST

START_TEST(nll_loss_takes_two_or_three_tensors)
{
    heed_tensor *x = heed_zeros(HEED_SHAPE(2, 3), HEED_F32),
                *t = heed_zeros(HEED_SHAPE(2), HEED_I64);
    heed_tensor *inputs[] = {x, t, heed_ones(HEED_SHAPE(3), HEED_F32), x};
    const char *names[] = {"nll_loss", "nll_weights"};
    for (int i = 0; i < 2; i++) {
        const heed_op *op = heed_find_operation(names[i]);
        ck_assert_ptr_null(heed_apply(op, inputs, 1, NULL, 0));
        expect_error(HEED_ERR_VALUE,
                     "1 tensors; it takes log_probs, targets and optionally weight");
        ck_assert_ptr_null(heed_apply(op, inputs, 4, NULL, 0));
        expect_error(HEED_ERR_VALUE, names[i]);
    }
}
END_TEST

/* The gradient table cannot check this: a loss of probabilities consists of other operations. */
START_TEST(of_ids_it_is_one_operation)
{
    heed_tensor *x = logits_43();
    const int64_t ids[] = {0, 2, 1, 1};
    heed_tensor *y = heed_cross_entropy(x, heed_from_i64(ids, HEED_SHAPE(4)));
    ck_assert_str_eq(y->op->name, "cross_entropy");
    ck_assert_ptr_eq(y->inputs[0], x);
    y = heed_cross_entropy(x, heed_ones(HEED_SHAPE(4, 3), HEED_F64));
    ck_assert_str_ne(y->op->name, "cross_entropy");
}
END_TEST

/* ---- cross_entropy, nll_loss ---- */

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
        expect_kind(heed_cross_entropy_with(
                        x, t, (heed_cross_entropy_options){.ignore_index = &outside[i]}),
                    HEED_F32, HEED_SCALAR);
    }
    heed_tensor *t = heed_zeros(HEED_SHAPE(3), HEED_I64);
    ck_assert_ptr_null(heed_cross_entropy(x, t));
    expect_error(HEED_ERR_SHAPE, "cross_entropy: targets (3) do not fit (2, 3)");
    ck_assert_ptr_null(heed_cross_entropy(heed_zeros(HEED_SHAPE(2, 4, 3), HEED_F32),
                                          heed_zeros(HEED_SHAPE(2, 4), HEED_I64)));
    expect_error(HEED_ERR_SHAPE, "heed_reshape the scores to (-1, C) and the targets to (-1)");
    ck_assert_ptr_null(heed_cross_entropy(heed_scalar(1, HEED_F32), heed_scalar(0, HEED_I64)));
    expect_error(HEED_ERR_SHAPE, "cross_entropy");
    ck_assert_ptr_null(heed_nll_loss(x, heed_zeros(HEED_SHAPE(2), HEED_F32)));
    expect_error(HEED_ERR_DTYPE, "nll_loss: f32 with f32 targets");
    ck_assert_ptr_null(
        heed_cross_entropy(heed_to(x, HEED_I64), heed_zeros(HEED_SHAPE(2), HEED_I64)));
    expect_error(HEED_ERR_DTYPE, "it takes a float with i64 targets");
}
END_TEST

void add_cross_entropy_cases(Suite *suite)
{
    TCase *loss = heed_case(suite, "class_loss");
    tcase_add_test(loss, all_weights_zero);
    tcase_add_test(loss, no_targets_at_all);
    tcase_add_test(loss, ignored_rows_may_hold_anything);
    tcase_add_test(loss, weights_and_gradients);
    tcase_add_test(loss, a_weight_that_moves_is_noticed);
    tcase_add_test(loss, who_is_out_of_memory_says_its_name);
    tcase_add_test(loss, options_are_checked);
    tcase_add_test(loss, ids_and_probabilities_are_told_apart);
    tcase_add_test(loss, of_ids_it_is_one_operation);
    tcase_add_test(loss, nll_loss_takes_two_or_three_tensors);
    tcase_add_test(loss, losses_of_masked_classes);
    tcase_add_test(loss, losses_refuse);
}
