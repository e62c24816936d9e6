/* Training steps of small models: the toy (W1), one head (W2), a perceptron (MLP). */
#include <string.h>

#include "bench/heed/workloads.h"

enum { MOST_PARAMETERS = 16, SGD, ADAM };

static heed_tensor *parameters[MOST_PARAMETERS], *x, *targets, *mask;

static heed_optimizer *optimizer_of(int kind, void *const *modules)
{
    const heed_tensor_list all = all_parameters(parameters, MOST_PARAMETERS, modules);
    return kind == SGD ? heed_sgd_new(all, 1e-3) : heed_adam_new(all, 1e-3);
}

/* ---- W1: 5 tokens, d_model 2, masked self-attention, a Linear ---- */

static struct heed_embedding *we;
static struct heed_position_encoding *pe;
static struct heed_self_attention *attention;
static struct heed_linear *fc;

static heed_tensor *toy_loss(void)
{
    heed_tensor *e = heed_position_encoding_forward(pe, heed_embedding_forward(we, x));
    heed_tensor *attended = heed_self_attention_forward(attention, e, mask);
    return heed_cross_entropy(heed_linear_forward(fc, heed_add(attended, e)), targets);
}

static struct training toy(int optimizer)
{
    we = heed_embedding_new(5, 2);
    pe = heed_position_encoding_new(2, 5);
    attention = heed_self_attention_new(2, 0, 1);
    fc = heed_linear_new(2, 5);
    x = heed_from_i64((int64_t[]){0, 1, 2, 3, 4}, HEED_SHAPE(5));
    targets = heed_from_i64((int64_t[]){1, 2, 3, 4, 0}, HEED_SHAPE(5));
    mask = heed_causal_block_mask(5);
    struct training t = {.loss = toy_loss, .modules = {we, pe, attention, fc}};
    t.optimizer = optimizer_of(optimizer, t.modules);
    return t;
}

static const char *prepare_toy(const struct workload *w)
{
    return begin_training(toy(w->variant));
}

void first_toy_step(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    set_training(toy(ADAM));
    training_step();
    end_training();
    heed_scope_end(&scope);
}

/* ---- W2: one head of 16 of 32 features, 4 rows of 8 tokens; the loss is the mean square ---- */

static heed_tensor *head_loss(void)
{
    return heed_mean(heed_square(heed_self_attention_forward(attention, x, mask)));
}

static const char *prepare_head(const struct workload *w)
{
    attention =
        heed_self_attention_new_with(32, 1, 2, (heed_self_attention_options){.head_dim = 16});
    x = heed_randn(HEED_SHAPE(4, 8, 32), HEED_F32);
    mask = heed_causal_block_mask(8);
    struct training t = {.loss = head_loss, .modules = {attention}};
    t.optimizer = optimizer_of(w->variant, t.modules);
    return begin_training(t);
}

/* ---- MLP: 784 to 64 to 10, a batch of 64 ---- */

static struct heed_sequential *mlp;

static heed_tensor *mlp_loss(void)
{
    return heed_cross_entropy(heed_sequential_forward(mlp, x), targets);
}

static const char *prepare_mlp(const struct workload *w)
{
    mlp = heed_sequential_new();
    heed_sequential_append(mlp, heed_linear_new(784, 64));
    heed_sequential_append(mlp, heed_relu_new());
    heed_sequential_append(mlp, heed_linear_new(64, 10));
    x = heed_rand(HEED_SHAPE(64, 784), HEED_F32);
    targets = heed_randint(0, 10, HEED_SHAPE(64));
    struct training t = {.loss = mlp_loss, .modules = {mlp}};
    t.optimizer = optimizer_of(w->variant, t.modules);
    return begin_training(t);
}

void add_steps(struct table *table)
{
    struct workload w = {
        .unit = "us", .scale = 1e6, .run = training_step, .finish = end_training, .variant = ADAM};
    w.prepare = prepare_toy;
    add_workload(table, w, "w1.adam");
    w.run = forward_step;
    add_workload(table, w, "w1.forward");
    w.run = training_step;
    w.variant = SGD;
    add_workload(table, w, "w1.sgd");
    w.prepare = prepare_head;
    add_workload(table, w, "w2.sgd");
    /* forward and the gradients of weights; that of the first layer's input is not wanted */
    w.prepare = prepare_mlp;
    strcpy(w.bound, "fma");
    w.bound_times = 2.0 * 64 * (2 * 784 * 64 + 3 * 64 * 10);
    add_workload(table, w, "mlp.sgd");
    w.variant = ADAM;
    add_workload(table, w, "mlp.adam");
}
