/* The state of an optimiser: listed under torch's names, and loaded from such a list. */
#include "optimizer_state.h"

#include <math.h>
#include <string.h>

#include "../../tensor/alloc.h"
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "../arguments.h"
#include "../match_tensors.h"
#include "../named_tensors.h"
#include "optimizer_private.h"

static heed_tensor *integer(int64_t number)
{
    return heed_from_i64(&number, HEED_SCALAR);
}

static heed_tensor *number(double x)
{
    return heed_from_f64(&x, HEED_SCALAR);
}

/* Torch's name for state tensor i. */
static const char *state_name(const heed_optimizer *optimizer, int i)
{
    return optimizer->is_sgd ? "momentum_buffer" : i == 0 ? "exp_avg" : "exp_avg_sq";
}

/* ---- listing ---- */

static void list_parameters(heed_named_tensors *named, const heed_optimizer *optimizer, int g)
{
    const heed_param_group *group = &optimizer->groups[g];
    const int states = heed_state_count(optimizer, group);
    for (int i = group->first; i < group->first + group->count; i++) {
        const heed_optimizer_slot *slot = &optimizer->slots[i];
        const char *name = optimizer->parameters.names[i];
        heed_make_state(optimizer, i, states);
        heed_named_add(named, integer(i), "param_groups.%d.params.%s", g, name);
        heed_named_add(named, integer(slot->steps), "state.%s.step", name);
        for (int j = 0; j < states; j++) {
            heed_named_add(named, slot->state[j], "state.%s.%s", name, state_name(optimizer, j));
        }
    }
}

static void list_options(heed_named_tensors *named, const heed_optimizer *optimizer, int g)
{
    const heed_param_group *group = &optimizer->groups[g];
    const double lr = group->own_lr ? group->lr : (double)NAN;
    heed_named_add(named, number(lr), "param_groups.%d.lr", g);
    heed_named_add(named, number(group->weight_decay), "param_groups.%d.weight_decay", g);
    if (optimizer->is_sgd) {
        heed_named_add(named, number(group->momentum), "param_groups.%d.momentum", g);
        heed_named_add(named, number(group->dampening), "param_groups.%d.dampening", g);
        heed_named_add(named, integer(group->nesterov), "param_groups.%d.nesterov", g);
    } else {
        heed_named_add(named, heed_from_f64(group->betas, HEED_SHAPE(2)), "param_groups.%d.betas",
                       g);
        heed_named_add(named, number(group->eps), "param_groups.%d.eps", g);
    }
}

/* The order is that of heed_optimizer_take below. */
heed_status heed_optimizer_list(const heed_optimizer *optimizer, heed_named_tensors *named)
{
    heed_named_add(named, integer(optimizer->steps), "%s.steps", optimizer->name);
    heed_named_add(named, number(optimizer->lr), "%s.lr", optimizer->name);
    for (int g = 0; g < optimizer->group_count; g++) {
        list_parameters(named, optimizer, g);
    }
    for (int g = 0; g < optimizer->group_count; g++) {
        list_options(named, optimizer, g);
    }
    return heed_error_pending();
}

heed_tensor_list heed_optimizer_state_dict(heed_optimizer *optimizer)
{
    static const char function[] = "optimizer_state_dict";
    const heed_tensor_list none = {0, NULL, NULL};
    if (heed_check_not_null(function, "the optimiser", optimizer) != HEED_OK ||
        heed_check_scope(function) != HEED_OK) {
        return none;
    }
    heed_named_tensors *named = heed_alloc_zeroed(sizeof *named);
    if (named == NULL || heed_optimizer_list(optimizer, named) != HEED_OK) {
        heed_named_delete(named);
        return none;
    }
    heed_named_delete(optimizer->listed);
    optimizer->listed = named;
    return named->list;
}

/* ---- loading: all numbers are read and checked before anything changes ---- */

static heed_tensor *const *read_options(heed_param_group *group, bool is_sgd,
                                        heed_tensor *const *value)
{
    const double lr = heed_item(*value++);
    group->own_lr = !isnan(lr);
    group->lr = group->own_lr ? lr : 0;
    group->weight_decay = heed_item(*value++);
    if (is_sgd) {
        group->momentum = heed_item(*value++);
        group->dampening = heed_item(*value++);
        group->nesterov = heed_item_i64(*value++) != 0;
    } else {
        for (int i = 0; i < 2; i++) {
            group->betas[i] = heed_at(*value, HEED_INDEX(i));
        }
        value++;
        group->eps = heed_item(*value++);
    }
    return value;
}

/* Reads the options into `groups`, and checks them and the counts of steps. */
static heed_status check_numbers(const char *function, const heed_optimizer *optimizer,
                                 heed_tensor *const *value, heed_param_group *groups)
{
    bool counts = heed_item_i64(*value++) >= 0;
    const double lr = heed_item(*value++);
    for (int g = 0; g < optimizer->group_count; g++) {
        const heed_param_group *group = &optimizer->groups[g];
        for (int i = 0; i < group->count; i++) {
            counts = counts && heed_item_i64(value[1]) >= 0;
            value += 2 + heed_state_count(optimizer, group);
        }
    }
    if (!counts) {
        return heed_fail(HEED_ERR_VALUE, "%s: the state of %s has a negative step", function,
                         optimizer->name);
    }
    if (heed_check_not_negative(function, "lr", lr) != HEED_OK) {
        return heed_error_pending();
    }
    for (int g = 0; g < optimizer->group_count; g++) {
        const heed_param_group *here = &optimizer->groups[g];
        groups[g] = *here;
        value = read_options(&groups[g], optimizer->is_sgd, value);
        if (heed_check_group(function, &groups[g]) != HEED_OK) {
            return heed_error_pending();
        }
        if (heed_state_count(optimizer, &groups[g]) != heed_state_count(optimizer, here)) {
            return heed_fail(HEED_ERR_VALUE,
                             "%s: group %d of the state of %s has momentum %g; this one's is %g",
                             function, g, optimizer->name, groups[g].momentum, here->momentum);
        }
    }
    return heed_error_pending();
}

heed_status heed_optimizer_take(const char *function, heed_optimizer *optimizer,
                                heed_tensor *const *values)
{
    heed_tensor *const *value = values;
    const size_t size = (size_t)optimizer->group_count * sizeof *optimizer->groups;
    heed_param_group *groups = heed_alloc(size);
    if (groups != NULL && check_numbers(function, optimizer, value, groups) == HEED_OK) {
        memcpy(optimizer->groups, groups, size);
        optimizer->steps = heed_item_i64(*value++);
        optimizer->lr = heed_item(*value++);
        for (int g = 0; g < optimizer->group_count; g++) {
            const heed_param_group *group = &groups[g];
            for (int i = group->first; i < group->first + group->count; i++) {
                heed_optimizer_slot *slot = &optimizer->slots[i];
                value++; /* its index, which the name has matched */
                slot->steps = heed_item_i64(*value++);
                for (int j = 0; j < heed_state_count(optimizer, group); j++) {
                    heed_copy_into(slot->state[j], *value++);
                }
            }
        }
    }
    heed_free(groups);
    return heed_error_pending();
}

heed_status heed_optimizer_load_state_dict(heed_optimizer *optimizer, heed_tensor_list state)
{
    static const char function[] = "optimizer_load_state_dict";
    if (heed_check_not_null(function, "the optimiser", optimizer) != HEED_OK) {
        return heed_error_pending();
    }
    const heed_match match = {.function = function, .there = "the state", .here = optimizer->name};
    heed_named_tensors named = {0};
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    if (heed_optimizer_list(optimizer, &named) == HEED_OK) {
        heed_tensor **values = heed_alloc((size_t)named.list.count * sizeof *values);
        if (values != NULL && heed_match_list(&match, state, named.list, values) == HEED_OK) {
            heed_optimizer_take(function, optimizer, values);
        }
        heed_free(values);
    }
    heed_named_free(&named);
    heed_scope_end(&scope);
    return heed_error_pending();
}
