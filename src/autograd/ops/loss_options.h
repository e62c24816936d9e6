/* What losses share: arguments of class losses, reductions, and the beginning and end of
 * elementwise losses (internal). */
#ifndef HEED_AUTOGRAD_LOSS_OPTIONS_H
#define HEED_AUTOGRAD_LOSS_OPTIONS_H

#include "../../tensor/scope.h"
#include "reductions.h"

/* The non-tensor arguments of nll_loss, nll_weights and cross_entropy. */
typedef struct heed_nll_args {
    int64_t ignore_index;
    double label_smoothing;
    heed_reduction reduction;
} heed_nll_args;
#define HEED_NLL_ARGS "int64 ignore_index, double label_smoothing, reduction reduction"

/* heed_check_reduction: accepts HEED_MEAN, HEED_SUM and HEED_NONE. */
static inline heed_status heed_check_reduction(const char *function, heed_reduction reduction)
{
    if (reduction == HEED_BATCHMEAN) {
        return heed_fail(
            HEED_ERR_VALUE,
            "%s: HEED_BATCHMEAN is only for kl_div; use HEED_MEAN, HEED_SUM or HEED_NONE",
            function);
    }
    if ((unsigned)reduction > HEED_BATCHMEAN) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: reduction is %d; use HEED_MEAN, HEED_SUM or HEED_NONE", function,
                         (int)reduction);
    }
    return HEED_OK;
}

/* heed_reduce_losses: reduces elementwise losses; the reduction has been checked. */
static inline heed_tensor *heed_reduce_losses(heed_tensor *losses, heed_reduction reduction)
{
    return reduction == HEED_MEAN   ? heed_mean(losses)
           : reduction == HEED_NONE ? losses
                                    : heed_sum(losses);
}

/* heed_check_loss_weight: `weight`, the argument of this name, broadcasts to `input` or has its
 * shape, and promotes with dtype. NULL is accepted. */
heed_status heed_check_loss_weight(const char *function, const char *argument,
                                   const heed_tensor *weight, const heed_tensor *input,
                                   heed_dtype dtype, bool broadcasts);

/* heed_begin_loss: checks the arguments, casts input and target to one dtype, and opens a scope for
 * intermediate results. Returns false on error, without opening a scope.
 * heed_end_loss: the elementwise losses times weight (NULL: 1), reduced; ends the scope. */
bool heed_begin_loss(const char *function, heed_tensor **input, heed_tensor **target,
                     const heed_tensor *weight, bool broadcasts, heed_reduction reduction,
                     heed_scope *scope);
heed_tensor *heed_end_loss(heed_scope *scope, heed_tensor *losses, heed_tensor *weight,
                           heed_reduction reduction);

#endif
