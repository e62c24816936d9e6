/* Clipping gradients: typical use, and NaN and infinities. parity/optimisers.def compares it with
 * PyTorch. */
#include <math.h>

#include "tests/common/test_util.h"

static const double inf = (double)INFINITY;

/* A parameter whose gradient has these two elements. */
static heed_tensor *with_gradient(double a, double b, heed_dtype dtype)
{
    heed_tensor *p = heed_set_requires_grad(heed_zeros(HEED_SHAPE(2), dtype), true);
    heed_tensor *g = heed_to(heed_from_f64((double[]){a, b}, HEED_SHAPE(2)), dtype);
    heed_backward(heed_sum(heed_mul(p, g)));
    return p;
}

/* (3, 4) and (12, 0) have a joint norm of 13: each becomes 1 / 13 of itself, whatever its dtype. */
START_TEST(gradients_are_clipped_together)
{
    heed_tensor *none = heed_set_requires_grad(heed_zeros(HEED_SHAPE(2), HEED_F32), true);
    heed_tensor *ps[] = {with_gradient(3, 4, HEED_F32), none, with_gradient(12, 0, HEED_F64)};
    const heed_tensor_list list = {3, ps, NULL};
    ck_assert_double_eq(heed_clip_grad_norm(list, 13.1), 13);
    EXPECT_VALUES(ps[0]->grad, 0, 3, 4);
    ck_assert_double_eq(heed_clip_grad_norm(list, 1), 13);
    EXPECT_VALUES(ps[0]->grad, 1e-6, 3 / 13.0, 4 / 13.0);
    EXPECT_VALUES(ps[2]->grad, 1e-6, 12 / 13.0, 0);
    ck_assert_ptr_null(none->grad);
    ck_assert_double_eq_tol(heed_clip_grad_norm(list, inf), 1, 1e-6);
}
END_TEST

/* PyTorch 2.15: with inf the other gradients become 0, with NaN all become NaN. */
START_TEST(what_is_not_finite_spreads)
{
    heed_tensor *p = with_gradient(inf, 1, HEED_F32), *q = with_gradient((double)NAN, 1, HEED_F32);
    ck_assert_double_eq(heed_clip_grad_norm((heed_tensor_list){1, &p, NULL}, 1), inf);
    EXPECT_VALUES(p->grad, 0, (double)NAN, 0);
    ck_assert(isnan(heed_clip_grad_norm((heed_tensor_list){1, &q, NULL}, 1)));
    EXPECT_VALUES(q->grad, 0, (double)NAN, (double)NAN);
}
END_TEST

START_TEST(nothing_is_clipped_while_an_error_is_pending)
{
    heed_tensor *p = with_gradient(3, 4, HEED_F32);
    heed_matmul(p, heed_ones(HEED_SHAPE(5), HEED_F64));
    ck_assert(isnan(heed_clip_grad_norm((heed_tensor_list){1, &p, NULL}, 1)));
    expect_error(HEED_ERR_DTYPE, "matmul");
    EXPECT_VALUES(p->grad, 0, 3, 4);
}
END_TEST

void add_clip_cases(Suite *suite)
{
    TCase *clip = heed_case(suite, "clip");
    tcase_add_test(clip, gradients_are_clipped_together);
    tcase_add_test(clip, what_is_not_finite_spreads);
    tcase_add_test(clip, nothing_is_clipped_while_an_error_is_pending);
}
