/* Optimisers: which tensors, which state, and when; the arithmetic is tensor/update.c's. */
#include "nn/optim.h"

#include <math.h>

#include "autograd/engine.h"
#include "tensor/alloc.h"
#include "tensor/create.h"

/* A parameter and what the optimiser remembers of it: the momentum, or both moments. */
typedef struct heed_optimizer_slot {
    heed_tensor *parameter;
    heed_tensor *state[2]; /* made at its first gradient */
    int64_t steps;         /* with a gradient */
} heed_optimizer_slot;

/* ---- making ---- */

static heed_status check_parameters(const char *name, heed_tensor_list parameters)
{
    if (heed_error_pending() || parameters.count < 1 || parameters.tensors == NULL) {
        return heed_fail(HEED_ERR_VALUE, "%s: no parameters to train", name);
    }
    for (int i = 0; i < parameters.count; i++) {
        const heed_tensor *p = parameters.tensors[i];
        if (p == NULL || !p->requires_grad || p->op != NULL) {
            return heed_fail(p == NULL ? HEED_ERR_NULL : HEED_ERR_GRAPH,
                             "%s: parameter %d is not a leaf that requires a gradient", name, i);
        }
    }
    return HEED_OK;
}

static heed_status check_number(const char *name, const char *what, double number)
{
    if (!(number >= 0) || isinf(number)) {
        return heed_fail(HEED_ERR_VALUE, "%s: %s is %g; it must be 0 or more", name, what, number);
    }
    return HEED_OK;
}

static heed_optimizer *new_optimizer(const char *name, heed_tensor_list parameters, double lr)
{
    if (check_parameters(name, parameters) != HEED_OK || check_number(name, "lr", lr) != HEED_OK) {
        return NULL;
    }
    heed_optimizer *optimizer = heed_alloc_zeroed(sizeof *optimizer);
    if (optimizer == NULL) {
        return NULL;
    }
    optimizer->slots = heed_alloc_zeroed((size_t)parameters.count * sizeof *optimizer->slots);
    if (optimizer->slots == NULL) {
        heed_free(optimizer, sizeof *optimizer);
        return NULL;
    }
    optimizer->name = name;
    optimizer->lr = lr;
    optimizer->count = parameters.count;
    for (int i = 0; i < parameters.count; i++) {
        optimizer->slots[i].parameter = heed_retain(parameters.tensors[i]);
    }
    return optimizer;
}

heed_optimizer *heed_sgd_new(heed_tensor_list parameters, double lr)
{
    return heed_sgd_new_with(parameters, lr, (heed_sgd_options){0});
}

heed_optimizer *heed_sgd_new_with(heed_tensor_list parameters, double lr, heed_sgd_options options)
{
    if (check_number("SGD", "momentum", options.momentum) != HEED_OK ||
        check_number("SGD", "weight_decay", options.weight_decay) != HEED_OK) {
        return NULL;
    }
    if (options.nesterov && (options.momentum == 0 || options.dampening != 0)) {
        heed_fail(HEED_ERR_VALUE, "SGD: nesterov needs a momentum and no dampening");
        return NULL;
    }
    heed_optimizer *optimizer = new_optimizer("SGD", parameters, lr);
    if (optimizer != NULL) {
        optimizer->is_sgd = true;
        optimizer->sgd = (heed_sgd_step){.momentum = options.momentum,
                                         .dampening = options.dampening,
                                         .weight_decay = options.weight_decay,
                                         .nesterov = options.nesterov};
    }
    return optimizer;
}

static heed_optimizer *new_adam(const char *name, heed_tensor_list parameters, double lr,
                                heed_adam_options options, double weight_decay, bool decoupled)
{
    const double beta1 = options.betas != NULL ? options.betas[0] : 0.9;
    const double beta2 = options.betas != NULL ? options.betas[1] : 0.999;
    const double eps = options.eps != 0 ? options.eps : 1e-8;
    if (check_number(name, "weight_decay", weight_decay) != HEED_OK ||
        check_number(name, "eps", eps) != HEED_OK) {
        return NULL;
    }
    if (!(beta1 >= 0 && beta1 < 1) || !(beta2 >= 0 && beta2 < 1)) {
        heed_fail(HEED_ERR_VALUE, "%s: betas %g and %g; each must be in [0, 1)", name, beta1,
                  beta2);
        return NULL;
    }
    heed_optimizer *optimizer = new_optimizer(name, parameters, lr);
    if (optimizer != NULL) {
        optimizer->adam = (heed_adam_step){.beta1 = beta1,
                                           .beta2 = beta2,
                                           .eps = eps,
                                           .weight_decay = weight_decay,
                                           .decoupled = decoupled};
    }
    return optimizer;
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

/* ---- stepping ---- */

static heed_status check_optimizer(const char *function, const heed_optimizer *optimizer)
{
    if (!heed_error_pending() && optimizer == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: the optimiser is NULL", function);
    }
    return heed_error_pending();
}

/* State of zeros in the parameter's shape, kept beyond all scopes. */
static heed_status make_state(heed_optimizer_slot *slot, int count)
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

static heed_status step_sgd(heed_optimizer *optimizer, heed_optimizer_slot *slot)
{
    const bool has_momentum = optimizer->sgd.momentum != 0;
    if (has_momentum && make_state(slot, 1) != HEED_OK) {
        return heed_error_pending();
    }
    optimizer->sgd.lr = optimizer->lr;
    optimizer->sgd.first = slot->steps == 0;
    return heed_sgd_update(slot->parameter, slot->parameter->grad, slot->state[0], &optimizer->sgd);
}

static heed_status step_adam(heed_optimizer *optimizer, heed_optimizer_slot *slot)
{
    heed_status status = make_state(slot, 2);
    if (status != HEED_OK) {
        return status;
    }
    optimizer->adam.lr = optimizer->lr;
    optimizer->adam.t = slot->steps + 1;
    return heed_adam_update(slot->parameter, slot->parameter->grad, slot->state[0], slot->state[1],
                            &optimizer->adam);
}

heed_status heed_optimizer_step(heed_optimizer *optimizer)
{
    heed_status status = check_optimizer("optimizer_step", optimizer);
    if (status != HEED_OK) {
        return status;
    }
    for (int i = 0; i < optimizer->count && status == HEED_OK; i++) {
        heed_optimizer_slot *slot = &optimizer->slots[i];
        if (slot->parameter->grad == NULL) {
            continue;
        }
        status = optimizer->is_sgd ? step_sgd(optimizer, slot) : step_adam(optimizer, slot);
        slot->steps += status == HEED_OK;
    }
    optimizer->steps += status == HEED_OK;
    return status;
}

heed_status heed_optimizer_zero_grad(heed_optimizer *optimizer)
{
    heed_status status = check_optimizer("optimizer_zero_grad", optimizer);
    for (int i = 0; optimizer != NULL && i < optimizer->count; i++) {
        heed_clear_grad(optimizer->slots[i].parameter);
    }
    return status;
}

void heed_optimizer_free(heed_optimizer *optimizer)
{
    if (optimizer == NULL) {
        return;
    }
    for (int i = 0; i < optimizer->count; i++) {
        heed_release(optimizer->slots[i].parameter);
        heed_release(optimizer->slots[i].state[0]);
        heed_release(optimizer->slots[i].state[1]);
    }
    heed_free(optimizer->slots, (size_t)optimizer->count * sizeof *optimizer->slots);
    heed_free(optimizer, sizeof *optimizer);
}
