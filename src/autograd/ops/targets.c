/* What the targets of nll_loss and cross_entropy choose among the classes, and the losses of that. */
#include <math.h>

#include "../../tensor/read.h"
#include "../../tensor/thread.h"
#include "ids.h"
#include "loss_parts.h"
#include "shape.h"

/* ---- elements of contiguous floats ---- */

static double element(const heed_tensor *t, int64_t i)
{
    return t->dtype == HEED_F32 ? (double)((const float *)t->data)[i]
                                : ((const double *)t->data)[i];
}

static void set_element(heed_tensor *t, int64_t i, double value)
{
    if (t->dtype == HEED_F32) {
        ((float *)t->data)[i] = (float)value;
    } else {
        ((double *)t->data)[i] = value;
    }
}

/* ---- the choice ---- */

static double weight_of(const heed_choice *c, int64_t class)
{
    return c->weight != NULL ? element(c->weight, class) : 1;
}

/* Checks each target, and adds up the weights of those that count. A mean of weight 0 is NaN. */
static heed_status look_at_targets(heed_choice *c)
{
    double total = 0;
    for (int64_t i = 0; i < c->count; i++) {
        const int64_t t = c->targets[i];
        if (t == c->args->ignore_index) {
            continue;
        }
        if (heed_check_id(c->args->function, "target", t, i, c->classes) != HEED_OK) {
            return heed_self.error;
        }
        total += weight_of(c, t);
    }
    c->divisor = c->args->reduction != HEED_MEAN ? 1 : total != 0 ? total : (double)NAN;
    return HEED_OK;
}

heed_status heed_choose(const heed_nll_args *args, const heed_tensor *x, heed_tensor *targets,
                        heed_tensor *weight, heed_choice *c)
{
    *c = (heed_choice){
        .args = args, .count = targets->numel, .classes = x->shape[heed_class_dim(x)], .inner = 1};
    for (int i = 2; i < x->ndim && c->count > 0; i++) { /* of nothing, d... may be anything */
        c->inner *= x->shape[i];
    }
    c->targets = heed_const_data_i64(heed_contiguous(targets));
    c->weight = weight != NULL ? heed_contiguous(weight) : NULL;
    return heed_blocked() ? heed_self.error : look_at_targets(c);
}

/* The i-th target t, and the classes in [first, end) that count for it. False: it is ignored. */
typedef struct chosen {
    int64_t t, first, end;
} chosen;

static bool chosen_by(const heed_choice *c, int64_t i, chosen *by)
{
    const int64_t t = c->targets[i];
    const bool all = c->args->label_smoothing > 0;
    if (t == c->args->ignore_index) { /* which may be any number */
        return false;
    }
    *by = (chosen){t, all ? 0 : t, all ? c->classes : t + 1};
    return true;
}

static int64_t place_of(const heed_choice *c, int64_t i, int64_t class)
{
    return (i / c->inner * c->classes + class) * c->inner + i % c->inner;
}

/* What a class counts for where the target is t. */
static double weight_chosen(const heed_choice *c, int64_t t, int64_t class)
{
    const double smoothing = c->args->label_smoothing;
    const double shared = smoothing / (double)c->classes + (class == t ? 1 - smoothing : 0);
    return shared * weight_of(c, class);
}

/* ---- what is made of it ---- */

double heed_total_chosen(const heed_choice *c, int64_t i)
{
    double total = 0;
    chosen by;
    if (chosen_by(c, i, &by)) {
        for (int64_t k = by.first; k < by.end; k++) {
            total += weight_chosen(c, by.t, k);
        }
    }
    return total;
}

void heed_subtract_chosen(const heed_choice *c, int64_t i, double factor, heed_tensor *y)
{
    chosen by;
    if (chosen_by(c, i, &by)) {
        for (int64_t k = by.first; k < by.end; k++) {
            const int64_t place = place_of(c, i, k);
            set_element(y, place, element(y, place) - weight_chosen(c, by.t, k) * factor);
        }
    }
}

static double loss_of(const heed_choice *c, const heed_tensor *x, const double *line, int64_t i)
{
    double loss = 0;
    chosen by;
    if (chosen_by(c, i, &by)) {
        const double max = line != NULL ? line[0] : 0, log_total = line != NULL ? log(line[1]) : 0;
        for (int64_t k = by.first; k < by.end; k++) {
            const double log_prob = element(x, place_of(c, i, k)) - max - log_total;
            loss -= weight_chosen(c, by.t, k) * log_prob;
        }
    }
    return loss;
}

void heed_add_up_losses(const heed_choice *c, const heed_tensor *x, const double *lines,
                        heed_tensor *y)
{
    double total = 0;
    for (int64_t i = 0; i < c->count; i++) {
        const double loss = loss_of(c, x, lines != NULL ? lines + 2 * i : NULL, i);
        if (c->args->reduction == HEED_NONE) {
            set_element(y, i, loss);
        }
        total += loss;
    }
    if (c->args->reduction != HEED_NONE) {
        set_element(y, 0, total / c->divisor);
    }
}
