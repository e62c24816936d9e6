/* Kernels that take one line of elements at a time: those that map it (softmax, cumsum) and those
 * that fold it to one element (amax, var, norm). Compiled as kernels.c is. */
#include <math.h>

#include "tensor/kernels_dtype.h"

#ifdef T_IS_F32
#define exp(x) expf(x)
#define log(x) logf(x)
#endif

#if defined T_IS_F32 || defined T_IS_F64
#define IS_NAN(x) ((x) != (x))
#else
#define IS_NAN(x) false
#endif

/* Defines a function that folds a line, from `start` on, in lanes of their own, so that vectors
 * work: f tells what `all` so far becomes with the element x, `join` what two of them become.
 * `at` is at hand for f to measure from. */
#define FOLD(name, type, start, f, join)                                                           \
    static type name(int64_t n, const T *line, double at)                                          \
    {                                                                                              \
        enum { LANES = 16 };                                                                       \
        type lane[LANES];                                                                          \
        (void)at;                                                                                  \
        for (int j = 0; j < LANES; j++) {                                                          \
            lane[j] = start;                                                                       \
        }                                                                                          \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= n; i += LANES) {                                                       \
            for (int j = 0; j < LANES; j++) {                                                      \
                const T x = line[i + j];                                                           \
                const type all = lane[j];                                                          \
                lane[j] = f;                                                                       \
            }                                                                                      \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            const T x = line[i];                                                                   \
            const type all = lane[0];                                                              \
            lane[0] = f;                                                                           \
        }                                                                                          \
        for (int j = 1; j < LANES; j++) {                                                          \
            const type x = lane[j];                                                                \
            const type all = lane[0];                                                              \
            lane[0] = join;                                                                        \
        }                                                                                          \
        return lane[0];                                                                            \
    }

/* ---- extremes: NaN is larger and smaller than all ---- */

#define LARGER  (x <= all || IS_NAN(all) ? all : x)
#define SMALLER (x >= all || IS_NAN(all) ? all : x)
FOLD(largest, T, line[0], LARGER, LARGER)
FOLD(smallest, T, line[0], SMALLER, SMALLER)

void LINES(amax)(int64_t n, const void *x, const void *args, void *y)
{
    (void)args;
    *(T *)y = largest(n, x, 0);
}

void LINES(amin)(int64_t n, const void *x, const void *args, void *y)
{
    (void)args;
    *(T *)y = smallest(n, x, 0);
}

#ifndef T_IS_BOOL
/* The first place of a value, which is there; NaN is found as well. */
static int64_t place_of(T value, const T *line)
{
    int64_t i = 0;
    while (line[i] != value && !(IS_NAN(line[i]) && IS_NAN(value))) {
        i++;
    }
    return i;
}

void LINES(argmax)(int64_t n, const void *x, const void *args, void *y)
{
    (void)args;
    *(int64_t *)y = place_of(largest(n, x, 0), x);
}

void LINES(argmin)(int64_t n, const void *x, const void *args, void *y)
{
    (void)args;
    *(int64_t *)y = place_of(smallest(n, x, 0), x);
}
#endif

/* ---- truth ---- */

void LINES(any)(int64_t n, const void *x, const void *args, void *y)
{
    const T *line = x;
    bool found = false;
    (void)args;
    for (int64_t i = 0; i < n && !found; i++) {
        found = line[i] != 0;
    }
    *(bool *)y = found;
}

void LINES(all)(int64_t n, const void *x, const void *args, void *y)
{
    const T *line = x;
    bool missed = false;
    (void)args;
    for (int64_t i = 0; i < n && !missed; i++) {
        missed = line[i] == 0;
    }
    *(bool *)y = !missed;
}

/* ---- sums on the way ---- */

#ifndef T_IS_BOOL
void LINES(cumsum)(int64_t n, const void *x, void *out)
{
    const T *from = x;
    T *to = out;
    TOTAL total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += (TOTAL)from[i];
        to[i] = (T)total;
    }
}
#endif

#if defined T_IS_F32 || defined T_IS_F64
/* ---- exponentials ---- */

/* The largest element. NaN is passed over here: it comes back through exp, and spreads over the
 * line as in torch. */
static T largest_number(int64_t n, const T *x)
{
    T max = -(T)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        max = x[i] > max ? x[i] : max;
    }
    return max;
}

void LINES(softmax)(int64_t n, const void *x, void *out)
{
    const T *from = x;
    T *to = out;
    const T max = largest_number(n, from);
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        to[i] = exp(from[i] - max);
        total += (double)to[i];
    }
    for (int64_t i = 0; i < n; i++) {
        to[i] /= (T)total;
    }
}

void LINES(log_softmax)(int64_t n, const void *x, void *out)
{
    const T *from = x;
    T *to = out;
    const T max = largest_number(n, from);
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += (double)exp(from[i] - max);
    }
    const T shift = log((T)total);
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i] - max - shift;
    }
}

void LINES(logsumexp)(int64_t n, const void *x, const void *args, void *y)
{
    const T *line = x;
    const T max = largest_number(n, line);
    const T shift = isinf(max) ? 0 : max; /* inf - inf would be NaN */
    double total = 0;
    (void)args;
    for (int64_t i = 0; i < n; i++) {
        total += (double)exp(line[i] - shift);
    }
    *(T *)y = (T)((log)(total) + (double)shift);
}

/* ---- distances: in double, so that squares of f32 neither overflow nor vanish ---- */

FOLD(sum, double, 0, all + (double)x, all + x)
FOLD(sum_of_squares, double, 0, all + ((double)x - at) * ((double)x - at), all + x)
FOLD(sum_of_sizes, double, 0, all + fabs((double)x), all + x)
FOLD(count_of_others, double, 0, x != 0 ? all + 1 : all, all + x)
#define SIZE fabs((double)x)
FOLD(largest_size, double, fabs((double)line[0]), SIZE <= all || IS_NAN(all) ? all : SIZE, LARGER)
FOLD(smallest_size, double, fabs((double)line[0]), SIZE >= all || IS_NAN(all) ? all : SIZE, SMALLER)

/* In two passes: first the mean, so that a large one does not swallow what lies around it. */
void LINES(var)(int64_t n, const void *x, const void *args, void *y)
{
    const heed_var_args *a = args;
    const double mean = sum(n, x, 0) / (double)n;
    const double var = sum_of_squares(n, x, mean) / a->divisor;
    *(T *)y = (T)(a->root ? (sqrt)(var) : var);
}

static double norm_of_power(int64_t n, const T *line, double p)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += (pow)(fabs((double)line[i]), p);
    }
    return (pow)(total, 1 / p);
}

void LINES(norm)(int64_t n, const void *x, const void *args, void *y)
{
    const double p = ((const heed_norm_args *)args)->p;
    *(T *)y = (T)(n == 0                   ? 0
                  : p == 2                 ? (sqrt)(sum_of_squares(n, x, 0))
                  : p == 1                 ? sum_of_sizes(n, x, 0)
                  : p == 0                 ? count_of_others(n, x, 0)
                  : p == (double)INFINITY  ? largest_size(n, x, 0)
                  : p == -(double)INFINITY ? smallest_size(n, x, 0)
                                           : norm_of_power(n, x, p));
}
#endif
