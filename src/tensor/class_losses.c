/* The arithmetic of cross_entropy and nll_loss for class ids. Targets are processed one by one;
 * rows of logits are processed on several threads. */

#include "class_losses.h"

#include <math.h>

#include "grain.h"
#include "handle.h"
#include "parallel_rows.h"

/* ---- class weights ---- */

static double own_weight(const heed_class_targets *c, int64_t class)
{
    return c->weight != NULL ? heed_number_at(c->weight, class) : 1;
}

double heed_weigh_targets(const heed_class_targets *c)
{
    double total = 0;
    for (int64_t i = 0; i < c->count; i++) {
        total += c->target[i] != c->ignored ? own_weight(c, c->target[i]) : 0;
    }
    return total;
}

/* The i-th target, and the range [first, end) of the classes to which it gives weight; the range is
 * empty if the target is ignored. */
typedef struct weighted {
    int64_t target, first, end;
} weighted;

static weighted weighted_by(const heed_class_targets *c, int64_t i)
{
    const int64_t t = c->target[i];
    if (t == c->ignored) { /* `ignored` may be out of range */
        return (weighted){0};
    }
    return c->smoothing > 0 ? (weighted){t, 0, c->classes} : (weighted){t, t, t + 1};
}

static double weight_on(const heed_class_targets *c, int64_t target, int64_t class)
{
    const double shared = c->smoothing / (double)c->classes;
    return (shared + (class == target ? 1 - c->smoothing : 0)) * own_weight(c, class);
}

static int64_t place_of(const heed_class_targets *c, int64_t i, int64_t class)
{
    return (i / c->inner * c->classes + class) * c->inner + i % c->inner;
}

static void subtract_weights(const heed_class_targets *c, int64_t i, double factor, heed_tensor *y)
{
    const weighted on = weighted_by(c, i);
    for (int64_t k = on.first; k < on.end; k++) {
        const int64_t place = place_of(c, i, k);
        heed_set_number_at(y, place,
                           heed_number_at(y, place) - weight_on(c, on.target, k) * factor);
    }
}

void heed_subtract_class_weights(const heed_class_targets *c, heed_tensor *y)
{
    for (int64_t i = 0; i < c->count; i++) {
        subtract_weights(c, i, 1 / c->divisor, y);
    }
}

/* ---- losses ---- */

static double loss_of(const heed_class_targets *c, const heed_tensor *x, const double *total,
                      int64_t i)
{
    const weighted on = weighted_by(c, i);
    const bool is_log_prob = total == NULL || on.first == on.end;
    const double max = is_log_prob ? 0 : total[0], log_total = is_log_prob ? 0 : log(total[1]);
    double loss = 0;
    for (int64_t k = on.first; k < on.end; k++) {
        const double log_prob = heed_number_at(x, place_of(c, i, k)) - max - log_total;
        loss -= weight_on(c, on.target, k) * log_prob;
    }
    return loss;
}

void heed_add_up_class_losses(const heed_class_targets *c, const heed_tensor *x,
                              const double *totals, bool is_each, heed_tensor *y)
{
    double total = 0;
    for (int64_t i = 0; i < c->count; i++) {
        const double loss = loss_of(c, x, totals != NULL ? totals + 2 * i : NULL, i);
        if (is_each) {
            heed_set_number_at(y, i, loss);
        }
        total += loss;
    }
    if (!is_each) {
        heed_set_number_at(y, 0, total / c->divisor);
    }
}

/* ---- rows of logits ---- */

typedef struct logits {
    const heed_class_targets *c;
    const heed_kernels *kernels;
    const heed_tensor *x, *g;
    int64_t n; /* elements per row */
    double *totals;
    heed_tensor *dx;
} logits;

static char *row_of(const heed_tensor *t, int64_t n, int64_t i)
{
    return (char *)t->data + i * n * (int64_t)heed_dtype_size(t->dtype);
}

static void sum_some(void *context, int64_t first, int64_t end)
{
    const logits *w = context;
    const heed_rows rows = {.count = end - first,
                            .n = w->n,
                            .in = {row_of(w->x, w->n, first)},
                            .step = {w->n},
                            .out = w->totals + 2 * first,
                            .out_step = 2};
    w->kernels->exp_totals(&rows);
}

void heed_sum_exponentials(const heed_tensor *x, double *totals)
{
    const int64_t n = x->shape[x->ndim - 1];
    logits w = {.kernels = heed_kernels_for(x->dtype), .x = x, .n = n, .totals = totals};
    heed_share_rows(x->ndim > 1 ? x->shape[0] : 1, n, HEED_GRAIN_OF_ROWS, sum_some, &w);
}

static void differentiate_some(void *context, int64_t first, int64_t end)
{
    const logits *w = context;
    for (int64_t i = first; i < end; i++) {
        const double *total = w->totals + 2 * i;
        const weighted on = weighted_by(w->c, i);
        double weights = 0; /* total weight that the target gives to all classes */
        for (int64_t k = on.first; k < on.end; k++) {
            weights += weight_on(w->c, on.target, k);
        }
        const bool is_ignored =
            w->c->target[i] == w->c->ignored; /* dx is then 0, even if g is NaN */
        const double g = heed_number_at(w->g, w->g->numel > 1 ? i : 0);
        const double factor = is_ignored ? 0 : g / w->c->divisor;
        w->kernels->scaled_exps(w->n, row_of(w->x, w->n, i), total[0], weights * factor / total[1],
                                row_of(w->dx, w->n, i));
        subtract_weights(w->c, i, factor, w->dx);
    }
}

void heed_cross_entropy_gradient(const heed_class_targets *c, const heed_tensor *x,
                                 const double *totals, const heed_tensor *g, heed_tensor *dx)
{
    logits w = {c, heed_kernels_for(x->dtype), x, g, c->classes, (double *)totals, dx};
    heed_share_rows(c->count, w.n, HEED_GRAIN_OF_ROWS, differentiate_some, &w);
}
