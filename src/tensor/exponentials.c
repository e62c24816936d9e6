/* Kernels of lines whose exponentials are taken: the softmaxes, their gradients and logsumexp. Floats only; compiled
 * as kernels.c is. */
#include <math.h>

#include "tensor/folds.h"
#include "tensor/kernels_math.h"

#ifdef T_IS_F32
#define exp(x) exp_f32(x)
#define log(x) log_f32(x)
#endif

FOLD(T, largest, LINE, -(T)INFINITY, x > all ? x : all, x > all ? x : all)
FOLD(double, sum, LINE, 0, all + (double)x, all + x)
#ifdef T_IS_F64
#define sum_of_positive sum
#else
SUM_OF(sum_of_positive, LINE, READ_X, x)
#endif

/* out may be x. */
static void exps(int64_t n, const T *x, T shift, T *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = exp(x[i] - shift);
    }
}

static double sum_of_exps(int64_t n, const T *line, T shift)
{
    double total = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t part = n - i < BLOCK ? n - i : BLOCK;
        T room[BLOCK];
        exps(part, line + i, shift, room);
        total += sum(part, room);
    }
    return total;
}

/* A step after the other for groups of short lines. */
#define FOR_GROUPS(lines, first, group)                                                            \
    for (int64_t first = 0, group;                                                                 \
         group = group_of((lines)->n, (lines)->count - first), first < (lines)->count;             \
         first += group)

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

SUM_OF(sum_of_products, (int64_t n, const T *line, const T *other), READ_XY, x *y)

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
