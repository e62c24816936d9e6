/* Optimisers, gradient clipping and a learning rate schedule. kernels/optim_steps.c has the
 * arithmetic of a step. */
#include "optimizer.h"

#include <math.h>
#include <stdio.h>

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
#include "match_tensors.h"
#include "named_tensors.h"

/* ---- creation ---- */

static heed_status check_options(const char *name, const heed_optimizer *o)
{
    const double beta1 = o->betas[0], beta2 = o->betas[1];
    heed_check_not_negative(name, "lr", o->lr);
    heed_check_not_negative(name, "momentum", o->momentum);
    heed_check_not_negative(name, "weight_decay", o->weight_decay);
    heed_check_not_negative(name, "eps", o->eps);
    return beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1
               ? heed_error_pending()
               : heed_fail(HEED_ERR_VALUE, "%s: betas %g and %g; each must be in [0, 1)", name,
                           beta1, beta2);
}

static heed_status check_parameters(const char *name, heed_tensor_list parameters)
{
    if (parameters.count < 1) {
        return heed_fail(HEED_ERR_VALUE, "%s: no parameters to train", name);
    }
    if (parameters.tensors == NULL) {
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
        if (heed_is_listed((heed_tensor_list){i, parameters.tensors, NULL}, p)) {
            return heed_fail(HEED_ERR_VALUE, "%s: parameter %d was already added", name, i);
        }
    }
    return heed_error_pending();
}

/* `options` has the name and the options. */
static heed_optimizer *new_optimizer(heed_optimizer options, heed_tensor_list parameters)
{
    if (check_parameters(options.name, parameters) != HEED_OK ||
        check_options(options.name, &options) != HEED_OK) {
        return NULL;
    }
    heed_optimizer *o = heed_alloc(sizeof *o);
    heed_named_tensors *named = heed_alloc_zeroed(sizeof *named);
    if (o == NULL || named == NULL) {
        heed_free(o);
        heed_free(named);
        return NULL;
    }
    *o = options;
    o->named = named;
    o->slots = heed_alloc_zeroed((size_t)parameters.count * sizeof *o->slots);
    for (int i = 0; i < parameters.count; i++) {
        const char *name = parameters.names != NULL ? parameters.names[i] : NULL;
        char number[12];
        snprintf(number, sizeof number, "%d", i);
        heed_named_add(named, parameters.tensors[i], "%s", name != NULL ? name : number);
    }
    if (heed_error_pending()) {
        heed_optimizer_free(o);
        return NULL;
    }
    o->parameters = named->list;
    for (int i = 0; i < parameters.count; i++) {
        heed_retain(parameters.tensors[i]);
    }
    return o;
}

heed_optimizer *heed_sgd_new(heed_tensor_list parameters, double lr)
{
    return heed_sgd_new_with(parameters, lr, (heed_sgd_options){0});
}

heed_optimizer *heed_sgd_new_with(heed_tensor_list parameters, double lr, heed_sgd_options options)
{
    const heed_optimizer o = {.name = "SGD",
                              .is_sgd = true,
                              .lr = lr,
                              .momentum = options.momentum,
                              .weight_decay = options.weight_decay};
    return new_optimizer(o, parameters);
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
    return heed_adam_new_with(parameters, lr, (heed_adam_options){0});
}

heed_optimizer *heed_adam_new_with(heed_tensor_list parameters, double lr,
                                   heed_adam_options options)
{
    const heed_optimizer o = {.name = "Adam", .lr = lr, .weight_decay = options.weight_decay};
    return new_adam(o, parameters, options);
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
    if (options.weight_decay != 0) {
        heed_fail(HEED_ERR_VALUE,
                  "AdamW: pass weight_decay as an argument, not as %g in the options",
                  options.weight_decay);
        return NULL;
    }
    return new_adam(o, parameters, options);
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
    heed_free(optimizer->slots);
    heed_named_delete(optimizer->named);
    heed_named_delete(optimizer->listed);
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
    heed_optimizer_slot *slot = &o->slots[i];
    const heed_tensor *p = o->parameters.tensors[i];
    const int count = count_states(o);
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

/* The options in a state dict, and their names. */
static const char *const option_names[] = {"lr",    "weight_decay", "momentum",
                                           "beta1", "beta2",        "eps"};
enum { OPTIONS = sizeof option_names / sizeof *option_names };

static double *option_of(heed_optimizer *o, int k)
{
    double *const all[] = {&o->lr,       &o->weight_decay, &o->momentum,
                           &o->betas[0], &o->betas[1],     &o->eps};
    return all[k];
}

/* The order is that of heed_optimizer_take below. */
heed_status heed_optimizer_list(heed_optimizer *o, heed_named_tensors *named)
{
    heed_named_add(named, heed_from_i64(&o->steps, HEED_SCALAR), "%s.steps", o->name);
    for (int k = 0; k < OPTIONS; k++) {
        heed_named_add(named, heed_from_f64(option_of(o, k), HEED_SCALAR), "%s.%s", o->name,
                       option_names[k]);
    }
    for (int i = 0; i < o->parameters.count; i++) {
        const heed_optimizer_slot *slot = &o->slots[i];
        const char *name = o->parameters.names[i];
        make_state(o, i);
        heed_named_add(named, heed_from_i64(&slot->steps, HEED_SCALAR), "state.%s.step", name);
        for (int j = 0; j < count_states(o); j++) {
            heed_named_add(named, slot->state[j], "state.%s.%s", name,
                           o->is_sgd ? "momentum_buffer"
                           : j == 0  ? "exp_avg"
                                     : "exp_avg_sq");
        }
    }
    return heed_error_pending();
}

/* All numbers are read and checked before anything changes. */
heed_status heed_optimizer_take(const char *function, heed_optimizer *o, heed_tensor *const *values)
{
    heed_optimizer loaded = *o;
    loaded.steps = heed_item_i64(*values++);
    for (int k = 0; k < OPTIONS; k++) {
        *option_of(&loaded, k) = heed_item(*values++);
    }
    const int count = o->parameters.count, states = count_states(o), each = 1 + states;
    bool counts = loaded.steps >= 0;
    for (int i = 0; i < count; i++) {
        counts = counts && heed_item_i64(values[i * each]) >= 0;
    }
    if (!counts) {
        return heed_fail(HEED_ERR_VALUE, "%s: the state of %s has a negative step", function,
                         o->name);
    }
    if (check_options(function, &loaded) == HEED_OK && count_states(&loaded) != states) {
        return heed_fail(HEED_ERR_VALUE, "%s: the state of %s has momentum %g; this one's is %g",
                         function, o->name, loaded.momentum, o->momentum);
    }
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    *o = loaded;
    for (int i = 0; i < count; i++) {
        o->slots[i].steps = heed_item_i64(*values++);
        for (int j = 0; j < states; j++) {
            heed_copy_into(o->slots[i].state[j], *values++);
        }
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

/* ---- a step ---- */

/* Saturates: at the maximum, one more step no longer changes any update. */
static int64_t after(int64_t steps)
{
    return steps < INT64_MAX ? steps + 1 : steps;
}

/* Same dtype, shape and strides as p? */
static bool is_like(const heed_tensor *t, const heed_tensor *p)
{
    bool alike = t->storage != NULL && t->dtype == p->dtype && t->ndim == p->ndim;
    for (int i = 0; alike && i < p->ndim; i++) {
        alike = t->shape[i] == p->shape[i] && t->strides[i] == p->strides[i];
    }
    return alike;
}

/* Parameters, gradients and state were alike when they were made, but parameters can be replaced.
 */
static heed_status check_update(const heed_optimizer *o, int i)
{
    const heed_tensor *p = o->parameters.tensors[i];
    const heed_optimizer_slot *slot = &o->slots[i];
    bool alike = p->storage != NULL && heed_is_row_major(p) && is_like(p->grad, p);
    for (int j = 0; j < count_states(o); j++) {
        alike = alike && is_like(slot->state[j], p);
    }
    return alike || heed_check_tensor("optimizer_step", "a parameter", p) != HEED_OK
               ? heed_error_pending()
               : heed_fail(HEED_ERR_SHAPE,
                           "optimizer_step: parameter %s, now %s %s, must be contiguous, and have "
                           "the shape and dtype that it had at its first step",
                           o->parameters.names[i], heed_dtype_name(p->dtype), HEED_TEXT(p));
}

/* The address of element i. */
static void *at(const heed_tensor *t, int64_t i)
{
    return (char *)t->data + (size_t)i * heed_dtype_size(t->dtype);
}

/* What the number of steps t contributes to Adam; most parameters have taken equally many. */
typedef struct corrections {
    int64_t t;
    double size, correction; /* lr / (1 - beta1^t), 1 / sqrt(1 - beta2^t) */
} corrections;

/* Updates the elements [from, from + n) of parameter i. */
static void update(const heed_optimizer *o, int i, int64_t from, int64_t n, corrections *c)
{
    const heed_tensor *p = o->parameters.tensors[i];
    const heed_optimizer_slot *slot = &o->slots[i];
    const heed_kernels *kernels = heed_kernels_for(p->dtype);
    const double decay = o->decay_matrices_only && p->ndim < 2 ? 0 : o->weight_decay;
    if (o->is_sgd) {
        const heed_sgd_terms terms = {.lr = o->lr, .decay = decay, .momentum = o->momentum};
        kernels->sgd(n, at(p, from), at(p->grad, from),
                     o->momentum != 0 ? at(slot->state[0], from) : NULL, &terms);
        return;
    }
    if (c->t != after(slot->steps)) {
        c->t = after(slot->steps);
        c->size = o->lr / (1 - pow(o->betas[0], (double)c->t));
        c->correction = 1 / sqrt(1 - pow(o->betas[1], (double)c->t));
    }
    const heed_adam_terms terms = {
        .decay = o->decoupled ? 0 : decay,
        .new1 = 1 - o->betas[0],
        .new2 = 1 - o->betas[1],
        .beta2 = o->betas[1],
        .shrink = o->decoupled ? 1 - o->lr * decay : 1,
        .size = c->size,
        .correction = c->correction,
        .eps = o->eps,
    };
    kernels->adam(n, at(p, from), at(p->grad, from), at(slot->state[0], from),
                  at(slot->state[1], from), &terms);
}

/* Elements per piece. A thread takes a grain of pieces, from one parameter or from many small ones.
 */
enum { PIECE = 2048, PIECES_OF_GRAIN = HEED_GRAIN_OF_UPDATES / PIECE };

static int64_t count_pieces(const heed_tensor *p)
{
    return p->grad != NULL ? (p->numel + PIECE - 1) / PIECE : 0;
}

/* Updates pieces [first, end), numbered across all parameters with a gradient. */
static void update_pieces(void *context, int64_t first, int64_t end)
{
    const heed_optimizer *o = context;
    corrections c = {0};
    int64_t before = 0;
    for (int i = 0; i < o->parameters.count && before < end; i++) {
        const heed_tensor *p = o->parameters.tensors[i];
        const int64_t count = count_pieces(p), from = first > before ? first - before : 0;
        const int64_t to = end - before < count ? end - before : count;
        if (from < to) {
            const int64_t past = to * PIECE < p->numel ? to * PIECE : p->numel;
            update(o, i, from * PIECE, past - from * PIECE, &c);
        }
        before += count;
    }
}

/* Nothing changes unless everything can be updated. */
static heed_status take_step(heed_optimizer *o)
{
    int64_t pieces = 0, elements = 0;
    for (int i = 0; i < o->parameters.count; i++) {
        const heed_tensor *p = o->parameters.tensors[i];
        if (p->grad != NULL) {
            if (make_state(o, i) != HEED_OK || check_update(o, i) != HEED_OK) {
                return heed_error_pending();
            }
            pieces += count_pieces(p);
            elements += p->numel;
        }
    }
    /* The number of pieces would overestimate the work of many small parameters. */
    heed_parallel_for(pieces, elements < 2 * HEED_GRAIN_OF_UPDATES ? pieces : PIECES_OF_GRAIN,
                      update_pieces, o);
    for (int i = 0; i < o->parameters.count; i++) {
        heed_optimizer_slot *slot = &o->slots[i];
        if (o->parameters.tensors[i]->grad != NULL) {
            slot->steps = after(slot->steps);
            heed_raise_version(o->parameters.tensors[i]);
            for (int j = 0; j < count_states(o); j++) {
                heed_raise_version(slot->state[j]);
            }
        }
    }
    o->steps = after(o->steps);
    return HEED_OK;
}

heed_status heed_optimizer_step(heed_optimizer *optimizer)
{
    const heed_status status = heed_check_not_null("optimizer_step", "the optimiser", optimizer);
    return status == HEED_OK ? take_step(optimizer) : status;
}

heed_status heed_optimizer_zero_grad(heed_optimizer *optimizer)
{
    heed_status status = heed_check_not_null("optimizer_zero_grad", "the optimiser", optimizer);
    for (int i = 0; optimizer != NULL && i < optimizer->parameters.count; i++) {
        heed_clear_grad(optimizer->parameters.tensors[i]);
    }
    return status;
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

typedef struct scale_job {
    const heed_tensor *t;
    double factor;
} scale_job;

static void scale(void *context, int64_t first, int64_t end)
{
    const scale_job *job = context;
    heed_kernels_for(job->t->dtype)->scale(end - first, at(job->t, first), job->factor);
}

double heed_clip_grad_norm(heed_tensor_list parameters, double max_norm)
{
    static const char function[] = "clip_grad_norm";
    int64_t elements = 0;
    if (!(max_norm >= 0)) {
        heed_fail(HEED_ERR_VALUE, "%s: max_norm is %g; it must be 0 or more", function, max_norm);
    }
    for (int i = 0; i < parameters.count && !heed_error_pending(); i++) {
        const heed_tensor *p = parameters.tensors != NULL ? parameters.tensors[i] : NULL;
        if (p == NULL) {
            heed_fail(HEED_ERR_NULL, "%s: parameter %d is NULL", function, i);
        } else if (p->grad != NULL &&
                   heed_check_tensor(function, "a gradient", p->grad) == HEED_OK) {
            elements += p->grad->numel;
        }
    }
    norm_job job = {parameters, heed_alloc((size_t)parameters.count * sizeof(double))};
    if (heed_error_pending()) {
        heed_free(job.norms);
        return (double)NAN;
    }
    double norm = 0;
    const int64_t count = parameters.count;
    heed_parallel_for(count, elements < 2 * HEED_GRAIN_OF_SUMS ? count : 1, compute_norms, &job);
    if (count > 0) {
        heed_kernels_for(HEED_F64)->norm(count, job.norms, NULL, &norm);
    }
    heed_free(job.norms);
    const double factor = max_norm / (norm + 1e-6);
    for (int i = 0; i < count && !(factor >= 1); i++) { /* in turn: gradients may share elements */
        heed_tensor *g = parameters.tensors[i]->grad;
        if (g != NULL) {
            heed_parallel_for(g->numel, HEED_GRAIN_OF_UPDATES, scale, &(scale_job){g, factor});
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
