/* What the files of losses share: checks, reductions, and nll_loss as cross_entropy asks for it
 * (internal).
 */
#ifndef HEED_AUTOGRAD_LOSS_PARTS_H
#define HEED_AUTOGRAD_LOSS_PARTS_H

#include "autograd/loss.h"
#include "tensor/core.h"

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

/* heed_nll: nll_loss with label smoothing; weight: NULL is none. */
heed_tensor *heed_nll(heed_tensor *log_probs, heed_tensor *targets, heed_tensor *weight,
                      const heed_nll_args *args);

#endif
