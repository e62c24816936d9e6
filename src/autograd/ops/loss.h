/* Losses that compare two tensors element by element; cross_entropy.h has those of classes.
 *
 * Each has a short form with torch's defaults, and a `_with` form with options, of which zero means
 * torch's default:
 *
 *     heed_huber_loss_with(input, target, (heed_huber_options){.delta = 0.5});
 */
#ifndef HEED_AUTOGRAD_LOSS_H
#define HEED_AUTOGRAD_LOSS_H

#include "reductions.h"

HEED_BEGIN_DECLS

/* ---- element by element: input (...) and target (...), of one shape ----
 *
 * Both are floats, or one of them i64 or bool, which is cast. The gradients below are of NONE; SUM
 * repeats g, MEAN divides it by the count.
 *
 * HEED_ERR_SHAPE: the shapes differ. HEED_ERR_DTYPE: no float, or f32 with f64. HEED_ERR_VALUE: an
 * option. */

/* heed_mse_loss: as torch.nn.functional.mse_loss(input, target)
 * heed_l1_loss: as torch.nn.functional.l1_loss(input, target)
 *
 *   y = (input - target)^2      dinput = 2 g (input - target)         dtarget = -dinput
 *   y = |input - target|        dinput = g sign(input - target)       dtarget = -dinput
 *
 * With a weight each y is times its own; MEAN divides by the sum of the weights, NaN where that is
 * 0. The gradients are times the weight; of NONE dweight = g y.
 *
 * HEED_ERR_SHAPE: weight has another shape than input. */
typedef struct heed_loss_options {
    heed_reduction reduction;
    heed_tensor *weight; /* (...), of any dtype that may meet the input's; NULL: ones */
} heed_loss_options;

heed_tensor *heed_mse_loss(heed_tensor *input, heed_tensor *target);
heed_tensor *heed_mse_loss_with(heed_tensor *input, heed_tensor *target, heed_loss_options options);
heed_tensor *heed_l1_loss(heed_tensor *input, heed_tensor *target);
heed_tensor *heed_l1_loss_with(heed_tensor *input, heed_tensor *target, heed_loss_options options);

/* heed_huber_loss: as torch.nn.functional.huber_loss(input, target): a parabola that goes on as
 * straight lines, so that outliers do not pull harder than others.
 *
 *   y = d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), with d = input - target
 *   dinput = g d, cut at -delta and delta                           dtarget = -dinput
 *
 * With a weight each y is times its own. Other than above MEAN divides by the count, as in torch.
 *
 * HEED_ERR_VALUE: delta below 0, or NaN. HEED_ERR_SHAPE: weight has another shape than input. */
typedef struct heed_huber_options {
    double delta; /* 0: 1 */
    heed_reduction reduction;
    heed_tensor *weight; /* (...), as above; NULL: ones */
} heed_huber_options;

heed_tensor *heed_huber_loss(heed_tensor *input, heed_tensor *target);
heed_tensor *heed_huber_loss_with(heed_tensor *input, heed_tensor *target,
                                  heed_huber_options options);

/* heed_bce_with_logits: as torch.nn.functional.binary_cross_entropy_with_logits(input, target):
 * each element is a yes or no of its own; target is 1, 0 or a probability.
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

/* heed_kl_div: as torch.nn.functional.kl_div(input, target): how far the distribution `target` is
 * from another, whose logarithms are `input`. HEED_BATCHMEAN is the mean over rows, not the
 * default.
 *
 *   y = target (ln target - input), with 0 ln 0 = 0
 *   dinput = -g target             dtarget = g (ln target + 1 - input); -g input where target is 0
 *   with log_target:
 *   y = e^target (target - input)
 *   dinput = -g e^target           dtarget = g e^target (target + 1 - input)
 *
 * torch's dtarget is NaN where target is 0. */
typedef struct heed_kl_div_options {
    bool log_target; /* target too is given as logarithms */
    heed_reduction reduction;
} heed_kl_div_options;

heed_tensor *heed_kl_div(heed_tensor *input, heed_tensor *target);
heed_tensor *heed_kl_div_with(heed_tensor *input, heed_tensor *target, heed_kl_div_options options);

HEED_END_DECLS
#endif
