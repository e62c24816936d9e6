/* Making optimisers: their options, and which parameters have which. */
#include "optim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../tensor/alloc.h"
#include "../checks.h"
#include "optim_state.h"

/* ---- what can be ---- */

heed_status heed_optimizer_check(const char *function, const heed_optimizer *optimizer)
{
    if (!heed_error_pending() && optimizer == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: the optimiser is NULL", function);
    }
    return heed_error_pending();
}

heed_status heed_param_group_check(const char *name, const heed_param_group *group)
{
    const double beta1 = group->betas[0], beta2 = group->betas[1];
    if (heed_check_not_negative(name, "momentum", group->momentum) != HEED_OK ||
        heed_check_not_negative(name, "weight_decay", group->weight_decay) != HEED_OK ||
        heed_check_not_negative(name, "eps", group->eps) != HEED_OK) {
        return heed_error_pending();
    }
    if (!isfinite(group->dampening)) {
        return heed_fail(HEED_ERR_VALUE, "%s: dampening is %g", name, group->dampening);
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

static bool has_parameter(const heed_optimizer *optimizer, const heed_tensor *p)
{
    for (int i = 0; i < optimizer->count; i++) {
        if (optimizer->slots[i].parameter == p) {
            return true;
        }
    }
    return false;
}

static bool is_twice(heed_tensor_list parameters, int i)
{
    for (int j = 0; j < i; j++) {
        if (parameters.tensors[j] == parameters.tensors[i]) {
            return true;
        }
    }
    return false;
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
        if (has_parameter(optimizer, p) || is_twice(parameters, i)) {
            return heed_fail(HEED_ERR_VALUE, "%s: parameter %d is there already", name, i);
        }
    }
    return HEED_OK;
}

/* ---- groups ---- */

static char *name_of(heed_tensor_list parameters, int i, int number)
{
    char digits[16];
    snprintf(digits, sizeof digits, "%d", number);
    const char *from =
        parameters.names != NULL && parameters.names[i] != NULL ? parameters.names[i] : digits;
    char *name = heed_alloc(strlen(from) + 1);
    return name != NULL ? strcpy(name, from) : NULL;
}

static void free_slot(heed_optimizer_slot *slot)
{
    heed_release(slot->parameter);
    for (int i = 0; i < HEED_OPTIMIZER_STATES; i++) {
        heed_release(slot->state[i]);
    }
    if (slot->name != NULL) {
        heed_free(slot->name, strlen(slot->name) + 1);
    }
}

/* Both arrays are as large as they need to be. */
static heed_status make_room(heed_optimizer *optimizer, int more)
{
    const size_t slot = sizeof *optimizer->slots, group = sizeof *optimizer->groups;
    const size_t groups = (size_t)optimizer->group_count, slots = (size_t)optimizer->count;
    heed_param_group *grown = heed_alloc((groups + 1) * group);
    heed_optimizer_slot *grown_slots = heed_alloc((slots + (size_t)more) * slot);
    if (grown == NULL || grown_slots == NULL) {
        heed_free(grown, (groups + 1) * group);
        heed_free(grown_slots, (slots + (size_t)more) * slot);
        return heed_error_pending();
    }
    if (optimizer->groups != NULL) {
        memcpy(grown, optimizer->groups, groups * group);
        memcpy(grown_slots, optimizer->slots, slots * slot);
    }
    heed_free(optimizer->groups, groups * group);
    heed_free(optimizer->slots, slots * slot);
    optimizer->groups = grown;
    optimizer->slots = grown_slots;
    return HEED_OK;
}

/* Takes the parameters up. The arrays have room for them and for nothing more, so what is freed is
 * as large as what was allocated: on an error all of the group goes again. */
static heed_status add_group(heed_optimizer *optimizer, heed_tensor_list parameters,
                             heed_param_group group)
{
    const int count = parameters.count > 0 ? parameters.count : 0;
    char **names = heed_alloc_zeroed((size_t)count * sizeof *names);
    for (int i = 0; i < count && names != NULL && !heed_error_pending(); i++) {
        names[i] = name_of(parameters, i, optimizer->count + i);
    }
    if (!heed_error_pending() && make_room(optimizer, count) == HEED_OK) {
        group.first = optimizer->count;
        group.count = count;
        optimizer->groups[optimizer->group_count++] = group;
        for (int i = 0; i < count; i++) {
            optimizer->slots[optimizer->count++] = (heed_optimizer_slot){
                .parameter = heed_retain(parameters.tensors[i]), .name = names[i]};
        }
    } else {
        for (int i = 0; i < count && names != NULL && names[i] != NULL; i++) {
            heed_free(names[i], strlen(names[i]) + 1);
        }
    }
    heed_free(names, (size_t)count * sizeof *names);
    return heed_error_pending();
}

static double given(const double *option, double fallback)
{
    return option != NULL ? *option : fallback;
}

heed_status heed_add_param_group(heed_optimizer *optimizer, heed_tensor_list parameters,
                                 heed_group_options options)
{
    if (heed_optimizer_check("add_param_group", optimizer) != HEED_OK) {
        return heed_error_pending();
    }
    const bool of_sgd = options.momentum != NULL || options.dampening != NULL || options.nesterov;
    const bool of_adam = options.betas != NULL || options.eps != NULL;
    if (optimizer->is_sgd ? of_adam : of_sgd) {
        return heed_fail(HEED_ERR_VALUE, "add_param_group: %s has no %s", optimizer->name,
                         optimizer->is_sgd ? "betas and eps" : "momentum, dampening and nesterov");
    }
    heed_param_group group = optimizer->defaults;
    group.weight_decay = given(options.weight_decay, group.weight_decay);
    group.momentum = given(options.momentum, group.momentum);
    group.dampening = given(options.dampening, group.dampening);
    group.nesterov = options.nesterov != NULL ? *options.nesterov : group.nesterov;
    group.eps = given(options.eps, group.eps);
    if (options.betas != NULL) {
        memcpy(group.betas, options.betas, sizeof group.betas);
    }
    if (options.lr != NULL &&
        heed_check_not_negative(optimizer->name, "lr", *options.lr) == HEED_OK) {
        group.lr = *options.lr;
    }
    if (heed_error_pending() || heed_param_group_check(optimizer->name, &group) != HEED_OK ||
        check_parameters(optimizer, parameters) != HEED_OK) {
        return heed_error_pending();
    }
    return add_group(optimizer, parameters, group);
}

/* ---- making ---- */

/* `made` has name and options; group 0 becomes that of the parameters. */
static heed_optimizer *new_optimizer(heed_optimizer made, heed_tensor_list parameters, double lr)
{
    if (heed_error_pending() || heed_param_group_check(made.name, &made.defaults) != HEED_OK) {
        return NULL;
    }
    if (parameters.count < 1) {
        heed_fail(HEED_ERR_VALUE, "%s: no parameters to train", made.name);
        return NULL;
    }
    if (check_parameters(&made, parameters) != HEED_OK ||
        heed_check_not_negative(made.name, "lr", lr) != HEED_OK) {
        return NULL;
    }
    heed_optimizer *optimizer = heed_alloc(sizeof *optimizer);
    if (optimizer == NULL) {
        return NULL;
    }
    *optimizer = made;
    optimizer->lr = lr;
    optimizer->defaults.lr = (double)NAN;
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
    if (options.betas != NULL) {
        memcpy(made.defaults.betas, options.betas, sizeof made.defaults.betas);
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
                  "AdamW: its weight_decay is an argument of its own, not %g in "
                  "the options",
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
    heed_optimizer_names_free(optimizer->names);
    for (int i = 0; i < optimizer->count; i++) {
        free_slot(&optimizer->slots[i]);
    }
    heed_free(optimizer->slots, (size_t)optimizer->count * sizeof *optimizer->slots);
    heed_free(optimizer->groups, (size_t)optimizer->group_count * sizeof *optimizer->groups);
    heed_free(optimizer, sizeof *optimizer);
}
