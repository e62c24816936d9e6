/* Optimisers: parameter groups, steps, and the state as named tensors. tensor/optim_update.c does
 * the arithmetic of a step. */

#include "optimizer.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "../../autograd/anomaly.h"
#include "../../autograd/grad.h"
#include "../../autograd/ops/elementwise.h"
#include "../../autograd/ops/reductions.h"
#include "../../autograd/ops/view.h"
#include "../../tensor/alloc.h"
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "../arguments.h"
#include "../files/match_tensors.h"
#include "../named_tensors.h"

enum { STATES = 2 };

/* The state of a parameter: the momentum buffer, or both moments. */
typedef struct heed_optimizer_slot {
    heed_tensor *state[STATES]; /* created at the first gradient */
    int64_t steps;              /* steps with a gradient */
    heed_tensor *used;          /* anomaly mode: the gradient of the last step, retained */
    uint32_t used_version;
} heed_optimizer_slot;

/* ---- checks ---- */

static heed_status check_optimizer(const char *function, const heed_optimizer *optimizer)
{
    return heed_check_not_null(function, "the optimiser", optimizer);
}

static heed_status check_group(const char *name, const heed_param_group *group)
{
    const double beta1 = group->betas[0], beta2 = group->betas[1];
    if (heed_check_not_negative(name, "momentum", group->momentum) != HEED_OK ||
        heed_check_not_negative(name, "weight_decay", group->weight_decay) != HEED_OK ||
        heed_check_not_negative(name, "eps", group->eps) != HEED_OK) {
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
        if (heed_is_listed(optimizer->parameters.list, p) || heed_is_listed(earlier, p)) {
            return heed_fail(HEED_ERR_VALUE, "%s: parameter %d was already added", name, i);
        }
    }
    return HEED_OK;
}

/* ---- groups ---- */

static size_t slots_size(const heed_optimizer *optimizer)
{
    return (size_t)optimizer->parameters.list.count * sizeof *optimizer->slots;
}

static size_t groups_size(const heed_optimizer *optimizer)
{
    return (size_t)optimizer->group_count * sizeof *optimizer->groups;
}

/* Everything that add_group allocates. */
static void free_arrays(heed_optimizer *optimizer)
{
    heed_free(optimizer->slots);
    heed_free(optimizer->groups);
    heed_named_free(&optimizer->parameters);
}

/* Builds larger arrays before freeing the old ones, so that an error changes nothing. */
static heed_status add_group(heed_optimizer *optimizer, heed_tensor_list parameters,
                             heed_param_group group)
{
    heed_optimizer grown = *optimizer;
    const int first = optimizer->parameters.list.count;
    grown.parameters = (heed_named_tensors){0};
    heed_named_append(&grown.parameters, optimizer->parameters.list);
    for (int i = 0; i < parameters.count; i++) {
        const bool named = parameters.names != NULL && parameters.names[i] != NULL;
        named ? heed_named_add(&grown.parameters, parameters.tensors[i], "%s", parameters.names[i])
              : heed_named_add(&grown.parameters, parameters.tensors[i], "%d", first + i);
    }
    grown.group_count++;
    grown.slots = heed_alloc_zeroed(slots_size(&grown));
    grown.groups = heed_alloc(groups_size(&grown));
    if (heed_error_pending()) {
        free_arrays(&grown);
        return heed_error_pending();
    }
    if (optimizer->group_count > 0) {
        memcpy(grown.slots, optimizer->slots, slots_size(optimizer));
        memcpy(grown.groups, optimizer->groups, groups_size(optimizer));
    }
    group.first = first;
    group.count = grown.parameters.list.count - first;
    grown.groups[optimizer->group_count] = group;
    for (int i = 0; i < group.count; i++) {
        heed_retain(parameters.tensors[i]);
    }
    free_arrays(optimizer);
    *optimizer = grown;
    return HEED_OK;
}

static double given(const double *option, double fallback)
{
    return option != NULL ? *option : fallback;
}

heed_status heed_add_param_group(heed_optimizer *optimizer, heed_tensor_list parameters)
{
    return heed_add_param_group_with(optimizer, parameters, (heed_group_options){0});
}

heed_status heed_add_param_group_with(heed_optimizer *optimizer, heed_tensor_list parameters,
                                      heed_group_options options)
{
    if (check_optimizer("add_param_group", optimizer) != HEED_OK) {
        return heed_error_pending();
    }
    const bool of_sgd = options.momentum != NULL || options.dampening != NULL || options.nesterov;
    const bool of_adam = options.betas != NULL || options.eps != NULL;
    if (optimizer->is_sgd ? of_adam : of_sgd) {
        return heed_fail(HEED_ERR_VALUE, "add_param_group: %s has no %s", optimizer->name,
                         optimizer->is_sgd ? "betas or eps" : "momentum, dampening or nesterov");
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
        group.own_lr = true;
        group.lr = *options.lr;
    }
    if (heed_error_pending() || check_group(optimizer->name, &group) != HEED_OK ||
        check_parameters(optimizer, parameters) != HEED_OK) {
        return heed_error_pending();
    }
    return add_group(optimizer, parameters, group);
}

/* ---- creation ---- */

/* `made` has the name and options; the parameters become group 0. */
static heed_optimizer *new_optimizer(heed_optimizer made, heed_tensor_list parameters, double lr)
{
    if (heed_error_pending() || check_group(made.name, &made.defaults) != HEED_OK) {
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
    for (int i = 0; i < optimizer->parameters.list.count; i++) {
        heed_release(optimizer->parameters.tensors[i]);
        for (int j = 0; j < STATES; j++) {
            heed_release(optimizer->slots[i].state[j]);
        }
        heed_release(optimizer->slots[i].used);
    }
    free_arrays(optimizer);
    heed_named_free(&optimizer->listed);
    heed_free(optimizer);
}

/* ---- state ---- */

/* Number of state tensors per parameter of a group. */
static int state_count(const heed_optimizer *optimizer, const heed_param_group *group)
{
    return !optimizer->is_sgd ? 2 : group->momentum != 0 ? 1 : 0;
}

/* Creates the state of parameter i, if missing, as zeros of its shape. */
static heed_status make_state(const heed_optimizer *optimizer, int i, int count)
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
    const int states = state_count(optimizer, group), end = group->first + group->count;
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
            if (make_state(optimizer, i, states) != HEED_OK) {
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

/* ---- anomaly mode: mistakes around a step (autograd/anomaly.h) ---- */

/* A parameter may belong to a part of the model that few batches use. */
enum { STEPS_WITHOUT_GRADIENT = 10 };

static heed_status check_gradients(const heed_optimizer *optimizer)
{
    bool any = false;
    for (int i = 0; i < optimizer->parameters.list.count; i++) {
        const heed_optimizer_slot *slot = &optimizer->slots[i];
        const heed_tensor *p = optimizer->parameters.tensors[i], *grad = p->grad;
        const char *name = optimizer->parameters.names[i];
        if (grad == NULL && p->requires_grad && slot->steps == 0 &&
            optimizer->steps >= STEPS_WITHOUT_GRADIENT) {
            return heed_fail(HEED_ERR_ANOMALY,
                             "optimizer_step: the parameter %s had no gradient in any step so far; "
                             "use it in the loss, or heed_set_requires_grad(p, false)",
                             name);
        }
        if (grad != NULL && grad == slot->used && grad->storage->version != slot->used_version) {
            return heed_fail(HEED_ERR_ANOMALY,
                             "optimizer_step: backward has added to the gradient of %s that the "
                             "last step used; call heed_optimizer_zero_grad before each step's "
                             "first backward",
                             name);
        }
        any = any || grad != NULL;
    }
    return any ? HEED_OK
               : heed_fail(HEED_ERR_ANOMALY,
                           "optimizer_step: no parameter has a gradient; call heed_backward with a "
                           "loss that is computed from them, without heed_detach or no_grad");
}

/* Checks the new values and records which gradients were used. They are retained so that no later
 * gradient can have the same address. */
static heed_status check_step(const heed_optimizer *optimizer)
{
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    for (int i = 0; i < optimizer->parameters.list.count; i++) {
        heed_optimizer_slot *slot = &optimizer->slots[i];
        heed_tensor *p = optimizer->parameters.tensors[i];
        heed_release(slot->used);
        slot->used = p->grad != NULL ? heed_retain(p->grad) : NULL;
        slot->used_version = p->grad != NULL ? p->grad->storage->version : 0;
        if (p->grad != NULL && heed_item(heed_all(heed_isfinite(p))) != 1) {
            heed_fail(HEED_ERR_ANOMALY,
                      "optimizer_step: the parameter %s is no longer finite after step %lld; lower "
                      "the learning rate, or clip the gradients",
                      optimizer->parameters.names[i], (long long)optimizer->steps);
        }
    }
    return heed_scope_end(&scope);
}

heed_status heed_optimizer_step(heed_optimizer *optimizer)
{
    heed_status status = check_optimizer("optimizer_step", optimizer);
    if (status != HEED_OK) {
        return status;
    }
    const bool checks = heed_is_anomaly_enabled();
    status = checks ? check_gradients(optimizer) : HEED_OK;
    for (int i = 0; i < optimizer->group_count && status == HEED_OK; i++) {
        status = step_group(optimizer, &optimizer->groups[i]);
    }
    if (status == HEED_OK) {
        optimizer->steps = after(optimizer->steps);
    }
    return checks && status == HEED_OK ? check_step(optimizer) : status;
}

heed_status heed_optimizer_zero_grad(heed_optimizer *optimizer)
{
    heed_status status = check_optimizer("optimizer_zero_grad", optimizer);
    for (int i = 0; optimizer != NULL && i < optimizer->parameters.list.count; i++) {
        heed_clear_grad(optimizer->parameters.tensors[i]);
    }
    return status;
}

/* ---- saving and loading the state: one walk for three tasks ---- */

typedef enum task {
    LIST, /* append names and tensors to a list */
    READ, /* set numbers from values */
    COPY  /* overwrite tensors with values */
} task;

typedef struct walk {
    task task;
    heed_named_tensors *named;  /* for LIST */
    heed_tensor *const *values; /* for READ and COPY */
    int count;                  /* tensors visited so far */
} walk;

/* When listing, appends the name of the tensor visited next. */
HEED_PRINTF(2, 3)
static walk *named(walk *w, const char *format, ...)
{
    if (w->task == LIST) {
        va_list arguments;
        va_start(arguments, format);
        heed_named_add_v(w->named, NULL, format, arguments);
        va_end(arguments);
    }
    return w;
}

static void list(walk *w, heed_tensor *t)
{
    if (!heed_error_pending()) {
        w->named->tensors[w->named->list.count - 1] = t;
    }
}

static void visit_tensor(walk *w, heed_tensor *t)
{
    if (w->task == LIST) {
        list(w, t);
    } else if (w->task == COPY) {
        heed_copy_into(t, w->values[w->count]);
    }
    w->count++;
}

static void visit_numbers(walk *w, double *numbers, int count)
{
    if (w->task == LIST) {
        const heed_shape shape = count == 1 ? HEED_SCALAR : HEED_SHAPE(count);
        list(w, heed_from_f64(numbers, shape));
    } else if (w->task == READ) {
        heed_copy_out(heed_to(w->values[w->count], HEED_F64), numbers, count);
    }
    w->count++;
}

static void visit_integer(walk *w, int64_t *number)
{
    if (w->task == LIST) {
        list(w, heed_from_i64(number, HEED_SCALAR));
    } else if (w->task == READ) {
        *number = heed_item_i64(w->values[w->count]);
    }
    w->count++;
}

/* Torch's name for state tensor i. */
static const char *state_name(const heed_optimizer *optimizer, int i)
{
    return optimizer->is_sgd ? "momentum_buffer" : i == 0 ? "exp_avg" : "exp_avg_sq";
}

static void visit_slots(walk *w, heed_optimizer *optimizer, const heed_param_group *group,
                        int number)
{
    const int states = state_count(optimizer, group);
    for (int i = group->first; i < group->first + group->count; i++) {
        heed_optimizer_slot *slot = &optimizer->slots[i];
        const char *name = optimizer->parameters.names[i];
        int64_t position = i;
        visit_integer(named(w, "param_groups.%d.params.%s", number, name), &position);
        visit_integer(named(w, "state.%s.step", name), &slot->steps);
        for (int j = 0; j < states; j++) {
            visit_tensor(named(w, "state.%s.%s", name, state_name(optimizer, j)), slot->state[j]);
        }
    }
}

static void visit_options(walk *w, const heed_optimizer *optimizer, heed_param_group *group, int i)
{
    double lr = group->own_lr ? group->lr : (double)NAN; /* NaN if the group has no lr of its own */
    visit_numbers(named(w, "param_groups.%d.lr", i), &lr, 1);
    group->own_lr = !isnan(lr);
    group->lr = group->own_lr ? lr : 0;
    visit_numbers(named(w, "param_groups.%d.weight_decay", i), &group->weight_decay, 1);
    if (optimizer->is_sgd) {
        int64_t nesterov = group->nesterov;
        visit_numbers(named(w, "param_groups.%d.momentum", i), &group->momentum, 1);
        visit_numbers(named(w, "param_groups.%d.dampening", i), &group->dampening, 1);
        visit_integer(named(w, "param_groups.%d.nesterov", i), &nesterov);
        group->nesterov = nesterov != 0;
    } else {
        visit_numbers(named(w, "param_groups.%d.betas", i), group->betas, 2);
        visit_numbers(named(w, "param_groups.%d.eps", i), &group->eps, 1);
    }
}

/* Options come last: changing them changes which state tensors exist. */
static void visit(walk *w, heed_optimizer *optimizer)
{
    w->count = 0;
    visit_integer(named(w, "%s.steps", optimizer->name), &optimizer->steps);
    visit_numbers(named(w, "%s.lr", optimizer->name), &optimizer->lr, 1);
    for (int i = 0; i < optimizer->group_count; i++) {
        visit_slots(w, optimizer, &optimizer->groups[i], i);
    }
    for (int i = 0; i < optimizer->group_count; i++) {
        visit_options(w, optimizer, &optimizer->groups[i], i);
    }
}

heed_status heed_optimizer_list(heed_optimizer *optimizer, heed_named_tensors *named)
{
    walk w = {.task = LIST, .named = named};
    for (int i = 0; i < optimizer->group_count; i++) {
        const heed_param_group *group = &optimizer->groups[i];
        for (int j = group->first; j < group->first + group->count; j++) {
            make_state(optimizer, j, state_count(optimizer, group));
        }
    }
    if (!heed_error_pending()) {
        visit(&w, optimizer);
    }
    return heed_error_pending();
}

heed_tensor_list heed_optimizer_state_dict(heed_optimizer *optimizer)
{
    static const char function[] = "optimizer_state_dict";
    const heed_tensor_list none = {0, NULL, NULL};
    heed_named_tensors named = {0};
    if (check_optimizer(function, optimizer) != HEED_OK || heed_check_scope(function) != HEED_OK) {
        return none;
    }
    if (heed_optimizer_list(optimizer, &named) != HEED_OK) {
        heed_named_free(&named);
        return none;
    }
    heed_named_free(&optimizer->listed);
    optimizer->listed = named;
    return named.list;
}

static heed_status check_read(const char *function, const heed_optimizer *read,
                              const heed_optimizer *optimizer)
{
    bool counts = read->steps >= 0;
    for (int i = 0; i < read->parameters.list.count; i++) {
        counts = counts && read->slots[i].steps >= 0;
    }
    if (!counts || !(read->lr >= 0) || isinf(read->lr)) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: the state of %s has a negative step or an invalid lr (%g)", function,
                         read->name, read->lr);
    }
    for (int i = 0; i < read->group_count; i++) {
        const heed_param_group *group = &read->groups[i];
        if (check_group(function, group) != HEED_OK) {
            return heed_error_pending();
        }
        if (group->lr < 0 || isinf(group->lr)) {
            return heed_fail(HEED_ERR_VALUE, "%s: group %d of the state of %s has lr %g", function,
                             i, read->name, group->lr);
        }
        if (state_count(read, group) != state_count(optimizer, &optimizer->groups[i])) {
            return heed_fail(
                HEED_ERR_VALUE, "%s: group %d of the state of %s has momentum %g; this one's is %g",
                function, i, read->name, group->momentum, optimizer->groups[i].momentum);
        }
    }
    return HEED_OK;
}

/* Reads into copies of the arrays, and commits them only if all values are valid. */
heed_status heed_optimizer_take(const char *function, heed_optimizer *optimizer,
                                heed_tensor *const *values)
{
    const size_t groups = groups_size(optimizer), slots = slots_size(optimizer);
    heed_optimizer read = *optimizer;
    walk w = {.task = READ, .values = values};
    read.groups = heed_alloc(groups);
    read.slots = heed_alloc(slots);
    if (read.groups != NULL && read.slots != NULL) {
        memcpy(read.groups, optimizer->groups, groups);
        memcpy(read.slots, optimizer->slots, slots);
        visit(&w, &read);
        if (!heed_error_pending() && check_read(function, &read, optimizer) == HEED_OK) {
            memcpy(optimizer->groups, read.groups, groups);
            memcpy(optimizer->slots, read.slots, slots);
            optimizer->lr = read.lr;
            optimizer->steps = read.steps;
            w.task = COPY;
            visit(&w, optimizer);
        }
    }
    heed_free(read.groups);
    heed_free(read.slots);
    return heed_error_pending();
}

heed_status heed_optimizer_load_state_dict(heed_optimizer *optimizer, heed_tensor_list state)
{
    static const char function[] = "optimizer_load_state_dict";
    if (check_optimizer(function, optimizer) != HEED_OK) {
        return heed_error_pending();
    }
    const heed_match match = {.function = function, .there = "the state", .here = optimizer->name};
    heed_named_tensors named = {0};
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    if (heed_optimizer_list(optimizer, &named) == HEED_OK) {
        const size_t size = (size_t)named.list.count * sizeof(heed_tensor *);
        heed_tensor **values = heed_alloc(size);
        if (values != NULL && heed_match_list(&match, state, named.list, values) == HEED_OK) {
            heed_optimizer_take(function, optimizer, values);
        }
        heed_free(values);
    }
    heed_named_free(&named);
    heed_scope_end(&scope);
    return heed_error_pending();
}
