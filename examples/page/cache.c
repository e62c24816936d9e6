/* Generation with a cache of keys and values, by the run's model of one head. */
#include <math.h>
#include <string.h>

#include "examples/page/onward.h"
#include "examples/page/parts.h"

/* What a step computes; q, k and v of the tokens that it reads. */
typedef struct step_result {
    heed_tensor *q, *percents, *logits;
    double multiplications; /* of attention: q, k, v, scores and means */
} step_result;

/* The keys and values (n, D_MODEL) of the tokens so far. */
typedef struct cache {
    heed_tensor *k, *v; /* NULL: none */
} cache;

static heed_tensor *appended(heed_tensor *old, heed_tensor *added)
{
    return old == NULL ? added : heed_cat((heed_tensor *[]){old, added}, 2, 0);
}

/* The product, whose multiplications are counted: one for each number of the result and each of
 * `inner` terms of its sum. */
static heed_tensor *counted(heed_tensor *product, int64_t inner, double *count)
{
    if (product != NULL) {
        *count += (double)product->numel * (double)inner;
    }
    return product;
}

/* Reads `count` tokens after those in the cache, to which it adds their keys and values. */
static step_result read_tokens(const int64_t *ids, int64_t count, cache *c)
{
    step_result r = {.multiplications = 0};
    struct token_model *m = run.now.net.model;
    struct heed_self_attention *self = m->self_attention;
    const int64_t before = c->k == NULL ? 0 : heed_size(c->k, 0);
    heed_tensor *x = heed_embedding_forward(m->we, heed_from_i64(ids, HEED_SHAPE(count)));
    x = heed_add(x, heed_narrow(m->pe->pe, 0, before, count));
    const int64_t width = heed_size(x, -1);
    r.q = counted(heed_linear_forward(self->W_q, x), width, &r.multiplications);
    heed_tensor *k = counted(heed_linear_forward(self->W_k, x), width, &r.multiplications);
    heed_tensor *v = counted(heed_linear_forward(self->W_v, x), width, &r.multiplications);
    c->k = appended(c->k, k);
    c->v = appended(c->v, v);
    heed_tensor *scores =
        counted(heed_matmul(r.q, heed_transpose(c->k, 0, 1)), width, &r.multiplications);
    scores = heed_div_scalar(scores, sqrt((double)heed_size(k, 1)));
    heed_tensor *later = heed_triu(heed_ones(HEED_SHAPE(count, before + count), HEED_BOOL),
                                   (int)before + 1); /* nothing, if one token is read */
    r.percents = heed_safe_softmax(heed_masked_fill(scores, later, -HUGE_VAL), -1);
    heed_tensor *mixed = counted(heed_matmul(r.percents, c->v), before + count, &r.multiplications);
    r.logits = heed_linear_forward(m->fc_layer, heed_add(x, mixed));
    return r;
}

/* ---- what is kept for the page ---- */

static struct {
    float q[CONTEXT * D_MODEL], k[CONTEXT * D_MODEL], v[CONTEXT * D_MODEL];
    float percents[CONTEXT * CONTEXT]; /* of each token when it was read; 0 for later ones */
} kept;

/* Rows (count, columns) to row `first` of an array of `width` columns. */
static void keep_rows(float *to, int64_t first, int64_t width, heed_tensor *rows)
{
    for (int64_t i = 0; !heed_error_pending() && i < heed_size(rows, 0); i++) {
        heed_copy_out(heed_select(rows, 0, (int)i), to + (first + i) * width, heed_size(rows, 1));
    }
}

static double largest_difference(heed_tensor *a, heed_tensor *b)
{
    return heed_item(heed_amax(heed_abs(heed_sub(a, b))));
}

/* The last rows of a matrix. */
static heed_tensor *last_rows(heed_tensor *t, int64_t count)
{
    return heed_narrow(t, 0, heed_size(t, 0) - count, count);
}

EXPORT(page_generate) const char *page_generate(const int32_t *tokens, int count)
{
    int64_t ids[CONTEXT + 1];
    const int eos = 0;
    if (!run_exists()) {
        return NULL;
    }
    if (count < 1 || count > CONTEXT || run.now.net.model->self_attention == NULL) {
        heed_fail(HEED_ERR_VALUE, "the page writes after 1 to %d words, with a model of one head",
                  CONTEXT);
        return NULL;
    }
    if (!run_tokens(ids, tokens, count)) {
        return NULL;
    }
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    cache c = {NULL, NULL};
    memset(&kept, 0, sizeof kept);
    fprintf(json, "{\"width\":%d,\"steps\":[", D_MODEL);
    int before = 0;
    bool ends = false;
    while (before < CONTEXT && !ends && !heed_error_pending()) {
        const int64_t n = count - before;
        const step_result with = read_tokens(ids + before, n, &c);
        cache none = {NULL, NULL};
        const step_result without = read_tokens(ids, count, &none);
        keep_rows(kept.q, before, D_MODEL, with.q);
        keep_rows(kept.percents, before, CONTEXT, with.percents);
        heed_tensor *shares = heed_softmax(heed_select(with.logits, 0, -1), -1);
        const int64_t word = heed_item_i64(heed_argmax(shares));
        const double difference =
            fmax(largest_difference(last_rows(without.percents, n), with.percents),
                 largest_difference(last_rows(without.logits, n), with.logits));
        fprintf(json,
                "%s\n{\"before\":%d,\"read\":%d,\"word\":%lld,\"share\":%.9g,\"with\":%.0f,"
                "\"without\":%.0f,\"difference\":%.9g}",
                before > 0 ? "," : "", before, count, (long long)word, heed_item(heed_amax(shares)),
                with.multiplications, without.multiplications, difference);
        before = count;
        ends = word == eos || count == CONTEXT;
        ids[count++] = word;
    }
    keep_rows(kept.k, 0, D_MODEL, c.k);
    keep_rows(kept.v, 0, D_MODEL, c.v);
    fprintf(json, "],\n\"ids\":");
    write_list(json, ids, count);
    static const char *const names[] = {"q", "k", "v", "percents"};
    const float *const arrays[] = {kept.q, kept.k, kept.v, kept.percents};
    for (int i = 0; i < 4; i++) {
        const int columns = i < 3 ? D_MODEL : CONTEXT;
        fprintf(json,
                ",\n\"%s\":{\"dtype\":\"f32\",\"shape\":[%d,%d],\"strides\":[%d,1],\"at\":%llu}",
                names[i], before, columns, columns, (unsigned long long)(uintptr_t)arrays[i]);
    }
    fputs("}\n", json);
    return end_text(json);
}
