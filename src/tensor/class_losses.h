/* Losses for class ids and their gradients, on raw elements, for nll_loss and cross_entropy
 * (internal).
 *
 * A target t gives each class a weight: w_t to t and 0 to the others. With label smoothing s, it
 * gives (1 - s) w_t to t, plus (s / C) w_c to each class c. The loss of a target is minus the
 * weighted sum of the log-probabilities. Ignored targets have weight 0.
 */
#ifndef HEED_TENSOR_CLASS_LOSSES_H
#define HEED_TENSOR_CLASS_LOSSES_H

#include "tensor.h"

/* Targets for x (N, C, d...). Neighbouring classes are `inner` elements apart; `inner` is the
 * product of d... An x of shape (C) is a single row. */
typedef struct heed_class_targets {
    const int64_t *target; /* `count` of them, each in [0, C) or equal to `ignored` */
    int64_t count, classes, inner, ignored;
    const heed_tensor *weight; /* (C), contiguous; NULL: all ones */
    double smoothing;
    double divisor; /* divides summed losses and gradients; 1 unless the reduction is a mean */
} heed_class_targets;

/* heed_weigh_targets: the sum of w_t over targets that are not ignored. */
double heed_weigh_targets(const heed_class_targets *c);

/* heed_add_up_class_losses: y () = the sum of all losses / divisor; with is_each, y has the shape
 * of the targets and receives the individual losses. x is contiguous: log-probabilities, or logits
 * if the `totals` of its rows are given. */
void heed_add_up_class_losses(const heed_class_targets *c, const heed_tensor *x,
                              const double *totals, bool is_each, heed_tensor *y);

/* heed_subtract_class_weights: y (N, C, d...) -= class weights / divisor. */
void heed_subtract_class_weights(const heed_class_targets *c, heed_tensor *y);

/* heed_sum_exponentials: totals (N, 2) = the maximum and the sum of e^(x - max) of each row of x
 * (N, C); x is contiguous.
 * heed_cross_entropy_gradient: dx (N, C) = (sum(weights) softmax(x) - weights) g / divisor; g is
 * contiguous and has shape (N) or (). */
void heed_sum_exponentials(const heed_tensor *x, double *totals);
void heed_cross_entropy_gradient(const heed_class_targets *c, const heed_tensor *x,
                                 const double *totals, const heed_tensor *g, heed_tensor *dx);

#endif
