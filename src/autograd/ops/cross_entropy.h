/* Classification losses: cross_entropy and nll_loss. Each has a short form with torch's defaults
 * and a `_with` form with options; an option that is zero takes torch's default:
 *
 *     heed_cross_entropy_with(logits, targets,
 *                             (heed_cross_entropy_options){.label_smoothing = 0.1});
 */
#ifndef HEED_AUTOGRAD_CROSS_ENTROPY_H
#define HEED_AUTOGRAD_CROSS_ENTROPY_H

#include "reductions.h"

HEED_BEGIN_DECLS

/* heed_cross_entropy: as torch.nn.functional.cross_entropy(logits, targets)
 *
 *   logits (N, C), (C) or (N, C, d...) float   targets (N), () or (N, d...) i64   ->   ()
 *   y = mean over the targets t of -log_softmax(logits)[t]
 *   dlogits = g (softmax(logits) - one_hot(t)) / count
 *
 *   targets with the logits' shape and dtype are class probabilities p:
 *   y = mean over the other dims of -sum over C of p log_softmax(logits)
 *   dp = -g log_softmax / count
 *
 * Options:
 *
 *   weight (C)        multiplies each loss by w_t; the mean divides by the sum of w_t over the
 *                     targets that are not ignored. With probabilities: multiplies each product by
 *                     w_c; the mean divides by the count
 *   ignore_index      passed by address (&padding) because 0 is a class;
 *                     targets equal to it are ignored; not for probabilities
 *   label_smoothing   in [0, 1]: the share of each target that is spread evenly over all classes
 *
 * If all targets are ignored, the mean is NaN, as in torch. Flatten (B, T, C) logits first, as in
 * torch: heed_reshape(logits, HEED_SHAPE(-1, C)) and heed_reshape(targets, HEED_SHAPE(-1)).
 *
 * HEED_ERR_SHAPE: the shapes do not match. HEED_ERR_DTYPE: the dtype of targets is neither i64 nor
 * that of logits, or logits are not floats. HEED_ERR_INDEX: a target outside [0, C).
 * HEED_ERR_VALUE: an invalid option. HEED_ERR_GRAPH: weight requires a gradient, which is not
 * supported with class ids. */
typedef struct heed_cross_entropy_options {
    heed_tensor *weight;         /* one per class, in the logits' dtype; NULL: ones */
    const int64_t *ignore_index; /* NULL: torch's -100 */
    heed_reduction reduction;
    double label_smoothing;
} heed_cross_entropy_options;

heed_tensor *heed_cross_entropy(heed_tensor *logits, heed_tensor *targets);
heed_tensor *heed_cross_entropy_with(heed_tensor *logits, heed_tensor *targets,
                                     heed_cross_entropy_options options);

/* heed_nll_loss: as torch.nn.functional.nll_loss(log_probs, targets): the second half of
 * cross_entropy with class ids. It has the same shapes, errors and options, except label_smoothing.
 *
 *   y = mean over the targets t of -log_probs[t]       dlog_probs = -g one_hot(t) / count */
typedef struct heed_nll_loss_options {
    heed_tensor *weight;
    const int64_t *ignore_index;
    heed_reduction reduction;
} heed_nll_loss_options;

heed_tensor *heed_nll_loss(heed_tensor *log_probs, heed_tensor *targets);
heed_tensor *heed_nll_loss_with(heed_tensor *log_probs, heed_tensor *targets,
                                heed_nll_loss_options options);

HEED_END_DECLS
#endif
