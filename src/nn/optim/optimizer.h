/* Optimisers, as in torch.optim. tensor/optim_update.h has the formulas.
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
 *     heed_add_param_group_with(adamw, heed_no_decay_parameters(model),
 *                               (heed_group_options){.weight_decay = &(double){0}});
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
    int first, count;     /* range of its parameters: private to optimizer.c */
} heed_param_group;

/* An optimiser. lr and the groups' options may be changed; the rest is for reading. */
typedef struct heed_optimizer {
    double lr;        /* of all groups without an lr of their own */
    const char *name; /* "SGD", "Adam", "AdamW" */
    int64_t steps;    /* taken so far */
    int group_count;
    heed_param_group *groups; /* the constructor creates the first */
    /* the rest is private to optimizer.c */
    heed_param_group defaults;
    bool is_sgd, decoupled;
    heed_named_tensors parameters;     /* retained, named as in their lists or numbered */
    struct heed_optimizer_slot *slots; /* one per parameter */
    heed_named_tensors listed;         /* the last result of heed_optimizer_state_dict */
} heed_optimizer;

typedef struct heed_sgd_options {
    double momentum, dampening, weight_decay;
    bool nesterov;
} heed_sgd_options;

typedef struct heed_adam_options {
    const double *betas; /* two, such as (double[]){0.9, 0.98}; NULL: 0.9 and 0.999 */
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

/* Options of a group; NULL: as given to the constructor. */
typedef struct heed_group_options {
    const double *lr, *weight_decay;
    const double *momentum, *dampening; /* of SGD */
    const bool *nesterov;
    const double *betas, *eps; /* of Adam and AdamW; two betas */
} heed_group_options;

/* heed_add_param_group: adds parameters to the optimiser, like torch's
 * optimizer.add_param_group({"params": parameters, ...}); the list may be empty. On error nothing
 * changes. Errors are those of heed_adam_new; HEED_ERR_VALUE: a parameter was already added, or
 * this kind of optimiser does not have one of the options. */
heed_status heed_add_param_group(heed_optimizer *optimizer, heed_tensor_list parameters);
heed_status heed_add_param_group_with(heed_optimizer *optimizer, heed_tensor_list parameters,
                                      heed_group_options options);

/* heed_optimizer_step: updates every parameter that has a gradient, like torch's
 * optimizer.step(). HEED_ERR_NULL: no optimiser. Does nothing while an error is
 * pending, so the gradients of a failed backward are never applied. */
heed_status heed_optimizer_step(heed_optimizer *optimizer);

/* heed_optimizer_zero_grad: clears the gradients of its parameters, like torch's
 * optimizer.zero_grad(). HEED_ERR_NULL: no optimiser. */
heed_status heed_optimizer_zero_grad(heed_optimizer *optimizer);

/* heed_optimizer_state_dict: the complete state of an optimiser, by name, like torch's
 * optimizer.state_dict(). For a parameter W in group 0:
 *
 *   state.W.step                         number of steps with a gradient; i64 ()
 *   state.W.exp_avg .exp_avg_sq          Adam and AdamW: in W's shape; 0 before the first step
 *   state.W.momentum_buffer              SGD with momentum: the same
 *   param_groups.0.params.W              its index among all parameters; i64 ()
 *   param_groups.0.lr .weight_decay ...  f64; lr is NaN if the group uses the optimiser's
 *   AdamW.steps, AdamW.lr                i64 and f64 (), prefixed with the optimiser's name
 *
 * Parameters keep the names from their lists; those without a name are numbered. The list belongs
 * to the optimiser and is valid until the next call. The numbers in it are copies that belong to
 * the innermost scope; the tensors shaped like parameters are the optimiser's own and change in
 * later steps. Empty on error.
 *
 * heed_optimizer_load_state_dict: like torch's load_state_dict, but by name and in any order:
 * copies such a list into an optimiser constructed like the one it came from. On error nothing
 * changes. HEED_ERR_VALUE: names are missing or unexpected, or shapes differ (one message lists
 * them all), or a number is invalid for this optimiser. HEED_ERR_NULL: a tensor of the list is
 * NULL. */
heed_tensor_list heed_optimizer_state_dict(heed_optimizer *optimizer);
heed_status heed_optimizer_load_state_dict(heed_optimizer *optimizer, heed_tensor_list state);

/* For files that contain more than an optimiser (nn/files/checkpoint.c). heed_optimizer_list:
 * appends the state dict to a list, in the innermost scope. heed_optimizer_take: loads the values
 * of such a list, in the same order and shapes; on error nothing changes. HEED_ERR_VALUE: a number
 * is invalid for this optimiser. */
heed_status heed_optimizer_list(heed_optimizer *optimizer, heed_named_tensors *named);
heed_status heed_optimizer_take(const char *function, heed_optimizer *optimizer,
                                heed_tensor *const *values);

/* heed_optimizer_free: frees the optimiser and releases its tensors; NULL is a no-op. */
void heed_optimizer_free(heed_optimizer *optimizer);

HEED_END_DECLS
#endif
