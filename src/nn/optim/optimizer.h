/* Optimisers, as in torch.optim. tensor/optim_update.h has the formulas, nn/optim/optimizer_state.h
 * saves and loads their state.
 *
 *     heed_optimizer *adam = heed_adam_new(heed_parameters(model), 1e-3);
 *     ...
 *     heed_optimizer_zero_grad(adam);
 *     heed_backward(loss);
 *     heed_optimizer_step(adam);
 *
 * An optimiser retains its tensors. The learning rate may be changed at any time, for example by a
 * schedule from nn/optim/schedule.h: adam->lr = ...
 *
 * Parameter groups can have different options. Weight decay, for instance, should apply to matrices
 * but not to biases and the weights of norms:
 *
 *     heed_optimizer *adamw = heed_adamw_new(heed_decay_parameters(model), 1e-3, 0.1);
 *     heed_param_group no_decay = heed_optimizer_defaults(adamw);
 *     no_decay.weight_decay = 0;
 *     heed_add_param_group_with(adamw, heed_no_decay_parameters(model), no_decay);
 *
 * Gradients accumulate until zero_grad, so a batch too large for memory can be split into k parts:
 * one backward pass of loss / k for each, then a single step.
 *
 *     heed_optimizer_zero_grad(adam);
 *     for (int i = 0; i < k; i++) {
 *         HEED_SCOPE(part);
 *         heed_backward(heed_div_scalar(loss_of_part(i), k));
 *     }
 *     heed_optimizer_step(adam);
 *
 * If the loss is a mean and the parts have equal size, the gradients equal those of the whole
 * batch.
 */
#ifndef HEED_NN_OPTIMIZER_H
#define HEED_NN_OPTIMIZER_H

#include "../../tensor/optim_update.h"
#include "../module.h"

HEED_BEGIN_DECLS

/* The options of a group of parameters; any option may be changed at any time. */
typedef struct heed_param_group {
    bool own_lr; /* true: the group uses its own lr; false: the optimiser's */
    double lr;
    double weight_decay;
    double momentum, dampening; /* of SGD */
    bool nesterov;
    double betas[2], eps; /* of Adam and AdamW */
    int first, count;     /* range of its parameters, set by the optimiser */
} heed_param_group;

/* The state of a parameter: SGD's momentum buffer, or both moments of Adam. */
typedef struct heed_optimizer_slot {
    heed_tensor *state[2]; /* NULL before the first gradient */
    int64_t steps;         /* steps with a gradient */
} heed_optimizer_slot;

/* An optimiser. lr and the groups' options may be changed; the rest is for reading. */
typedef struct heed_optimizer {
    double lr;        /* of all groups without an lr of their own */
    const char *name; /* "SGD", "Adam", "AdamW" */
    int64_t steps;    /* taken so far */
    int group_count;
    heed_param_group *groups;  /* the constructor creates the first */
    heed_param_group defaults; /* the constructor's options */
    bool is_sgd, decoupled;
    heed_tensor_list parameters;               /* retained, named as in their lists or numbered */
    heed_optimizer_slot *slots;                /* one per parameter */
    struct heed_named_tensors *named, *listed; /* own `parameters` and the last state dict */
} heed_optimizer;

typedef struct heed_sgd_options {
    double momentum, dampening, weight_decay;
    bool nesterov;
} heed_sgd_options;

typedef struct heed_adam_options {
    double betas[2];     /* both 0: 0.9 and 0.999 */
    double eps;          /* 0: 1e-8 */
    double weight_decay; /* Adam only: added to the gradient */
} heed_adam_options;

/* heed_sgd_new, heed_adam_new: as torch.optim.SGD and Adam. heed_adamw_new: as AdamW, whose
 * weight_decay (0.01 in torch) shrinks the parameters themselves; options.weight_decay must be 0.
 *
 * HEED_ERR_VALUE: a rate, momentum, decay or eps is negative or not finite; a beta is outside [0,
 * 1); nesterov without momentum or with dampening; no tensors, or a repeated one. HEED_ERR_GRAPH: a
 * tensor is not a leaf that requires a gradient. */
heed_optimizer *heed_sgd_new(heed_tensor_list parameters, double lr);
heed_optimizer *heed_sgd_new_with(heed_tensor_list parameters, double lr, heed_sgd_options options);
heed_optimizer *heed_adam_new(heed_tensor_list parameters, double lr);
heed_optimizer *heed_adam_new_with(heed_tensor_list parameters, double lr,
                                   heed_adam_options options);
heed_optimizer *heed_adamw_new(heed_tensor_list parameters, double lr, double weight_decay);
heed_optimizer *heed_adamw_new_with(heed_tensor_list parameters, double lr, double weight_decay,
                                    heed_adam_options options);

/* heed_add_param_group: adds parameters to the optimiser, like torch's
 * optimizer.add_param_group({"params": parameters, ...}); the list may be empty. The options are
 * those of the constructor; heed_add_param_group_with takes others: a changed copy of
 * heed_optimizer_defaults, which is all zero if there is no optimiser. On error nothing changes.
 * Errors are those of heed_adam_new; HEED_ERR_VALUE: a parameter was already added, or this kind of
 * optimiser does not have one of the options. */
heed_param_group heed_optimizer_defaults(const heed_optimizer *optimizer);
heed_status heed_add_param_group(heed_optimizer *optimizer, heed_tensor_list parameters);
heed_status heed_add_param_group_with(heed_optimizer *optimizer, heed_tensor_list parameters,
                                      heed_param_group options);

/* heed_optimizer_step: updates every parameter that has a gradient, like torch's
 * optimizer.step(). HEED_ERR_NULL: no optimiser. Does nothing while an error is
 * pending, so the gradients of a failed backward are never applied. */
heed_status heed_optimizer_step(heed_optimizer *optimizer);

/* heed_optimizer_zero_grad: clears the gradients of its parameters, like torch's
 * optimizer.zero_grad(). HEED_ERR_NULL: no optimiser. */
heed_status heed_optimizer_zero_grad(heed_optimizer *optimizer);

/* heed_optimizer_free: frees the optimiser and releases its tensors; NULL is a no-op. */
void heed_optimizer_free(heed_optimizer *optimizer);

HEED_END_DECLS
#endif
