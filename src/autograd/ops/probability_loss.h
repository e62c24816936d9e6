/* Elementwise losses of probabilities, with the inputs, options and errors of loss.h. */
#ifndef HEED_AUTOGRAD_PROBABILITY_LOSS_H
#define HEED_AUTOGRAD_PROBABILITY_LOSS_H

#include "loss.h"

HEED_BEGIN_DECLS

/* heed_binary_cross_entropy: as torch.nn.functional.binary_cross_entropy(input, target): input and
 * target are probabilities. For logits, heed_binary_cross_entropy_with_logits is more accurate.
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

/* heed_binary_cross_entropy_with_logits: as torch's function of that name in torch.nn.functional:
 * each element is a separate yes-or-no decision; target is 1, 0 or a probability.
 *
 *   y = -weight (pos_weight target ln sigmoid(input) + (1 - target) ln sigmoid(-input))
 *   dinput = g weight ((1 - target) sigmoid(input) - pos_weight target sigmoid(-input))
 *   dtarget = g weight (ln sigmoid(-input) - pos_weight ln sigmoid(input))
 *
 * HEED_ERR_SHAPE: weight or pos_weight does not broadcast to input. */
typedef struct heed_binary_cross_entropy_with_logits_options {
    heed_tensor *weight, *pos_weight; /* NULL: ones */
    heed_reduction reduction;
} heed_binary_cross_entropy_with_logits_options;

heed_tensor *heed_binary_cross_entropy_with_logits(heed_tensor *input, heed_tensor *target);
heed_tensor *
heed_binary_cross_entropy_with_logits_with(heed_tensor *input, heed_tensor *target,
                                           heed_binary_cross_entropy_with_logits_options options);

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
