/* Losses of two tensors of the same shape. See also cross_entropy.h.
 *
 * Both return the mean; for other reductions, write the formula: heed_sum(heed_square(...)).
 * Both tensors are floats, or one is i64 or bool and is cast.
 *
 * HEED_ERR_SHAPE: the shapes differ. HEED_ERR_DTYPE: neither is a float, or f32 with f64.
 */
#ifndef HEED_AUTOGRAD_LOSS_H
#define HEED_AUTOGRAD_LOSS_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_mse_loss: as torch.nn.functional.mse_loss(input, target)
 *
 *   input (...)   target (...)   ->   y ()
 *   y = mean of (input - target)^2
 *   dinput = 2 g (input - target) / count          dtarget = -dinput */
heed_tensor *heed_mse_loss(heed_tensor *input, heed_tensor *target);

/* heed_binary_cross_entropy_with_logits: as torch's function of that name in torch.nn.functional:
 * each element is a separate yes-or-no decision; target is 1, 0 or a probability.
 *
 *   y = mean of -(target ln sigmoid(input) + (1 - target) ln sigmoid(-input))
 *   dinput = g (sigmoid(input) - target) / count          dtarget = -g input / count */
heed_tensor *heed_binary_cross_entropy_with_logits(heed_tensor *input, heed_tensor *target);

HEED_END_DECLS
#endif
