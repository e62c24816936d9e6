/* binary_cross_entropy_with_logits and kl_div where Heed is more accurate than PyTorch. What all
 * losses of pairs share is tested in loss.c. */

#include <math.h>

#include "tests/common/reference.h"

#define INF              HUGE_VAL
#define NaN              (double)NAN
#define KL_DIV(x, t, by) heed_kl_div_with(x, t, (heed_kl_div_options){.reduction = by})
#define LOGITS(x, t, ...)                                                                          \
    heed_binary_cross_entropy_with_logits_with(                                                    \
        x, t, (heed_binary_cross_entropy_with_logits_options){__VA_ARGS__})

static heed_tensor *wanted(heed_tensor *x)
{
    return heed_set_requires_grad(x, true);
}

/* ---- small values, which torch loses to rounding ---- */

START_TEST(bce_keeps_small_losses_and_gradients)
{
    static const float logits[] = {-20, 20, -60, 60, -8, 8};
    static const float targets[] = {0, 1, 0, 1, 0, 1};
    heed_tensor *x = wanted(heed_from_f32(logits, HEED_SHAPE(6))), *dx;
    heed_tensor *t = heed_from_f32(targets, HEED_SHAPE(6));
    heed_tensor *y = LOGITS(x, t, .reduction = HEED_NONE);
    heed_grad(heed_sum(y), &x, 1, &dx, false);
    for (int i = 0; i < 6; i++) {
        const double e = exp(-fabs((double)logits[i])), sign = i % 2 == 0 ? 1 : -1;
        expect_element("bce", heed_at(y, HEED_INDEX(i)), log1p(e), 4, HEED_F32);
        expect_element("dbce", heed_at(dx, HEED_INDEX(i)), sign * e / (1 + e), 4, HEED_F32);
    }
}
END_TEST

/* A logit of -inf for a target of 1 costs inf; torch gives NaN. */
START_TEST(bce_of_a_sure_mistake_is_infinite)
{
    heed_tensor *x = wanted(heed_from_f32((float[]){-INFINITY, INFINITY}, HEED_SHAPE(2))), *dx;
    heed_tensor *t = heed_from_f32((float[]){1, 0}, HEED_SHAPE(2));
    heed_tensor *y = LOGITS(x, t, .reduction = HEED_NONE);
    EXPECT_VALUES(y, 0, INF, INF);
    heed_grad(heed_sum(y), &x, 1, &dx, false);
    EXPECT_VALUES(dx, 0, -1, 1);
}
END_TEST

/* The gradient by a target of 0 uses 0 ln 0 = 0; torch's is NaN. */
START_TEST(kl_div_by_a_target_of_0)
{
    heed_tensor *x = heed_from_f64((double[]){-1, INF, 0.5}, HEED_SHAPE(3)), *dt;
    heed_tensor *t = wanted(heed_zeros(HEED_SHAPE(3), HEED_F64));
    heed_grad(heed_sum(KL_DIV(heed_slice(x, 0, 0, 3, 2), heed_slice(t, 0, 0, 3, 2), HEED_SUM)), &t,
              1, &dt, false);
    EXPECT_VALUES(dt, 0, 1, 0, -0.5);
}
END_TEST

/* The gradient by the target is minus the logit, however small. */
START_TEST(bce_by_its_target)
{
    static const float logits[] = {1e-8f, -1e-8f, 0.25f, -0.25f, 0};
    heed_tensor *x = heed_from_f32(logits, HEED_SHAPE(5)), *dt;
    heed_tensor *t = wanted(heed_from_f32((float[]){0, 1, 0.5f, 0.25f, 1}, HEED_SHAPE(5)));
    heed_grad(LOGITS(x, t, .reduction = HEED_SUM), &t, 1, &dt, false);
    for (int i = 0; i < 5; i++) {
        expect_element("dtarget", heed_at(dt, HEED_INDEX(i)), -(double)logits[i], 0, HEED_F32);
    }
}
END_TEST

START_TEST(batchmean_divides_by_the_rows)
{
    heed_tensor *none = heed_ones(HEED_SHAPE(0, 2), HEED_F64);
    EXPECT_VALUES(KL_DIV(none, none, HEED_BATCHMEAN), 0, NaN);
    heed_tensor *no_dims = heed_scalar(-1, HEED_F64), *half = heed_scalar(0.5, HEED_F64);
    EXPECT_VALUES(KL_DIV(no_dims, half, HEED_BATCHMEAN), 1e-7, 0.1534264097);
}
END_TEST

void add_probability_loss_cases(Suite *suite)
{
    TCase *losses = heed_case(suite, "losses");
    tcase_add_test(losses, bce_keeps_small_losses_and_gradients);
    tcase_add_test(losses, bce_of_a_sure_mistake_is_infinite);
    tcase_add_test(losses, kl_div_by_a_target_of_0);
    tcase_add_test(losses, bce_by_its_target);
    tcase_add_test(losses, batchmean_divides_by_the_rows);
}
