/* Elementwise losses of two tensors: distances. See also huber_loss.h; losses of probabilities are
 * in probability_loss.h, classification losses in cross_entropy.h.
 *
 * Each has a short form with torch's defaults and a `_with` form with options; an option that is
 * zero takes torch's default:
 *
 *     heed_mse_loss_with(input, target, (heed_loss_options){.reduction = HEED_SUM});
 */
#ifndef HEED_AUTOGRAD_LOSS_H
#define HEED_AUTOGRAD_LOSS_H

#include "reductions.h"

HEED_BEGIN_DECLS

/* ---- elementwise: input (...) and target (...), of the same shape ----
 *
 * Both are floats, or one is i64 or bool and is cast. The gradients below are for HEED_NONE;
 * HEED_SUM uses the same g for all elements, and HEED_MEAN also divides it by the count.
 *
 * HEED_ERR_SHAPE: the shapes differ. HEED_ERR_DTYPE: neither is a float, or f32 with f64.
 * HEED_ERR_VALUE: an invalid option. */

/* heed_mse_loss: as torch.nn.functional.mse_loss(input, target)
 * heed_l1_loss: as torch.nn.functional.l1_loss(input, target)
 *
 *   y = (input - target)^2      dinput = 2 g (input - target)         dtarget = -dinput
 *   y = |input - target|        dinput = g sign(input - target)       dtarget = -dinput
 *
 * weight multiplies y and the gradients elementwise. HEED_MEAN then divides by the sum of the
 * weights, which gives NaN if the sum is 0. For HEED_NONE, dweight = g * y, with y before
 * weighting.
 *
 * HEED_ERR_SHAPE: weight does not have input's shape. */
typedef struct heed_loss_options {
    heed_reduction reduction;
    heed_tensor *weight; /* (...), of a dtype that promotes with input's; NULL: ones */
} heed_loss_options;

heed_tensor *heed_mse_loss(heed_tensor *input, heed_tensor *target);
heed_tensor *heed_mse_loss_with(heed_tensor *input, heed_tensor *target, heed_loss_options options);
heed_tensor *heed_l1_loss(heed_tensor *input, heed_tensor *target);
heed_tensor *heed_l1_loss_with(heed_tensor *input, heed_tensor *target, heed_loss_options options);

HEED_END_DECLS
#endif
