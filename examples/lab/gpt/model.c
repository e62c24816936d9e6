/* GPT-2's decoder: modules in nanoGPT's order and with its initialisation, the forward with and
 * without a cache of keys and values, and the loss. */
#include "examples/lab/gpt/model.h"

#include <math.h>
#include <string.h>

/* ---- modules ---- */

static void forget_weights(void *attention)
{
    heed_release(((struct gpt_attention *)attention)->attention_percent);
}

static const heed_module_kind attention_kind = {
    .name = "CausalSelfAttention", .size = sizeof(struct gpt_attention), .destroy = forget_weights};
static const heed_module_kind mlp_kind = {.name = "MLP", .size = sizeof(struct gpt_mlp)};
static const heed_module_kind block_kind = {.name = "Block", .size = sizeof(struct gpt_block)};
static const heed_module_kind transformer_kind = {.name = "ModuleDict",
                                                  .size = sizeof(struct gpt_transformer)};
HEED_MODULE_KIND(gpt_kind, struct gpt, "GPT", NULL, gpt_forward);

static struct gpt_attention *new_attention(const gpt_config *c)
{
    struct gpt_attention *m = heed_module_new(&attention_kind);
    HEED_CHILD(m, c_attn, heed_linear_new(c->n_embd, 3 * c->n_embd));
    HEED_CHILD(m, c_proj, heed_linear_new(c->n_embd, c->n_embd));
    HEED_CHILD(m, attn_dropout, heed_dropout_new(c->dropout));
    HEED_CHILD(m, resid_dropout, heed_dropout_new(c->dropout));
    if (m != NULL) {
        m->n_head = c->n_head;
    }
    return m;
}

static struct gpt_mlp *new_mlp(const gpt_config *c)
{
    struct gpt_mlp *m = heed_module_new(&mlp_kind);
    HEED_CHILD(m, c_fc, heed_linear_new(c->n_embd, 4 * c->n_embd));
    HEED_CHILD(m, c_proj, heed_linear_new(4 * c->n_embd, c->n_embd));
    HEED_CHILD(m, dropout, heed_dropout_new(c->dropout));
    if (m != NULL) {
        m->activation = c->activation != NULL ? c->activation : heed_gelu_tanh;
    }
    return m;
}

static struct gpt_block *new_block(const gpt_config *c)
{
    struct gpt_block *m = heed_module_new(&block_kind);
    HEED_CHILD(m, ln_1, heed_layer_norm_new(HEED_SHAPE(c->n_embd)));
    HEED_CHILD(m, attn, new_attention(c));
    HEED_CHILD(m, ln_2, heed_layer_norm_new(HEED_SHAPE(c->n_embd)));
    HEED_CHILD(m, mlp, new_mlp(c));
    return m;
}

static struct gpt_transformer *new_transformer(const gpt_config *c)
{
    struct gpt_transformer *m = heed_module_new(&transformer_kind);
    HEED_CHILD(m, wte, heed_embedding_new(c->vocab_size, c->n_embd));
    HEED_CHILD(m, wpe, heed_embedding_new(c->block_size, c->n_embd));
    HEED_CHILD(m, drop, heed_dropout_new(c->dropout));
    HEED_CHILD(m, h, heed_module_list_new());
    for (int i = 0; i < c->n_layer && !heed_error_pending(); i++) {
        heed_module_list_append(m->h, new_block(c));
    }
    HEED_CHILD(m, ln_f, heed_layer_norm_new(HEED_SHAPE(c->n_embd)));
    return m;
}

/* ---- initialisation ---- */

static bool ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), of_end = strlen(end);
    return length >= of_end && strcmp(name + length - of_end, end) == 0;
}

/* Iterates over all names, so that a tied weight is drawn twice, as in nanoGPT's apply. */
static void initialise(struct gpt *m)
{
    const double std = 0.02;
    const heed_tensor_list state = heed_state_dict(m);
    for (int i = 0; i < state.count; i++) {
        if (ends_in(state.names[i], ".bias")) {
            heed_fill_into(state.tensors[i], 0);
        } else if (state.tensors[i]->ndim == 2) {
            heed_normal_into(state.tensors[i], 0, std);
        }
    }
    const heed_tensor_list parameters = heed_parameters(m);
    for (int i = 0; i < parameters.count; i++) {
        if (ends_in(parameters.names[i], "c_proj.weight")) {
            heed_normal_into(parameters.tensors[i], 0, std / sqrt(2.0 * m->config.n_layer));
        }
    }
}

struct gpt *gpt_new(gpt_config config)
{
    if (config.n_layer < 1 || config.n_head < 1 || config.n_embd % config.n_head != 0) {
        heed_fail(HEED_ERR_VALUE,
                  "gpt: n_layer %d, n_head %d, n_embd %lld: there must be a layer, and heads that "
                  "divide n_embd",
                  config.n_layer, config.n_head, (long long)config.n_embd);
        return NULL;
    }
    struct gpt *m = heed_module_new(&gpt_kind);
    HEED_CHILD(m, transformer, new_transformer(&config));
    HEED_CHILD(m, lm_head, heed_linear_new(config.n_embd, config.vocab_size, .no_bias = true));
    if (!heed_error_pending()) {
        m->config = config;
        if (!config.untied) {
            heed_set_parameter(m->lm_head, "weight", &m->lm_head->weight,
                               m->transformer->wte->weight);
        }
        initialise(m);
    }
    if (heed_error_pending()) {
        heed_module_free(m);
        return NULL;
    }
    return m;
}

struct gpt_block *gpt_block_at(struct gpt *m, int i)
{
    return heed_module_list_at(m->transformer->h, i);
}

/* ---- the forward ---- */

/* x (B, T, C) -> (B, H, T, C / H) */
static heed_tensor *split_heads(heed_tensor *x, int heads)
{
    return heed_transpose(heed_unflatten(x, -1, HEED_SHAPE(heads, -1)), 1, 2);
}

/* Stores the keys or values of tokens after the first `before`; returns all of them. */
static heed_tensor *remember(heed_tensor *kept, heed_tensor *more, int64_t before)
{
    const int64_t count = heed_size(more, 2);
    heed_copy_into(heed_narrow(kept, 2, before, count), more);
    return heed_narrow(kept, 2, 0, before + count);
}

static heed_tensor *attend(struct gpt_attention *m, heed_tensor *x, const gpt_cache *cache,
                           int layer)
{
    HEED_FORWARD(m);
    heed_tensor *qkv[3] = {NULL}, *weights = NULL, *mask = NULL;
    heed_chunk(heed_linear_forward(m->c_attn, x), 3, -1, qkv);
    heed_tensor *q = split_heads(qkv[0], m->n_head);
    heed_tensor *k = split_heads(qkv[1], m->n_head);
    heed_tensor *v = split_heads(qkv[2], m->n_head);
    const int64_t before = cache != NULL ? cache->length : 0, count = heed_size(x, 1);
    if (cache != NULL) {
        k = remember(cache->keys[layer], k, before);
        v = remember(cache->values[layer], v, before);
    }
    /* The T queries follow `before` tokens, so the mask has shape (T, before + T). A single query
     * is the last token and attends to all, so it needs no mask. */
    if (before > 0 && count > 1) {
        mask = heed_tril(heed_ones(HEED_SHAPE(count, before + count), HEED_BOOL), before);
    }
    const double dropout = m->attn_dropout->module.training ? m->attn_dropout->p : 0;
    heed_tensor *y = heed_scaled_dot_product_attention(
        q, k, v, mask, .dropout_p = dropout, .is_causal = before == 0,
        .weights = m->keep_weights ? &weights : NULL);
    if (m->keep_weights) {
        heed_release(m->attention_percent);
        m->attention_percent = heed_retain(heed_clone(heed_detach(weights)));
    }
    y = heed_linear_forward(m->c_proj, heed_flatten(heed_transpose(y, 1, 2), 2, 3));
    return heed_dropout_forward(m->resid_dropout, y);
}

static heed_tensor *feed(struct gpt_mlp *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    x = m->activation(heed_linear_forward(m->c_fc, x));
    return heed_dropout_forward(m->dropout, heed_linear_forward(m->c_proj, x));
}

static heed_tensor *run_block(struct gpt_block *m, heed_tensor *x, const gpt_cache *cache,
                              int layer)
{
    HEED_FORWARD(m);
    HEED_SCOPE(scope);
    x = heed_add(x, attend(m->attn, heed_layer_norm_forward(m->ln_1, x), cache, layer));
    x = heed_add(x, feed(m->mlp, heed_layer_norm_forward(m->ln_2, x)));
    return heed_scope_keep(&scope, x);
}

/* idx (B, T) -> logits (B, T, V), or (B, 1, V), of the last token. Stores the new keys and values
 * in the cache, if not NULL, but does not change its length. */
static heed_tensor *run(struct gpt *m, heed_tensor *idx, const gpt_cache *cache, bool last_only)
{
    HEED_FORWARD(m);
    struct gpt_transformer *t = m->transformer;
    const int64_t before = cache != NULL ? cache->length : 0, count = heed_size(idx, 1);
    if (count > m->config.block_size - before) {
        heed_fail(HEED_ERR_SHAPE, "gpt: %lld tokens after %lld, but block_size is %lld",
                  (long long)count, (long long)before, (long long)m->config.block_size);
    } else if (cache != NULL && heed_size(idx, 0) != cache->batch) {
        heed_fail(HEED_ERR_SHAPE, "gpt: %lld rows, but the cache has %lld",
                  (long long)heed_size(idx, 0), (long long)cache->batch);
    }
    heed_tensor *x = heed_add(heed_embedding_forward(t->wte, idx),
                              heed_narrow(t->wpe->weight, 0, before, count));
    x = heed_dropout_forward(t->drop, x);
    for (int i = 0; i < m->config.n_layer && !heed_error_pending(); i++) {
        x = run_block(heed_module_list_at(t->h, i), x, cache, i);
    }
    x = last_only ? heed_narrow(x, 1, count - 1, 1) : x;
    return heed_linear_forward(m->lm_head, heed_layer_norm_forward(t->ln_f, x));
}

heed_tensor *gpt_forward(struct gpt *m, heed_tensor *idx)
{
    HEED_SCOPE(scope);
    const bool one = idx != NULL && idx->ndim == 1;
    heed_tensor *logits = run(m, one ? heed_unsqueeze(idx, 0) : idx, NULL, false);
    return heed_scope_keep(&scope, one ? heed_squeeze(logits, 0) : logits);
}

heed_tensor *gpt_loss(struct gpt *m, heed_tensor *idx, heed_tensor *targets)
{
    HEED_FORWARD(m);
    HEED_SCOPE(scope);
    heed_tensor *logits = heed_flatten(gpt_forward(m, idx), 0, -2);
    return heed_scope_keep(&scope, heed_cross_entropy(logits, heed_flatten(targets, 0, -1)));
}

/* ---- the cache ---- */

gpt_cache *gpt_cache_new(struct gpt *m, int64_t batch)
{
    const gpt_config *c = &m->config;
    const heed_shape shape = HEED_SHAPE(batch, c->n_head, c->block_size, c->n_embd / c->n_head);
    const heed_dtype dtype = m->lm_head->weight->dtype;
    gpt_cache *cache = heed_alloc_zeroed(sizeof *cache);
    heed_tensor **tensors = heed_alloc_zeroed(2 * (size_t)c->n_layer * sizeof *tensors);
    if (heed_error_pending()) {
        heed_free(cache);
        heed_free(tensors);
        return NULL;
    }
    *cache = (gpt_cache){batch, 0, c->n_layer, tensors, tensors + c->n_layer};
    HEED_SCOPE_NO_GRAD(scope);
    for (int i = 0; i < 2 * c->n_layer; i++) {
        tensors[i] = heed_retain(heed_zeros(shape, dtype));
    }
    if (heed_error_pending()) {
        gpt_cache_free(cache);
        return NULL;
    }
    return cache;
}

void gpt_cache_free(gpt_cache *cache)
{
    for (int i = 0; cache != NULL && i < 2 * cache->n_layer; i++) {
        heed_release(cache->keys[i]); /* and the values, which follow */
    }
    heed_free(cache != NULL ? cache->keys : NULL);
    heed_free(cache);
}

heed_tensor *gpt_forward_cached(struct gpt *m, heed_tensor *idx, gpt_cache *cache, bool last_only)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *logits = run(m, idx, cache, last_only);
    if (cache != NULL && logits != NULL) {
        cache->length += heed_size(idx, 1);
    }
    return heed_scope_keep(&scope, logits);
}
