/* The steps of softmax on a row of scores, for softmax_rows.c and attention_head.c (internal to
 * the kernels). Floats only:   out = exp(x - shift);   total = sum(out);   out / total */
#ifndef HEED_TENSOR_KERNELS_SOFTMAX_ROWS_H
#define HEED_TENSOR_KERNELS_SOFTMAX_ROWS_H

#include "row_reduce.h"

#ifdef T_IS_F32
#include "math_f32.h"

#define exp(x) exp_f32(x)
#define log(x) log_f32(x)
#endif

#ifdef T_IS_F64
static inline double sum_of_positive ROW
{
    return sum_of_row(n, row);
}
#else
SUM_OF(sum_of_positive, ROW, READ_X, x)
#endif

/* out = exp(x - shift), for exponentials that are only summed or multiplied by values. Scores below
 * LEAST_SCORE get weight 0. This avoids slow subnormal numbers in later steps: quotients, their
 * remainders, and products with numbers of ordinary size. The largest weight of a row is 1, so a
 * sum of up to 2^40 weights rounds to the same double with and without the tiny ones.
 *
 * Scores are at most 0, or NaN, unless the maximum of the row, and so the sum, is infinite. */
#ifdef T_IS_F32
#define LEAST_SCORE (-69)
static inline T weight_of(T score, const T least)
{
    const exp_parts e = exp_parts_of(score < least ? least : score);
    const T y = times_power(exp_of_rest(e), e.exponent);
    const T weight = score < least ? 0 : y;
    return score <= 0 ? weight : score + INFINITY;
}
#else
#define LEAST_SCORE (-660)
static inline T weight_of(T score, const T least)
{
    return score < least ? 0 : exp(score);
}
#endif

static void weights(int64_t n, const T *x, T shift, T *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = weight_of(x[i] - shift, LEAST_SCORE);
    }
}

/* row /= total, for finite numbers. A total of 0, from a fully masked row, gives zeros. */
static void divide(int64_t n, T *row, T total)
{
    const T inverse = total != 0 ? 1 / total : 0;
    for (int64_t i = 0; i < n; i++) {
        const T y = row[i] * inverse;
        row[i] = y + (row[i] - y * total) * inverse; /* a Newton step: as accurate as a division */
    }
}

#endif
