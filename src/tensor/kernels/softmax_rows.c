/* The softmax family, on rows of n floats:
 *
 *   softmax        y = e^(x - max) / sum(e^(x - max))     dx = y (g - sum(g y))
 *   safe_softmax   the same, but zeros for a row that is all -inf
 *   log_softmax    y = x - max - ln sum(e^(x - max))      dx = g - e^y sum(g)
 *   logsumexp      y = ln sum(e^x)
 *
 * The maximum ignores NaN; exp propagates it. */
#include "softmax_rows.h"

/* out = exp(x - shift); out may be x. */
static void exps(int64_t n, const T *x, T shift, T *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = exp(x[i] - shift);
    }
}

static double sum_of_exps(int64_t n, const T *row, T shift)
{
    double total = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t part = n - i < BLOCK ? n - i : BLOCK;
        T exponentials[BLOCK];
        weights(part, row + i, shift, exponentials);
        total += sum_of_row(part, exponentials);
    }
    return total;
}

/* Loops over groups of rows, to apply each step to a whole group. */
#define FOR_GROUPS(rows, first, group)                                                             \
    for (int64_t first = 0, group;                                                                 \
         group = group_of((rows)->n, (rows)->count - first), first < (rows)->count;                \
         first += group)

void KERNEL(softmax)(const heed_rows *rows)
{
    const int64_t n = rows->n;
    FOR_GROUPS(rows, first, group)
    {
        T max[GROUP], total[GROUP];
        for (int64_t i = 0; i < group; i++) {
            max[i] = largest(n, IN(rows, 0, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            exps(n, IN(rows, 0, first + i), max[i], OUT(rows, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            total[i] = (T)sum_of_positive(n, OUT(rows, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            divide(n, OUT(rows, first + i), total[i]);
        }
    }
}

void KERNEL(safe_softmax)(const heed_rows *rows)
{
    KERNEL(softmax)(rows);
    for (int64_t i = 0; i < rows->count; i++) {
        const T *x = IN(rows, 0, i);
        int64_t blocked = 0;
        while (blocked < rows->n && x[blocked] == -(T)INFINITY) {
            blocked++;
        }
        if (blocked == rows->n) {
            memset(OUT(rows, i), 0, sizeof(T) * (size_t)blocked);
        }
    }
}

void KERNEL(log_softmax)(const heed_rows *rows)
{
    const int64_t n = rows->n;
    FOR_GROUPS(rows, first, group)
    {
        T max[GROUP], shift[GROUP];
        for (int64_t i = 0; i < group; i++) {
            max[i] = largest(n, IN(rows, 0, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            shift[i] = log((T)sum_of_exps(n, IN(rows, 0, first + i), max[i]));
        }
        for (int64_t i = 0; i < group; i++) {
            const T *x = IN(rows, 0, first + i);
            T *restrict out = OUT(rows, first + i);
            for (int64_t j = 0; j < n; j++) {
                out[j] = x[j] - max[i] - shift[i];
            }
        }
    }
}

/* Two doubles per row: its maximum, and the sum of e^(x - max). */
void KERNEL(exp_totals)(const heed_rows *rows)
{
    double *out = rows->out;
    FOR_GROUPS(rows, first, group)
    {
        T max[GROUP];
        for (int64_t i = 0; i < group; i++) {
            max[i] = largest(rows->n, IN(rows, 0, first + i));
            out[(first + i) * rows->out_step] = (double)max[i];
        }
        for (int64_t i = 0; i < group; i++) {
            out[(first + i) * rows->out_step + 1] =
                sum_of_exps(rows->n, IN(rows, 0, first + i), max[i]);
        }
    }
}

void KERNEL(scaled_exps)(int64_t n, const void *x, double shift, double scale, void *out)
{
    const T *from = x, by = (T)shift, factor = (T)scale;
    T *restrict to = out;
    for (int64_t i = 0; i < n; i++) {
        to[i] = exp(from[i] - by) * factor;
    }
}

void KERNEL(logsumexp)(int64_t n, const void *x, const void *args, void *y)
{
    const T *row = x;
    const T max = largest(n, row);
    const T shift = isinf(max) ? 0 : max; /* inf - inf would be NaN */
    (void)args;
    *(T *)y = (T)((log)(sum_of_exps(n, row, shift)) + (double)shift);
}

/* ---- gradients, from g and y ---- */

void KERNEL(softmax_gradient)(const heed_rows *rows)
{
    const int64_t n = rows->n;
    FOR_GROUPS(rows, first, group)
    {
        T along[GROUP];
        for (int64_t i = 0; i < group; i++) {
            along[i] = (T)sum_of_products(n, IN(rows, 0, first + i), IN(rows, 1, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            const T *g = IN(rows, 0, first + i), *y = IN(rows, 1, first + i);
            T *restrict dx = OUT(rows, first + i);
            for (int64_t j = 0; j < n; j++) {
                dx[j] = y[j] * (g[j] - along[i]);
            }
        }
    }
}

void KERNEL(log_softmax_gradient)(const heed_rows *rows)
{
    const int64_t n = rows->n;
    FOR_GROUPS(rows, first, group)
    {
        T along[GROUP];
        for (int64_t i = 0; i < group; i++) {
            along[i] = (T)sum_of_row(n, IN(rows, 0, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            const T *g = IN(rows, 0, first + i), *y = IN(rows, 1, first + i);
            T *restrict dx = OUT(rows, first + i);
            for (int64_t j = 0; j < n; j++) {
                dx[j] = g[j] - exp(y[j]) * along[i];
            }
        }
    }
}
