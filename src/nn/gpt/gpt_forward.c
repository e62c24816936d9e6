/* The forward of a GPT, with and without a cache of keys and values. */
#include "../../autograd/ops/cross_entropy.h"
#include "../../autograd/ops/dot_product_attention.h"
#include "../../autograd/ops/elementwise.h"
#include "../../autograd/ops/masking.h"
#include "../../autograd/ops/slice.h"
#include "../../autograd/ops/view.h"
#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "../checks.h"
#include "gpt_parts.h"

/* ---- attention ---- */

/* (B, T, C) -> (B, H, T, C / H) */
static heed_tensor *split_heads(heed_tensor *x, int n_head)
{
    return heed_transpose(heed_unflatten(x, -1, HEED_SHAPE(n_head, -1)), 1, 2);
}

/* Puts new keys or values behind the `before` that are there; all of them, (B, H, before + T, C / H). */
static heed_tensor *remember(heed_tensor *kept, heed_tensor *more, int64_t before)
{
    const int64_t count = heed_size(more, 2);
    heed_copy_into(heed_narrow(kept, 2, before, count), more);
    return heed_narrow(kept, 2, 0, before + count);
}

/* Which of before + T keys each of T queries behind the first ones may see; true keeps. */
static heed_tensor *mask_behind(int64_t before, int64_t count)
{
    return heed_tril(heed_ones(HEED_SHAPE(count, before + count), HEED_BOOL), before);
}

static heed_tensor *attend(struct heed_gpt_attention *m, heed_tensor *x, const heed_gpt_past *past,
                           int64_t before)
{
    heed_tensor *qkv[3] = {NULL}, *weights = NULL;
    heed_chunk(heed_linear_forward(m->c_attn, x), 3, -1, qkv);
    heed_tensor *q = split_heads(qkv[0], m->n_head);
    heed_tensor *k = split_heads(qkv[1], m->n_head);
    heed_tensor *v = split_heads(qkv[2], m->n_head);
    if (past != NULL) {
        k = remember(past->keys, k, before);
        v = remember(past->values, v, before);
    }
    /* A last token sees all, so that a single one needs no mask. */
    const int64_t count = heed_size(x, 1);
    heed_tensor *mask = before > 0 && count > 1 ? mask_behind(before, count) : NULL;
    const double dropout = m->attn_dropout->module.training ? m->attn_dropout->p : 0;
    heed_tensor *y = heed_scaled_dot_product_attention_weights(
        q, k, v, mask, dropout, before == 0, 0, m->keep_weights ? &weights : NULL);
    if (m->keep_weights) {
        heed_keep_weights(&m->attention_percent, weights);
    }
    y = heed_flatten(heed_transpose(y, 1, 2), 2, 3); /* the heads side by side again */
    return heed_dropout_forward(m->resid_dropout, heed_linear_forward(m->c_proj, y));
}

/* ---- blocks ---- */

static heed_tensor *feed(struct heed_gpt_mlp *m, heed_tensor *x)
{
    heed_tensor *hidden = m->activation(heed_linear_forward(m->c_fc, x));
    return heed_dropout_forward(m->dropout, heed_linear_forward(m->c_proj, hidden));
}

static heed_tensor *run_block(struct heed_gpt_block *m, heed_tensor *x, const heed_gpt_past *past,
                              int64_t before)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    x = heed_add(x, attend(m->attn, heed_layer_norm_forward(m->ln_1, x), past, before));
    x = heed_add(x, feed(m->mlp, heed_layer_norm_forward(m->ln_2, x)));
    return heed_scope_end_with(&scope, x);
}

heed_tensor *heed_gpt_run(struct heed_gpt *m, heed_tensor *idx, heed_gpt_cache *cache,
                          bool last_only)
{
    struct heed_gpt_transformer *t = m->transformer;
    const int64_t before = cache != NULL ? cache->length : 0;
    heed_tensor *positions = t->wpe != NULL ? t->wpe->weight : t->pe->pe;
    heed_tensor *x = heed_add(heed_embedding_forward(t->wte, idx),
                              heed_narrow(positions, 0, before, heed_size(idx, 1)));
    x = heed_dropout_forward(t->drop, x);
    for (int i = 0; i < m->config.n_layer && x != NULL; i++) {
        x = run_block(heed_module_list_at(t->h, i), x, cache != NULL ? &cache->past[i] : NULL,
                      before);
    }
    x = last_only ? heed_narrow(x, 1, heed_size(x, 1) - 1, 1) : x;
    return heed_linear_forward(m->lm_head, heed_layer_norm_forward(t->ln_f, x));
}

/* ---- the model ---- */

heed_status heed_gpt_check_ids(const char *function, const struct heed_gpt *m,
                               const heed_tensor *idx)
{
    if (heed_forward_check(function, m) != HEED_OK) {
        return heed_error_pending();
    }
    if (idx == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: idx is NULL", function);
    }
    if (idx->ndim < 1 || idx->ndim > 2) {
        return heed_fail(HEED_ERR_SHAPE, "%s: idx %s; it must be (B, T) or (T)", function,
                         heed_shape_text(idx->ndim, idx->shape).text);
    }
    return idx->dtype == HEED_I64
               ? HEED_OK
               : heed_fail(HEED_ERR_DTYPE, "%s: idx is %s; ids of tokens are i64", function,
                           heed_dtype_name(idx->dtype));
}

heed_status heed_gpt_check_idx(const char *function, const struct heed_gpt *m,
                               const heed_tensor *idx, int64_t before)
{
    if (heed_gpt_check_ids(function, m, idx) != HEED_OK) {
        return heed_error_pending();
    }
    const int64_t count = idx->shape[idx->ndim - 1], most = m->config.block_size;
    if (before > 0 && count > most - before) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: %lld tokens behind %lld in the cache, and block_size is %lld; clear "
                         "the cache and give it the last ones anew",
                         function, (long long)count, (long long)before, (long long)most);
    }
    return count <= most
               ? HEED_OK
               : heed_fail(HEED_ERR_SHAPE,
                           "%s: idx %s has %lld tokens, and block_size is %lld; narrow it to the "
                           "last ones",
                           function, heed_shape_text(idx->ndim, idx->shape).text, (long long)count,
                           (long long)most);
}

heed_tensor *heed_gpt_forward(struct heed_gpt *m, heed_tensor *idx)
{
    if (heed_gpt_check_idx("gpt_forward", m, idx, 0) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    const bool batched = idx->ndim == 2;
    heed_tensor *logits = heed_gpt_run(m, batched ? idx : heed_unsqueeze(idx, 0), NULL, false);
    return heed_scope_end_with(&scope, batched ? logits : heed_squeeze(logits, 0));
}

heed_tensor *heed_gpt_loss(struct heed_gpt *m, heed_tensor *idx, heed_tensor *targets)
{
    static const char function[] = "gpt_loss";
    if (heed_gpt_check_idx(function, m, idx, 0) != HEED_OK) {
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
        heed_fail(HEED_ERR_DTYPE, "%s: targets are %s; ids of tokens are i64", function,
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
