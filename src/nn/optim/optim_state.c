/* Optimisers as named tensors, and back. One walk over all that an optimiser remembers does each
 * part of it: counts, lists, reads, and copies. */
#include "optim_state.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../autograd/ops/view.h"
#include "../../tensor/alloc.h"
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "../files/fit.h"

typedef enum task {
    COUNT, /* what room names and tensors need */
    LIST,  /* makes them */
    READ,  /* sets numbers from values */
    COPY   /* overwrites tensors by values */
} task;

typedef struct walk {
    task task;
    const char *prefix;
    heed_optimizer_names *names; /* of COUNT and LIST */
    heed_tensor *const *values;  /* of READ and COPY */
    int count;
    size_t text_size;
} walk;

/* ---- one tensor ---- */

/* Names the next tensor, while counting and listing, for the visit that follows. */
HEED_PRINTF(2, 3)
static walk *named(walk *w, const char *format, ...)
{
    if (w->task > LIST) {
        return w;
    }
    char *to = w->task == LIST ? w->names->text + w->text_size : NULL;
    const size_t room = w->task == LIST ? w->names->text_size - w->text_size : 0;
    const size_t prefix = strlen(w->prefix);
    if (to != NULL) {
        strcpy(to, w->prefix);
        w->names->names[w->count] = to;
    }
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(to != NULL ? to + prefix : NULL, to != NULL ? room - prefix : 0,
                                 format, arguments);
    va_end(arguments);
    w->text_size += prefix + (size_t)length + 1;
    return w;
}

static void visit_tensor(walk *w, heed_tensor *t)
{
    if (w->task == LIST) {
        w->names->tensors[w->count] = t;
    } else if (w->task == COPY) {
        heed_copy_into(t, w->values[w->count]);
    }
    w->count++;
}

static void visit_numbers(walk *w, double *numbers, int count)
{
    if (w->task == LIST) {
        const heed_shape shape = count == 1 ? HEED_SCALAR : HEED_SHAPE(count);
        w->names->tensors[w->count] = heed_from_f64(numbers, shape);
    } else if (w->task == READ) {
        heed_copy_out(heed_to(w->values[w->count], HEED_F64), numbers, count);
    }
    w->count++;
}

static void visit_integer(walk *w, int64_t *number)
{
    if (w->task == LIST) {
        w->names->tensors[w->count] = heed_from_i64(number, HEED_SCALAR);
    } else if (w->task == READ) {
        *number = heed_item_i64(w->values[w->count]);
    }
    w->count++;
}

/* ---- all of them ---- */

/* Torch's names of what is remembered of a parameter. */
static const char *state_name(const heed_optimizer *optimizer, int i)
{
    return optimizer->is_sgd ? "momentum_buffer" : i == 0 ? "exp_avg" : "exp_avg_sq";
}

static void visit_slots(walk *w, heed_optimizer *optimizer, const heed_param_group *group,
                        int number)
{
    const int states = heed_optimizer_state_count(optimizer, group);
    for (int i = group->first; i < group->first + group->count; i++) {
        heed_optimizer_slot *slot = &optimizer->slots[i];
        int64_t position = i;
        visit_integer(named(w, "param_groups.%d.params.%s", number, slot->name), &position);
        visit_integer(named(w, "state.%s.step", slot->name), &slot->steps);
        for (int j = 0; j < states; j++) {
            visit_tensor(named(w, "state.%s.%s", slot->name, state_name(optimizer, j)),
                         slot->state[j]);
        }
    }
}

static void visit_options(walk *w, const heed_optimizer *optimizer, heed_param_group *group, int i)
{
    visit_numbers(named(w, "param_groups.%d.lr", i), &group->lr, 1);
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

/* The options come last: which tensors there are depends on them. */
static void visit(walk *w, heed_optimizer *optimizer)
{
    w->count = 0;
    w->text_size = 0;
    visit_integer(named(w, "%s.steps", optimizer->name), &optimizer->steps);
    visit_numbers(named(w, "%s.lr", optimizer->name), &optimizer->lr, 1);
    for (int i = 0; i < optimizer->group_count; i++) {
        visit_slots(w, optimizer, &optimizer->groups[i], i);
    }
    for (int i = 0; i < optimizer->group_count; i++) {
        visit_options(w, optimizer, &optimizer->groups[i], i);
    }
}

/* ---- listing ---- */

static size_t block_size(const heed_optimizer_names *names)
{
    return (size_t)names->room * (sizeof *names->tensors + sizeof *names->names);
}

void heed_optimizer_names_free(heed_optimizer_names *names)
{
    if (names != NULL) {
        heed_free(names->tensors, block_size(names));
        heed_free(names->text, names->text_size);
        heed_free(names, sizeof *names);
    }
}

static heed_status make_states(heed_optimizer *optimizer)
{
    for (int i = 0; i < optimizer->group_count; i++) {
        const heed_param_group *group = &optimizer->groups[i];
        const int states = heed_optimizer_state_count(optimizer, group);
        for (int j = 0; j < group->count; j++) {
            heed_optimizer_make_state(&optimizer->slots[group->first + j], states);
        }
    }
    return heed_error_pending();
}

static heed_status make_room(walk *w, heed_optimizer *optimizer)
{
    heed_optimizer_names *names = w->names;
    visit(w, optimizer);
    names->room = w->count;
    names->text_size = w->text_size;
    names->tensors = heed_alloc_zeroed(block_size(names));
    names->text = heed_alloc(names->text_size);
    if (names->tensors != NULL) {
        names->names = (const char **)(names->tensors + names->room);
    }
    return heed_error_pending();
}

heed_optimizer_names *heed_optimizer_list(heed_optimizer *optimizer, const char *prefix)
{
    walk w = {.task = COUNT, .prefix = prefix, .names = heed_alloc_zeroed(sizeof *w.names)};
    if (w.names != NULL && make_states(optimizer) == HEED_OK &&
        make_room(&w, optimizer) == HEED_OK) {
        w.task = LIST;
        visit(&w, optimizer);
        w.names->list = (heed_tensor_list){w.count, w.names->tensors, w.names->names};
    }
    if (heed_error_pending()) {
        heed_optimizer_names_free(w.names);
        return NULL;
    }
    return w.names;
}

heed_tensor_list heed_optimizer_state_dict(heed_optimizer *optimizer)
{
    const char *name = "optimizer_state_dict";
    const heed_tensor_list none = {0, NULL, NULL};
    if (heed_optimizer_check(name, optimizer) != HEED_OK || heed_check_scope(name) != HEED_OK) {
        return none;
    }
    heed_optimizer_names *names = heed_optimizer_list(optimizer, "");
    if (names == NULL) {
        return none;
    }
    heed_optimizer_names_free(optimizer->names);
    optimizer->names = names;
    return names->list;
}

/* ---- taking ---- */

static heed_status check_read(const char *function, const heed_optimizer *read,
                              const heed_optimizer *optimizer)
{
    bool counts = read->steps >= 0 && read->steps < INT64_MAX; /* another step follows */
    for (int i = 0; i < read->count; i++) {
        counts = counts && read->slots[i].steps >= 0 && read->slots[i].steps < INT64_MAX;
    }
    if (!counts || !(read->lr >= 0) || isinf(read->lr)) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: %s has a step below 0 there, or one too many to count, or lr %g",
                         function, read->name, read->lr);
    }
    for (int i = 0; i < read->group_count; i++) {
        const heed_param_group *group = &read->groups[i];
        if (heed_param_group_check(function, group) != HEED_OK) {
            return heed_error_pending();
        }
        if (group->lr < 0 || isinf(group->lr) ||
            heed_optimizer_state_count(read, group) !=
                heed_optimizer_state_count(optimizer, &optimizer->groups[i])) {
            return heed_fail(HEED_ERR_VALUE, "%s: group %d of %s has lr %g and momentum %g there",
                             function, i, read->name, group->lr, group->momentum);
        }
    }
    return HEED_OK;
}

/* Reads into arrays of its own, and takes these over if they can be. */
heed_status heed_optimizer_take(const char *function, heed_optimizer *optimizer,
                                heed_tensor *const *values)
{
    const size_t groups = (size_t)optimizer->group_count * sizeof *optimizer->groups;
    const size_t slots = (size_t)optimizer->count * sizeof *optimizer->slots;
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
    heed_free(read.groups, groups);
    heed_free(read.slots, slots);
    return heed_error_pending();
}

heed_status heed_optimizer_load_state_dict(heed_optimizer *optimizer, heed_tensor_list state)
{
    const char *name = "optimizer_load_state_dict";
    if (heed_optimizer_check(name, optimizer) != HEED_OK) {
        return heed_error_pending();
    }
    const heed_fit fit = {.function = name, .there = "the state", .here = optimizer->name};
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_optimizer_names *names = heed_optimizer_list(optimizer, "");
    if (names != NULL) {
        const size_t size = (size_t)names->list.count * sizeof(heed_tensor *);
        heed_tensor **values = heed_alloc(size);
        if (values != NULL && heed_fit_list(&fit, state, names->list, values) == HEED_OK) {
            heed_optimizer_take(name, optimizer, values);
        }
        heed_free(values, size);
    }
    heed_optimizer_names_free(names);
    heed_scope_end(&scope);
    return heed_error_pending();
}
