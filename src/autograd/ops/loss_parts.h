/* What the files of losses share: checks, reductions, and nll_loss as cross_entropy asks for it
 * (internal).
 */
#ifndef HEED_AUTOGRAD_LOSS_PARTS_H
#define HEED_AUTOGRAD_LOSS_PARTS_H

#include "../../tensor/tensor.h"
#include "loss.h"

/* ---- reductions (loss.c) ---- */

/* heed_check_reduction: MEAN, SUM or NONE. */
heed_status heed_check_reduction(const char *function, heed_reduction reduction);

/* heed_reduce_losses: the losses of all elements, made into what was asked for. */
heed_tensor *heed_reduce_losses(heed_tensor *losses, heed_reduction reduction);

/* ---- classes (nll.c) ---- */

/* The dim of x (C), (N, C) or (N, C, d...) in which the classes lie. */
static inline int heed_class_dim(const heed_tensor *x)
{
    return x->ndim > 1;
}

/* heed_check_weight: one number for each class of x, in x's dtype; NULL is none. */
heed_status heed_check_weight(const char *function, const heed_tensor *weight,
                              const heed_tensor *x);

/* The target that an option names, or torch's default for ignore_index. */
static inline int64_t heed_ignored_or_default(const int64_t *ignored_target)
{
    return ignored_target != NULL ? *ignored_target : -100;
}

/* The arguments of nll_loss that are no tensors. */
typedef struct heed_nll_args {
    int64_t ignore_index;
    double label_smoothing;
    const char *function; /* who asks, for the messages */
    heed_reduction reduction;
} heed_nll_args;

/* heed_check_nll: do dtypes and shapes of the three (weight: or NULL) fit each other? */
heed_status heed_check_nll(const heed_nll_args *args, const heed_tensor *log_probs,
                           const heed_tensor *targets, const heed_tensor *weight);

/* heed_shape_of_losses: that of nll_loss's result. */
heed_shape heed_shape_of_losses(const heed_nll_args *args, const heed_tensor *targets);

/* heed_nll: nll_loss with label smoothing; weight: NULL is none. */
heed_tensor *heed_nll(heed_tensor *log_probs, heed_tensor *targets, heed_tensor *weight,
                      const heed_nll_args *args);

/* heed_nll_gradient: that of nll_loss by log_probs, g = dL/dloss times nll_weights; of log_probs it reads the
 * shape. */
heed_tensor *heed_nll_gradient(heed_tensor *g, heed_tensor *log_probs, heed_tensor *targets,
                               heed_tensor *weight, const heed_nll_args *args);

/* ---- what targets choose (targets.c) ---- */

/* In x (N, C, d...) the classes lie `inner` apart, the product of d...; (C) is one line. */
typedef struct heed_choice {
    const heed_nll_args *args;
    int64_t count, classes, inner;
    const int64_t *targets;    /* `count` of them, all in [0, C) or ignored */
    const heed_tensor *weight; /* contiguous, or NULL: ones */
    double divisor;            /* of the mean; else 1 */
} heed_choice;

/* heed_choose: looks at targets and weight, which have been checked by heed_check_nll.
 * HEED_ERR_INDEX: a target that is no class. */
heed_status heed_choose(const heed_nll_args *args, const heed_tensor *x, heed_tensor *targets,
                        heed_tensor *weight, heed_choice *c);

/* heed_total_chosen: what all classes together count for in the i-th loss; 0 if it is ignored.
 * heed_subtract_chosen: y -= what each class counts for in the i-th loss, times factor; y (N, C, d...). */
double heed_total_chosen(const heed_choice *c, int64_t i);
void heed_subtract_chosen(const heed_choice *c, int64_t i, double factor, heed_tensor *y);

/* heed_add_up_losses: y = the losses of log_probs x, reduced. With `lines`, two numbers for each target, max and
 * total, log_probs are x - max - log(total). */
void heed_add_up_losses(const heed_choice *c, const heed_tensor *x, const double *lines,
                        heed_tensor *y);

#endif
