/* Optimisers, gradient clipping and a learning rate schedule. kernels/optim_steps.c has the
 * arithmetic of a step. */
#include "optimizer.h"

#include <math.h>
#include <stddef.h>

#include "../autograd/grad.h"
#include "../tensor/alloc.h"
#include "../tensor/create.h"
#include "../tensor/handle.h"
#include "../tensor/kernels/kernels.h"
#include "../tensor/parallel.h"
#include "../tensor/read.h"
#include "../tensor/scope.h"
#include "../tensor/shape.h"
#include "../tensor/thread.h"
#include "arguments.h"

/* ---- creation ---- */

static heed_status check_options(const char *function, const heed_optimizer *o)
{
    heed_check_not_negative(function, "lr", o->lr);
    heed_check_not_negative(function, "momentum", o->momentum);
    heed_check_not_negative(function, "weight_decay", o->weight_decay);
    heed_check_not_negative(function, "eps", o->eps);
    for (int i = 0; i < 2; i++) {
        if (!(o->betas[i] >= 0 && o->betas[i] < 1)) {
            heed_fail(HEED_ERR_VALUE, "%s: betas %g and %g; each must be in [0, 1)", function,
                      o->betas[0], o->betas[1]);
        }
    }
    return heed_error_pending();
}

static heed_status check_parameters(const char *name, heed_tensor_list parameters)
{
    if (parameters.count < 1) {
        return heed_fail(HEED_ERR_VALUE, "%s: no parameters to train", name);
    }
    if (parameters.tensors == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: the list of parameters is NULL", name);
    }
    for (int i = 0; i < parameters.count && !heed_error_pending(); i++) {
        const heed_tensor *p = parameters.tensors[i];
        if (heed_check_tensor(name, "a parameter", p) == HEED_OK &&
            (!p->requires_grad || p->op != NULL)) {
            heed_fail(HEED_ERR_GRAPH, "%s: parameter %d is not a leaf that requires a gradient",
                      name, i);
        }
        if (heed_is_listed(parameters.tensors, i, p)) {
            heed_fail(HEED_ERR_VALUE, "%s: parameter %d was already added", name, i);
        }
    }
    return heed_error_pending();
}

/* `options` has the name and the options. */
static heed_optimizer *new_optimizer(heed_optimizer options, heed_tensor_list parameters)
{
    const int count = parameters.count;
    if (check_parameters(options.name, parameters) != HEED_OK ||
        check_options(options.name, &options) != HEED_OK) {
        return NULL;
    }
    heed_optimizer *o = heed_alloc(sizeof *o);
    if (o == NULL) {
        return NULL;
    }
    *o = options;
    o->named = heed_alloc_zeroed(sizeof *o->named);
    o->slots = heed_alloc_zeroed((size_t)count * sizeof *o->slots);
    for (int i = 0; i < count && !heed_error_pending(); i++) {
        if (parameters.names != NULL && parameters.names[i] != NULL) {
            heed_named_add(o->named, parameters.tensors[i], "%s", parameters.names[i]);
        } else {
            heed_named_add(o->named, parameters.tensors[i], "%d", i);
        }
    }
    if (heed_error_pending()) {
        heed_optimizer_free(o);
        return NULL;
    }
    o->parameters = (heed_tensor_list){count, o->named->tensors, o->named->names};
    for (int i = 0; i < count; i++) {
        heed_retain(parameters.tensors[i]);
    }
    return o;
}

heed_optimizer *heed_sgd_new(heed_tensor_list parameters, double lr)
{
    return new_optimizer((heed_optimizer){.name = "SGD", .is_sgd = true, .lr = lr}, parameters);
}

static heed_optimizer *new_adam(heed_optimizer o, heed_tensor_list parameters,
                                heed_adam_options options)
{
    const bool usual = options.betas[0] == 0 && options.betas[1] == 0;
    o.betas[0] = usual ? 0.9 : options.betas[0];
    o.betas[1] = usual ? 0.999 : options.betas[1];
    o.eps = options.eps != 0 ? options.eps : 1e-8;
    o.decay_matrices_only = options.decay_matrices_only;
    return new_optimizer(o, parameters);
}

heed_optimizer *heed_adam_new(heed_tensor_list parameters, double lr)
{
    return new_adam((heed_optimizer){.name = "Adam", .lr = lr}, parameters, (heed_adam_options){0});
}

heed_optimizer *heed_adamw_new(heed_tensor_list parameters, double lr, double weight_decay)
{
    return heed_adamw_new_with(parameters, lr, weight_decay, (heed_adam_options){0});
}

heed_optimizer *heed_adamw_new_with(heed_tensor_list parameters, double lr, double weight_decay,
                                    heed_adam_options options)
{
    const heed_optimizer o = {
        .name = "AdamW", .lr = lr, .weight_decay = weight_decay, .decoupled = true};
    return new_adam(o, parameters, options);
}

void heed_optimizer_free(heed_optimizer *optimizer)
{
    if (optimizer == NULL) {
        return;
    }
    for (int i = 0; i < optimizer->parameters.count; i++) {
        heed_release(optimizer->parameters.tensors[i]);
        heed_release(optimizer->slots[i].state[0]);
        heed_release(optimizer->slots[i].state[1]);
    }
    heed_free(optimizer->slots);
    heed_named_delete(optimizer->named);
    heed_free(optimizer);
}

/* ---- state ---- */

/* The number of state tensors of each parameter. */
static int count_states(const heed_optimizer *o)
{
    return !o->is_sgd ? 2 : o->momentum != 0 ? 1 : 0;
}

/* Creates the state of parameter i, where missing: zeros, from which SGD's first step makes b = d.
 */
static heed_status make_state(const heed_optimizer *o, int i)
{
    heed_tensor **state = o->slots[i].state;
    const heed_tensor *p = o->parameters.tensors[i];
    for (int j = 0; j < count_states(o) && !heed_error_pending(); j++) {
        if (state[j] == NULL) {
            HEED_SCOPE_NO_GRAD(scope);
            state[j] = heed_retain(heed_zeros(heed_shape_of_tensor(p), p->dtype));
        }
    }
    return heed_error_pending();
}

/* The numbers in a state dict, after that of the steps. */
static const struct {
    const char *name;
    size_t offset;
} options[] = {
    {"lr", offsetof(heed_optimizer, lr)},
    {"weight_decay", offsetof(heed_optimizer, weight_decay)},
    {"momentum", offsetof(heed_optimizer, momentum)},
    {"beta1", offsetof(heed_optimizer, betas[0])},
    {"beta2", offsetof(heed_optimizer, betas[1])},
    {"eps", offsetof(heed_optimizer, eps)},
};
enum { OPTIONS = sizeof options / sizeof *options };

static double *option_of(heed_optimizer *o, int k)
{
    return (double *)(void *)((char *)o + options[k].offset);
}

heed_status heed_optimizer_list(heed_optimizer *o, const char *prefix, heed_named_tensors *named)
{
    static const char *const adams[] = {"exp_avg", "exp_avg_sq"};
    heed_named_add(named, heed_from_i64(&o->steps, HEED_SCALAR), "%s%s.steps", prefix, o->name);
    for (int k = 0; k < OPTIONS; k++) {
        heed_named_add(named, heed_from_f64(option_of(o, k), HEED_SCALAR), "%s%s.%s", prefix,
                       o->name, options[k].name);
    }
    for (int i = 0; i < o->parameters.count && make_state(o, i) == HEED_OK; i++) {
        const heed_optimizer_slot *slot = &o->slots[i];
        const char *name = o->parameters.names[i];
        heed_named_add(named, heed_from_i64(&slot->steps, HEED_SCALAR), "%sstate.%s.step", prefix,
                       name);
        for (int j = 0; j < count_states(o); j++) {
            heed_named_add(named, slot->state[j], "%sstate.%s.%s", prefix, name,
                           o->is_sgd ? "momentum_buffer" : adams[j]);
        }
    }
    return heed_error_pending();
}

/* A number of steps; far from the largest one, so that it can be counted on. */
static int64_t read_steps(const char *function, const heed_tensor *value)
{
    const int64_t steps = heed_item_i64(value);
    if (steps < 0 || steps > INT64_C(1) << 53) {
        heed_fail(HEED_ERR_VALUE, "%s: %lld steps; the number must be in [0, 2^53]", function,
                  (long long)steps);
    }
    return steps;
}

heed_status heed_optimizer_take(const char *function, heed_optimizer *o, heed_tensor *const *values)
{
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    const int count = o->parameters.count, states = count_states(o);
    heed_tensor *const *const all_slots = values + 1 + OPTIONS;
    heed_optimizer loaded = *o;
    loaded.steps = read_steps(function, values[0]);
    for (int k = 0; k < OPTIONS; k++) {
        *option_of(&loaded, k) = heed_item(values[1 + k]);
    }
    check_options(function, &loaded);
    if (count_states(&loaded) != states) {
        heed_fail(HEED_ERR_VALUE, "%s: the state of %s has momentum %g; this one's is %g", function,
                  o->name, loaded.momentum, o->momentum);
    }
    for (int i = 0; i < count; i++) {
        read_steps(function, all_slots[i * (1 + states)]);
    }
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    *o = loaded;
    for (int i = 0; i < count; i++) {
        heed_tensor *const *slot = all_slots + i * (1 + states);
        o->slots[i].steps = heed_item_i64(slot[0]);
        for (int j = 0; j < states; j++) {
            heed_copy_into(o->slots[i].state[j], slot[1 + j]);
        }
    }
    return heed_error_pending();
}

/* ---- a step ---- */

/* Parameters, gradients and state were alike when they were made, but parameters can be replaced.
 */
static bool is_like(const heed_tensor *t, const heed_tensor *p)
{
    return t->storage != NULL && t->dtype == p->dtype && heed_same_shape(t, p) &&
           heed_is_row_major(t);
}

static heed_status check_update(const heed_optimizer *o, int i)
{
    const heed_tensor *p = o->parameters.tensors[i];
    bool alike = is_like(p, p) && is_like(p->grad, p);
    for (int j = 0; j < count_states(o); j++) {
        alike = alike && is_like(o->slots[i].state[j], p);
    }
    return alike || heed_check_tensor("optimizer_step", "a parameter", p) != HEED_OK
               ? heed_error_pending()
               : heed_fail(HEED_ERR_SHAPE,
                           "optimizer_step: parameter %s, now %s %s, must be contiguous, and have "
                           "the shape and dtype that it had at its first step",
                           o->parameters.names[i], heed_dtype_name(p->dtype), HEED_TEXT(p));
}

/* The update of one parameter. */
typedef struct update {
    const heed_optimizer *o;
    int parameter;
    heed_sgd_terms sgd;
    heed_adam_terms adam;
} update;

/* The address of element i. */
static void *at(const heed_tensor *t, int64_t i)
{
    return (char *)t->data + (size_t)i * heed_dtype_size(t->dtype);
}

/* Threads take whole pieces of this many elements, so that these are computed alike by any number
 * of threads. */
enum { PIECE = 2048 };

static void update_pieces(void *context, int64_t first, int64_t end)
{
    const update *u = context;
    const heed_tensor *p = u->o->parameters.tensors[u->parameter];
    heed_tensor *const *state = u->o->slots[u->parameter].state;
    const heed_kernels *kernels = heed_kernels_for(p->dtype);
    const int64_t from = first * PIECE, to = end * PIECE < p->numel ? end * PIECE : p->numel;
    if (u->o->is_sgd) {
        kernels->sgd(to - from, at(p, from), at(p->grad, from),
                     u->o->momentum != 0 ? at(state[0], from) : NULL, &u->sgd);
    } else {
        kernels->adam(to - from, at(p, from), at(p->grad, from), at(state[0], from),
                      at(state[1], from), &u->adam);
    }
}

static void update_parameters(heed_optimizer *o)
{
    int64_t t = 0; /* the step of the terms' corrections; most parameters have the same */
    update u = {.o = o, .sgd = {.lr = o->lr, .momentum = o->momentum}};
    u.adam.new1 = 1 - o->betas[0];
    u.adam.new2 = 1 - o->betas[1];
    u.adam.beta2 = o->betas[1];
    u.adam.eps = o->eps;
    for (int i = 0; i < o->parameters.count; i++) {
        heed_tensor *p = o->parameters.tensors[i];
        heed_optimizer_slot *slot = &o->slots[i];
        const double decay = o->decay_matrices_only && p->ndim < 2 ? 0 : o->weight_decay;
        if (p->grad == NULL) {
            continue;
        }
        slot->steps++;
        if (t != slot->steps) {
            t = slot->steps;
            u.adam.size = o->lr / (1 - pow(o->betas[0], (double)t));
            u.adam.correction = 1 / sqrt(1 - pow(o->betas[1], (double)t));
        }
        u.parameter = i;
        u.sgd.decay = decay;
        u.adam.decay = o->decoupled ? 0 : decay;
        u.adam.shrink = o->decoupled ? 1 - o->lr * decay : 1;
        heed_parallel_for((p->numel + PIECE - 1) / PIECE, HEED_GRAIN_OF_UPDATES / PIECE,
                          update_pieces, &u);
        heed_raise_version(p);
        for (int j = 0; j < count_states(o); j++) {
            heed_raise_version(slot->state[j]);
        }
    }
    o->steps++;
}

/* Nothing changes unless everything can be updated. */
heed_status heed_optimizer_step(heed_optimizer *optimizer)
{
    heed_check_not_null("optimizer_step", "the optimiser", optimizer);
    for (int i = 0; !heed_error_pending() && i < optimizer->parameters.count; i++) {
        if (optimizer->parameters.tensors[i]->grad != NULL && make_state(optimizer, i) == HEED_OK) {
            check_update(optimizer, i);
        }
    }
    if (!heed_error_pending()) {
        update_parameters(optimizer);
    }
    return heed_error_pending();
}

heed_status heed_optimizer_zero_grad(heed_optimizer *optimizer)
{
    heed_check_not_null("optimizer_zero_grad", "the optimiser", optimizer);
    for (int i = 0; optimizer != NULL && i < optimizer->parameters.count; i++) {
        heed_clear_grad(optimizer->parameters.tensors[i]);
    }
    return heed_error_pending();
}

/* ---- clipping ---- */

/* Norms of gradients; each is computed by a single thread. */
typedef struct norm_job {
    heed_tensor_list parameters;
    double *norms; /* 0 without a gradient */
} norm_job;

static void compute_norms(void *context, int64_t first, int64_t end)
{
    const norm_job *job = context;
    for (int64_t i = first; i < end; i++) {
        const heed_tensor *g = job->parameters.tensors[i]->grad;
        float norm = 0;
        job->norms[i] = 0;
        if (g != NULL && g->dtype == HEED_F64) {
            heed_kernels_for(HEED_F64)->norm(g->numel, g->data, NULL, &job->norms[i]);
        } else if (g != NULL) {
            heed_kernels_for(HEED_F32)->norm(g->numel, g->data, NULL, &norm);
            job->norms[i] = (double)norm;
        }
    }
}

double heed_clip_grad_norm(heed_tensor_list parameters, double max_norm)
{
    static const char function[] = "clip_grad_norm";
    const int64_t count = parameters.count;
    int64_t elements = 0;
    double norm = 0;
    if (!(max_norm >= 0)) {
        heed_fail(HEED_ERR_VALUE, "%s: max_norm is %g; it must be 0 or more", function, max_norm);
    }
    for (int i = 0; i < count && !heed_error_pending(); i++) {
        const heed_tensor *p = parameters.tensors != NULL ? parameters.tensors[i] : NULL;
        if (heed_check_not_null(function, "a parameter", p) == HEED_OK && p->grad != NULL &&
            heed_check_tensor(function, "a gradient", p->grad) == HEED_OK) {
            elements += p->grad->numel;
        }
    }
    norm_job job = {parameters, heed_alloc((size_t)count * sizeof(double))};
    if (heed_error_pending()) {
        heed_free(job.norms);
        return (double)NAN;
    }
    heed_parallel_for(count, elements < 2 * HEED_GRAIN_OF_SUMS ? count : 1, compute_norms, &job);
    if (count > 0) {
        heed_kernels_for(HEED_F64)->norm(count, job.norms, NULL, &norm);
    }
    heed_free(job.norms);
    const double factor = max_norm / (norm + 1e-6);
    for (int i = 0; i < count && !(factor >= 1); i++) { /* in turn: gradients may share elements */
        heed_tensor *g = parameters.tensors[i]->grad;
        if (g != NULL) {
            heed_kernels_for(g->dtype)->scale(g->numel, g->data, factor);
            heed_raise_version(g);
        }
    }
    return norm;
}

/* ---- schedule ---- */

double heed_warmup_cosine_lr(int64_t step, double lr, int64_t warmup, int64_t total, double eta_min)
{
    static const char function[] = "warmup_cosine_lr";
    if (step < 0) {
        heed_fail(HEED_ERR_VALUE, "%s: step is %lld; the first is 0", function, (long long)step);
    } else if (warmup < 0 || total <= warmup) {
        heed_fail(HEED_ERR_VALUE,
                  "%s: warmup is %lld of %lld steps; it must be 0 or more, and less than total",
                  function, (long long)warmup, (long long)total);
    } else if (!isfinite(lr) || !isfinite(eta_min)) {
        heed_fail(HEED_ERR_VALUE, "%s: %g and %g must be finite", function, lr, eta_min);
    }
    if (heed_error_pending()) {
        return (double)NAN;
    }
    if (step < warmup) {
        return lr * (double)(step + 1) / (double)(warmup + 1);
    }
    const double pi = 3.14159265358979323846;
    const double angle = pi * (double)(step - warmup) / (double)(total - warmup);
    return step < total ? eta_min + (lr - eta_min) * (1 + cos(angle)) / 2 : eta_min;
}
