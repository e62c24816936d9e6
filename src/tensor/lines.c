/* Kernels that work line by line: those that map lines (softmax, cumsum) and those that fold one to one
 * element (amax, var, norm). Compiled as kernels.c is. */
#include <math.h>
#include <string.h>

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

/* What a fold does with line[i]. */
#define FOLD_INTO(type, lane, i, f)                                                                \
    {                                                                                              \
        const int64_t place = i;                                                                   \
        const T x = line[place];                                                                   \
        const type all = lane;                                                                     \
        lane = f;                                                                                  \
    }

/* What does not fill all lanes fills eight of them, and the rest is folded by itself. */
#ifdef T_IS_F64
#define FOLD_REST(type, start, f, join)                                                            \
    for (int j = 0; i < n; i++, j++) {                                                             \
        FOLD_INTO(type, lane[j], i, f)                                                             \
    }                                                                                              \
    JOIN(type, join)
#else
#define FOLD_REST(type, start, f, join)                                                            \
    for (; i + 8 <= n; i += 8) {                                                                   \
        for (int j = 0; j < 8; j++) {                                                              \
            FOLD_INTO(type, lane[j], i + j, f)                                                     \
        }                                                                                          \
    }                                                                                              \
    JOIN(type, join)                                                                               \
    type rest = start;                                                                             \
    for (; i < n; i++) {                                                                           \
        FOLD_INTO(type, rest, i, f)                                                                \
    }                                                                                              \
    const type x = rest, all = lane[0];                                                            \
    lane[0] = join;
#endif

/* Defines a function that folds a line, from `start` on, in lanes of their own, so that vectors
 * work: f tells what `all` so far becomes with the element x, `join` what two of them become. Inside of
 * other functions compilers make nothing good of the join. */
#define FOLD(type, name, parameters, start, f, join)                                               \
    static __attribute__((noinline)) type name parameters                                          \
    {                                                                                              \
        enum { LANES = 32 };                                                                       \
        type lane[LANES];                                                                          \
        for (int j = 0; j < LANES; j++) {                                                          \
            lane[j] = start;                                                                       \
        }                                                                                          \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= n; i += LANES) {                                                       \
            for (int j = 0; j < LANES; j++) {                                                      \
                FOLD_INTO(type, lane[j], i + j, f)                                                 \
            }                                                                                      \
        }                                                                                          \
        FOLD_REST(type, start, f, join)                                                            \
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

/* Line i of an operand of lines. */
#define IN(lines, k, i) ((const T *)(lines)->in[k] + (i) * (lines)->step[k])
#define OUT(lines, i)   ((T *)(lines)->out + (i) * (lines)->out_step)

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
/* ---- exponentials ---- */

/* In what is added up here nothing large cancels: a block may be summed in the lanes of its own dtype, and
 * the blocks in double. */
enum { BLOCK = 512 };
#define LEFT(n, i) ((n) - (i) < BLOCK ? (n) - (i) : BLOCK)

FOLD(T, sum_of_block, LINE, 0, all + x, all + x)

static double sum_of_positive(int64_t n, const T *line)
{
    double total = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        total += (double)sum_of_block(LEFT(n, i), line + i);
    }
    return total;
}

static void exps(int64_t n, const T *restrict x, T shift, T *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = exp(x[i] - shift);
    }
}

static double sum_of_exps(int64_t n, const T *line, T shift)
{
    double total = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        T room[BLOCK];
        exps(LEFT(n, i), line + i, shift, room);
        total += sum(LEFT(n, i), room);
    }
    return total;
}

/* Each step waits for the one before, so short lines take a step together, as many as leave room for each other
 * in the first-level cache: the processor works at one while it waits for another. */
enum { GROUP = 8 };
#define FOR_GROUPS(lines, first, group)                                                            \
    for (int64_t first = 0, group; group = group_of(lines, first), first < (lines)->count;         \
         first += group)
static int64_t group_of(const heed_lines *lines, int64_t first)
{
    const int64_t left = lines->count - first, fit = 2048 / (lines->n + 1) + 1;
    const int64_t most = fit < GROUP ? fit : GROUP;
    return left < most ? left : most;
}

static void divide(int64_t n, T total, T *line)
{
    const T inverse = 1 / total;
    for (int64_t i = 0; i < n; i++) {
        const T y =
            line[i] * inverse; /* and one step of Newton's, which is as good as a division */
        line[i] = y + (line[i] - y * total) * inverse;
    }
}

void LINES(softmax)(const heed_lines *lines)
{
    const int64_t n = lines->n;
    FOR_GROUPS(lines, first, group)
    {
        T max[GROUP], total[GROUP];
        for (int64_t i = 0; i < group; i++) {
            max[i] = largest(n, IN(lines, 0, first + i));
        }
        for (int64_t i = 0; i < group; i++) { /* NaN comes back through exp */
            exps(n, IN(lines, 0, first + i), max[i], OUT(lines, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            total[i] = (T)sum_of_positive(n, OUT(lines, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            divide(n, total[i], OUT(lines, first + i));
        }
    }
}

static bool is_blocked(int64_t n, const T *line)
{
    int64_t blocked = 0;
    while (blocked < n && line[blocked] == -(T)INFINITY) {
        blocked++;
    }
    return blocked == n;
}

/* Zeros for a line of nothing but -inf, of which softmax makes NaN. Which these are is looked up first: the
 * lines may be written where they are read. */
void LINES(safe_softmax)(const heed_lines *lines)
{
    enum { AT_ONCE = 64 };
    for (int64_t first = 0; first < lines->count; first += AT_ONCE) {
        const int64_t left = lines->count - first;
        heed_lines some = *lines;
        bool blocked[AT_ONCE];
        some.count = left < AT_ONCE ? left : AT_ONCE;
        some.in[0] = IN(lines, 0, first);
        some.out = OUT(lines, first);
        for (int64_t i = 0; i < some.count; i++) {
            blocked[i] = is_blocked(some.n, IN(&some, 0, i));
        }
        LINES(softmax)(&some);
        for (int64_t i = 0; i < some.count; i++) {
            if (blocked[i]) {
                memset(OUT(&some, i), 0, sizeof(T) * (size_t)some.n);
            }
        }
    }
}

void LINES(log_softmax)(const heed_lines *lines)
{
    const int64_t n = lines->n;
    FOR_GROUPS(lines, first, group)
    {
        T max[GROUP], shift[GROUP];
        for (int64_t i = 0; i < group; i++) {
            max[i] = largest(n, IN(lines, 0, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            shift[i] = log((T)sum_of_exps(n, IN(lines, 0, first + i), max[i]));
        }
        for (int64_t i = 0; i < group; i++) {
            const T *x = IN(lines, 0, first + i);
            T *restrict out = OUT(lines, first + i);
            for (int64_t j = 0; j < n; j++) {
                out[j] = x[j] - max[i] - shift[i];
            }
        }
    }
}

/* Of each line two numbers, in double: its largest x, and the sum of e^(x - that). */
void LINES(exp_totals)(const heed_lines *lines)
{
    double *out = lines->out;
    FOR_GROUPS(lines, first, group)
    {
        T max[GROUP];
        for (int64_t i = 0; i < group; i++) {
            max[i] = largest(lines->n, IN(lines, 0, first + i));
            out[(first + i) * lines->out_step] = (double)max[i];
        }
        for (int64_t i = 0; i < group; i++) {
            out[(first + i) * lines->out_step + 1] =
                sum_of_exps(lines->n, IN(lines, 0, first + i), max[i]);
        }
    }
}

void LINES(scaled_exps)(int64_t n, const void *x, double shift, double scale, void *out)
{
    const T *from = x, by = (T)shift, factor = (T)scale;
    T *restrict to = out;
    for (int64_t i = 0; i < n; i++) {
        to[i] = exp(from[i] - by) * factor;
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

/* ---- their gradients, of g = dL/dy and y ---- */

#define PRODUCTS (int64_t n, const T *line, const T *other)
FOLD(T, sum_of_products_in_block, PRODUCTS, 0, all + x * other[place], all + x)

static double sum_of_products(int64_t n, const T *a, const T *b)
{
    double total = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        total += (double)sum_of_products_in_block(LEFT(n, i), a + i, b + i);
    }
    return total;
}

/* dx = y (g - sum(g y)). Of a line of zeros, which safe_softmax may give, it is 0. */
void LINES(softmax_gradient)(const heed_lines *lines)
{
    const int64_t n = lines->n;
    FOR_GROUPS(lines, first, group)
    {
        T along[GROUP];
        for (int64_t i = 0; i < group; i++) {
            along[i] = (T)sum_of_products(n, IN(lines, 0, first + i), IN(lines, 1, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            const T *g = IN(lines, 0, first + i), *y = IN(lines, 1, first + i);
            T *restrict dx = OUT(lines, first + i);
            for (int64_t j = 0; j < n; j++) {
                dx[j] = y[j] * (g[j] - along[i]);
            }
        }
    }
}

/* dx = g - e^y sum(g) */
void LINES(log_softmax_gradient)(const heed_lines *lines)
{
    const int64_t n = lines->n;
    FOR_GROUPS(lines, first, group)
    {
        T along[GROUP];
        for (int64_t i = 0; i < group; i++) {
            along[i] = (T)sum(n, IN(lines, 0, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            const T *g = IN(lines, 0, first + i), *y = IN(lines, 1, first + i);
            T *restrict dx = OUT(lines, first + i);
            for (int64_t j = 0; j < n; j++) {
                dx[j] = g[j] - exp(y[j]) * along[i];
            }
        }
    }
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
