/* Losses of classes: cross_entropy and nll_loss. Each has a short form with torch's defaults, and a
 * `_with` form with options, of which zero means torch's default:
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
 *   targets of the logits' shape and dtype are probabilities p of the classes:
 *   y = mean over the rest of -sum over C of p log_softmax(logits)
 *   dp = -g log_softmax / count
 *
 * Of the options:
 *
 *   weight (C)        each loss times w_t, and their mean divides by the sum of the w_t that count;
 *                     with probabilities each product times w_c, and the mean divides by the count
 *   ignored_target    torch's ignore_index, by its address, because 0 is a class: &padding; targets
 *                     equal to it do not count; not with probabilities
 *   label_smoothing   in [0, 1]: that part of the target is shared among all classes
 *
 * Where no target counts the mean is NaN, as in torch. Logits of (B, T, C) are flattened first, as
 * in torch: heed_reshape(logits, HEED_SHAPE(-1, C)) and heed_reshape(targets, HEED_SHAPE(-1)).
 *
 * HEED_ERR_SHAPE: the shapes do not fit. HEED_ERR_DTYPE: targets are neither i64 nor of the logits'
 * dtype, logits no floats. HEED_ERR_INDEX: a target outside [0, C). HEED_ERR_VALUE: an option.
 * HEED_ERR_GRAPH: weight requires a gradient, which class ids do not give it. */
typedef struct heed_cross_entropy_options {
    heed_tensor *weight;           /* of the classes, in the logits' dtype; NULL: ones */
    const int64_t *ignored_target; /* NULL: torch's -100 */
    heed_reduction reduction;
    double label_smoothing;
} heed_cross_entropy_options;

heed_tensor *heed_cross_entropy(heed_tensor *logits, heed_tensor *targets);
heed_tensor *heed_cross_entropy_with(heed_tensor *logits, heed_tensor *targets,
                                     heed_cross_entropy_options options);

/* heed_nll_loss: as torch.nn.functional.nll_loss(log_probs, targets): the second half of
 * cross_entropy, with its shapes (class ids), options and errors.
 *
 *   y = mean over the targets t of -log_probs[t]       dlog_probs = -g one_hot(t) / count */
typedef struct heed_nll_options {
    heed_tensor *weight;
    const int64_t *ignored_target;
    heed_reduction reduction;
} heed_nll_options;

heed_tensor *heed_nll_loss(heed_tensor *log_probs, heed_tensor *targets);
heed_tensor *heed_nll_loss_with(heed_tensor *log_probs, heed_tensor *targets,
                                heed_nll_options options);

HEED_END_DECLS
#endif
