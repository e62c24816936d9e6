/* Optimisers at work: which state, and when; the arithmetic is tensor/update.c's. */
#include <math.h>

#include "../../autograd/grad.h"
#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "optim_parts.h"

int heed_optimizer_state_count(const heed_optimizer *optimizer, const heed_param_group *group)
{
    return !optimizer->is_sgd ? 2 : group->momentum != 0 ? 1 : 0;
}

heed_status heed_optimizer_make_state(heed_optimizer_slot *slot, int count)
{
    bool all_there = true;
    for (int i = 0; i < count; i++) {
        all_there = all_there && slot->state[i] != NULL;
    }
    if (all_there) {
        return HEED_OK;
    }
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

/* ---- a step: parameters of a group that are as old as each other are updated in one call ---- */

enum { TOGETHER = 64 };

/* The slots [first, end) of a group, without those that have no gradient. */
typedef struct batch {
    const heed_param_group *group;
    int first, end, count;
    int64_t age; /* SGD: 0 if nothing is in the buffers yet, else 1; Adam: the number of the step */
    heed_update all[TOGETHER];
} batch;

static int64_t age_of(const heed_optimizer *optimizer, const heed_optimizer_slot *slot)
{
    const bool first = slot->steps == 0 || slot->state[0] == NULL;
    return optimizer->is_sgd ? !first : slot->steps + 1;
}

/* Fills a batch from the slot at `first` on. */
static heed_status gather(const heed_optimizer *optimizer, batch *b)
{
    const int states = heed_optimizer_state_count(optimizer, b->group);
    b->count = 0;
    for (b->end = b->first; b->end < b->group->count && b->count < TOGETHER; b->end++) {
        heed_optimizer_slot *slot = &optimizer->slots[b->group->first + b->end];
        if (slot->parameter->grad == NULL) {
            continue;
        }
        const int64_t age = age_of(optimizer, slot);
        if (b->count > 0 && age != b->age) {
            break;
        }
        if (heed_optimizer_make_state(slot, states) != HEED_OK) {
            return heed_error_pending();
        }
        b->age = age;
        b->all[b->count++] = (heed_update){
            .p = slot->parameter,
            .g = slot->parameter->grad,
            .b = states == 1 ? slot->state[0] : NULL,
            .m = slot->state[0],
            .v = slot->state[1],
        };
    }
    return HEED_OK;
}

static heed_status update(const heed_optimizer *optimizer, const batch *b)
{
    const heed_param_group *group = b->group;
    const double lr = isnan(group->lr) ? optimizer->lr : group->lr;
    if (b->count == 0) {
        return HEED_OK;
    }
    if (optimizer->is_sgd) {
        const heed_sgd_step step = {.lr = lr,
                                    .momentum = group->momentum,
                                    .dampening = group->dampening,
                                    .weight_decay = group->weight_decay,
                                    .nesterov = group->nesterov,
                                    .first = b->age == 0};
        return heed_sgd_update_all(b->all, b->count, &step);
    }
    const heed_adam_step step = {.lr = lr,
                                 .beta1 = group->betas[0],
                                 .beta2 = group->betas[1],
                                 .eps = group->eps,
                                 .weight_decay = group->weight_decay,
                                 .decoupled = optimizer->decoupled,
                                 .t = b->age};
    return heed_adam_update_all(b->all, b->count, &step);
}

static heed_status step_group(const heed_optimizer *optimizer, const heed_param_group *group)
{
    batch b;
    b.group = group;
    for (b.first = 0; b.first < group->count; b.first = b.end) {
        if (gather(optimizer, &b) != HEED_OK || update(optimizer, &b) != HEED_OK) {
            return heed_error_pending();
        }
        for (int i = b.first; i < b.end; i++) {
            heed_optimizer_slot *slot = &optimizer->slots[group->first + i];
            slot->steps += slot->parameter->grad != NULL;
        }
    }
    return HEED_OK;
}

heed_status heed_optimizer_step(heed_optimizer *optimizer)
{
    heed_status status = heed_optimizer_check("optimizer_step", optimizer);
    if (status != HEED_OK) {
        return status;
    }
    for (int i = 0; i < optimizer->group_count && status == HEED_OK; i++) {
        status = step_group(optimizer, &optimizer->groups[i]);
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
