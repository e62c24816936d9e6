/* GPT-2's decoder: modules in nanoGPT's order and with its initialisation, the forward with and
 * without a key-value cache, the loss, and generation. sample.c samples tokens; gpt_files.c reads
 * and writes files. */

#include "gpt.h"

#include <math.h>

#include "../../autograd/ops/cross_entropy.h"
#include "../../autograd/ops/dot_product_attention.h"
#include "../../autograd/ops/elementwise.h"
#include "../../autograd/ops/masking.h"
#include "../../autograd/ops/slice.h"
#include "../../autograd/ops/view.h"
#include "../../nn/arguments.h"
#include "../../nn/eval_mode.h"
#include "../../nn/match_tensors.h"
#include "../../nn/module_state.h"
#include "../../nn/transformer_parts.h"
#include "../../tensor/alloc.h"
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/handle.h"
#include "../../tensor/random/random.h"
#include "../../tensor/read.h"

/* Keys and values of the first `length` tokens of one block. Both have the shape
 * (B, H, block_size, C / H). */
typedef struct past {
    heed_tensor *keys, *values;
} past;

struct heed_gpt_cache {
    int64_t batch, length, block_size;
    int n_layer;
    past *blocks;
};

/* ---- modules ---- */

HEED_FORGET_WEIGHTS(forget_weights, struct heed_gpt_attention)
static const heed_module_kind attention_kind = {.name = "CausalSelfAttention",
                                                .size = sizeof(struct heed_gpt_attention),
                                                .destroy = forget_weights};
static const heed_module_kind mlp_kind = {.name = "MLP", .size = sizeof(struct heed_gpt_mlp)};
static const heed_module_kind block_kind = {.name = "Block", .size = sizeof(struct heed_gpt_block)};
static const heed_module_kind transformer_kind = {.name = "ModuleDict",
                                                  .size = sizeof(struct heed_gpt_transformer)};

static struct heed_linear *new_linear(const heed_gpt_config *c, int64_t in, int64_t out)
{
    return heed_linear_new_with(
        in, out, (heed_linear_options){.no_bias = c->no_bias, .no_init = c->no_init});
}

static struct heed_embedding *new_embedding(const heed_gpt_config *c, int64_t rows)
{
    return heed_embedding_new_with(rows, c->n_embd,
                                   (heed_embedding_options){.no_init = c->no_init});
}

static struct heed_layer_norm *new_norm(const heed_gpt_config *c)
{
    return heed_layer_norm_new_with(
        HEED_SHAPE(c->n_embd),
        (heed_layer_norm_options){.eps = c->layer_norm_eps, .no_bias = c->no_bias});
}

static struct heed_gpt_attention *new_attention(const heed_gpt_config *c)
{
    struct heed_gpt_attention *m = heed_module_new(&attention_kind);
    if (m == NULL) {
        return NULL;
    }
    HEED_CHILD(m, c_attn, new_linear(c, c->n_embd, 3 * c->n_embd));
    HEED_CHILD(m, c_proj, new_linear(c, c->n_embd, c->n_embd));
    HEED_CHILD(m, attn_dropout, heed_dropout_new(c->dropout));
    HEED_CHILD(m, resid_dropout, heed_dropout_new(c->dropout));
    m->n_head = c->n_head;
    return heed_module_ready(m);
}

static struct heed_gpt_mlp *new_mlp(const heed_gpt_config *c)
{
    struct heed_gpt_mlp *m = heed_module_new(&mlp_kind);
    if (m == NULL) {
        return NULL;
    }
    HEED_CHILD(m, c_fc, new_linear(c, c->n_embd, 4 * c->n_embd));
    HEED_CHILD(m, c_proj, new_linear(c, 4 * c->n_embd, c->n_embd));
    HEED_CHILD(m, dropout, heed_dropout_new(c->dropout));
    m->activation = c->activation;
    return heed_module_ready(m);
}

static struct heed_gpt_block *new_block(const heed_gpt_config *c)
{
    struct heed_gpt_block *m = heed_module_new(&block_kind);
    HEED_CHILD(m, ln_1, new_norm(c));
    HEED_CHILD(m, attn, new_attention(c));
    HEED_CHILD(m, ln_2, new_norm(c));
    HEED_CHILD(m, mlp, new_mlp(c));
    return heed_module_ready(m);
}

static struct heed_gpt_transformer *new_transformer(const heed_gpt_config *c)
{
    struct heed_gpt_transformer *m = heed_module_new(&transformer_kind);
    HEED_CHILD(m, wte, new_embedding(c, c->vocab_size));
    if (c->sinusoidal) {
        HEED_CHILD(m, pe, heed_position_encoding_new(c->n_embd, c->block_size));
    } else {
        HEED_CHILD(m, wpe, new_embedding(c, c->block_size));
    }
    HEED_CHILD(m, drop, heed_dropout_new(c->dropout));
    HEED_CHILD(m, h, heed_module_list_new());
    for (int i = 0; i < c->n_layer && heed_error_pending() == HEED_OK; i++) {
        heed_module_list_append(m->h, new_block(c));
    }
    HEED_CHILD(m, ln_f, new_norm(c));
    return heed_module_ready(m);
}

/* ---- initialisation ---- */

/* Iterates over all names, so that a tied weight is drawn twice, as in nanoGPT's apply. */
static void initialise(struct heed_gpt *m)
{
    const double std = 0.02;
    const heed_tensor_list state = heed_state_dict(m);
    for (int i = 0; i < state.count; i++) {
        heed_tensor *t = state.tensors[i];
        if (heed_name_ends_in(state.names[i], ".bias")) {
            heed_fill_into(t, 0);
        } else if (t->ndim == 2 && t->requires_grad) {
            heed_normal_into(t, 0, std);
        }
    }
    const heed_tensor_list parameters = heed_parameters(m);
    for (int i = 0; i < parameters.count; i++) {
        if (heed_name_ends_in(parameters.names[i], "c_proj.weight")) {
            heed_normal_into(parameters.tensors[i], 0, std / sqrt(2.0 * m->config.n_layer));
        }
    }
}

/* ---- the model ---- */

HEED_MODULE_KIND(kind, struct heed_gpt, "GPT", NULL, heed_gpt_forward);

static heed_status check_config(const heed_gpt_config *c)
{
    if (c->vocab_size < 1 || c->block_size < 1 || c->n_layer < 1 || c->n_head < 1 ||
        c->n_embd < 1) {
        return heed_fail(HEED_ERR_VALUE,
                         "gpt: vocab_size %lld, block_size %lld, n_layer %d, n_head %d, n_embd "
                         "%lld; each must be 1 or more",
                         (long long)c->vocab_size, (long long)c->block_size, c->n_layer, c->n_head,
                         (long long)c->n_embd);
    }
    if (heed_check_heads("gpt", (heed_named_size){"n_head", c->n_head},
                         (heed_named_size){"n_embd", c->n_embd}) != HEED_OK ||
        heed_check_probability("gpt", "dropout", c->dropout) != HEED_OK) {
        return heed_error_pending();
    }
    return heed_check_not_negative("gpt", "layer_norm_eps", c->layer_norm_eps);
}

struct heed_gpt *heed_gpt_new(heed_gpt_config config)
{
    config.activation = config.activation != NULL ? config.activation : heed_gelu_tanh;
    if (check_config(&config) != HEED_OK) {
        return NULL;
    }
    struct heed_gpt *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    m->config = config;
    HEED_CHILD(m, transformer, new_transformer(&config));
    HEED_CHILD(
        m, lm_head,
        heed_linear_new_with(config.n_embd, config.vocab_size,
                             (heed_linear_options){.no_bias = true, .no_init = config.no_init}));
    if (heed_error_pending() == HEED_OK && !config.untied) {
        heed_set_parameter(m->lm_head, "weight", &m->lm_head->weight, m->transformer->wte->weight);
    }
    if (heed_error_pending() == HEED_OK && !config.no_init) {
        initialise(m);
    }
    return heed_module_ready(m);
}

struct heed_gpt_block *heed_gpt_block_at(struct heed_gpt *m, int i)
{
    return heed_module_check("gpt_block_at", m) == HEED_OK
               ? heed_module_list_at(m->transformer->h, i)
               : NULL;
}

/* ---- the forward of each module ---- */

/* Writes `part` to t, from index `start` of this dim. The view is not the result of an operation,
 * which observers could replace. */
static heed_status write_part(heed_tensor *t, int dim, int64_t start, heed_tensor *part)
{
    heed_tensor *view = heed_error_pending()
                            ? NULL
                            : heed_tensor_view("gpt", t, part->ndim, part->shape, t->strides,
                                               start * t->strides[dim]);
    if (view != NULL) {
        heed_copy_into(view, part);
        heed_unref(view);
    }
    return heed_error_pending();
}

/* Stores new keys or values after the first `before`. Returns all of them, of shape
 * (B, H, before + T, C / H). */
static heed_tensor *remember(heed_tensor *kept, heed_tensor *more, int64_t before)
{
    const int64_t count = heed_size(more, 2);
    write_part(kept, 2, before, more);
    return heed_narrow(kept, 2, 0, before + count);
}

static heed_tensor *attend(struct heed_gpt_attention *m, heed_tensor *x, const past *seen,
                           int64_t before)
{
    HEED_FORWARD(m);
    heed_tensor *qkv[3] = {NULL}, *weights = NULL;
    heed_chunk(heed_linear_forward(m->c_attn, x), 3, -1, qkv);
    heed_tensor *q = heed_split_heads(qkv[0], m->n_head, true);
    heed_tensor *k = heed_split_heads(qkv[1], m->n_head, true);
    heed_tensor *v = heed_split_heads(qkv[2], m->n_head, true);
    if (seen != NULL) {
        k = remember(seen->keys, k, before);
        v = remember(seen->values, v, before);
    }
    /* The T queries follow `before` tokens, so the mask has shape (T, before + T). A single query
     * is the last token and attends to all, so it needs no mask. */
    const int64_t count = heed_size(x, 1);
    heed_tensor *mask = NULL;
    if (before > 0 && count > 1) {
        mask = heed_tril(heed_ones(HEED_SHAPE(count, before + count), HEED_BOOL), before);
    }
    const double dropout = m->attn_dropout->module.training ? m->attn_dropout->p : 0;
    heed_tensor *y = heed_scaled_dot_product_attention_weights(
        q, k, v, mask, dropout, before == 0, 0, m->keep_weights ? &weights : NULL);
    if (m->keep_weights) {
        heed_release(m->attention_percent);
        m->attention_percent = heed_retain(heed_clone(heed_detach(weights)));
    }
    y = heed_linear_forward(m->c_proj, heed_join_heads(y, true));
    return heed_dropout_forward(m->resid_dropout, y);
}

static heed_tensor *feed(struct heed_gpt_mlp *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    x = heed_feed(x, m->c_fc, m->activation, NULL, m->c_proj);
    return heed_dropout_forward(m->dropout, x);
}

static heed_tensor *run_block(struct heed_gpt_block *m, heed_tensor *x, const past *seen,
                              int64_t before)
{
    HEED_FORWARD(m);
    heed_scope scope;
    heed_scope_begin(&scope);
    x = heed_add(x, attend(m->attn, heed_layer_norm_forward(m->ln_1, x), seen, before));
    x = heed_add(x, feed(m->mlp, heed_layer_norm_forward(m->ln_2, x)));
    return heed_scope_end_with(&scope, x);
}

/* idx (B, T) -> logits (B, T, V), in the innermost scope. Stores the new keys and values in the
 * cache, if not NULL, but does not change its length. last_only: only the last token's logits, of
 * shape (B, 1, V). */
static heed_tensor *run(struct heed_gpt *m, heed_tensor *idx, const heed_gpt_cache *cache,
                        bool last_only)
{
    HEED_FORWARD(m);
    struct heed_gpt_transformer *t = m->transformer;
    const int64_t before = cache != NULL ? cache->length : 0;
    heed_tensor *positions = t->wpe != NULL ? t->wpe->weight : t->pe->pe;
    heed_tensor *x = heed_add(heed_embedding_forward(t->wte, idx),
                              heed_narrow(positions, 0, before, heed_size(idx, 1)));
    x = heed_dropout_forward(t->drop, x);
    for (int i = 0; i < m->config.n_layer && x != NULL; i++) {
        x = run_block(heed_module_list_at(t->h, i), x, cache != NULL ? &cache->blocks[i] : NULL,
                      before);
    }
    x = last_only ? heed_narrow(x, 1, heed_size(x, 1) - 1, 1) : x;
    return heed_linear_forward(m->lm_head, heed_layer_norm_forward(t->ln_f, x));
}

/* ---- forward and loss ---- */

/* Checks the shape and dtype of token ids. */
static heed_status check_ids(const char *function, const struct heed_gpt *m, const heed_tensor *idx)
{
    if (heed_forward_check(function, m) != HEED_OK ||
        heed_check_not_null(function, "idx", idx) != HEED_OK) {
        return heed_error_pending();
    }
    if (idx->ndim < 1 || idx->ndim > 2) {
        return heed_fail(HEED_ERR_SHAPE, "%s: idx %s; it must be (B, T) or (T)", function,
                         heed_shape_text(idx->ndim, idx->shape).text);
    }
    return idx->dtype == HEED_I64
               ? HEED_OK
               : heed_fail(HEED_ERR_DTYPE, "%s: idx is %s; token ids must be i64", function,
                           heed_dtype_name(idx->dtype));
}

/* Like check_ids, and checks that the tokens fit into the block after `before` others. */
static heed_status check_length(const char *function, const struct heed_gpt *m,
                                const heed_tensor *idx, int64_t before)
{
    if (check_ids(function, m, idx) != HEED_OK) {
        return heed_error_pending();
    }
    const int64_t count = idx->shape[idx->ndim - 1], most = m->config.block_size;
    if (before > 0 && count > most - before) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: %lld tokens after %lld in the cache, but block_size is %lld; clear "
                         "the cache and pass the last tokens again",
                         function, (long long)count, (long long)before, (long long)most);
    }
    return count <= most
               ? HEED_OK
               : heed_fail(HEED_ERR_SHAPE,
                           "%s: idx %s has %lld tokens, but block_size is %lld; narrow it to the "
                           "last ones",
                           function, heed_shape_text(idx->ndim, idx->shape).text, (long long)count,
                           (long long)most);
}

/* A single row becomes a batch of one. */
static heed_tensor *as_batch(heed_tensor *idx)
{
    return idx->ndim == 2 ? idx : heed_unsqueeze(idx, 0);
}

/* The reverse, for y computed from as_batch(idx). */
static heed_tensor *like(const heed_tensor *idx, heed_tensor *y)
{
    return idx->ndim == 2 ? y : heed_squeeze(y, 0);
}

heed_tensor *heed_gpt_forward(struct heed_gpt *m, heed_tensor *idx)
{
    if (check_length("gpt_forward", m, idx, 0) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    return heed_scope_end_with(&scope, like(idx, run(m, as_batch(idx), NULL, false)));
}

heed_tensor *heed_gpt_loss(struct heed_gpt *m, heed_tensor *idx, heed_tensor *targets)
{
    HEED_FORWARD(m);
    static const char function[] = "gpt_loss";
    if (check_length(function, m, idx, 0) != HEED_OK) {
        return NULL;
    }
    if (targets == NULL || !heed_same_shape(idx, targets)) {
        heed_fail(targets == NULL ? HEED_ERR_NULL : HEED_ERR_SHAPE,
                  "%s: idx %s needs targets of the same shape, not %s", function,
                  heed_shape_text(idx->ndim, idx->shape).text,
                  targets == NULL ? "NULL" : heed_shape_text(targets->ndim, targets->shape).text);
        return NULL;
    }
    if (targets->dtype != HEED_I64) {
        heed_fail(HEED_ERR_DTYPE, "%s: targets are %s; token ids must be i64", function,
                  heed_dtype_name(targets->dtype));
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *logits = heed_gpt_forward(m, idx);
    heed_tensor *loss =
        heed_cross_entropy(heed_flatten(logits, 0, -2), heed_flatten(targets, 0, -1));
    return heed_scope_end_with(&scope, loss);
}

/* ---- the cache ---- */

static heed_tensor *new_space(const heed_gpt_config *c, int64_t batch, heed_dtype dtype)
{
    return heed_retain(
        heed_zeros(HEED_SHAPE(batch, c->n_head, c->block_size, c->n_embd / c->n_head), dtype));
}

heed_gpt_cache *heed_gpt_cache_new(struct heed_gpt *m, int64_t batch)
{
    if (heed_module_check("gpt_cache", m) != HEED_OK) {
        return NULL;
    }
    if (batch < 1) {
        heed_fail(HEED_ERR_VALUE, "gpt_cache: batch is %lld; it must be 1 or more",
                  (long long)batch);
        return NULL;
    }
    const heed_gpt_config *c = &m->config;
    heed_gpt_cache *cache = heed_alloc_zeroed(sizeof *cache);
    if (cache == NULL) {
        return NULL;
    }
    cache->blocks = heed_alloc_zeroed((size_t)c->n_layer * sizeof *cache->blocks);
    if (cache->blocks == NULL) {
        heed_free(cache);
        return NULL;
    }
    cache->n_layer = c->n_layer;
    cache->batch = batch;
    cache->block_size = c->block_size;
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    for (int i = 0; i < cache->n_layer; i++) {
        cache->blocks[i].keys = new_space(c, batch, m->lm_head->weight->dtype);
        cache->blocks[i].values = new_space(c, batch, m->lm_head->weight->dtype);
    }
    if (heed_scope_end(&scope) != HEED_OK) {
        heed_gpt_cache_free(cache);
        return NULL;
    }
    return cache;
}

void heed_gpt_cache_free(heed_gpt_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    for (int i = 0; i < cache->n_layer; i++) {
        heed_release(cache->blocks[i].keys);
        heed_release(cache->blocks[i].values);
    }
    heed_free(cache->blocks);
    heed_free(cache);
}

int64_t heed_gpt_cache_length(const heed_gpt_cache *cache)
{
    return cache != NULL ? cache->length : 0;
}

heed_status heed_gpt_cache_clear(heed_gpt_cache *cache)
{
    const heed_status status = heed_check_not_null("gpt_cache_clear", "the cache", cache);
    if (cache != NULL) {
        cache->length = 0;
    }
    return status;
}

/* Checks that the cache was created for a model of this size and dtype and for as many rows
 * as idx has. */
static heed_status check_cache(const char *function, const struct heed_gpt *m,
                               const heed_tensor *idx, const heed_gpt_cache *cache)
{
    const heed_gpt_config *c = &m->config;
    const heed_tensor *keys = cache->blocks[0].keys;
    if (cache->n_layer != c->n_layer || cache->block_size != c->block_size ||
        keys->shape[1] != c->n_head || keys->shape[3] != c->n_embd / c->n_head ||
        keys->dtype != m->lm_head->weight->dtype) {
        return heed_fail(
            HEED_ERR_VALUE,
            "%s: the cache was created for a model of a different size or dtype; create "
            "one for this model with heed_gpt_cache_new",
            function);
    }
    const int64_t rows = idx->ndim == 2 ? idx->shape[0] : 1;
    return rows == cache->batch
               ? HEED_OK
               : heed_fail(HEED_ERR_SHAPE, "%s: idx %s, but the cache has %lld rows", function,
                           heed_shape_text(idx->ndim, idx->shape).text, (long long)cache->batch);
}

heed_tensor *heed_gpt_forward_cached(struct heed_gpt *m, heed_tensor *idx, heed_gpt_cache *cache)
{
    static const char function[] = "gpt_forward_cached";
    if (heed_check_not_null(function, "the cache", cache) != HEED_OK ||
        check_length(function, m, idx, heed_gpt_cache_length(cache)) != HEED_OK ||
        check_cache(function, m, idx, cache) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_tensor *logits = like(idx, run(m, as_batch(idx), cache, false));
    logits = heed_scope_end_with(&scope, logits);
    cache->length += logits != NULL ? idx->shape[idx->ndim - 1] : 0;
    return logits;
}

/* ---- generation: with a cache until the block is full, then without ---- */

static const char generating[] = "gpt_generate";

static heed_status check_generate(const struct heed_gpt *m, const heed_tensor *idx,
                                  int64_t max_new_tokens)
{
    if (check_ids(generating, m, idx) != HEED_OK) {
        return heed_error_pending();
    }
    const int64_t count = idx->shape[idx->ndim - 1];
    if (count == 0) {
        return heed_fail(HEED_ERR_SHAPE, "%s: idx %s has no tokens to continue from", generating,
                         heed_shape_text(idx->ndim, idx->shape).text);
    }
    if (max_new_tokens < 0) {
        return heed_fail(HEED_ERR_VALUE, "%s: max_new_tokens is %lld; it must be 0 or more",
                         generating, (long long)max_new_tokens);
    }
    return max_new_tokens <= INT64_MAX - count
               ? HEED_OK
               : heed_fail(HEED_ERR_OVERFLOW, "%s: %lld tokens and %lld more are too many",
                           generating, (long long)count, (long long)max_new_tokens);
}

/* The logits of the token after the first `length`, of shape (B, V). Uses the cache while the
 * tokens fit. */
static heed_tensor *predict(struct heed_gpt *m, heed_tensor *tokens, int64_t length,
                            heed_gpt_cache *cache)
{
    const int64_t most = m->config.block_size;
    cache = length <= most ? cache : NULL;
    const int64_t first = cache != NULL ? cache->length : length > most ? length - most : 0;
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *logits = run(m, heed_narrow(tokens, 1, first, length - first), cache, true);
    if (cache != NULL) {
        cache->length = length;
    }
    return heed_scope_end_with(&scope, heed_select(logits, 1, 0));
}

heed_tensor *heed_gpt_generate(struct heed_gpt *m, heed_tensor *idx, int64_t max_new_tokens)
{
    return heed_gpt_generate_with(m, idx, max_new_tokens, (heed_gpt_generate_options){0});
}

heed_tensor *heed_gpt_generate_with(struct heed_gpt *m, heed_tensor *idx, int64_t max_new_tokens,
                                    heed_gpt_generate_options options)
{
    if (check_generate(m, idx, max_new_tokens) != HEED_OK) {
        return NULL;
    }
    heed_eval_mode mode = {0}; /* calls may nest through on_token */
    heed_eval_begin(&mode, m);
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_tensor *prompt = as_batch(idx);
    const int64_t rows = heed_size(prompt, 0);
    int64_t length = heed_size(prompt, 1);
    heed_tensor *tokens = heed_empty(HEED_SHAPE(rows, length + max_new_tokens), HEED_I64);
    write_part(tokens, 1, 0, prompt);
    /* A cache pays off only if there is a second new token that still fits into the block. */
    const bool wants_cache = !options.no_cache && max_new_tokens > 1 &&
                             length < m->config.block_size && rows > 0 && !heed_error_pending();
    heed_gpt_cache *cache = wants_cache ? heed_gpt_cache_new(m, rows) : NULL;
    bool go_on = true;
    for (int64_t i = 0; i < max_new_tokens && go_on && !heed_error_pending(); i++) {
        heed_scope step;
        heed_scope_begin(&step);
        heed_tensor *ids = heed_sample_with(predict(m, tokens, length, cache), options.sample);
        if (ids != NULL && write_part(tokens, 1, length, heed_unsqueeze(ids, 1)) == HEED_OK) {
            length++;
            go_on = options.on_token == NULL ||
                    options.on_token(options.context, heed_const_data_i64(ids), ids->numel);
        }
        heed_scope_end(&step);
    }
    heed_gpt_cache_free(cache);
    heed_tensor *written = heed_contiguous(heed_narrow(tokens, 1, 0, length));
    written = heed_scope_end_with(&scope, like(idx, written));
    heed_eval_end(&mode);
    return written;
}
