/* Sampling: filters out unlikely tokens, then draws one of the rest. Generation: with a cache until
 * the block is full, then without. */
#include "examples/lab/gpt/generate.h"

#include <math.h>
#include <stdlib.h>

/* ---- sampling, x (B, V) ---- */

/* A row's maximum reveals all invalid cases: NaN, inf, or -inf if every logit is -inf. */
static void check_rows(heed_tensor *x)
{
    heed_tensor *largest = heed_amax_dim(x, -1, false);
    for (int64_t row = 0; largest != NULL && row < largest->numel; row++) {
        const double most = heed_at(largest, HEED_INDEX(row));
        if (!isfinite(most)) {
            heed_fail(HEED_ERR_VALUE, "sample: the largest logit of row %lld is %g", (long long)row,
                      fabs(most));
        }
    }
}

typedef struct candidate {
    double logit;
    int64_t id;
} candidate;

/* Of equal logits, the earlier comes first. */
static int compare(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return x->logit != y->logit ? (x->logit < y->logit ? -1 : 1) : x->id < y->id ? -1 : 1;
}

/* The ids of each row, from the smallest logit to the largest. */
static heed_tensor *sort_ids(heed_tensor *x)
{
    heed_tensor *ids = heed_empty(heed_shape_of_tensor(x), HEED_I64);
    const double *logit = heed_const_data_f64(heed_contiguous(heed_to(x, HEED_F64)));
    int64_t *id = heed_data_i64(ids), n = heed_size(x, 1);
    candidate *row = heed_alloc((size_t)n * sizeof *row);
    for (int64_t first = 0; !heed_error_pending() && first < x->numel; first += n) {
        for (int64_t i = 0; i < n; i++) {
            row[i] = (candidate){logit[first + i], i};
        }
        qsort(row, (size_t)n, sizeof *row, compare);
        for (int64_t i = 0; i < n; i++) {
            id[first + i] = row[i].id;
        }
    }
    heed_free(row);
    return ids;
}

static heed_tensor *keep_top_k(heed_tensor *x, int64_t k)
{
    if (heed_error_pending() || k == 0 || k >= heed_size(x, 1)) {
        return x;
    }
    heed_tensor *kth = heed_narrow(sort_ids(x), 1, heed_size(x, 1) - k, 1);
    return heed_masked_fill(x, heed_lt(x, heed_gather(x, 1, kth)), -HUGE_VAL);
}

/* Drops the least likely tokens while their probabilities sum to at most 1 - p; keeps at least
 * one. */
static heed_tensor *keep_top_p(heed_tensor *x, double p)
{
    if (heed_error_pending() || p == 0 || p >= 1) {
        return x;
    }
    heed_tensor *order = sort_ids(x), *dropped = heed_zeros(heed_shape_of_tensor(x), HEED_BOOL);
    heed_tensor *shares = heed_to(heed_softmax(heed_gather(x, 1, order), 1), HEED_F64);
    const double *share = heed_const_data_f64(shares);
    const bool in_f32 = x->dtype == HEED_F32; /* then sums are rounded, as torch's cumsum */
    const int64_t *id = heed_const_data_i64(order), n = heed_size(x, 1);
    bool *drops = heed_data_bool(dropped);
    for (int64_t row = 0; !heed_error_pending() && row < heed_size(x, 0); row++) {
        double sum = 0;
        for (int64_t i = row * n; i < (row + 1) * n - 1; i++) {
            sum += share[i];
            drops[row * n + id[i]] = in_f32 ? (float)sum <= (float)(1 - p) : sum <= 1 - p;
        }
    }
    return heed_masked_fill(x, dropped, -HUGE_VAL);
}

heed_tensor *sample_tokens(heed_tensor *logits, sampling how)
{
    HEED_SCOPE_NO_GRAD(scope);
    const bool scaled = how.temperature != 0 && how.temperature != 1;
    heed_tensor *x = scaled ? heed_div_scalar(logits, how.temperature) : logits;
    check_rows(x);
    if (how.greedy) {
        return heed_scope_keep(&scope, heed_argmax_dim(x, -1, false));
    }
    heed_tensor *p = heed_softmax(keep_top_p(keep_top_k(x, how.top_k), how.top_p), -1);
    heed_tensor *ids = heed_multinomial(p, 1);
    return heed_scope_keep(&scope, heed_squeeze(ids, 1));
}

/* ---- generation ---- */

/* The logits of the token after the first `length`, of shape (B, V). Uses the cache while the
 * tokens fit. */
static heed_tensor *predict(struct gpt *m, heed_tensor *tokens, int64_t length, gpt_cache *cache)
{
    const int64_t most = m->config.block_size;
    cache = length <= most ? cache : NULL;
    const int64_t first = cache != NULL ? cache->length : length > most ? length - most : 0;
    heed_tensor *seen = heed_narrow(tokens, 1, first, length - first);
    return heed_select(gpt_forward_cached(m, seen, cache, true), 1, 0);
}

heed_tensor *gpt_generate(struct gpt *m, heed_tensor *idx, int64_t max_new_tokens,
                          gpt_generation how)
{
    if (heed_error_pending()) {
        return NULL;
    }
    const bool training = m->module.training;
    const int64_t rows = heed_size(idx, 0), begin = heed_size(idx, 1);
    HEED_SCOPE_NO_GRAD(scope);
    if (training) { /* else nothing is written: threads may generate from one model */
        heed_eval(m);
    }
    heed_tensor *tokens = heed_empty(HEED_SHAPE(rows, begin + max_new_tokens), HEED_I64);
    heed_copy_into(heed_narrow(tokens, 1, 0, begin), idx);
    /* A cache pays off only if there is a second new token that still fits into the block. */
    const bool caches = !how.no_cache && max_new_tokens > 1 && begin < m->config.block_size;
    gpt_cache *cache = caches && !heed_error_pending() ? gpt_cache_new(m, rows) : NULL;
    int64_t length = begin;
    bool go_on = true;
    while (length < begin + max_new_tokens && go_on && !heed_error_pending()) {
        HEED_SCOPE(step);
        heed_tensor *ids = sample_tokens(predict(m, tokens, length, cache), how.sampling);
        heed_copy_into(heed_narrow(tokens, 1, length++, 1), heed_unsqueeze(ids, 1));
        if (how.on_token != NULL && !heed_error_pending()) {
            go_on = how.on_token(how.context, heed_const_data_i64(ids), rows);
        }
    }
    gpt_cache_free(cache);
    heed_tensor *written = heed_contiguous(heed_narrow(tokens, 1, 0, length));
    if (training) {
        heed_train(m);
    }
    return heed_scope_keep(&scope, written);
}
