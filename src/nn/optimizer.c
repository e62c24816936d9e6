/* Optimisers, gradient clipping and a learning rate schedule. kernels/optimiser_steps.h has the
 * arithmetic of a step. */
#include "nn.h"

#include <math.h>

/* ---- creation ---- */

static void check_not_negative(const char *function, const char *argument, double number)
{
    if (!(number >= 0 && isfinite(number))) {
        heed_raise(HEED_ERR_VALUE, "%s: %s is %g; it must be finite and 0 or more", function,
                   argument, number);
    }
}

static void check_options(const char *function, const heed_optimizer *o)
{
    check_not_negative(function, "lr", o->lr);
    check_not_negative(function, "momentum", o->momentum);
    check_not_negative(function, "weight_decay", o->weight_decay);
    check_not_negative(function, "eps", o->eps);
    for (int i = 0; i < 2; i++) {
        if (!(o->betas[i] >= 0 && o->betas[i] < 1)) {
            heed_raise(HEED_ERR_VALUE, "%s: betas %g and %g; each must be in [0, 1)", function,
                       o->betas[0], o->betas[1]);
        }
    }
}

static void check_parameters(const char *name, heed_tensor_list parameters)
{
    if (parameters.count < 1) {
        heed_raise(HEED_ERR_VALUE, "%s: no parameters to train", name);
    }
    heed_check_not_null(name, "the list of parameters", parameters.tensors);
    for (int i = 0; i < parameters.count; i++) {
        const heed_tensor *p = parameters.tensors[i];
        heed_check_tensor(name, "a parameter", p);
        if (!p->requires_grad || p->op != NULL) {
            heed_raise(HEED_ERR_GRAPH, "%s: parameter %d is not a leaf that requires a gradient",
                       name, i);
        }
        if (parameters.names != NULL) {
            heed_check_not_null(name, "the name of a parameter", parameters.names[i]);
        }
    }
    int listed = 0; /* marked, to find a second occurrence */
    while (listed < parameters.count && parameters.tensors[listed]->consumers == 0) {
        parameters.tensors[listed++]->consumers = 1;
    }
    for (int i = 0; i < listed; i++) {
        parameters.tensors[i]->consumers = 0;
    }
    if (listed < parameters.count) {
        heed_raise(HEED_ERR_VALUE, "%s: parameter %d was already added", name, listed);
    }
}

/* A new optimiser; `initial` has its name and options. */
typedef struct creation {
    heed_optimizer initial, *made;
    heed_tensor_list parameters;
} creation;

static void create(void *context)
{
    creation *c = context;
    const heed_tensor_list parameters = c->parameters;
    const int count = parameters.count;
    check_parameters(c->initial.name, parameters);
    check_options(c->initial.name, &c->initial);
    heed_optimizer *o = c->made = heed_alloc(sizeof *o);
    *o = c->initial;
    o->named = heed_alloc_zeroed(sizeof *o->named);
    o->slots = heed_alloc_zeroed((size_t)count * sizeof *o->slots);
    for (int i = 0; i < count; i++) {
        if (parameters.names != NULL) {
            heed_named_add(o->named, parameters.tensors[i], "%s", parameters.names[i]);
        } else {
            heed_named_add(o->named, parameters.tensors[i], "%d", i);
        }
    }
    o->parameters = (heed_tensor_list){count, o->named->tensors, o->named->names};
    for (int i = 0; i < count; i++) {
        heed_retain(parameters.tensors[i]);
    }
}

static heed_optimizer *new_optimizer(heed_optimizer initial, heed_tensor_list parameters)
{
    creation c = {.initial = initial, .parameters = parameters};
    if (!heed_blocked() && heed_try(create, &c) != HEED_OK) {
        heed_optimizer_free(c.made);
        return NULL;
    }
    return c.made;
}

heed_optimizer *heed_sgd_new(heed_tensor_list parameters, double lr)
{
    return new_optimizer((heed_optimizer){.name = "SGD", .is_sgd = true, .lr = lr}, parameters);
}

heed_optimizer *heed_adam_new(heed_tensor_list parameters, double lr)
{
    return new_optimizer(
        (heed_optimizer){.name = "Adam", .lr = lr, .betas = {0.9, 0.999}, .eps = 1e-8}, parameters);
}

heed_optimizer *(heed_adamw_new)(heed_adamw_new_args args)
{
    const bool has_betas = args.betas[0] != 0 || args.betas[1] != 0;
    return new_optimizer((heed_optimizer){.name = "AdamW",
                                          .lr = args.lr,
                                          .weight_decay = args.weight_decay,
                                          .decoupled = true,
                                          .betas = {has_betas ? args.betas[0] : 0.9,
                                                    has_betas ? args.betas[1] : 0.999},
                                          .eps = args.eps != 0 ? args.eps : 1e-8,
                                          .decay_matrices_only = args.decay_matrices_only},
                         args.parameters);
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
    return o->is_sgd ? o->momentum != 0 : 2;
}

/* Creates missing state of parameter i, as zeros: with b = 0, SGD's first step gives b = d. */
static void make_state(const heed_optimizer *o, int i)
{
    heed_tensor **state = o->slots[i].state;
    const heed_tensor *p = o->parameters.tensors[i];
    for (int j = 0; j < count_states(o); j++) {
        if (state[j] == NULL) {
            HEED_SCOPE_NO_GRAD(scope);
            state[j] = heed_retain(heed_zeros(heed_shape_of_tensor(p), p->dtype));
        }
    }
}

/* The options that a checkpoint contains. */
static const char *const option_names[] = {"lr",    "weight_decay", "momentum",
                                           "beta1", "beta2",        "eps"};
enum { OPTIONS = sizeof option_names / sizeof *option_names };

static double *option_of(heed_optimizer *o, int k)
{
    return (double *[OPTIONS]){&o->lr,       &o->weight_decay, &o->momentum,
                               &o->betas[0], &o->betas[1],     &o->eps}[k];
}

void heed_optimizer_list(heed_optimizer *o, const char *prefix, heed_named_tensors *named)
{
    static const char *const adams[] = {"exp_avg", "exp_avg_sq"};
    heed_named_add(named, heed_from_i64(&o->steps, HEED_SCALAR), "%s%s.steps", prefix, o->name);
    for (int k = 0; k < OPTIONS; k++) {
        heed_named_add(named, heed_from_f64(option_of(o, k), HEED_SCALAR), "%s%s.%s", prefix,
                       o->name, option_names[k]);
    }
    for (int i = 0; i < o->parameters.count; i++) {
        make_state(o, i);
        const heed_optimizer_slot *slot = &o->slots[i];
        const char *name = o->parameters.names[i];
        heed_named_add(named, heed_from_i64(&slot->steps, HEED_SCALAR), "%sstate.%s.step", prefix,
                       name);
        for (int j = 0; j < count_states(o); j++) {
            heed_named_add(named, slot->state[j], "%sstate.%s.%s", prefix, name,
                           o->is_sgd ? "momentum_buffer" : adams[j]);
        }
    }
}

/* A number of steps, limited so that counting on cannot overflow. */
static int64_t read_steps(const char *function, const heed_tensor *value)
{
    const int64_t steps = heed_item_i64(value);
    if (steps < 0 || steps > INT64_C(1) << 53) {
        heed_raise(HEED_ERR_VALUE, "%s: %lld steps; the number must be in [0, 2^53]", function,
                   (long long)steps);
    }
    return steps;
}

void heed_optimizer_take(const char *function, heed_optimizer *o, heed_tensor *const *values)
{
    const int count = o->parameters.count, states = count_states(o);
    heed_tensor *const *const all_slots = values + 1 + OPTIONS;
    heed_optimizer loaded = *o;
    loaded.steps = read_steps(function, values[0]);
    for (int k = 0; k < OPTIONS; k++) {
        *option_of(&loaded, k) = heed_item(values[1 + k]);
    }
    check_options(function, &loaded);
    if (count_states(&loaded) != states) {
        heed_raise(HEED_ERR_VALUE, "%s: the state of %s has momentum %g; this one's is %g",
                   function, o->name, loaded.momentum, o->momentum);
    }
    for (int i = 0; i < count; i++) {
        read_steps(function, all_slots[i * (1 + states)]);
    }
    *o = loaded;
    for (int i = 0; i < count; i++) {
        heed_tensor *const *slot = all_slots + i * (1 + states);
        o->slots[i].steps = heed_item_i64(slot[0]);
        for (int j = 0; j < states; j++) {
            heed_copy_into(o->slots[i].state[j], slot[1 + j]);
        }
    }
}

/* ---- a step ---- */

/* If parameter i has a gradient: creates missing state, and checks that all are alike. */
static void prepare_update(const heed_optimizer *o, int i)
{
    const heed_tensor *p = o->parameters.tensors[i];
    if (p->grad == NULL) {
        return;
    }
    heed_tensor *const *state = o->slots[i].state;
    const int states = count_states(o);
    if (states > 0 && state[states - 1] == NULL) {
        make_state(o, i);
    }
    /* Parameters can be reshaped or cast after gradients and state, which are contiguous, were
     * made. */
    bool alike = p->grad->storage != NULL && heed_same_shape(p->grad, p) &&
                 p->grad->dtype == p->dtype && heed_is_row_major(p);
    for (int j = 0; j < states; j++) {
        alike = alike && state[j]->numel == p->numel && state[j]->dtype == p->dtype;
    }
    if (!alike || p->storage == NULL) {
        heed_check_tensor("optimizer_step", "a parameter", p);
        heed_raise(
            HEED_ERR_SHAPE,
            "optimizer_step: parameter %s, now %s %s, must be contiguous, and have the shape "
            "and dtype that it had at its first step",
            o->parameters.names[i], heed_dtype_name(p->dtype), HEED_TEXT(p));
    }
}

/* The update of one parameter. */
typedef struct update {
    const heed_optimizer *o;
    const heed_tensor *p;
    heed_tensor *const *state;
    heed_sgd_terms sgd;
    heed_adam_terms adam;
} update;

static void *element_address(const heed_tensor *t, int64_t i)
{
    return (char *)t->data + (size_t)i * heed_dtype_size(t->dtype);
}

/* Threads take whole pieces of this many elements, so the bits do not depend on their number. */
enum { PIECE = 2048 };

static void update_pieces(void *context, int64_t first_piece, int64_t end_piece)
{
    const update *u = context;
    const heed_kernels *kernels = heed_kernels_for(u->p->dtype);
    const int64_t first = first_piece * PIECE, end = end_piece * PIECE;
    const int64_t n = (end < u->p->numel ? end : u->p->numel) - first;
    void *p = element_address(u->p, first), *g = element_address(u->p->grad, first);
    if (u->o->is_sgd) {
        void *buffer = u->o->momentum != 0 ? element_address(u->state[0], first) : NULL;
        kernels->sgd(n, p, g, buffer, &u->sgd);
    } else {
        kernels->adam(n, p, g, element_address(u->state[0], first),
                      element_address(u->state[1], first), &u->adam);
    }
}

static void update_parameters(heed_optimizer *o)
{
    const int states = count_states(o);
    int64_t t = 0; /* of the corrections in u: most parameters have the same number of steps */
    update u = {.o = o, .sgd = {.lr = o->lr, .momentum = o->momentum}};
    u.adam.one_minus_beta1 = 1 - o->betas[0];
    u.adam.one_minus_beta2 = 1 - o->betas[1];
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
            u.adam.step_size = o->lr / (1 - pow(o->betas[0], (double)t));
            u.adam.correction = 1 / sqrt(1 - pow(o->betas[1], (double)t));
        }
        u.p = p;
        u.state = slot->state;
        u.sgd.decay = decay;
        u.adam.decay = o->decoupled ? 0 : decay;
        u.adam.keep = o->decoupled ? 1 - o->lr * decay : 1;
        heed_parallel_for((p->numel + PIECE - 1) / PIECE, HEED_GRAIN_OF_UPDATES / PIECE,
                          update_pieces, &u);
        heed_raise_version(p);
        for (int j = 0; j < states; j++) {
            heed_raise_version(slot->state[j]);
        }
    }
    o->steps++;
}

/* Checks all parameters before the first one changes. */
heed_status heed_optimizer_step(heed_optimizer *optimizer)
{
    HEED_DOOR(heed_self.error);
    heed_check_not_null("optimizer_step", "the optimiser", optimizer);
    check_options("optimizer_step", optimizer);
    for (int i = 0; i < optimizer->parameters.count; i++) {
        prepare_update(optimizer, i);
    }
    update_parameters(optimizer);
    return HEED_OK;
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

static double norm_of(const heed_tensor *t)
{
    double f64 = 0;
    float f32 = 0;
    const bool is_f64 = t->dtype == HEED_F64;
    heed_kernels_for(t->dtype)->norm(t->numel, t->data, is_f64 ? (void *)&f64 : &f32);
    return is_f64 ? f64 : (double)f32;
}

double heed_clip_grad_norm(heed_tensor_list parameters, double max_norm)
{
    static const char function[] = "clip_grad_norm";
    HEED_DOOR((double)NAN);
    double sum = 0;
    if (!(max_norm >= 0)) {
        heed_raise(HEED_ERR_VALUE, "%s: max_norm is %g; it must be 0 or more", function, max_norm);
    }
    for (int i = 0; i < parameters.count; i++) {
        const heed_tensor *p = parameters.tensors != NULL ? parameters.tensors[i] : NULL;
        heed_check_not_null(function, "a parameter", p);
        if (p->grad != NULL) {
            heed_check_tensor(function, "a gradient", p->grad);
            const double norm = norm_of(p->grad);
            sum += norm * norm;
        }
    }
    const double norm = sqrt(sum), factor = max_norm / (norm + 1e-6);
    for (int i = 0; i < parameters.count && !(factor >= 1); i++) {
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
    if (step < 0 || warmup < 0 || total <= warmup || !isfinite(lr) || !isfinite(eta_min)) {
        heed_fail(HEED_ERR_VALUE,
                  "warmup_cosine_lr: step %lld, warmup %lld of %lld, rates %g and %g; the first "
                  "step is 0, warmup 0 or more and less than total, and rates finite",
                  (long long)step, (long long)warmup, (long long)total, lr, eta_min);
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
