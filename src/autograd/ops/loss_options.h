/* Options shared by losses: the reduction, and the arguments of class losses (internal). */
#ifndef HEED_AUTOGRAD_LOSS_OPTIONS_H
#define HEED_AUTOGRAD_LOSS_OPTIONS_H

#include "../../tensor/check.h"
#include "reductions.h"

/* The non-tensor arguments of nll_loss, nll_weights and cross_entropy. */
typedef struct heed_nll_args {
    int64_t ignore_index;
    double label_smoothing;
    const char *function; /* the public function, for messages */
    heed_reduction reduction;
} heed_nll_args;
#define HEED_NLL_ARGS                                                                              \
    "int64 ignore_index, double label_smoothing, pointer _function, reduction reduction"

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

#endif
