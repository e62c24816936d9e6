/* Optimisers, as in torch.optim, gradient clipping, and a learning rate schedule.
 *
 *     heed_optimizer *adam = heed_adam_new(heed_parameters(model), 1e-3);
 *     ...
 *     heed_optimizer_zero_grad(adam);
 *     heed_backward(loss);
 *     heed_clip_grad_norm(heed_parameters(model), 1.0);
 *     adam->lr = heed_warmup_cosine_lr(adam->steps, 1e-3, 100, 1000, 1e-4);
 *     heed_optimizer_step(adam);
 *
 * Gradients accumulate until zero_grad, so a batch too large for memory can be split into k equal
 * parts: heed_backward(heed_div_scalar(loss_of_part, k)) for each, in a scope of its own, then one
 * step. If the loss is a mean, the gradients equal those of the whole batch.
 */
#ifndef HEED_NN_OPTIMIZER_H
#define HEED_NN_OPTIMIZER_H

#include "module.h"

HEED_BEGIN_DECLS

/* The state of a parameter: SGD's momentum buffer, or both moments of Adam. */
typedef struct heed_optimizer_slot {
    heed_tensor *state[2]; /* NULL before the first gradient */
    int64_t steps;         /* steps with a gradient */
} heed_optimizer_slot;

/* An optimiser. The options may be changed at any time; the rest is for reading. */
typedef struct heed_optimizer {
    double lr, weight_decay;
    double momentum;          /* of SGD */
    double betas[2], eps;     /* of Adam and AdamW */
    bool decay_matrices_only; /* parameters with fewer than 2 dims have no weight decay */
    bool is_sgd, decoupled;
    const char *name;                 /* "SGD", "Adam", "AdamW" */
    int64_t steps;                    /* taken so far */
    heed_tensor_list parameters;      /* retained, named as in their list or numbered */
    heed_optimizer_slot *slots;       /* one per parameter */
    struct heed_named_tensors *named; /* owns `parameters` */
} heed_optimizer;

/* heed_sgd_new: as torch.optim.SGD
 *
 *   d = g + weight_decay p
 *   b = momentum b + d           only with momentum; else b = d
 *   p = p - lr b
 *
 * heed_adam_new: as Adam (Kingma and Ba, 2015). heed_adamw_new: as AdamW (Loshchilov and Hutter,
 * 2019), whose weight_decay (0.01 in torch) shrinks the parameters themselves.
 *
 *   AdamW:  p = (1 - lr weight_decay) p          Adam:  g = g + weight_decay p
 *   m = beta1 m + (1 - beta1) g
 *   v = beta2 v + (1 - beta2) g^2
 *   p = p - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
 *
 * Other options are fields: sgd->momentum = 0.9, adam->weight_decay = 0.1.
 *
 * HEED_ERR_VALUE: a rate, decay or eps is negative or not finite; a beta is outside [0, 1); no
 * tensors, or a repeated one. HEED_ERR_GRAPH: a tensor is not a leaf that requires a gradient. */
typedef struct heed_adam_options {
    double betas[2];          /* both 0: 0.9 and 0.999 */
    double eps;               /* 0: 1e-8 */
    bool decay_matrices_only; /* no weight decay for biases and the weights of norms */
} heed_adam_options;
heed_optimizer *heed_sgd_new(heed_tensor_list parameters, double lr);
heed_optimizer *heed_adam_new(heed_tensor_list parameters, double lr);
heed_optimizer *heed_adamw_new(heed_tensor_list parameters, double lr, double weight_decay);
heed_optimizer *heed_adamw_new_with(heed_tensor_list parameters, double lr, double weight_decay,
                                    heed_adam_options options);

/* heed_optimizer_step: updates every parameter that has a gradient, like torch's
 * optimizer.step(). Does nothing while an error is pending, so the gradients of a failed backward
 * are never applied. No parameter changes on error. HEED_ERR_SHAPE: a parameter was reshaped or
 * cast after its first step. HEED_ERR_VALUE: an option is out of its range. */
heed_status heed_optimizer_step(heed_optimizer *optimizer);

/* heed_optimizer_zero_grad: clears the gradients of its parameters, like torch's
 * optimizer.zero_grad(). heed_optimizer_free: frees the optimiser and releases its tensors; NULL is
 * a no-op. */
heed_status heed_optimizer_zero_grad(heed_optimizer *optimizer);
void heed_optimizer_free(heed_optimizer *optimizer);

/* heed_clip_grad_norm: as torch.nn.utils.clip_grad_norm_(parameters, max_norm): scales all
 * gradients by max_norm / (norm + 1e-6) if that is below 1, and returns their total norm before
 * scaling. To measure the norm only, pass INFINITY as max_norm. As in torch, an infinite or NaN
 * norm turns gradients into 0 or NaN. Returns 0 if there are no gradients, NaN on error.
 * HEED_ERR_VALUE: max_norm is negative or NaN. HEED_ERR_NULL: a parameter is NULL. */
double heed_clip_grad_norm(heed_tensor_list parameters, double max_norm);

/* heed_warmup_cosine_lr: the learning rate of a step, 0 for the first: rises linearly over `warmup`
 * steps (0: none), starting at lr / (warmup + 1), then falls to eta_min along half a cosine wave
 * until step `total`, and stays there. In torch: SequentialLR of LinearLR(start_factor=1 / (warmup
 * + 1), total_iters=warmup) and CosineAnnealingLR(T_max=total - warmup), with milestone warmup.
 * Returns NaN on error.
 * HEED_ERR_VALUE: step or warmup is negative, total is not greater than warmup, or a rate is not
 * finite. */
double heed_warmup_cosine_lr(int64_t step, double lr, int64_t warmup, int64_t total,
                             double eta_min);

HEED_END_DECLS
#endif
