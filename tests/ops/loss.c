/* mse, l1, huber, binary_cross_entropy_with_logits and kl_div: what all losses of pairs share.
 * Values and gradients are compared with PyTorch's by the parity cases. */
#include <math.h>
#include <string.h>

#include "tests/common/reference.h"

#define INF HUGE_VAL
#define NaN (double)NAN
#define LOGITS(x, t, ...)                                                                          \
    heed_binary_cross_entropy_with_logits_with(                                                    \
        x, t, (heed_binary_cross_entropy_with_logits_options){__VA_ARGS__})

/* ---- the losses by name ---- */

static heed_tensor *apply(const char *name, heed_tensor *x, heed_tensor *t,
                          heed_reduction reduction)
{
    if (strcmp(name, "mse") == 0) {
        return heed_mse_loss_with(x, t, (heed_loss_options){.reduction = reduction});
    }
    if (strcmp(name, "l1") == 0) {
        return heed_l1_loss_with(x, t, (heed_loss_options){.reduction = reduction});
    }
    if (strcmp(name, "huber") == 0) {
        return heed_huber_loss_with(x, t, (heed_huber_loss_options){.reduction = reduction});
    }
    if (strcmp(name, "kl") == 0) {
        return heed_kl_div_with(x, t, (heed_kl_div_options){.reduction = reduction});
    }
    return LOGITS(x, t, .reduction = reduction);
}

/* ---- a longer one, compared with a plain loop ---- */

START_TEST(mse_loss_is_the_mean_of_squares)
{
    const heed_shape shape = HEED_SHAPE(3, 5, 40);
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        heed_tensor *a = noise(shape, HEED_F32, layout, 3);
        heed_tensor *b = noise(shape, HEED_F32, (layout + 1) % LAYOUTS, 4);
        double sum = 0;
        for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
            sum += pow(element(a, at) - element(b, at), 2);
        }
        EXPECT_VALUES(heed_mse_loss(a, b), 1e-6, sum / 600);
    }
}
END_TEST

/* ---- shapes, dtypes, empty tensors ---- */

static const char *const names[] = {"mse", "l1", "huber", "bce", "kl"};
enum { NAMES = sizeof names / sizeof *names };

START_TEST(of_nothing_and_of_one)
{
    const char *name = names[_i];
    heed_tensor *none = heed_ones(HEED_SHAPE(0, 2), HEED_F64), *one = heed_scalar(1, HEED_F64);
    EXPECT_VALUES(apply(name, none, none, HEED_MEAN), 0, NaN);
    EXPECT_VALUES(apply(name, none, none, HEED_SUM), 0, 0);
    expect_kind(apply(name, none, none, HEED_NONE), HEED_F64, HEED_SHAPE(0, 2));
    const double loss = heed_item(apply(name, one, one, HEED_NONE));
    for (heed_reduction reduction = HEED_MEAN; reduction <= HEED_NONE; reduction++) {
        heed_tensor *y = apply(name, one, one, reduction);
        expect_kind(y, HEED_F64, HEED_SCALAR);
        EXPECT_VALUES(y, 0, loss);
    }
}
END_TEST

START_TEST(whole_numbers_meet_floats)
{
    const char *name = names[_i];
    const double ones[] = {1, 0, 1, 1, 0, 0}, scores[] = {0.3, -0.4, 2, -3, 0.5, 0};
    const heed_shape shape = HEED_SHAPE(2, 3);
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_tensor *x = lay_out(scores, shape, dtype, COLUMNS);
        heed_tensor *goal = apply(name, x, lay_out(ones, shape, dtype, ROWS), HEED_NONE);
        for (heed_dtype whole = HEED_I64; whole <= HEED_BOOL; whole++) {
            heed_tensor *t = lay_out(ones, shape, whole, STEPPED);
            expect_kind(apply(name, x, t, HEED_NONE), dtype, shape);
            ck_assert(heed_allclose(apply(name, x, t, HEED_NONE), goal, 0, 0, false));
            expect_kind(apply(name, t, x, HEED_SUM), dtype, HEED_SCALAR);
            ck_assert_ptr_null(apply(name, t, t, HEED_NONE));
            expect_error(HEED_ERR_DTYPE, "one of them must be a float");
        }
    }
}
END_TEST

START_TEST(refused_by_all)
{
    const char *name = names[_i];
    heed_tensor *x = heed_ones(HEED_SHAPE(3), HEED_F32);
    static const heed_shape shapes[] = {{0, {0}}, {1, {1}}, {1, {4}}, {2, {1, 3}}, {2, {3, 1}}};
    for (int i = 0; i < 5; i++) {
        ck_assert_ptr_null(apply(name, x, heed_ones(shapes[i], HEED_F32), HEED_MEAN));
        expect_error(HEED_ERR_SHAPE, "their shapes must be equal");
    }
    ck_assert_ptr_null(apply(name, x, heed_ones(HEED_SHAPE(3), HEED_F64), HEED_MEAN));
    expect_error(HEED_ERR_DTYPE, "f32 with f64");
    const int reductions[] = {-1, HEED_BATCHMEAN + 1, 99};
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_null(apply(name, x, x, (heed_reduction)reductions[i]));
        expect_error(HEED_ERR_VALUE, "reduction");
    }
    if (strcmp(name, "kl") != 0) {
        ck_assert_ptr_null(apply(name, x, x, HEED_BATCHMEAN));
        expect_error(HEED_ERR_VALUE, "HEED_BATCHMEAN is only for kl_div");
    }
}
END_TEST

START_TEST(options_are_checked)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_F32);
    static const double deltas[] = {-1, (double)NAN, -HUGE_VAL};
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_null(
            heed_huber_loss_with(x, x, (heed_huber_loss_options){.delta = deltas[i]}));
        expect_error(HEED_ERR_VALUE, "huber_loss: delta");
    }
    heed_tensor *wide = heed_huber_loss_with(x, heed_zeros(HEED_SHAPE(2, 3), HEED_F32),
                                             (heed_huber_loss_options){.delta = HUGE_VAL});
    EXPECT_VALUES(wide, 0, 0.5);
    heed_tensor *large = heed_ones(HEED_SHAPE(2, 2, 3), HEED_F32);
    heed_tensor *other = heed_ones(HEED_SHAPE(2), HEED_F32),
                *f64 = heed_ones(HEED_SHAPE(3), HEED_F64);
    ck_assert_ptr_null(LOGITS(x, x, .weight = large));
    expect_error(HEED_ERR_SHAPE,
                 "binary_cross_entropy_with_logits: weight (2, 2, 3) does not broadcast to input");
    ck_assert_ptr_null(LOGITS(x, x, .pos_weight = large));
    expect_error(HEED_ERR_SHAPE,
                 "binary_cross_entropy_with_logits: pos_weight (2, 2, 3) does not broadcast");
    ck_assert_ptr_null(LOGITS(x, x, .weight = other));
    expect_error(HEED_ERR_SHAPE, "binary_cross_entropy_with_logits: ");
    ck_assert_ptr_null(LOGITS(x, x, .pos_weight = f64));
    expect_error(HEED_ERR_DTYPE, "binary_cross_entropy_with_logits: f32 with f64");
}
END_TEST

static heed_tensor *weighted_loss(int i, heed_tensor *x, heed_tensor *t, heed_tensor *w)
{
    switch (i) {
    case 0:
        return heed_mse_loss_with(x, t, (heed_loss_options){.weight = w});
    case 1:
        return heed_l1_loss_with(x, t, (heed_loss_options){.weight = w});
    case 2:
        return heed_huber_loss_with(x, t, (heed_huber_loss_options){.weight = w});
    default:
        return LOGITS(x, t, .weight = w, .pos_weight = w);
    }
}

/* With an i64 input its cast allocates first; the error must be about memory, not about the
 * weight. */
START_TEST(weighted_losses_may_run_out_of_memory)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_I64);
    heed_tensor *t = heed_zeros(HEED_SHAPE(2, 3), HEED_F32);
    heed_tensor *w = heed_ones(HEED_SHAPE(2, 3), HEED_F32);
    int64_t n = 0;
    for (; n < 1000; n++) {
        heed_fail_allocation(n);
        heed_tensor *loss = weighted_loss(_i, x, t, w);
        heed_fail_allocation(-1);
        if (loss != NULL) {
            break;
        }
        expect_error(HEED_ERR_MEMORY, "out of memory: ");
    }
    ck_assert_int_gt(n, 2);
    ck_assert_int_lt(n, 1000);
}
END_TEST

void add_loss_cases(Suite *suite)
{
    TCase *loss = heed_case(suite, "pair_loss");
    tcase_add_test(loss, mse_loss_is_the_mean_of_squares);
    tcase_add_loop_test(loss, of_nothing_and_of_one, 0, NAMES);
    tcase_add_loop_test(loss, whole_numbers_meet_floats, 0, NAMES);
    tcase_add_loop_test(loss, refused_by_all, 0, NAMES);
    tcase_add_test(loss, options_are_checked);
    tcase_add_loop_test(loss, weighted_losses_may_run_out_of_memory, 0, 4);
}
