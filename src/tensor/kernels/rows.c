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

#if defined WIDENS && VECTOR_BYTES == 64
#define SUMS_VECTORS
/* The sums of eight rows of whole vectors. Their lanes are added by halves, as in sum_of_row, but
 * for two, four and all rows at once. */
static inline wide sums_of_rows(int64_t n, const float *x, int64_t step)
{
    wide lane[WIDE];
    for (int i = 0; i < WIDE; i++) {
        lane[i] = lanes_of_row(n, x + i * step);
    }
#define HALVES(a, b, shuffled, first, second) a = shuffled(a, b, first) + shuffled(a, b, second)
    HALVES(lane[0], lane[2], _mm512_shuffle_f64x2, 0x44, 0xee);
    HALVES(lane[1], lane[3], _mm512_shuffle_f64x2, 0x44, 0xee);
    HALVES(lane[4], lane[6], _mm512_shuffle_f64x2, 0x44, 0xee);
    HALVES(lane[5], lane[7], _mm512_shuffle_f64x2, 0x44, 0xee);
    HALVES(lane[0], lane[4], _mm512_shuffle_f64x2, 0x88, 0xdd);
    HALVES(lane[1], lane[5], _mm512_shuffle_f64x2, 0x88, 0xdd);
    HALVES(lane[0], lane[1], _mm512_shuffle_pd, 0, 0xff);
    return lane[0];
}

/* Adds rows, in order, to vectors of totals, which stay in registers and do not depend on each
 * other. Rows are read in the order of their addresses, which processors prefetch. */
static inline __attribute__((always_inline)) void
add_rows(const int vectors, int64_t rows, const float *from, int64_t step, double *to)
{
    const double factor = one;
    wide total[16];
    memcpy(total, to, (size_t)vectors * sizeof *total);
    for (; rows > 0; rows--, from += step) {
        UNROLL for (int k = 0; k < vectors; k++)
        {
            total[k] += widened(from + k * WIDE) * factor;
        }
    }
    memcpy(to, total, (size_t)vectors * sizeof *total);
}
#endif

void KERNEL(sum)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals)
{
    int64_t i = 0;
#ifdef SUMS_VECTORS
    for (; n % WIDE == 0 && i + WIDE <= rows; i += WIDE) {
        wide total;
        memcpy(&total, &totals[i], sizeof total);
        total += sums_of_rows(n, (const T *)x + i * step, step);
        memcpy(&totals[i], &total, sizeof total);
    }
#endif
    for (; i < rows; i++) {
        totals[i].OF_TOTAL += sum_of_row(n, (const T *)x + i * step);
    }
}

/* Adds rows in order, eight at a time, so that each total is loaded and stored only once per eight
 * rows. Of rows up to NARROW bytes apart, whole vectors are added first. */
void KERNEL(sum_columns)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals)
{
    enum { AT_ONCE = 8, NARROW = 1024 };
    const T *from = x;
    TOTAL *restrict to = (TOTAL *)totals; /* access through a union is not vectorised */
#ifdef SUMS_VECTORS
    while (step * (int64_t)sizeof(T) <= NARROW && n >= 8 * WIDE) {
        const int64_t columns = n >= 16 * WIDE ? 16 * WIDE : 8 * WIDE;
        n >= 16 * WIDE ? add_rows(16, rows, from, step, to) : add_rows(8, rows, from, step, to);
        n -= columns;
        from += columns;
        to += columns;
    }
#endif
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
