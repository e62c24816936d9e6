/* Optimisers at work: which state, and when; the arithmetic is tensor/update.c's. */
#include <math.h>

#include "autograd/engine.h"
#include "nn/optim_parts.h"
#include "tensor/create.h"

int heed_optimizer_state_count(const heed_optimizer *optimizer, const heed_param_group *group)
{
    return !optimizer->is_sgd ? 2 : group->momentum != 0 ? 1 : 0;
}

heed_status heed_optimizer_make_state(heed_optimizer_slot *slot, int count)
{
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    for (int i = 0; i < count; i++) {
        const heed_tensor *p = slot->parameter;
        if (slot->state[i] == NULL) {
            slot->state[i] = heed_retain(heed_zeros(heed_shape_of_tensor(p), p->dtype));
        }
    }
    return heed_scope_end(&scope);
}

static heed_status step_sgd(const heed_param_group *group, double lr, heed_optimizer_slot *slot,
                            bool first)
{
    const heed_sgd_step step = {.lr = lr,
                                .momentum = group->momentum,
                                .dampening = group->dampening,
                                .weight_decay = group->weight_decay,
                                .nesterov = group->nesterov,
                                .first = first};
    heed_tensor *buffer = group->momentum != 0 ? slot->state[0] : NULL;
    return heed_sgd_update(slot->parameter, slot->parameter->grad, buffer, &step);
}

static heed_status step_adam(const heed_param_group *group, double lr, heed_optimizer_slot *slot,
                             bool decoupled)
{
    const heed_adam_step step = {.lr = lr,
                                 .beta1 = group->betas[0],
                                 .beta2 = group->betas[1],
                                 .eps = group->eps,
                                 .weight_decay = group->weight_decay,
                                 .decoupled = decoupled,
                                 .t = slot->steps + 1};
    return heed_adam_update(slot->parameter, slot->parameter->grad, slot->state[0], slot->state[1],
                            &step);
}

static heed_status step_slot(const heed_optimizer *optimizer, const heed_param_group *group,
                             heed_optimizer_slot *slot)
{
    const double lr = isnan(group->lr) ? optimizer->lr : group->lr;
    const bool first = slot->steps == 0 || slot->state[0] == NULL;
    heed_status status =
        heed_optimizer_make_state(slot, heed_optimizer_state_count(optimizer, group));
    if (status == HEED_OK) {
        status = optimizer->is_sgd ? step_sgd(group, lr, slot, first)
                                   : step_adam(group, lr, slot, optimizer->decoupled);
    }
    slot->steps += status == HEED_OK;
    return status;
}

heed_status heed_optimizer_step(heed_optimizer *optimizer)
{
    heed_status status = heed_optimizer_check("optimizer_step", optimizer);
    if (status != HEED_OK) {
        return status;
    }
    for (int i = 0; i < optimizer->group_count; i++) {
        const heed_param_group *group = &optimizer->groups[i];
        for (int j = 0; j < group->count && status == HEED_OK; j++) {
            heed_optimizer_slot *slot = &optimizer->slots[group->first + j];
            if (slot->parameter->grad != NULL) {
                status = step_slot(optimizer, group, slot);
            }
        }
    }
    optimizer->steps += status == HEED_OK;
    return status;
}

heed_status heed_optimizer_zero_grad(heed_optimizer *optimizer)
{
    heed_status status = heed_optimizer_check("optimizer_zero_grad", optimizer);
    for (int i = 0; optimizer != NULL && i < optimizer->count; i++) {
        heed_clear_grad(optimizer->slots[i].parameter);
    }
    return status;
}
