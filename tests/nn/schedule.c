/* Schedules at their ends. parity/optimisers.def tests the steps between. */
#include <math.h>

#include "tests/common/test_util.h"

/* Huge counts do not overflow, and after the last step the rate stays constant. */
START_TEST(rates_stay_at_the_end)
{
    const int64_t last = INT64_MAX;
    ck_assert_double_eq(heed_constant_lr(last, 0.5, 0.25, 4), 0.5);
    ck_assert_double_eq(heed_constant_lr(last - 1, 0.5, 0.25, last), 0.125);
    ck_assert_double_eq(heed_linear_lr(last, 0.5, 1, 0.5, 4), 0.25);
    ck_assert_double_eq(heed_linear_lr(last, 0.5, 0, 1, last), 0.5);
    ck_assert_double_eq(heed_step_lr(last, 0.5, 1, 0.5), 0);
    ck_assert_double_eq(heed_step_lr(last, 0.5, last, 0.5), 0.25);
    ck_assert_double_eq(heed_warmup_cosine_lr(last, 0.5, 0, 1, 0.125), 0.125);
    ck_assert_double_eq(heed_warmup_cosine_lr(7, 0.5, last - 1, last, 0), 0.5 * 8 / 0x1p63);
    ck_assert_double_eq(heed_warmup_cosine_lr(49, 3e-4, 10, 49, 3e-5), 3e-5);
    ck_assert_double_eq(heed_warmup_cosine_lr(10, 3e-4, 10, 49, 3e-5), 3e-4);
    ck_assert_double_eq(heed_warmup_cosine_lr(4, 1e308, 0, 4, -1e308),
                        -1e308); /* exactly eta_min */
    ck_assert_double_eq(heed_cosine_annealing_lr(4, 0.5, 4, 0.25), 0.25);
    ck_assert_double_eq(heed_cosine_annealing_lr(8, 0.5, 4, 0.25), 0.5);
}
END_TEST

START_TEST(no_rate_while_an_error_is_pending)
{
    heed_fail(HEED_ERR_VALUE, "test: this");
    ck_assert(isnan(heed_step_lr(0, 0.1, 1, 1)));
    ck_assert(isnan(heed_warmup_cosine_lr(0, 0.1, 1, 1, 1)));
    expect_error(HEED_ERR_VALUE, "test: this");
}
END_TEST

void add_schedule_cases(Suite *suite)
{
    TCase *schedules = heed_case(suite, "schedules");
    tcase_add_test(schedules, rates_stay_at_the_end);
    tcase_add_test(schedules, no_rate_while_an_error_is_pending);
}
