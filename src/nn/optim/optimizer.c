/* Optimisers: parameter groups and steps. tensor/optim_update.c does the arithmetic of a step. */

#include "optimizer.h"

#include <math.h>
#include <string.h>

#include "../../autograd/grad.h"
#include "../../autograd/notify.h"
#include "../../autograd/ops/view.h"
#include "../../tensor/alloc.h"
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "../arguments.h"
#include "../named_tensors.h"
#include "optimizer_private.h"

/* ---- checks ---- */

static heed_status check_optimizer(const char *function, const heed_optimizer *optimizer)
{
    return heed_check_not_null(function, "the optimiser", optimizer);
}

heed_status heed_check_group(const char *name, const heed_param_group *group)
{
    const double beta1 = group->betas[0], beta2 = group->betas[1];
    if (heed_check_not_negative(name, "momentum", group->momentum) != HEED_OK ||
        heed_check_not_negative(name, "weight_decay", group->weight_decay) != HEED_OK ||
        heed_check_not_negative(name, "eps", group->eps) != HEED_OK ||
        (group->own_lr && heed_check_not_negative(name, "lr", group->lr) != HEED_OK)) {
        return heed_error_pending();
    }
    if (!isfinite(group->dampening)) {
        return heed_fail(HEED_ERR_VALUE, "%s: dampening is %g; it must be finite", name,
                         group->dampening);
    }
    if (group->nesterov && (group->momentum == 0 || group->dampening != 0)) {
        return heed_fail(HEED_ERR_VALUE, "%s: nesterov needs a momentum and no dampening", name);
    }
    if (!(beta1 >= 0 && beta1 < 1) || !(beta2 >= 0 && beta2 < 1)) {
        return heed_fail(HEED_ERR_VALUE, "%s: betas %g and %g; each must be in [0, 1)", name, beta1,
                         beta2);
    }
    return HEED_OK;
}

static heed_status check_parameters(const heed_optimizer *optimizer, heed_tensor_list parameters)
{
    const char *name = optimizer->name;
    if (parameters.count > 0 && parameters.tensors == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: the list of parameters is NULL", name);
    }
    for (int i = 0; i < parameters.count; i++) {
        const heed_tensor *p = parameters.tensors[i];
        if (p == NULL || !p->requires_grad || p->op != NULL) {
            return heed_fail(p == NULL ? HEED_ERR_NULL : HEED_ERR_GRAPH,
                             "%s: parameter %d is not a leaf that requires a gradient", name, i);
        }
        if (heed_check_tensor(name, "a parameter", p) != HEED_OK) {
            return heed_error_pending();
        }
        const heed_tensor_list earlier = {i, parameters.tensors, NULL};
        if (heed_is_listed(optimizer->parameters, p) || heed_is_listed(earlier, p)) {
            return heed_fail(HEED_ERR_VALUE, "%s: parameter %d was already added", name, i);
        }
    }
    return HEED_OK;
}

/* ---- groups ---- */

static void free_arrays(heed_optimizer *optimizer)
{
    heed_free(optimizer->slots);
    heed_free(optimizer->groups);
    heed_named_delete(optimizer->named);
}

/* Builds larger arrays before freeing the old ones, so that an error changes nothing. */
static heed_status add_group(heed_optimizer *optimizer, heed_tensor_list parameters,
                             heed_param_group group)
{
    const int first = optimizer->parameters.count, groups_before = optimizer->group_count;
    heed_named_tensors named = {0};
    heed_named_append(&named, optimizer->parameters);
    for (int i = 0; i < parameters.count; i++) {
        const bool is_named = parameters.names != NULL && parameters.names[i] != NULL;
        is_named ? heed_named_add(&named, parameters.tensors[i], "%s", parameters.names[i])
                 : heed_named_add(&named, parameters.tensors[i], "%d", first + i);
    }
    heed_named_tensors *kept = heed_alloc(sizeof *kept);
    heed_optimizer_slot *slots = heed_alloc_zeroed((size_t)named.list.count * sizeof *slots);
    heed_param_group *groups = heed_alloc((size_t)(groups_before + 1) * sizeof *groups);
    if (heed_error_pending()) {
        heed_named_free(&named);
        heed_free(kept);
        heed_free(slots);
        heed_free(groups);
        return heed_error_pending();
    }
    if (groups_before > 0) {
        memcpy(slots, optimizer->slots, (size_t)first * sizeof *slots);
        memcpy(groups, optimizer->groups, (size_t)groups_before * sizeof *groups);
    }
    group.first = first;
    group.count = named.list.count - first;
    groups[groups_before] = group;
    for (int i = 0; i < group.count; i++) {
        heed_retain(parameters.tensors[i]);
    }
    free_arrays(optimizer);
    *kept = named;
    optimizer->named = kept;
    optimizer->parameters = named.list;
    optimizer->slots = slots;
    optimizer->groups = groups;
    optimizer->group_count++;
    return HEED_OK;
}

heed_param_group heed_optimizer_defaults(const heed_optimizer *optimizer)
{
    return check_optimizer("optimizer_defaults", optimizer) == HEED_OK ? optimizer->defaults
                                                                       : (heed_param_group){0};
}

heed_status heed_add_param_group(heed_optimizer *optimizer, heed_tensor_list parameters)
{
    return heed_add_param_group_with(
        optimizer, parameters, optimizer != NULL ? optimizer->defaults : (heed_param_group){0});
}

heed_status heed_add_param_group_with(heed_optimizer *optimizer, heed_tensor_list parameters,
                                      heed_param_group options)
{
    if (check_optimizer("add_param_group", optimizer) != HEED_OK) {
        return heed_error_pending();
    }
    const bool of_sgd = options.momentum != 0 || options.dampening != 0 || options.nesterov;
    const bool of_adam = options.betas[0] != 0 || options.betas[1] != 0 || options.eps != 0;
    if (optimizer->is_sgd ? of_adam : of_sgd) {
        return heed_fail(HEED_ERR_VALUE, "add_param_group: %s has no %s", optimizer->name,
                         optimizer->is_sgd ? "betas or eps" : "momentum, dampening or nesterov");
    }
    return heed_check_group(optimizer->name, &options) == HEED_OK &&
                   check_parameters(optimizer, parameters) == HEED_OK
               ? add_group(optimizer, parameters, options)
               : heed_error_pending();
}

/* ---- creation ---- */

/* `made` has the name and options; the parameters become group 0. */
static heed_optimizer *new_optimizer(heed_optimizer made, heed_tensor_list parameters, double lr)
{
    if (parameters.count < 1) {
        heed_fail(HEED_ERR_VALUE, "%s: no parameters to train", made.name);
    }
    if (heed_error_pending() || heed_check_group(made.name, &made.defaults) != HEED_OK ||
        check_parameters(&made, parameters) != HEED_OK ||
        heed_check_not_negative(made.name, "lr", lr) != HEED_OK) {
        return NULL;
    }
    heed_optimizer *optimizer = heed_alloc(sizeof *optimizer);
    if (optimizer == NULL) {
        return NULL;
    }
    *optimizer = made;
    optimizer->lr = lr;
    if (add_group(optimizer, parameters, optimizer->defaults) != HEED_OK) {
        heed_optimizer_free(optimizer);
        return NULL;
    }
    return optimizer;
}

heed_optimizer *heed_sgd_new(heed_tensor_list parameters, double lr)
{
    return heed_sgd_new_with(parameters, lr, (heed_sgd_options){0});
}

heed_optimizer *heed_sgd_new_with(heed_tensor_list parameters, double lr, heed_sgd_options options)
{
    const heed_optimizer made = {.name = "SGD",
                                 .is_sgd = true,
                                 .defaults = {.momentum = options.momentum,
                                              .dampening = options.dampening,
                                              .weight_decay = options.weight_decay,
                                              .nesterov = options.nesterov}};
    return new_optimizer(made, parameters, lr);
}

static heed_optimizer *new_adam(const char *name, heed_tensor_list parameters, double lr,
                                heed_adam_options options, double weight_decay, bool decoupled)
{
    heed_optimizer made = {
        .name = name,
        .decoupled = decoupled,
        .defaults = {.betas = {0.9, 0.999},
                     .eps = options.eps != 0 ? options.eps : 1e-8,
                     .weight_decay = weight_decay},
    };
    if (options.betas[0] != 0 || options.betas[1] != 0) {
        memcpy(made.defaults.betas, options.betas, sizeof options.betas);
    }
    return new_optimizer(made, parameters, lr);
}

heed_optimizer *heed_adam_new(heed_tensor_list parameters, double lr)
{
    return heed_adam_new_with(parameters, lr, (heed_adam_options){0});
}

heed_optimizer *heed_adam_new_with(heed_tensor_list parameters, double lr,
                                   heed_adam_options options)
{
    return new_adam("Adam", parameters, lr, options, options.weight_decay, false);
}

heed_optimizer *heed_adamw_new(heed_tensor_list parameters, double lr, double weight_decay)
{
    return heed_adamw_new_with(parameters, lr, weight_decay, (heed_adam_options){0});
}

heed_optimizer *heed_adamw_new_with(heed_tensor_list parameters, double lr, double weight_decay,
                                    heed_adam_options options)
{
    if (options.weight_decay != 0) {
        heed_fail(HEED_ERR_VALUE,
                  "AdamW: pass weight_decay as an argument, not as %g in the options",
                  options.weight_decay);
        return NULL;
    }
    return new_adam("AdamW", parameters, lr, options, weight_decay, true);
}

void heed_optimizer_free(heed_optimizer *optimizer)
{
    if (optimizer == NULL) {
        return;
    }
    for (int i = 0; i < optimizer->parameters.count; i++) {
        heed_release(optimizer->parameters.tensors[i]);
        for (int j = 0; j < 2; j++) {
            heed_release(optimizer->slots[i].state[j]);
        }
    }
    free_arrays(optimizer);
    heed_named_delete(optimizer->listed);
    heed_free(optimizer);
}

/* ---- state ---- */

int heed_state_count(const heed_optimizer *optimizer, const heed_param_group *group)
{
    return !optimizer->is_sgd ? 2 : group->momentum != 0 ? 1 : 0;
}

heed_status heed_make_state(const heed_optimizer *optimizer, int i, int count)
{
    heed_optimizer_slot *slot = &optimizer->slots[i];
    const heed_tensor *p = optimizer->parameters.tensors[i];
    if (count == 0 || slot->state[count - 1] != NULL) {
        return HEED_OK;
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    for (int j = 0; j < count; j++) {
        if (slot->state[j] == NULL) {
            slot->state[j] = heed_retain(heed_zeros(heed_shape_of_tensor(p), p->dtype));
        }
    }
    return heed_scope_end(&scope);
}

/* ---- a step: parameters of a group with equal step counts are updated in one call ---- */

enum { TOGETHER = 64 };

/* `age`: for SGD, 0 if the buffers are still empty, else 1; for Adam, the step number, from 1. */
static heed_status update(const heed_optimizer *optimizer, const heed_param_group *group,
                          const heed_update *all, int count, int64_t age)
{
    const double lr = group->own_lr ? group->lr : optimizer->lr;
    if (optimizer->is_sgd) {
        const heed_sgd_step step = {.lr = lr,
                                    .momentum = group->momentum,
                                    .dampening = group->dampening,
                                    .weight_decay = group->weight_decay,
                                    .nesterov = group->nesterov,
                                    .first = age == 0};
        return heed_sgd_update_all(all, count, &step);
    }
    const heed_adam_step step = {.lr = lr,
                                 .beta1 = group->betas[0],
                                 .beta2 = group->betas[1],
                                 .eps = group->eps,
                                 .weight_decay = group->weight_decay,
                                 .decoupled = optimizer->decoupled,
                                 .t = age};
    return heed_adam_update_all(all, count, &step);
}

/* Saturates: at the maximum, one more step no longer changes any update. */
static int64_t after(int64_t steps)
{
    return steps < INT64_MAX ? steps + 1 : steps;
}

static heed_status step_group(const heed_optimizer *optimizer, const heed_param_group *group)
{
    const int states = heed_state_count(optimizer, group), end = group->first + group->count;
    heed_update all[TOGETHER];
    for (int i = group->first, first = i; i < end; first = i) {
        int64_t age = 0;
        int count = 0;
        for (; i < end && count < TOGETHER; i++) {
            const heed_optimizer_slot *slot = &optimizer->slots[i];
            heed_tensor *p = optimizer->parameters.tensors[i];
            if (p->grad == NULL) {
                continue;
            }
            const bool fresh = slot->steps == 0 || slot->state[0] == NULL;
            const int64_t its_age = optimizer->is_sgd ? !fresh : after(slot->steps);
            if (count > 0 && its_age != age) {
                break;
            }
            if (heed_make_state(optimizer, i, states) != HEED_OK) {
                return heed_error_pending();
            }
            age = its_age;
            all[count++] = (heed_update){.p = p,
                                         .g = p->grad,
                                         .b = states == 1 ? slot->state[0] : NULL,
                                         .m = slot->state[0],
                                         .v = slot->state[1]};
        }
        if (count > 0 && update(optimizer, group, all, count, age) != HEED_OK) {
            return heed_error_pending();
        }
        for (int j = first; j < i; j++) {
            if (optimizer->parameters.tensors[j]->grad != NULL) {
                optimizer->slots[j].steps = after(optimizer->slots[j].steps);
            }
        }
    }
    return HEED_OK;
}

heed_status heed_optimizer_step(heed_optimizer *optimizer)
{
    heed_status status = check_optimizer("optimizer_step", optimizer);
    if (status != HEED_OK) {
        return status;
    }
    if (heed_self.observers != NULL) {
        status = heed_self.observers->before_step(optimizer);
    }
    for (int i = 0; i < optimizer->group_count && status == HEED_OK; i++) {
        status = step_group(optimizer, &optimizer->groups[i]);
    }
    if (status == HEED_OK) {
        optimizer->steps = after(optimizer->steps);
    }
    return status == HEED_OK && heed_self.observers != NULL
               ? heed_self.observers->after_step(optimizer)
               : status;
}

heed_status heed_optimizer_zero_grad(heed_optimizer *optimizer)
{
    heed_status status = check_optimizer("optimizer_zero_grad", optimizer);
    for (int i = 0; optimizer != NULL && i < optimizer->parameters.count; i++) {
        heed_clear_grad(optimizer->parameters.tensors[i]);
    }
    return status;
}
