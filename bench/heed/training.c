/* Training steps: one head (W2), a perceptron (MLP) and multi-head attention (W3). A model is
 * trained a little before it is timed, and its loss must fall. */
#include <math.h>

#include "bench/heed/bench.h"

/* ---- steps of the current model ---- */

static struct training now;

void start_training(struct training t)
{
    now = t;
}

void training_step(void)
{
    HEED_SCOPE(scope);
    heed_optimizer_zero_grad(now.optimizer);
    if (now.input != NULL) {
        heed_clear_grad(now.input);
    }
    heed_backward(now.loss());
    if (now.clipped != NULL) {
        heed_clip_grad_norm(heed_parameters(now.clipped), 1);
    }
    heed_optimizer_step(now.optimizer);
}

static double loss_now(void)
{
    HEED_SCOPE_NO_GRAD(scope);
    return heed_item(now.loss());
}

const char *begin_training(struct training t)
{
    start_training(t);
    const double at_first = loss_now(), start = seconds_now();
    for (int i = 0; i < 5 || seconds_now() - start < 0.02; i++) {
        training_step();
    }
    const double then = loss_now();
    if (!isfinite(at_first) || !isfinite(then)) {
        return "the loss is not finite";
    }
    return then < at_first ? NULL : "the loss does not fall";
}

void end_training(void)
{
    heed_optimizer_free(now.optimizer);
    for (int i = 0; now.modules[i] != NULL; i++) {
        heed_module_free(now.modules[i]);
    }
}

/* ---- inputs, shared by all models ---- */

enum { MOST_PARAMETERS = 16, SGD, ADAM };

static heed_tensor *x, *targets, *mask, *parameters[MOST_PARAMETERS];

/* The parameters of all modules as one list. */
static heed_tensor_list all_parameters(void *const *modules)
{
    heed_tensor_list all = {0, parameters, NULL};
    for (; *modules != NULL; modules++) {
        const heed_tensor_list list = heed_parameters(*modules);
        for (int i = 0; i < list.count && all.count < MOST_PARAMETERS; i++) {
            parameters[all.count++] = list.tensors[i];
        }
    }
    return all;
}

static heed_optimizer *optimizer_of(int kind, void *const *modules)
{
    const heed_tensor_list all = all_parameters(modules);
    return kind == SGD ? heed_sgd_new(all, 1e-3) : heed_adam_new(all, 1e-3);
}

/* ---- W2: one head of 16 of 32 features, 4 rows of 8 tokens; the loss is the mean square ---- */

static struct heed_self_attention *attention;

static heed_tensor *head_loss(void)
{
    return heed_mean(heed_square(heed_self_attention_forward(attention, x, mask)));
}

static const char *prepare_head(const struct workload *w)
{
    attention = heed_self_attention_new(32, 1, 2, .head_dim = 16);
    x = heed_randn(HEED_SHAPE(4, 8, 32), HEED_F32);
    mask = heed_causal_block_mask(8);
    struct training t = {.loss = head_loss, .modules = {attention}};
    t.optimizer = optimizer_of(w->variant, t.modules);
    return begin_training(t);
}

/* ---- MLP: 784 to 64 to 10, a batch of 64 ---- */

static struct heed_linear *hidden, *output;

static heed_tensor *mlp_loss(void)
{
    heed_tensor *h = heed_relu(heed_linear_forward(hidden, x));
    return heed_cross_entropy(heed_linear_forward(output, h), targets);
}

static const char *prepare_mlp(const struct workload *w)
{
    hidden = heed_linear_new(784, 64);
    output = heed_linear_new(64, 10);
    x = heed_rand(HEED_SHAPE(64, 784), HEED_F32);
    targets = heed_randint(0, 10, HEED_SHAPE(64));
    struct training t = {.loss = mlp_loss, .modules = {hidden, output}};
    t.optimizer = optimizer_of(w->variant, t.modules);
    return begin_training(t);
}

/* ---- W3: multi-head attention, 16 rows of 64 tokens, 128 features, 4 heads, causal; the loss is
 * the mean square, with the gradient of the input, and AdamW ---- */

enum { B = 16, T = 64, C = 128, H = 4 };
enum { FUSED, MODULE };

static struct heed_linear *qkv, *proj;
static struct heed_multihead_attention *module;
static int form;

/* (B, T, C) -> (B, H, T, C / H) */
static heed_tensor *heads_of(heed_tensor *t)
{
    return heed_transpose(heed_unflatten(t, -1, HEED_SHAPE(H, -1)), 1, 2);
}

static heed_tensor *heads_forward(void)
{
    heed_tensor *parts[3] = {NULL};
    if (form == MODULE) {
        return heed_multihead_attention_forward(module, x, x, x, .is_causal = true);
    }
    heed_chunk(heed_linear_forward(qkv, x), 3, -1, parts);
    heed_tensor *q = heads_of(parts[0]), *k = heads_of(parts[1]), *v = heads_of(parts[2]);
    heed_tensor *y = heed_scaled_dot_product_attention(q, k, v, .is_causal = true);
    return heed_linear_forward(proj, heed_flatten(heed_transpose(y, 1, 2), 2, 3));
}

static heed_tensor *heads_loss(void)
{
    return heed_mean(heed_square(heads_forward()));
}

static const char *prepare_heads(const struct workload *w)
{
    form = w->variant;
    x = heed_set_requires_grad(heed_randn(HEED_SHAPE(B, T, C), HEED_F32), true);
    struct training t = {.loss = heads_loss, .input = x};
    if (form == MODULE) {
        module = heed_multihead_attention_new(C, H, .batch_first = true);
        t.modules[0] = module;
    } else {
        t.modules[0] = qkv = heed_linear_new(C, 3 * C);
        t.modules[1] = proj = heed_linear_new(C, C);
    }
    t.optimizer = heed_adamw_new(all_parameters(t.modules), 1e-4, 0.01);
    return begin_training(t);
}

/* ---- the table ---- */

void add_training(void)
{
    struct workload w = {.unit = "us", .scale = 1e6, .run = training_step, .finish = end_training};
    w.variant = SGD;
    w.prepare = prepare_head;
    add_workload(w, "w2.sgd");
    w.prepare = prepare_mlp;
    add_workload(w, "mlp.sgd");
    w.variant = ADAM;
    add_workload(w, "mlp.adam");
    w.unit = "ms";
    w.scale = 1e3;
    w.prepare = prepare_heads;
    w.variant = FUSED;
    add_workload(w, "w3");
    w.variant = MODULE;
    add_workload(w, "w3.module");
}
