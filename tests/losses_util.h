/* What the tests of losses and normalisations share: the inputs of make_losses.py, gradients for its
 * upstream, and comparing with what PyTorch printed. */
#ifndef HEED_TESTS_LOSSES_UTIL_H
#define HEED_TESTS_LOSSES_UTIL_H

#include <math.h>

#include "tests/ops_cases.h"

enum formula { SCORES, PROBS, WEIGHTS, UPSTREAM };

static inline double formula_at(enum formula formula, int64_t i)
{
    switch (formula) {
    case SCORES:
        return (double)(7 * i % 11) / 3 - 1.5;
    case PROBS:
        return (double)(3 * i % 7 + 1) / 10;
    case WEIGHTS:
        return 0.5 + (double)i / 2;
    default:
        return 0.5 + (double)(3 * i % 7) / 4;
    }
}

/* A constant of this formula, times `factor`. */
static inline heed_tensor *made(enum formula formula, double factor, heed_shape shape,
                                heed_dtype dtype, enum layout layout)
{
    double values[64];
    for (int64_t i = 0; i < count_of(shape); i++) {
        values[i] = factor * formula_at(formula, i);
    }
    return lay_out(values, shape, dtype, layout);
}

static inline heed_tensor *wanted(heed_tensor *x)
{
    return heed_set_requires_grad(x, true);
}

/* grads: of sum(y upstream) by xs. */
static inline void derive(heed_tensor *y, heed_tensor *const *xs, int count, heed_tensor **grads)
{
    EXPECT(y != NULL, "%s", heed_error_message());
    heed_tensor *upstream = made(UPSTREAM, 1, heed_shape_of_tensor(y), y->dtype, ROWS);
    heed_grad(heed_sum(heed_mul(y, upstream)), xs, count, grads, false);
    expect_no_error();
}

/* The elements of x, row by row, are those that PyTorch printed with 11 digits. */
static inline void expect_printed(const char *what, heed_tensor *x, const double *printed)
{
    EXPECT(x != NULL, "%s: %s", what, heed_error_message());
    const heed_shape shape = heed_shape_of_tensor(x);
    const double tolerance = x->dtype == HEED_F32 ? 4e-6 : 2e-10;
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        const int64_t i = rank(shape, at);
        const double found = element(x, at), goal = printed[i];
        EXPECT((isnan(found) && isnan(goal)) || found == goal ||
                   fabs(found - goal) <= tolerance * (1 + fabs(goal)),
               "%s: element %lld is %.12g, not %.12g", what, (long long)i, found, goal);
    }
}

#endif
