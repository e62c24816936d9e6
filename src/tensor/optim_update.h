/* The updates of parameters by an optimiser, and the norm of all gradients: one fused pass over the
 * memory of each. The optimisers of nn/ and gradient clipping use them, as may your own optimisers.
 *
 * The functions in _all update `count` parameters, no two of which share memory: one step over all
 * of them costs less than a step for each, and threads share it better. On an error none has
 * changed.
 *
 * All tensors are contiguous and of one shape and dtype, f32 or f64. p and the state change in
 * place; these are doors, and raise the version.
 *
 * HEED_ERR_SHAPE, HEED_ERR_DTYPE: they differ, or are not contiguous, or not floats.
 */
#ifndef HEED_TENSOR_OPTIM_UPDATE_H
#define HEED_TENSOR_OPTIM_UPDATE_H

#include "tensor.h"

HEED_BEGIN_DECLS

/* A parameter, its gradient and its state. */
typedef struct heed_update {
    heed_tensor *p;
    const heed_tensor *g;
    heed_tensor *b;     /* of SGD with momentum */
    heed_tensor *m, *v; /* of Adam */
} heed_update;

/* heed_sgd_update: as torch.optim.SGD
 *
 *   d = g + weight_decay p
 *   with momentum:  b = d at the first step, then momentum b + (1 - dampening) d;
 *                   d = b, or d + momentum b with nesterov
 *   p = p - lr d
 */
typedef struct heed_sgd_step {
    double lr, momentum, dampening, weight_decay;
    bool nesterov;
    bool first; /* b holds nothing yet */
} heed_sgd_step;

/* `b` is NULL without momentum. */
heed_status heed_sgd_update(heed_tensor *p, const heed_tensor *g, heed_tensor *b,
                            const heed_sgd_step *step);
heed_status heed_sgd_update_all(const heed_update *all, int count, const heed_sgd_step *step);

/* heed_adam_update: as torch.optim.Adam (Kingma and Ba, 2015), and AdamW (Loshchilov and Hutter,
 * 2019) with decoupled
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

heed_status heed_adam_update(heed_tensor *p, const heed_tensor *g, heed_tensor *m, heed_tensor *v,
                             const heed_adam_step *step);
heed_status heed_adam_update_all(const heed_update *all, int count, const heed_adam_step *step);

/* heed_total_norm: as torch.nn.utils.get_total_norm(tensors, p): the p-norm of all elements of
 * `count` tensors, as if they were one, contiguous and f32 or f64 each:
 *
 *   (sum |x|^p)^(1/p);  the largest |x| for p inf
 *
 * 0 for no tensors or no elements. NaN on error. HEED_ERR_VALUE: p is NaN. */
double heed_total_norm(const heed_tensor *const *tensors, int count, double p);

/* heed_scale_into: t *= factor, as torch's t.mul_(factor) under no_grad. */
heed_status heed_scale_into(heed_tensor *t, double factor);
heed_status heed_scale_all_into(heed_tensor *const *tensors, int count, double factor);

HEED_END_DECLS
#endif
