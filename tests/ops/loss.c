/* mse_loss and binary_cross_entropy_with_logits, also where the latter is more accurate than
 * PyTorch. Values and gradients are compared with PyTorch's by the parity cases. */
#include <math.h>

#include "tests/common/reference.h"

#define INF HUGE_VAL
#define NaN (double)NAN

typedef heed_tensor *loss_function(heed_tensor *, heed_tensor *);
static loss_function *const losses[] = {heed_mse_loss, heed_binary_cross_entropy_with_logits};
enum { LOSSES = sizeof losses / sizeof *losses };

START_TEST(of_nothing_and_of_whole_numbers)
{
    loss_function *loss = losses[_i];
    heed_tensor *none = heed_ones(HEED_SHAPE(0, 2), HEED_F64);
    EXPECT_VALUES(loss(none, none), 0, NaN);
    const double ones[] = {1, 0, 1, 1, 0, 0}, scores[] = {0.3, -0.4, 2, -3, 0.5, 0};
    const heed_shape shape = HEED_SHAPE(2, 3);
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_tensor *x = lay_out(scores, shape, dtype, COLUMNS);
        heed_tensor *goal = loss(x, lay_out(ones, shape, dtype, ROWS));
        for (heed_dtype whole = HEED_I64; whole <= HEED_BOOL; whole++) {
            heed_tensor *t = lay_out(ones, shape, whole, STEPPED);
            expect_kind(loss(x, t), dtype, HEED_SCALAR);
            ck_assert(heed_allclose(loss(x, t), goal, 0, 0, false));
            expect_kind(loss(t, x), dtype, HEED_SCALAR);
            ck_assert_ptr_null(loss(t, t));
            expect_error(HEED_ERR_DTYPE, "one of them must be a float");
        }
    }
}
END_TEST

/* Small values, which torch loses to rounding; and a gradient by the target of minus the logit. */
START_TEST(bce_keeps_small_losses_and_gradients)
{
    static const float logits[] = {-20, 20, -60, 60, -8, 8, 1e-8f};
    static const float targets[] = {0, 1, 0, 1, 0, 1, 0.5f};
    for (int i = 0; i < 7; i++) {
        heed_tensor *inputs[] = {heed_scalar((double)logits[i], HEED_F32),
                                 heed_scalar((double)targets[i], HEED_F32)};
        heed_tensor *grads[2];
        heed_set_requires_grad(inputs[0], true);
        heed_set_requires_grad(inputs[1], true);
        heed_tensor *y = heed_binary_cross_entropy_with_logits(inputs[0], inputs[1]);
        heed_grad(y, inputs, 2, grads, false);
        const double e = exp(-fabs((double)logits[i])), sign = i % 2 == 0 ? 1 : -1;
        if (i < 6) {
            expect_element("bce", heed_item(y), log1p(e), 4, HEED_F32);
            expect_element("dbce", heed_item(grads[0]), sign * e / (1 + e), 4, HEED_F32);
        }
        expect_element("dtarget", heed_item(grads[1]), -(double)logits[i], 0, HEED_F32);
    }
}
END_TEST

/* A logit of -inf for a target of 1 costs inf; torch gives NaN. */
START_TEST(bce_of_a_sure_mistake_is_infinite)
{
    heed_tensor *x = heed_scalar(-INF, HEED_F32), *t = heed_scalar(1, HEED_F32), *dx;
    heed_tensor *y = heed_binary_cross_entropy_with_logits(heed_set_requires_grad(x, true), t);
    EXPECT_VALUES(y, 0, INF);
    heed_grad(y, &x, 1, &dx, false);
    EXPECT_VALUES(dx, 0, -1);
}
END_TEST

void add_loss_cases(Suite *suite)
{
    TCase *loss = heed_case(suite, "pair_loss");
    tcase_add_loop_test(loss, of_nothing_and_of_whole_numbers, 0, LOSSES);
    tcase_add_test(loss, bce_keeps_small_losses_and_gradients);
    tcase_add_test(loss, bce_of_a_sure_mistake_is_infinite);
}
