/* Clipping gradients between backward and step, as torch.nn.utils.
 *
 *     heed_backward(loss);
 *     double norm = heed_clip_grad_norm(heed_parameters(model), 1.0);
 *     heed_optimizer_step(adam);
 *
 * They change the .grad of those parameters that have one, in place.
 */
#ifndef HEED_NN_CLIP_H
#define HEED_NN_CLIP_H

#include "../module.h"

HEED_BEGIN_DECLS

typedef struct heed_clip_options {
    double norm_type; /* 0: 2; INFINITY: the largest size of an element */
    bool error_if_nonfinite;
} heed_clip_options;

/* heed_clip_grad_norm: as torch.nn.utils.clip_grad_norm_(parameters, max_norm): returns the norm of
 * all gradients taken together, as it was, and scales them by max_norm / (norm + 1e-6) where that
 * is below 1. INFINITY only measures. As in torch a norm that is inf or NaN makes gradients 0 and
 * NaN, unless error_if_nonfinite. 0 without gradients, NaN on error.
 *
 * HEED_ERR_VALUE: max_norm is negative or NaN, norm_type is NaN; with error_if_nonfinite: the norm
 * is not finite, and the gradients stay as they are. HEED_ERR_NULL: a parameter is NULL. */
double heed_clip_grad_norm(heed_tensor_list parameters, double max_norm);
double heed_clip_grad_norm_with(heed_tensor_list parameters, double max_norm,
                                heed_clip_options options);

/* heed_clip_grad_value: as torch.nn.utils.clip_grad_value_: brings each element of the gradients
 * into [-clip_value, clip_value]; NaN stay.
 * HEED_ERR_VALUE: clip_value is negative or NaN. HEED_ERR_NULL: a parameter is NULL. */
heed_status heed_clip_grad_value(heed_tensor_list parameters, double clip_value);

HEED_END_DECLS
#endif
