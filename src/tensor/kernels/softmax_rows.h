/* The steps of softmax on a row of scores, for softmax_rows.c and attention_tiles.c (internal to
 * the kernels). Floats only:   out = exp(x - shift);   total = sum(out);   out / total */
#ifndef HEED_TENSOR_KERNELS_SOFTMAX_ROWS_H
#define HEED_TENSOR_KERNELS_SOFTMAX_ROWS_H

#include "math_f32.h"
#include "row_reduce.h"

#ifdef T_IS_F32
#define exp(x) exp_f32(x)
#define log(x) log_f32(x)
#endif

#ifdef T_IS_F64
#define sum_of_positive sum_of_row
#else
SUM_OF(sum_of_positive, ROW, READ_X, x)
#endif

/* out = exp(x - shift); out may be x. */
static void exps(int64_t n, const T *x, T shift, T *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = exp(x[i] - shift);
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
