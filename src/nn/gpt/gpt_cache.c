/* The keys and values of the tokens so far. */
#include "../../autograd/ops/view.h"
#include "../../tensor/alloc.h"
#include "../../tensor/create.h"
#include "gpt_parts.h"

static const char forward_function[] = "gpt_forward_cached";

static heed_tensor *new_room(const heed_gpt_config *c, int64_t batch, heed_dtype dtype)
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
        heed_fail(HEED_ERR_VALUE, "gpt_cache: batch %lld; 1 or more", (long long)batch);
        return NULL;
    }
    const heed_gpt_config *c = &m->config;
    heed_gpt_cache *cache = heed_alloc_zeroed(sizeof *cache);
    if (cache == NULL) {
        return NULL;
    }
    cache->past = heed_alloc_zeroed((size_t)c->n_layer * sizeof *cache->past);
    cache->n_layer = cache->past != NULL ? c->n_layer : 0;
    cache->batch = batch;
    cache->block_size = c->block_size;
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    for (int i = 0; i < cache->n_layer; i++) {
        cache->past[i].keys = new_room(c, batch, m->lm_head->weight->dtype);
        cache->past[i].values = new_room(c, batch, m->lm_head->weight->dtype);
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
        heed_release(cache->past[i].keys);
        heed_release(cache->past[i].values);
    }
    heed_free(cache->past, (size_t)cache->n_layer * sizeof *cache->past);
    heed_free(cache, sizeof *cache);
}

int64_t heed_gpt_cache_length(const heed_gpt_cache *cache)
{
    return cache != NULL ? cache->length : 0;
}

heed_status heed_gpt_cache_clear(heed_gpt_cache *cache)
{
    if (cache == NULL) {
        return heed_fail(HEED_ERR_NULL, "gpt_cache_clear: the cache is NULL");
    }
    cache->length = 0;
    return heed_error_pending();
}

/* Was the cache made for such a model, and for as many rows? */
static heed_status check_cache(const struct heed_gpt *m, const heed_tensor *idx,
                               const heed_gpt_cache *cache)
{
    const heed_gpt_config *c = &m->config;
    const heed_tensor *keys = cache->past[0].keys;
    if (cache->n_layer != c->n_layer || cache->block_size != c->block_size ||
        keys->shape[1] != c->n_head || keys->shape[3] != c->n_embd / c->n_head ||
        keys->dtype != m->lm_head->weight->dtype) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: the cache was made for a model of other sizes or another dtype; "
                         "heed_gpt_cache_new makes one for this",
                         forward_function);
    }
    const int64_t rows = idx->ndim == 2 ? idx->shape[0] : 1;
    return rows == cache->batch
               ? HEED_OK
               : heed_fail(HEED_ERR_SHAPE, "%s: idx %s; the cache has %lld rows", forward_function,
                           heed_shape_text(idx->ndim, idx->shape).text, (long long)cache->batch);
}

heed_tensor *heed_gpt_forward_cached(struct heed_gpt *m, heed_tensor *idx, heed_gpt_cache *cache)
{
    if (cache == NULL && !heed_error_pending()) {
        heed_fail(HEED_ERR_NULL, "%s: the cache is NULL", forward_function);
    }
    if (heed_gpt_check_idx(forward_function, m, idx, heed_gpt_cache_length(cache)) != HEED_OK ||
        check_cache(m, idx, cache) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    const bool batched = idx->ndim == 2;
    heed_tensor *logits = heed_gpt_run(m, batched ? idx : heed_unsqueeze(idx, 0), cache, false);
    logits = heed_scope_end_with(&scope, batched ? logits : heed_squeeze(logits, 0));
    cache->length += logits != NULL ? idx->shape[idx->ndim - 1] : 0;
    return logits;
}
