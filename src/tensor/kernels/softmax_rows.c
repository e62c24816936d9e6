/* Kernels of lines whose exponentials are taken: the softmaxes, their gradients and logsumexp. Floats only; compiled
 * as kernels.c is. */
#include <math.h>

#include "softmax_rows.h"

FOLD(double, sum, LINE, 0, all + (double)x, all + x)

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
            divide(n, OUT(lines, first + i), total[i]);
        }
    }
}

/* Zeros for a line of nothing but -inf, of which softmax makes NaN. */
void LINES(safe_softmax)(const heed_lines *lines)
{
    LINES(softmax)(lines);
    for (int64_t i = 0; i < lines->count; i++) {
        const T *x = IN(lines, 0, i);
        int64_t blocked = 0;
        while (blocked < lines->n && x[blocked] == -(T)INFINITY) {
            blocked++;
        }
        if (blocked == lines->n) {
            memset(OUT(lines, i), 0, sizeof(T) * (size_t)blocked);
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
