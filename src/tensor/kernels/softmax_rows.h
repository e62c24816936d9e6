/* What the softmaxes and attention do to a row of scores (internal to the kernels). Floats only. */
#ifndef HEED_TENSOR_EXPONENTIALS_H
#define HEED_TENSOR_EXPONENTIALS_H

#include "math_f32.h"
#include "row_reduce.h"

#ifdef T_IS_F32
#define exp(x) exp_f32(x)
#define log(x) log_f32(x)
#endif

/* NaN is passed over by the largest, and comes back through exp. */
FOLD(T, largest, LINE, -(T)INFINITY, x > all ? x : all, x > all ? x : all)
#ifdef T_IS_F64
FOLD(double, sum_of_positive, LINE, 0, all + x, all + x)
#else
SUM_OF(sum_of_positive, LINE, READ_X, x)
#endif
SUM_OF(sum_of_products, (int64_t n, const T *line, const T *other), READ_XY, x *y)

/* out = exp(x - shift), and may be x. */
static void exps(int64_t n, const T *x, T shift, T *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = exp(x[i] - shift);
    }
}

/* Of finite numbers. A row of zeros, in which nothing may be looked at, stays one. */
static void divide(int64_t n, T *line, T total)
{
    const T inverse = total != 0 ? 1 / total : 0;
    for (int64_t i = 0; i < n; i++) {
        const T y = line[i] * inverse;
        line[i] = y + (line[i] - y * total) * inverse; /* Newton's step: as good as a division */
    }
}

#endif
