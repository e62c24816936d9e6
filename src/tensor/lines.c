/* Kernels that take one line of elements at a time: those that map it (softmax, cumsum) and those
 * that fold it to one element (amax, var, norm). Compiled as kernels.c is. */
#include <math.h>

#include "tensor/kernels_dtype.h"
#include "tensor/kernels_math.h"

#ifdef T_IS_F32
#define exp(x) exp_f32(x)
#define log(x) log_f32(x)
#endif

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

/* What all lanes become. By halves vectors work, which short lines want; f64 takes them in order, because
 * lessons print its sums to the last digit. */
#define JOIN_TO(type, count, first, join)                                                          \
    for (int j = 0; j < (count); j++) {                                                            \
        const type x = lane[(first) + j];                                                          \
        const type all = lane[j];                                                                  \
        lane[j] = join;                                                                            \
    }
#ifdef T_IS_F64
#define JOIN(type, join)                                                                           \
    for (int next = 1; next < LANES; next++) {                                                     \
        JOIN_TO(type, 1, next, join)                                                               \
    }
#else
#define JOIN(type, join)                                                                           \
    JOIN_TO(type, LANES / 2, LANES / 2, join)                                                      \
    JOIN_TO(type, LANES / 4, LANES / 4, join)                                                      \
    JOIN_TO(type, LANES / 8, LANES / 8, join)                                                      \
    JOIN_TO(type, LANES / 16, LANES / 16, join)                                                    \
    JOIN_TO(type, LANES / 32, LANES / 32, join)
#endif

/* Defines a function that folds a line, from `start` on, in lanes of their own, so that vectors
 * work: f tells what `all` so far becomes with the element x, `join` what two of them become. */
#define FOLD(type, name, parameters, start, f, join)                                               \
    static type name parameters                                                                    \
    {                                                                                              \
        enum { LANES = 32 };                                                                       \
        type lane[LANES];                                                                          \
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
        for (int j = 0; i < n; i++, j++) {                                                         \
            const T x = line[i];                                                                   \
            const type all = lane[j];                                                              \
            lane[j] = f;                                                                           \
        }                                                                                          \
        JOIN(type, join)                                                                           \
        return lane[0];                                                                            \
    }

#define LINE (int64_t n, const T *line)

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
    enum { BLOCK = 128 };
    bool found = false;
    for (int64_t i = 0; i < n && !found; i += BLOCK) {
        const int64_t end = n - i < BLOCK ? n : i + BLOCK;
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

void LINES(sum)(int64_t n, const void *x, heed_total *total)
{
    total->OF_TOTAL += sum(n, x);
}

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

FOLD(double, sum_of_exps, (int64_t n, const T *line, T shift), 0, all + (double)exp(x - shift),
     all + x)

void LINES(softmax)(int64_t n, const void *x, void *out)
{
    const T *from = x;
    T *to = out;
    const T max = largest(n, from); /* NaN comes back through exp */
    for (int64_t i = 0; i < n; i++) {
        to[i] = exp(from[i] - max);
    }
    const T total = (T)sum(n, to), inverse = 1 / total;
    for (int64_t i = 0; i < n; i++) {
        const T y = to[i] * inverse; /* and one step of Newton's, which is as good as a division */
        to[i] = y + (to[i] - y * total) * inverse;
    }
}

/* Zeros for a line of nothing but -inf. */
void LINES(safe_softmax)(int64_t n, const void *x, void *out)
{
    const T *from = x;
    T *to = out;
    int64_t blocked = 0;
    while (blocked < n && from[blocked] == -(T)INFINITY) {
        blocked++;
    }
    if (blocked < n) {
        LINES(softmax)(n, x, out);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        to[i] = 0;
    }
}

void LINES(log_softmax)(int64_t n, const void *x, void *out)
{
    const T *from = x;
    T *to = out;
    const T max = largest(n, from);
    const T shift = log((T)sum_of_exps(n, from, max));
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i] - max - shift;
    }
}

void LINES(logsumexp)(int64_t n, const void *x, const void *args, void *y)
{
    const T *line = x;
    const T max = largest(n, line);
    const T shift = isinf(max) ? 0 : max; /* inf - inf would be NaN */
    (void)args;
    *(T *)y = (T)((log)(sum_of_exps(n, line, shift)) + (double)shift);
}

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
