/* Training steps: one head (W2), a perceptron (MLP) and multi-head attention (W3). A model is
 * trained a little before it is timed, and its loss must fall. */
#include "bench/heed/training.h"

#include <math.h>
#include <string.h>

#include "bench/heed/tables.h"

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

void forward_step(void)
{
    HEED_SCOPE(scope);
    now.loss();
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
    const char *wrong = begin_training(t);
    for (int i = 0; i < 1500 && w->subnormal; i++) {
        training_step(); /* until the moments of dead units are subnormal */
    }
    return wrong;
}

/* ---- W3: multi-head attention, 16 rows of 64 tokens, 128 features, 4 heads, causal; the loss is
 * the mean square, with the gradient of the input, and AdamW ---- */

enum { B = 16, T = 64, C = 128, H = 4 };
enum { FUSED, COMPOSED, MODULE };

static struct heed_linear *qkv, *proj;
static struct heed_multihead_attention *module;
static int form;

/* (B, T, C) -> (B, H, T, C / H) */
static heed_tensor *heads_of(heed_tensor *t)
{
    return heed_transpose(heed_unflatten(t, -1, HEED_SHAPE(H, -1)), 1, 2);
}

static heed_tensor *in_plain_operations(heed_tensor *q, heed_tensor *k, heed_tensor *v)
{
    heed_tensor *scores = heed_mul_scalar(heed_matmul(q, heed_transpose(k, -2, -1)),
                                          1 / sqrt((double)heed_size(k, -1)));
    return heed_matmul(heed_softmax(heed_masked_fill(scores, mask, -HUGE_VAL), -1), v);
}

static heed_tensor *heads_forward(void)
{
    heed_tensor *parts[3] = {NULL};
    if (form == MODULE) {
        return heed_multihead_attention_forward(module, x, x, x, .is_causal = true);
    }
    heed_chunk(heed_linear_forward(qkv, x), 3, -1, parts);
    heed_tensor *q = heads_of(parts[0]), *k = heads_of(parts[1]), *v = heads_of(parts[2]);
    heed_tensor *y = form == FUSED ? heed_scaled_dot_product_attention(q, k, v, .is_causal = true)
                                   : in_plain_operations(q, k, v);
    return heed_linear_forward(proj, heed_flatten(heed_transpose(y, 1, 2), 2, 3));
}

static heed_tensor *heads_loss(void)
{
    return heed_mean(heed_square(heads_forward()));
}

/* True if fused and composed attention differ. */
static bool fused_differs(void)
{
    HEED_SCOPE_NO_GRAD(scope);
    const int wanted = form;
    form = FUSED;
    heed_tensor *fused = heads_forward();
    form = COMPOSED;
    const bool same = heed_allclose(fused, heads_forward(), 1e-4, 1e-5, false);
    form = wanted;
    return !same;
}

static const char *prepare_heads(const struct workload *w)
{
    form = w->variant;
    x = heed_set_requires_grad(heed_randn(HEED_SHAPE(B, T, C), HEED_F32), true);
    mask = heed_causal_block_mask(T);
    struct training t = {.loss = heads_loss, .input = x};
    if (form == MODULE) {
        module = heed_multihead_attention_new(C, H, .batch_first = true);
        t.modules[0] = module;
    } else {
        t.modules[0] = qkv = heed_linear_new(C, 3 * C);
        t.modules[1] = proj = heed_linear_new(C, C);
    }
    t.optimizer = heed_adamw_new(all_parameters(t.modules), 1e-4, 0.01);
    const char *wrong = begin_training(t);
    return wrong == NULL && form != MODULE && fused_differs() ? "the two forms of attention differ"
                                                              : wrong;
}

/* ---- the table ---- */

void add_training(struct table *table)
{
    static const char *const forms[] = {
        [FUSED] = "w3", [COMPOSED] = "w3.composed", [MODULE] = "w3.module"};
    struct workload w = {.unit = "us", .scale = 1e6, .run = training_step, .finish = end_training};
    w.variant = SGD;
    w.prepare = prepare_head;
    add_workload(table, w, "w2.sgd");
    /* forward, the gradients of weights, and the gradient of the second layer's input */
    w.prepare = prepare_mlp;
    strcpy(w.bound, "fma");
    w.bound_times = 2.0 * 64 * (2 * 784 * 64 + 3 * 64 * 10);
    add_workload(table, w, "mlp.sgd");
    w.variant = ADAM;
    add_subnormal(table, *add_workload(table, w, "mlp.adam"));
    w.unit = "ms";
    w.scale = 1e3;
    /* projections, q k^T and weights v: forward, and twice as much for backward */
    w.prepare = prepare_heads;
    w.bound_times = 3.0 * (2.0 * B * T * 4 * C * C + 2.0 * 2 * B * T * T * C);
    for (w.variant = FUSED; w.variant <= MODULE; w.variant++) {
        add_workload(table, w, "%s", forms[w.variant]);
    }
}
