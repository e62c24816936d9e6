/* Optimisers, as torch.optim. The formulas stand in tensor/update.h.
 *
 *     heed_optimizer *adam = heed_adam_new(heed_parameters(model), 1e-3);
 *     ...
 *     heed_optimizer_zero_grad(adam);
 *     heed_backward(loss);
 *     heed_optimizer_step(adam);
 *
 * An optimiser retains its tensors. The learning rate may be changed at any time: adam->lr = ...
 */
#ifndef HEED_NN_OPTIM_H
#define HEED_NN_OPTIM_H

#include "nn/module.h"
#include "tensor/update.h"

HEED_BEGIN_DECLS

typedef struct heed_optimizer {
    double lr;
    const char *name; /* "SGD", "Adam", "AdamW" */
    int64_t steps;    /* taken so far */
    /* the rest belongs to optim.c */
    bool is_sgd;
    heed_sgd_step sgd;
    heed_adam_step adam;
    int count;
    struct heed_optimizer_slot *slots;
} heed_optimizer;

typedef struct heed_sgd_options {
    double momentum, dampening, weight_decay;
    bool nesterov;
} heed_sgd_options;

typedef struct heed_adam_options {
    const double *betas; /* two of them, (double[]){0.9, 0.98}; NULL: 0.9 and 0.999 */
    double eps;          /* 0: 1e-8 */
    double weight_decay; /* of Adam, into the gradient */
} heed_adam_options;

/* heed_sgd_new, heed_adam_new: as torch.optim.SGD and Adam. heed_adamw_new: as AdamW, whose
 * weight_decay (0.01 in torch) shrinks the parameters themselves; that in the options must be 0.
 *
 * HEED_ERR_VALUE: a negative or NaN rate, decay or eps, a beta outside [0, 1), nesterov without
 * momentum or with dampening, no tensors. HEED_ERR_GRAPH: a tensor that is no leaf with a
 * gradient. */
heed_optimizer *heed_sgd_new(heed_tensor_list parameters, double lr);
heed_optimizer *heed_sgd_new_with(heed_tensor_list parameters, double lr, heed_sgd_options options);
heed_optimizer *heed_adam_new(heed_tensor_list parameters, double lr);
heed_optimizer *heed_adam_new_with(heed_tensor_list parameters, double lr,
                                   heed_adam_options options);
heed_optimizer *heed_adamw_new(heed_tensor_list parameters, double lr, double weight_decay);
heed_optimizer *heed_adamw_new_with(heed_tensor_list parameters, double lr, double weight_decay,
                                    heed_adam_options options);

/* heed_optimizer_step: updates every parameter that has a gradient. Does nothing while an error is
 * pending, so a failed backward is never applied. */
heed_status heed_optimizer_step(heed_optimizer *optimizer);

/* heed_optimizer_zero_grad: forgets the gradients of its tensors. */
heed_status heed_optimizer_zero_grad(heed_optimizer *optimizer);

void heed_optimizer_free(heed_optimizer *optimizer);

HEED_END_DECLS
#endif
