/* Helpers for gradients/loss.def and parity/loss.def. */
#include "autograd/ops/loss_options.h"

static const int64_t class_0 = 0, class_2 = 2, class_3 = 3, class_7 = 7;

/* This operation has no public function. */
static heed_tensor *nll_weights(heed_tensor *log_probs, heed_tensor *targets, heed_tensor *weight,
                                heed_reduction reduction, double label_smoothing)
{
    const heed_nll_args args = {
        .ignore_index = -100, .label_smoothing = label_smoothing, .reduction = reduction};
    heed_tensor *inputs[] = {log_probs, targets, weight};
    return heed_apply(heed_find_operation("nll_weights"), inputs, weight != NULL ? 3 : 2, &args,
                      sizeof args);
}
