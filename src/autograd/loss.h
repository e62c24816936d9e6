/* Losses: one number from predictions and targets, the mean over what counts. */
#ifndef HEED_AUTOGRAD_LOSS_H
#define HEED_AUTOGRAD_LOSS_H

#include "tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_cross_entropy: as torch.nn.functional.cross_entropy(logits, targets)
 *
 *   logits (N, C), (C) or (N, C, d...) float   targets (N), () or (N, d...) i64   ->   ()
 *   y = mean over the targets t of -log_softmax(logits)[t]
 *   dlogits = g (softmax(logits) - one_hot(t)) / count
 *
 * Targets equal to ignore_index (-100 in the short form) do not count; where none counts the loss
 * is NaN, as in torch. Logits of (B, T, C) are flattened first, as in torch:
 * heed_reshape(logits, HEED_SHAPE(-1, C)) and heed_reshape(targets, HEED_SHAPE(-1)).
 *
 * HEED_ERR_SHAPE: the shapes do not fit. HEED_ERR_DTYPE: targets are not i64, logits no floats.
 * HEED_ERR_INDEX: a target outside [0, C). */
heed_tensor *heed_cross_entropy(heed_tensor *logits, heed_tensor *targets);
heed_tensor *heed_cross_entropy_ignore(heed_tensor *logits, heed_tensor *targets,
                                       int64_t ignore_index);

/* heed_nll_loss: as torch.nn.functional.nll_loss(log_probs, targets, ignore_index): the second half
 * of cross_entropy.
 *
 *   y = mean over the targets t of -log_probs[t]       dlog_probs = -g one_hot(t) / count */
heed_tensor *heed_nll_loss(heed_tensor *log_probs, heed_tensor *targets, int64_t ignore_index);

/* heed_mse_loss: as torch.nn.functional.mse_loss(input, target)
 *
 *   input (...)   target (...), of one shape   ->   ()
 *   y = mean of (input - target)^2      dinput = 2 g (input - target) / count, dtarget = -dinput
 *
 * HEED_ERR_SHAPE: the shapes differ. HEED_ERR_DTYPE: not floats. */
heed_tensor *heed_mse_loss(heed_tensor *input, heed_tensor *target);

HEED_END_DECLS
#endif
