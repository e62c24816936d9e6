/* Kernels that work line by line: those that map lines (softmax, cumsum) and those that fold one to one
 * element (amax, var, norm). Compiled as kernels.c is. */
#include <math.h>

#include "row_reduce.h"

/* What every element is at least, and at most; and is it NaN? */
#if defined T_IS_F32 || defined T_IS_F64
#define LOWEST    (-(T)INFINITY)
#define HIGHEST   ((T)INFINITY)
#define IS_NAN(x) ((x) != (x))
#else
#define IS_NAN(x) false
#endif
#if defined T_IS_I64
#define LOWEST  INT64_MIN
#define HIGHEST INT64_MAX
#elif defined T_IS_BOOL
#define LOWEST  false
#define HIGHEST true
#endif

/* ---- extremes ---- */

/* NaN is passed over here: no comparison with it holds. */
FOLD(T, largest, LINE, LOWEST, x > all ? x : all, x > all ? x : all)
FOLD(T, smallest, LINE, HIGHEST, x < all ? x : all, x < all ? x : all)

/* But it is larger, and smaller, than all. */
static T with_nan(int64_t n, const T *line, T extreme)
{
#if defined T_IS_F32 || defined T_IS_F64
    int found = 0;
    for (int64_t i = 0; i < n; i++) {
        found |= IS_NAN(line[i]);
    }
    return found ? (T)NAN : extreme;
#else
    (void)n, (void)line;
    return extreme;
#endif
}

void LINES(amax)(int64_t n, const void *x, const void *args, void *y)
{
    (void)args;
    *(T *)y = with_nan(n, x, largest(n, x));
}

void LINES(amin)(int64_t n, const void *x, const void *args, void *y)
{
    (void)args;
    *(T *)y = with_nan(n, x, smallest(n, x));
}

#ifndef T_IS_BOOL
/* The first place of the extreme of a line, which may be NaN. */
static int64_t place_of(T extreme, const T *line)
{
    int64_t i = 0;
    while (line[i] != extreme && !(IS_NAN(extreme) && IS_NAN(line[i]))) {
        i++;
    }
    return i;
}

void LINES(argmax)(int64_t n, const void *x, const void *args, void *y)
{
    (void)args;
    *(int64_t *)y = place_of(with_nan(n, x, largest(n, x)), x);
}

void LINES(argmin)(int64_t n, const void *x, const void *args, void *y)
{
    (void)args;
    *(int64_t *)y = place_of(with_nan(n, x, smallest(n, x)), x);
}
#endif

/* ---- truth ---- */

/* Is there an element that is true, or one that is not? Looks at so many at a time that vectors
 * work, and no further than the first of these. */
static bool has(bool truth, int64_t n, const T *line)
{
    enum { AT_ONCE = 128 };
    bool found = false;
    for (int64_t i = 0; i < n && !found; i += AT_ONCE) {
        const int64_t end = n - i < AT_ONCE ? n : i + AT_ONCE;
        for (int64_t j = i; j < end; j++) {
            found |= (line[j] != 0) == truth;
        }
    }
    return found;
}

void LINES(any)(int64_t n, const void *x, const void *args, void *y)
{
    (void)args;
    *(bool *)y = has(true, n, x);
}

void LINES(all)(int64_t n, const void *x, const void *args, void *y)
{
    (void)args;
    *(bool *)y = !has(false, n, x);
}

/* ---- sums ---- */

FOLD(TOTAL, sum, LINE, 0, all + (TOTAL)x, all + x)

void LINES(sum)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals)
{
    for (int64_t i = 0; i < rows; i++) {
        totals[i].OF_TOTAL += sum(n, (const T *)x + i * step);
    }
}

#ifndef T_IS_BOOL
void LINES(cumsum)(const heed_lines *lines)
{
    for (int64_t i = 0; i < lines->count; i++) {
        const T *x = IN(lines, 0, i);
        T *out = OUT(lines, i);
        TOTAL total = 0;
        for (int64_t j = 0; j < lines->n; j++) {
            total += (TOTAL)x[j];
            out[j] = (T)total;
        }
    }
}
#endif

#if defined T_IS_F32 || defined T_IS_F64
/* ---- distances: in double, so that squares of f32 neither overflow nor vanish ---- */

FOLD(double, sum_of_squares, (int64_t n, const T *line, double at), 0,
     all + ((double)x - at) * ((double)x - at), all + x)
FOLD(double, sum_of_sizes, LINE, 0, all + fabs((double)x), all + x)
FOLD(double, count_of_others, LINE, 0, x != 0 ? all + 1 : all, all + x)
FOLD(double, largest_size, LINE, 0, fabs((double)x) > all ? fabs((double)x) : all,
     x > all ? x : all)
FOLD(double, smallest_size, LINE, (double)INFINITY, fabs((double)x) < all ? fabs((double)x) : all,
     x < all ? x : all)

/* In two passes: first the mean, so that a large one does not swallow what lies around it. */
void LINES(var)(int64_t n, const void *x, const void *args, void *y)
{
    const heed_var_args *a = args;
    const double mean = sum(n, x) / (double)n;
    const double var = sum_of_squares(n, x, mean) / a->divisor;
    *(T *)y = (T)(a->root ? (sqrt)(var) : var);
}

static double sum_of_powers(int64_t n, const T *line, double p)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += (pow)(fabs((double)line[i]), p);
    }
    return total;
}

void LINES(norm)(int64_t n, const void *x, const void *args, void *y)
{
    const double p = ((const heed_norm_args *)args)->p;
    if (isinf(p)) {
        const double size = p > 0 ? largest_size(n, x) : smallest_size(n, x);
        *(T *)y = with_nan(n, x, (T)size);
        return;
    }
    *(T *)y = (T)(n == 0   ? 0
                  : p == 2 ? (sqrt)(sum_of_squares(n, x, 0))
                  : p == 1 ? sum_of_sizes(n, x)
                  : p == 0 ? count_of_others(n, x)
                           : (pow)(sum_of_powers(n, x, p), 1 / p));
}
#endif
