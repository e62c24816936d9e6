/* Elementwise losses of two tensors. Classification losses are in cross_entropy.h.
 *
 * Each has a short form with torch's defaults and a `_with` form with options; an option that is
 * zero takes torch's default:
 *
 *     heed_huber_loss_with(input, target, (heed_huber_options){.delta = 0.5});
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

/* heed_huber_loss: as torch.nn.functional.huber_loss(input, target): quadratic near 0 and linear
 * beyond delta, which bounds the gradient of outliers.
 *
 *   y = d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), with d = input - target
 *   dinput = g d, with d clamped to [-delta, delta]                 dtarget = -dinput
 *
 * weight multiplies y elementwise. Unlike in the losses above, HEED_MEAN divides by the count, as
 * in torch.
 *
 * HEED_ERR_VALUE: delta is negative or NaN. HEED_ERR_SHAPE: weight does not have input's shape. */
typedef struct heed_huber_options {
    double delta; /* 0: 1 */
    heed_reduction reduction;
    heed_tensor *weight; /* (...), as above; NULL: ones */
} heed_huber_options;

heed_tensor *heed_huber_loss(heed_tensor *input, heed_tensor *target);
heed_tensor *heed_huber_loss_with(heed_tensor *input, heed_tensor *target,
                                  heed_huber_options options);

/* heed_binary_cross_entropy: as torch.nn.functional.binary_cross_entropy(input, target): input and
 * target are probabilities. For logits, heed_bce_with_logits is more accurate.
 *
 *   y = -(target ln input + (1 - target) ln(1 - input)), with logarithms of at least -100
 *   dinput = g (input - target) / max(input (1 - input), 1e-12)
 *   dtarget = g (ln(1 - input) - ln input)
 *
 * weight multiplies y and the gradients elementwise, and broadcasts; HEED_MEAN divides by the
 * count.
 *
 * HEED_ERR_VALUE: an element of input or target is outside [0, 1], or NaN. HEED_ERR_SHAPE: weight
 * does not broadcast to input. */
heed_tensor *heed_binary_cross_entropy(heed_tensor *input, heed_tensor *target);
heed_tensor *heed_binary_cross_entropy_with(heed_tensor *input, heed_tensor *target,
                                            heed_loss_options options);

/* heed_bce_with_logits: as torch.nn.functional.binary_cross_entropy_with_logits(input, target):
 * each element is a separate yes-or-no decision; target is 1, 0 or a probability.
 *
 *   y = -weight (pos_weight target ln sigmoid(input) + (1 - target) ln sigmoid(-input))
 *   dinput = g weight ((1 - target) sigmoid(input) - pos_weight target sigmoid(-input))
 *   dtarget = g weight (ln sigmoid(-input) - pos_weight ln sigmoid(input))
 *
 * HEED_ERR_SHAPE: weight or pos_weight does not broadcast to input. */
typedef struct heed_bce_options {
    heed_tensor *weight, *pos_weight; /* NULL: ones */
    heed_reduction reduction;
} heed_bce_options;

heed_tensor *heed_bce_with_logits(heed_tensor *input, heed_tensor *target);
heed_tensor *heed_bce_with_logits_with(heed_tensor *input, heed_tensor *target,
                                       heed_bce_options options);

/* heed_kl_div: as torch.nn.functional.kl_div(input, target): Kullback-Leibler divergence of the
 * distribution `target` from the one whose logarithms are `input`. HEED_BATCHMEAN divides the sum
 * by the number of rows; it is not the default.
 *
 *   y = target (ln target - input), with 0 ln 0 = 0
 *   dinput = -g target             dtarget = g (ln target + 1 - input); -g input where target is 0
 *   with log_target:
 *   y = e^target (target - input)
 *   dinput = -g e^target           dtarget = g e^target (target + 1 - input)
 *
 * torch's dtarget is NaN where target is 0. */
typedef struct heed_kl_div_options {
    bool log_target; /* target is given as logarithms too */
    heed_reduction reduction;
} heed_kl_div_options;

heed_tensor *heed_kl_div(heed_tensor *input, heed_tensor *target);
heed_tensor *heed_kl_div_with(heed_tensor *input, heed_tensor *target, heed_kl_div_options options);

HEED_END_DECLS
#endif
