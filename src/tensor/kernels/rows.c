/* Reductions of contiguous rows, and of columns:
 *
 *   amax, amin, argmax, argmin, any, all   one element per row; NaN is both largest and smallest
 *   sum, sum_columns, from_totals          totals += sums of rows, of columns; y = totals / divisor
 *   var    sum (x - mean)^2 / divisor, or its root          norm   sqrt(sum x^2)
 *   cumsum out[j] = x[0] + ... + x[j]
 *
 * Floats are summed in double, integers in i64. Variances and norms are also
 * computed in double, so that squares of f32 neither overflow nor underflow. */
#include <math.h>

#include "row_reduce.h"

#if defined T_IS_F32 || defined T_IS_F64
#define IS_NAN(x) ((x) != (x))
#else
#define IS_NAN(x) false
#endif

/* ---- extremes ---- */

FOLD(T, smallest, ROW, HIGHEST, x < all ? x : all, x < all ? x : all)

/* A kernel that reduces a row x of n elements to `result`. */
#define REDUCE(name, type, result)                                                                 \
    void KERNEL(name)(int64_t n, const void *x, const void *args, void *y)                         \
    {                                                                                              \
        (void)args;                                                                                \
        *(type *)y = (result);                                                                     \
    }

/* NaN if the row contains NaN, else `extreme`, which ignores NaN. */
static T with_nan(int64_t n, const T *row, T extreme)
{
#if defined T_IS_F32 || defined T_IS_F64
    int found = 0;
    for (int64_t i = 0; i < n; i++) {
        found |= IS_NAN(row[i]);
    }
    return found ? (T)NAN : extreme;
#else
    (void)n, (void)row;
    return extreme;
#endif
}

REDUCE(amax, T, with_nan(n, x, largest(n, x)))
REDUCE(amin, T, with_nan(n, x, smallest(n, x)))

#ifndef T_IS_BOOL
/* The first index of the row's extreme, which may be NaN. */
static int64_t place_of(T extreme, const T *row)
{
    int64_t i = 0;
    while (row[i] != extreme && !(IS_NAN(extreme) && IS_NAN(row[i]))) {
        i++;
    }
    return i;
}

REDUCE(argmax, int64_t, place_of(with_nan(n, x, largest(n, x)), x))
REDUCE(argmin, int64_t, place_of(with_nan(n, x, smallest(n, x)), x))
#endif

/* ---- sums ---- */

void KERNEL(sum)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals)
{
    for (int64_t i = 0; i < rows; i++) {
        totals[i].OF_TOTAL += sum_of_row(n, (const T *)x + i * step);
    }
}

/* Adds rows in order, eight at a time, so that each total is loaded and stored only once per eight
 * rows. */
void KERNEL(sum_columns)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals)
{
    enum { AT_ONCE = 8 };
    const T *from = x;
    TOTAL *restrict to = (TOTAL *)totals; /* access through a union is not vectorised */
    for (; rows >= AT_ONCE; rows -= AT_ONCE, from += AT_ONCE * step) {
        int64_t i = 0;
#ifdef WIDENS
        for (const double factor = one; i + WIDE <= n; i += WIDE) {
            wide total;
            memcpy(&total, to + i, sizeof total);
            UNROLL for (int j = 0; j < AT_ONCE; j++)
            {
                total += widened(from + j * step + i) * factor;
            }
            memcpy(to + i, &total, sizeof total);
        }
#endif
        for (; i < n; i++) {
            TOTAL total = to[i];
            UNROLL for (int j = 0; j < AT_ONCE; j++)
            {
                total += (TOTAL)from[j * step + i];
            }
            to[i] = total;
        }
    }
    for (; rows > 0; rows--, from += step) {
        for (int64_t i = 0; i < n; i++) {
            to[i] += (TOTAL)from[i];
        }
    }
}

void KERNEL(from_totals)(int64_t n, const heed_total *totals, double divisor, void *y)
{
    const TOTAL *from = (const TOTAL *)totals, by = (TOTAL)divisor;
    T *restrict to = y;
    for (int64_t i = 0; i < n; i++) { /* without divisions for sums: they would take a tenth */
        to[i] = (T)(by == 1 ? from[i] : from[i] / by);
    }
}

#ifndef T_IS_BOOL
void KERNEL(cumsum)(const heed_rows *rows)
{
    for (int64_t i = 0; i < rows->count; i++) {
        const T *x = IN(rows, 0, i);
        T *out = OUT(rows, i);
        TOTAL total = 0;
        for (int64_t j = 0; j < rows->n; j++) {
            total += (TOTAL)x[j];
            out[j] = (T)total;
        }
    }
}
#endif

#if defined T_IS_F32 || defined T_IS_F64
/* ---- variance and norm ---- */

FOLD(double, sum_of_squares, (int64_t n, const T *row, double at), 0,
     all + ((double)x - at) * ((double)x - at), all + x)

/* Two passes, the mean first: in one pass, a large mean would cause cancellation. */
void KERNEL(var)(int64_t n, const void *x, const void *args, void *y)
{
    const heed_var_args *a = args;
    const double mean = sum_of_row(n, x) / (double)n;
    const double var = sum_of_squares(n, x, mean) / a->divisor;
    *(T *)y = (T)(a->root ? sqrt(var) : var);
}

void KERNEL(norm)(int64_t n, const void *x, const void *args, void *y)
{
    (void)args;
    *(T *)y = (T)sqrt(sum_of_squares(n, x, 0));
}
#endif
