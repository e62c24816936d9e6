/* Learning rate schedules, as functions of the step. */
#include "schedule.h"

#include <math.h>

/* Checks the arguments of a schedule over `count` steps. */
static bool is_valid(const char *name, int64_t step, int64_t count, double a, double b, double c)
{
    if (heed_error_pending()) {
        return false;
    }
    if (step < 0) {
        heed_fail(HEED_ERR_VALUE, "%s: step is %lld; the first is 0", name, (long long)step);
    } else if (count < 1) {
        heed_fail(HEED_ERR_VALUE, "%s: the number of steps is %lld; it must be 1 or more", name,
                  (long long)count);
    } else if (!isfinite(a) || !isfinite(b) || !isfinite(c)) {
        heed_fail(HEED_ERR_VALUE, "%s: %g, %g and %g must be finite", name, a, b, c);
    }
    return !heed_error_pending();
}

/* Linear from a to b over `count` steps. */
static double line(double a, double b, int64_t step, int64_t count)
{
    return step < count ? a + (b - a) * (double)step / (double)count : b;
}

static double half_wave(double lr, double eta_min, int64_t step, int64_t count)
{
    const double pi = 3.14159265358979323846;
    return eta_min + (lr - eta_min) * (1 + cos(pi * (double)step / (double)count)) / 2;
}

double heed_constant_lr(int64_t step, double lr, double factor, int64_t total_iters)
{
    return is_valid("constant_lr", step, total_iters, lr, factor, 0)
               ? lr * (step < total_iters ? factor : 1)
               : (double)NAN;
}

double heed_step_lr(int64_t step, double lr, int64_t step_size, double gamma)
{
    return is_valid("step_lr", step, step_size, lr, gamma, 0)
               ? lr * pow(gamma, (double)(step / step_size))
               : (double)NAN;
}

double heed_linear_lr(int64_t step, double lr, double start_factor, double end_factor,
                      int64_t total_iters)
{
    return is_valid("linear_lr", step, total_iters, lr, start_factor, end_factor)
               ? lr * line(start_factor, end_factor, step, total_iters)
               : (double)NAN;
}

double heed_cosine_annealing_lr(int64_t step, double lr, int64_t T_max, double eta_min)
{
    return is_valid("cosine_annealing_lr", step, T_max, lr, eta_min, 0)
               ? half_wave(lr, eta_min, step, T_max)
               : (double)NAN;
}

double heed_warmup_cosine_lr(int64_t step, double lr, int64_t warmup, int64_t total, double eta_min)
{
    const char *name = "warmup_cosine_lr";
    if (!heed_error_pending() && (warmup < 0 || total <= warmup)) {
        heed_fail(HEED_ERR_VALUE,
                  "%s: warmup is %lld of %lld steps; it must be 0 or more, and less than total",
                  name, (long long)warmup, (long long)total);
    }
    if (!is_valid(name, step, total, lr, eta_min, 0)) {
        return (double)NAN;
    }
    if (step < warmup) {
        return lr * (double)(step + 1) / (double)(warmup + 1);
    }
    return step < total ? half_wave(lr, eta_min, step - warmup, total - warmup) : eta_min;
}
