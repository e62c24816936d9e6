/* The Huber loss, with the inputs and errors of loss.h. */
#ifndef HEED_AUTOGRAD_HUBER_LOSS_H
#define HEED_AUTOGRAD_HUBER_LOSS_H

#include "loss.h"

HEED_BEGIN_DECLS

/* heed_huber_loss: as torch.nn.functional.huber_loss(input, target): quadratic near 0 and linear
 * beyond delta, which bounds the gradient of outliers.
 *
 *   y = d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), with d = input - target
 *   dinput = g d, with d clamped to [-delta, delta]                 dtarget = -dinput
 *
 * weight multiplies y elementwise. Unlike in loss.h, HEED_MEAN divides by the count, as
 * in torch.
 *
 * HEED_ERR_VALUE: delta is negative or NaN. HEED_ERR_SHAPE: weight does not have input's shape. */
typedef struct heed_huber_loss_options {
    double delta; /* 0: 1 */
    heed_reduction reduction;
    heed_tensor *weight; /* (...), of a dtype that promotes with input's; NULL: ones */
} heed_huber_loss_options;

heed_tensor *heed_huber_loss(heed_tensor *input, heed_tensor *target);
heed_tensor *heed_huber_loss_with(heed_tensor *input, heed_tensor *target,
                                  heed_huber_loss_options options);

HEED_END_DECLS
#endif
