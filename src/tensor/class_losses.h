/* Losses of class ids and their gradients on memory, for nll_loss and cross_entropy (internal).
 *
 * A target t puts a weight on each class: w_t on t and 0 on the others; with label smoothing s,
 * (1 - s) w_t on t, and s / C w_c on each class c in addition. Its loss is minus the sum of these
 * weights times the log-probabilities. An ignored target weighs nothing.
 */
#ifndef HEED_TENSOR_CLASS_LOSSES_H
#define HEED_TENSOR_CLASS_LOSSES_H

#include "tensor.h"

/* Targets of x (N, C, d...), whose classes lie `inner` elements apart, the product of d...; (C) is
 * a single row. */
typedef struct heed_class_targets {
    const int64_t *target; /* `count` of them, all in [0, C) or ignored */
    int64_t count, classes, inner, ignored;
    const heed_tensor *weight; /* (C), contiguous; NULL: ones */
    double smoothing;
    double divisor; /* of losses that are added up, and of gradients: for a mean, else 1 */
} heed_class_targets;

/* heed_weigh_targets: the sum of w_t over the targets that count. */
double heed_weigh_targets(const heed_class_targets *c);

/* heed_add_up_class_losses: y () = the sum of all losses, over the divisor; where y has the
 * targets' shape (is_each) each loss for itself. x is contiguous: log-probabilities, or with
 * `totals` of its rows logits. */
void heed_add_up_class_losses(const heed_class_targets *c, const heed_tensor *x,
                              const double *totals, bool is_each, heed_tensor *y);

/* heed_subtract_class_weights: y (N, C, d...) -= the weights of the classes, over the divisor. */
void heed_subtract_class_weights(const heed_class_targets *c, heed_tensor *y);

/* heed_sum_exponentials: totals (N, 2): of each row of x (N, C), contiguous, max and the sum of
 * e^(x - max).
 * heed_cross_entropy_gradient: dx (N, C) = (sum of weights softmax(x) - weights) g / divisor; g (N)
 * or (), contiguous. */
void heed_sum_exponentials(const heed_tensor *x, double *totals);
void heed_cross_entropy_gradient(const heed_class_targets *c, const heed_tensor *x,
                                 const double *totals, const heed_tensor *g, heed_tensor *dx);

#endif
