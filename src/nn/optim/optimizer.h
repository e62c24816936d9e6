/* Optimisers, as torch.optim. tensor/optim_update.h has the formulas.
 *
 *     heed_optimizer *adam = heed_adam_new(heed_parameters(model), 1e-3);
 *     ...
 *     heed_optimizer_zero_grad(adam);
 *     heed_backward(loss);
 *     heed_optimizer_step(adam);
 *
 * An optimiser retains its tensors. The learning rate may be changed at any time, by a schedule of
 * nn/optim/schedule.h say: adam->lr = ...
 *
 * Groups of parameters differ in options. Weight decay is for matrices, not for biases and the
 * weights of norms:
 *
 *     heed_optimizer *adamw = heed_adamw_new(heed_decay_parameters(model), 1e-3, 0.1);
 *     heed_add_param_group_with(adamw, heed_no_decay_parameters(model),
 *                               (heed_group_options){.weight_decay = &(double){0}});
 *
 * Gradients add up until zero_grad, so a batch that is too large for the memory is learned from in
 * parts: k backward passes of a loss / k each, one step.
 *
 *     heed_optimizer_zero_grad(adam);
 *     for (int i = 0; i < k; i++) {
 *         heed_scope part;
 *         heed_scope_begin(&part);
 *         heed_backward(heed_div_scalar(loss_of_part(i), k));
 *         heed_scope_end(&part);
 *     }
 *     heed_optimizer_step(adam);
 *
 * For a loss that is a mean over parts of equal size, the gradients are those of the whole batch.
 */
#ifndef HEED_NN_OPTIMIZER_H
#define HEED_NN_OPTIMIZER_H

#include "../../tensor/optim_update.h"
#include "../module.h"

HEED_BEGIN_DECLS

/* The options of some of the parameters; each number may be changed at any time. */
typedef struct heed_param_group {
    bool own_lr; /* lr is its learning rate; else the optimiser's lr is */
    double lr;
    double weight_decay;
    double momentum, dampening; /* of SGD */
    bool nesterov;
    double betas[2], eps; /* of Adam and AdamW */
    int first, count;     /* which parameters: belongs to optimizer.c */
} heed_param_group;

typedef struct heed_optimizer {
    double lr;        /* of every group that has none of its own */
    const char *name; /* "SGD", "Adam", "AdamW" */
    int64_t steps;    /* taken so far */
    int group_count;
    heed_param_group *groups; /* the first is the constructor's */
    /* the rest belongs to optimizer.c */
    heed_param_group defaults;
    bool is_sgd, decoupled;
    heed_named_tensors parameters; /* retained, under the names that their lists had, or numbers */
    struct heed_optimizer_slot *slots; /* one for each */
    heed_named_tensors listed;         /* by heed_optimizer_state_dict */
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
 * momentum or with dampening, no tensors, one that is there twice. HEED_ERR_GRAPH: a tensor that is
 * no leaf with a gradient. */
heed_optimizer *heed_sgd_new(heed_tensor_list parameters, double lr);
heed_optimizer *heed_sgd_new_with(heed_tensor_list parameters, double lr, heed_sgd_options options);
heed_optimizer *heed_adam_new(heed_tensor_list parameters, double lr);
heed_optimizer *heed_adam_new_with(heed_tensor_list parameters, double lr,
                                   heed_adam_options options);
heed_optimizer *heed_adamw_new(heed_tensor_list parameters, double lr, double weight_decay);
heed_optimizer *heed_adamw_new_with(heed_tensor_list parameters, double lr, double weight_decay,
                                    heed_adam_options options);

/* What a group has of its own; NULL: what the constructor was given. */
typedef struct heed_group_options {
    const double *lr, *weight_decay;
    const double *momentum, *dampening; /* of SGD */
    const bool *nesterov;
    const double *betas, *eps; /* of Adam and AdamW; two betas */
} heed_group_options;

/* heed_add_param_group: has the optimiser train more parameters, as torch's
 * optimizer.add_param_group({"params": parameters, ...}); none are fine. On an error it stays as it
 * was. Errors as above; HEED_ERR_VALUE: a parameter that the optimiser has already, or an option
 * that is another optimiser's. */
heed_status heed_add_param_group(heed_optimizer *optimizer, heed_tensor_list parameters);
heed_status heed_add_param_group_with(heed_optimizer *optimizer, heed_tensor_list parameters,
                                      heed_group_options options);

/* heed_optimizer_step: updates every parameter that has a gradient. Does nothing while an error is
 * pending, so a failed backward is never applied. */
heed_status heed_optimizer_step(heed_optimizer *optimizer);

/* heed_optimizer_zero_grad: forgets the gradients of its tensors. */
heed_status heed_optimizer_zero_grad(heed_optimizer *optimizer);

/* heed_optimizer_state_dict: all that an optimiser needs to go on, by name, as torch's
 * optimizer.state_dict(); of a parameter W in group 0
 *
 *   state.W.step                         how many gradients it has had; i64 ()
 *   state.W.exp_avg .exp_avg_sq          of Adam and AdamW, in W's shape;
 *   state.W.momentum_buffer              of SGD with a momentum; 0 before the first step
 *   param_groups.0.params.W              its place among all parameters; i64 ()
 *   param_groups.0.lr .weight_decay ...  f64; lr is NaN if it is the optimiser's
 *   AdamW.steps, AdamW.lr                i64 and f64 (), under the optimiser's name
 *
 * A parameter has the name that the list had in which it came, else its place. The list belongs to
 * the optimiser, and holds until the next call. Numbers in it are copies, in the innermost scope;
 * the tensors in the shape of parameters are the optimiser's own: later steps change them. Empty on
 * error.
 *
 * heed_optimizer_load_state_dict: copies such a list into an optimiser made as the one that it came
 * from, as torch's load_state_dict, but by name, whatever the order. On an error nothing has
 * changed.
 * HEED_ERR_VALUE: names that are missing or unexpected, shapes that differ, in one sentence;
 * numbers that such an optimiser cannot have. HEED_ERR_NULL: a tensor of the list is. */
heed_tensor_list heed_optimizer_state_dict(heed_optimizer *optimizer);
heed_status heed_optimizer_load_state_dict(heed_optimizer *optimizer, heed_tensor_list state);

/* For files that hold more than an optimiser (nn/files/checkpoint.c). heed_optimizer_list: appends
 * its state dict to a list, in the innermost scope. heed_optimizer_take: takes the values of such a
 * list, in its order and shapes; on an error nothing has changed. HEED_ERR_VALUE: numbers that no
 * such optimiser has. */
heed_status heed_optimizer_list(heed_optimizer *optimizer, heed_named_tensors *named);
heed_status heed_optimizer_take(const char *function, heed_optimizer *optimizer,
                                heed_tensor *const *values);

void heed_optimizer_free(heed_optimizer *optimizer);

HEED_END_DECLS
#endif
