/* A training step of multi-head attention (W3): 16 rows of 64 tokens, 128 features, 4 heads, causal; the
 * loss is the mean square, the gradient of the input is wanted too, AdamW. */
#include <math.h>

#include "bench/heed/workloads.h"

enum { B = 16, T = 64, C = 128, H = 4, MOST_PARAMETERS = 8 };
enum { FUSED, COMPOSED, MODULE };

static heed_tensor *x, *mask, *parameters[MOST_PARAMETERS];
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

static heed_tensor *forward(void)
{
    heed_tensor *parts[3] = {NULL};
    if (form == MODULE) {
        return heed_multihead_attention_forward(module, x, x, x,
                                                (heed_attention_options){.is_causal = true});
    }
    heed_chunk(heed_linear_forward(qkv, x), 3, -1, parts);
    heed_tensor *q = heads_of(parts[0]), *k = heads_of(parts[1]), *v = heads_of(parts[2]);
    heed_tensor *y = form == FUSED ? heed_scaled_dot_product_attention(q, k, v, NULL, 0, true, 0)
                                   : in_plain_operations(q, k, v);
    return heed_linear_forward(proj, heed_flatten(heed_transpose(y, 1, 2), 2, 3));
}

static heed_tensor *loss(void)
{
    return heed_mean(heed_square(forward()));
}

/* Both forms give the same. */
static bool fused_differs(void)
{
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    const int wanted = form;
    form = FUSED;
    heed_tensor *fused = forward();
    form = COMPOSED;
    const bool same = heed_allclose(fused, forward(), 1e-4, 1e-5, false);
    form = wanted;
    heed_scope_end(&scope);
    return !same;
}

static const char *prepare(const struct workload *w)
{
    form = w->variant;
    x = heed_set_requires_grad(heed_randn(HEED_SHAPE(B, T, C), HEED_F32), true);
    mask = heed_causal_block_mask(T);
    struct training t = {.loss = loss, .input = x};
    if (form == MODULE) {
        module = heed_multihead_attention_new_with(
            C, H, (heed_multihead_attention_options){.batch_first = true});
        t.modules[0] = module;
    } else {
        t.modules[0] = qkv = heed_linear_new(C, 3 * C);
        t.modules[1] = proj = heed_linear_new(C, C);
    }
    t.optimizer =
        heed_adamw_new(all_parameters(parameters, MOST_PARAMETERS, t.modules), 1e-4, 0.01);
    const char *wrong = begin_training(t);
    return wrong == NULL && form != MODULE && fused_differs() ? "the two forms of attention differ"
                                                              : wrong;
}

void add_attention(struct table *table)
{
    struct workload w = {.unit = "ms",
                         .scale = 1e3,
                         .bound = "fma",
                         .prepare = prepare,
                         .run = training_step,
                         .finish = end_training};
    /* projections, q k^T and its like: each forward, and twice as much backward */
    w.bound_times = 3.0 * (2.0 * B * T * 4 * C * C + 2.0 * 2 * B * T * T * C);
    w.variant = FUSED;
    add_workload(table, w, "w3");
    w.variant = COMPOSED;
    add_workload(table, w, "w3.composed");
    w.variant = MODULE;
    add_workload(table, w, "w3.module");
}
