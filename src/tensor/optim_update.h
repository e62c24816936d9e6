/* Optimiser updates of parameters, each in one fused pass over memory. The optimisers of nn/ use
 * them; your own optimisers can too.
 *
 * They update `count` parameters, no two of which share memory. One call for all parameters costs
 * less than one call for each, and parallelises better. On error, no parameter is changed.
 *
 * All tensors of an update are contiguous and have the same shape and dtype, f32 or f64. p and the
 * state are changed in place, which increments their versions.
 *
 * HEED_ERR_SHAPE, HEED_ERR_DTYPE: shapes or dtypes differ, or tensors are not contiguous or not
 * floats.
 */
#ifndef HEED_TENSOR_OPTIM_UPDATE_H
#define HEED_TENSOR_OPTIM_UPDATE_H

#include "tensor.h"

HEED_BEGIN_DECLS

/* A parameter, its gradient and its state. */
typedef struct heed_update {
    heed_tensor *p;
    const heed_tensor *g;
    heed_tensor *b;     /* for SGD; NULL without momentum */
    heed_tensor *m, *v; /* for Adam */
} heed_update;

/* heed_sgd_update_all: like torch.optim.SGD
 *
 *   d = g + weight_decay p
 *   with momentum:  b = d at the first step, then momentum b + (1 - dampening) d;
 *                   d = b, or d + momentum b with nesterov
 *   p = p - lr d
 */
typedef struct heed_sgd_step {
    double lr, momentum, dampening, weight_decay;
    bool nesterov;
    bool first; /* b is not initialised yet */
} heed_sgd_step;

heed_status heed_sgd_update_all(const heed_update *all, int count, const heed_sgd_step *step);

/* heed_adam_update_all: like torch.optim.Adam (Kingma and Ba, 2015) or, if decoupled, AdamW
 * (Loshchilov and Hutter, 2019)
 *
 *   decoupled:  p = (1 - lr weight_decay) p          else:  g = g + weight_decay p
 *   m = beta1 m + (1 - beta1) g
 *   v = beta2 v + (1 - beta2) g^2
 *   p = p - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
 */
typedef struct heed_adam_step {
    double lr, beta1, beta2, eps, weight_decay;
    bool decoupled;
    int64_t t; /* 1 at the first step */
} heed_adam_step;

heed_status heed_adam_update_all(const heed_update *all, int count, const heed_adam_step *step);

/* ---- the norm of all gradients, and their scaling, as gradient clipping needs them ---- */

/* heed_get_total_norm: like torch.nn.utils.get_total_norm(tensors, p): the p-norm over all elements
 * of `count` tensors, each contiguous and f32 or f64:
 *
 *   (sum |x|^p)^(1/p);  the largest |x| for p = inf
 *
 * Returns 0 if there are no elements, NaN on error. HEED_ERR_VALUE: p is NaN. */
double heed_get_total_norm(const heed_tensor *const *tensors, int count, double p);

/* heed_scale_into: t *= factor, like torch's t.mul_(factor) under no_grad. heed_scale_all_into: the
 * same for `count` tensors, one after the other. */
heed_status heed_scale_into(heed_tensor *t, double factor);
heed_status heed_scale_all_into(heed_tensor *const *tensors, int count, double factor);

HEED_END_DECLS
#endif
