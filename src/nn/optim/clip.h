/* Gradient clipping between backward and step, as in torch.nn.utils.
 *
 *     heed_backward(loss);
 *     double norm = heed_clip_grad_norm(heed_parameters(model), 1.0);
 *     heed_optimizer_step(adam);
 *
 * The functions modify gradients in place and skip parameters without a gradient.
 */
#ifndef HEED_NN_CLIP_H
#define HEED_NN_CLIP_H

#include "../module.h"

HEED_BEGIN_DECLS

typedef struct heed_clip_options {
    double norm_type; /* 0: 2; INFINITY: the maximum absolute value */
    bool error_if_nonfinite;
} heed_clip_options;

/* heed_clip_grad_norm: as torch.nn.utils.clip_grad_norm_(parameters, max_norm): scales all
 * gradients by max_norm / (norm + 1e-6) if that is below 1, and returns their total norm before
 * scaling. To measure the norm only, pass INFINITY as max_norm. As in torch, an infinite or NaN
 * norm turns gradients into 0 or NaN, unless error_if_nonfinite is set. Returns 0 if there are no
 * gradients, NaN on error.
 *
 * HEED_ERR_VALUE: max_norm is negative or NaN, or norm_type is NaN; or, with error_if_nonfinite,
 * the norm is not finite (the gradients are then unchanged). HEED_ERR_NULL: a parameter is NULL. */
double heed_clip_grad_norm(heed_tensor_list parameters, double max_norm);
double heed_clip_grad_norm_with(heed_tensor_list parameters, double max_norm,
                                heed_clip_options options);

/* heed_clip_grad_value: as torch.nn.utils.clip_grad_value_: clamps each element of the gradients to
 * [-clip_value, clip_value]; NaN is kept.
 * HEED_ERR_VALUE: clip_value is negative or NaN. HEED_ERR_NULL: a parameter is NULL. */
heed_status heed_clip_grad_value(heed_tensor_list parameters, double clip_value);

HEED_END_DECLS
#endif
