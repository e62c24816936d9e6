/* Generation, with a cache while the tokens fit into the block, and without it from then on. */
#include "gpt_generate.h"

#include "../../autograd/ops/slice.h"
#include "../../autograd/ops/view.h"
#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "../module_entries.h"
#include "gpt_parts.h"

static const char function[] = "gpt_generate";

typedef struct writing {
    struct heed_gpt *m;
    heed_gpt_generate_options options;
    heed_gpt_cache *cache; /* or NULL */
    heed_tensor *tokens;   /* (B, T + max_new_tokens) */
    int64_t length;        /* tokens in each row so far */
} writing;

/* The logits of what comes next, (B, V). */
static heed_tensor *foresee(writing *w)
{
    const int64_t most = w->m->config.block_size, length = w->length;
    heed_gpt_cache *cache = length <= most ? w->cache : NULL;
    int64_t first = length > most ? length - most : 0;
    first = cache != NULL ? cache->length : first;
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *seen = heed_narrow(w->tokens, 1, first, length - first);
    heed_tensor *logits = heed_gpt_run(w->m, seen, cache, true);
    if (cache != NULL) {
        cache->length = length;
    }
    return heed_scope_end_with(&scope, heed_select(logits, 1, 0));
}

/* Writes one more token into each row; false: that was the last one. */
static bool write_next(writing *w)
{
    bool go_on = true;
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *ids = heed_sample(foresee(w), w->options.sample);
    if (ids != NULL && heed_copy_into(heed_select(w->tokens, 1, w->length), ids) == HEED_OK) {
        w->length++;
        go_on = w->options.on_token == NULL ||
                w->options.on_token(w->options.context, heed_const_data_i64(ids), ids->numel);
    }
    return heed_scope_end(&scope) == HEED_OK && go_on;
}

/* The cache is for a second token, so long as that fits in. */
static bool wants_cache(const writing *w, int64_t max_new_tokens)
{
    return !w->options.no_cache && max_new_tokens > 1 && w->length < w->m->config.block_size &&
           w->tokens->shape[0] > 0;
}

static heed_tensor *write_all(writing *w, heed_tensor *idx, int64_t max_new_tokens)
{
    const bool batched = idx->ndim == 2;
    idx = batched ? idx : heed_unsqueeze(idx, 0);
    w->length = heed_size(idx, 1);
    w->tokens = heed_empty(HEED_SHAPE(heed_size(idx, 0), w->length + max_new_tokens), HEED_I64);
    heed_copy_into(heed_narrow(w->tokens, 1, 0, w->length), idx);
    if (heed_error_pending() == HEED_OK && wants_cache(w, max_new_tokens)) {
        w->cache = heed_gpt_cache_new(w->m, w->tokens->shape[0]);
    }
    bool go_on = heed_error_pending() == HEED_OK;
    for (int64_t i = 0; i < max_new_tokens && go_on; i++) {
        go_on = write_next(w);
    }
    heed_gpt_cache_free(w->cache);
    heed_tensor *written = heed_contiguous(heed_narrow(w->tokens, 1, 0, w->length));
    return batched ? written : heed_squeeze(written, 0);
}

static heed_status check(const struct heed_gpt *m, const heed_tensor *idx, int64_t max_new_tokens)
{
    if (heed_gpt_check_ids(function, m, idx) != HEED_OK) {
        return heed_error_pending();
    }
    const int64_t count = idx->shape[idx->ndim - 1];
    if (count == 0) {
        return heed_fail(HEED_ERR_SHAPE, "%s: idx %s has no token to go on from", function,
                         heed_shape_text(idx->ndim, idx->shape).text);
    }
    if (max_new_tokens < 0) {
        return heed_fail(HEED_ERR_VALUE, "%s: max_new_tokens is %lld; 0 or more", function,
                         (long long)max_new_tokens);
    }
    return max_new_tokens <= INT64_MAX - count
               ? HEED_OK
               : heed_fail(HEED_ERR_OVERFLOW, "%s: %lld tokens and %lld more are past what counts",
                           function, (long long)count, (long long)max_new_tokens);
}

heed_tensor *heed_gpt_generate(struct heed_gpt *m, heed_tensor *idx, int64_t max_new_tokens,
                               heed_gpt_generate_options options)
{
    if (check(m, idx, max_new_tokens) != HEED_OK) {
        return NULL;
    }
    heed_modes modes;
    if (heed_modes_begin_eval(&modes, m) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    writing w = {.m = m, .options = options};
    heed_tensor *written = heed_scope_end_with(&scope, write_all(&w, idx, max_new_tokens));
    heed_modes_end(&modes);
    return written;
}
