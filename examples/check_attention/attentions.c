/* The catalogue. Helpers come first; each wrong class then differs from the right one in a line,
 * and names where that mistake was made in public, if it was: OWNER/REPOSITORY #N is
 * github.com/OWNER/REPOSITORY/issues/N, or a pull request (PR). */

#include "attentions.h"

#include <math.h>
#include <string.h>

/* How a module is built, besides W_q, W_k, W_v and W_o of (64, 64). */
enum attention_layers {
    NO_OUTPUT = 1,      /* no W_o */
    WITH_BIAS = 2,      /* in all projections */
    ONE_KEY_HEAD = 4,   /* W_k and W_v of one head for all queries */
    OTHER_ORDER = 8,    /* W_v, W_k, W_q are drawn in this order */
    ZERO_OUTPUT = 16,   /* W_o begins at zero */
    WITH_BLOCK = 32,    /* norm, up and down */
    WITH_EXTRA = 64,    /* a parameter (64, 64) */
    UNREGISTERED = 128, /* the same, but the module does not know it */
    TWO_LAYERS = 256,
    FUSED = 512,     /* W_q is qkv, (192, 64) */
    PLAIN = 1024,    /* parameters (in, out), used as x W */
    FROZEN = 2048,   /* W_k does not train */
    IN_OUT = 4096,   /* W_q is c_attn, (64, 192) */
    LARGE = 8192,    /* W_q and W_k times 100: the softmax is saturated */
    KEY_BIAS = 16384 /* extra is (heads, 1, d_head) */
};

/* ---- right parts ---- */

typedef struct qkv {
    heed_tensor *q, *k, *v; /* (B, T, 64), or (B, heads, T, d) once split */
} qkv;

static qkv project(struct attention *m, heed_tensor *x)
{
    return (qkv){heed_linear_forward(m->W_q, x), heed_linear_forward(m->W_k, x),
                 heed_linear_forward(m->W_v, x)};
}

/* (B, T, heads * d) -> (B, heads, T, d) */
static heed_tensor *split(heed_tensor *t, int heads)
{
    return heed_transpose(heed_unflatten(t, -1, HEED_SHAPE(heads, -1)), 1, 2);
}

static qkv split_all(const struct attention *m, qkv t)
{
    return (qkv){split(t.q, m->heads), split(t.k, m->heads), split(t.v, m->heads)};
}

static heed_tensor *merge(heed_tensor *t)
{
    return heed_flatten(heed_transpose(t, 1, 2), 2, 3);
}

static heed_tensor *output(const struct attention *m, heed_tensor *t)
{
    return m->W_o != NULL ? heed_linear_forward(m->W_o, t) : t;
}

static heed_tensor *raw_scores(qkv t)
{
    return heed_matmul(t.q, heed_transpose(t.k, -2, -1));
}

static heed_tensor *scores_of(qkv t)
{
    return heed_div_scalar(raw_scores(t), sqrt((double)heed_size(t.q, -1)));
}

static heed_tensor *causal(const heed_tensor *scores)
{
    return heed_causal_block_mask(heed_size(scores, -1));
}

static heed_tensor *mask_future(heed_tensor *scores)
{
    return heed_masked_fill(scores, causal(scores), (double)-INFINITY);
}

static heed_tensor *finish(const struct attention *m, heed_tensor *percents, heed_tensor *v)
{
    return output(m, merge(heed_matmul(percents, v)));
}

/* The right one: with a mask if the options say causal. */
static heed_tensor *attend(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    heed_tensor *scores = scores_of(t);
    if (m->entry->options.causal) {
        scores = mask_future(scores);
    }
    return finish(m, heed_softmax(scores, -1), t.v);
}

/* ---- wrong: scales ---- */

static heed_tensor *attend_divided_by(struct attention *m, heed_tensor *x, double divisor)
{
    qkv t = split_all(m, project(m, x));
    heed_tensor *scores = mask_future(heed_div_scalar(raw_scores(t), divisor));
    return finish(m, heed_softmax(scores, -1), t.v);
}

/* karpathy/ng-video-lecture PR #6, #28; Graylab/DL4Proteins-notebooks #12 */
static heed_tensor *scaled_by_model(struct attention *m, heed_tensor *x)
{
    return attend_divided_by(m, x, sqrt((double)heed_size(x, -1)));
}

static heed_tensor *not_scaled(struct attention *m, heed_tensor *x)
{
    return attend_divided_by(m, x, 1);
}

/* duoan/TorchCode #17: a grader passed it */
static heed_tensor *scaled_without_root(struct attention *m, heed_tensor *x)
{
    return attend_divided_by(m, x, (double)ATTENTION_WIDTH / m->heads);
}

static heed_tensor *multiplied_by_root(struct attention *m, heed_tensor *x)
{
    return attend_divided_by(m, x, 1 / sqrt((double)ATTENTION_WIDTH / m->heads));
}

/* tenstorrent/tt-metal PR #56789 */
static heed_tensor *scaled_by_heads(struct attention *m, heed_tensor *x)
{
    return attend_divided_by(m, x, sqrt(m->heads));
}

static heed_tensor *scaled_by_tokens(struct attention *m, heed_tensor *x)
{
    return attend_divided_by(m, x, sqrt((double)heed_size(x, 1)));
}

/* ---- wrong: heads ---- */

static heed_tensor *merge_by_view(heed_tensor *t)
{
    return heed_reshape(t, HEED_SHAPE(t->shape[0], t->shape[2], -1));
}

static heed_tensor *split_by_view(heed_tensor *t, int heads)
{
    return heed_reshape(t, HEED_SHAPE(t->shape[0], heads, t->shape[1], -1));
}

/* jsbaan/transformer-from-scratch PR #6; ajhalthor/Transformer-Neural-Network PR #4 */
static heed_tensor *merged_by_view(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    heed_tensor *percents = heed_softmax(mask_future(scores_of(t)), -1);
    return output(m, merge_by_view(heed_matmul(percents, t.v)));
}

/* hyunwoongko/transformer #15 */
static heed_tensor *splits_by_view(struct attention *m, heed_tensor *x)
{
    qkv t = project(m, x);
    t = (qkv){split_by_view(t.q, m->heads), split_by_view(t.k, m->heads),
              split_by_view(t.v, m->heads)};
    return finish(m, heed_softmax(scores_of(t), -1), t.v);
}

/* reczoo/FuxiCTR #30 */
static heed_tensor *both_by_view(struct attention *m, heed_tensor *x)
{
    qkv t = project(m, x);
    t = (qkv){split_by_view(t.q, m->heads), split_by_view(t.k, m->heads),
              split_by_view(t.v, m->heads)};
    return output(m, merge_by_view(heed_matmul(heed_softmax(scores_of(t), -1), t.v)));
}

static heed_tensor *one_head(struct attention *m, heed_tensor *x)
{
    qkv t = project(m, x);
    return output(m, heed_matmul(heed_softmax(mask_future(scores_of(t)), -1), t.v));
}

/* MarcoMeter/episodic-transformer-memory-ppo PR #22: the same projection for all heads */
static heed_tensor *one_head_for_all(struct attention *m, heed_tensor *x)
{
    const heed_shape shape = HEED_SHAPE(x->shape[0], m->heads, x->shape[1], -1);
    qkv t = split_all(m, project(m, x));
    t = (qkv){heed_expand(heed_narrow(t.q, 1, 0, 1), shape),
              heed_expand(heed_narrow(t.k, 1, 0, 1), shape),
              heed_expand(heed_narrow(t.v, 1, 0, 1), shape)};
    return finish(m, heed_softmax(mask_future(scores_of(t)), -1), t.v);
}

static heed_tensor *mean_of_heads(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    heed_tensor *percents = heed_softmax(mask_future(scores_of(t)), -1);
    return finish(m, heed_mean_dim(percents, 1, true), t.v);
}

/* ---- wrong: softmax ---- */

static heed_tensor *softmax_over(struct attention *m, heed_tensor *x, int dim)
{
    qkv t = split_all(m, project(m, x));
    heed_tensor *scores = scores_of(t);
    if (m->entry->options.causal) {
        scores = mask_future(scores);
    }
    return finish(m, heed_safe_softmax(scores, dim), t.v);
}

/* karpathy/minGPT #132 */
static heed_tensor *softmax_over_queries(struct attention *m, heed_tensor *x)
{
    return softmax_over(m, x, -2);
}

static heed_tensor *softmax_over_heads(struct attention *m, heed_tensor *x)
{
    return softmax_over(m, x, 1);
}

static heed_tensor *softmax_over_batch(struct attention *m, heed_tensor *x)
{
    return softmax_over(m, x, 0);
}

static heed_tensor *without_softmax(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    return finish(m, scores_of(t), t.v);
}

static heed_tensor *softmax_twice(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    return finish(m, heed_softmax(heed_softmax(scores_of(t), -1), -1), t.v);
}

/* ---- wrong: masks ---- */

static heed_tensor *masked_by(struct attention *m, heed_tensor *x, heed_tensor *mask, double value)
{
    qkv t = split_all(m, project(m, x));
    return finish(m, heed_safe_softmax(heed_masked_fill(scores_of(t), mask, value), -1), t.v);
}

static heed_tensor *ones(const heed_tensor *x)
{
    return heed_ones(HEED_SHAPE(heed_size(x, 1), heed_size(x, 1)), HEED_BOOL);
}

/* huggingface/transformers #48745: four causal classes; karpathy/nanochat #844 */
static heed_tensor *mask_missing(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    return finish(m, heed_softmax(scores_of(t), -1), t.v);
}

/* rasbt/LLMs-from-scratch #1061, lucidrains/x-transformers #164 */
static heed_tensor *mask_inverted(struct attention *m, heed_tensor *x)
{
    return masked_by(m, x, heed_tril(ones(x), 0), (double)-INFINITY);
}

/* A row that is blocked everywhere gives NaN. */
static heed_tensor *mask_inverted_to_nan(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    heed_tensor *scores = heed_masked_fill(scores_of(t), heed_tril(ones(x), 0), (double)-INFINITY);
    return finish(m, heed_softmax(scores, -1), t.v);
}

static heed_tensor *mask_transposed(struct attention *m, heed_tensor *x)
{
    return masked_by(m, x, heed_tril(ones(x), -1), (double)-INFINITY);
}

static heed_tensor *mask_blocks_self(struct attention *m, heed_tensor *x)
{
    return masked_by(m, x, heed_triu(ones(x), 0), (double)-INFINITY);
}

static heed_tensor *mask_off_by_one(struct attention *m, heed_tensor *x)
{
    return masked_by(m, x, heed_triu(ones(x), 2), (double)-INFINITY);
}

/* e^0 = 1 is a weight */
static heed_tensor *mask_of_zero_scores(struct attention *m, heed_tensor *x)
{
    return masked_by(m, x, heed_triu(ones(x), 1), 0);
}

/* too small to block */
static heed_tensor *mask_too_weak(struct attention *m, heed_tensor *x)
{
    return masked_by(m, x, heed_triu(ones(x), 1), -5);
}

/* harvard-edge/cs249r_book PR #1785 */
static heed_tensor *mask_blocks_all(struct attention *m, heed_tensor *x)
{
    return masked_by(m, x, ones(x), -1e9);
}

static heed_tensor *mask_after_softmax(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    heed_tensor *percents = heed_softmax(scores_of(t), -1);
    return finish(m, heed_masked_fill(percents, causal(percents), 0), t.v);
}

static heed_tensor *mask_added(struct attention *m, heed_tensor *x, heed_tensor *mask)
{
    qkv t = split_all(m, project(m, x));
    return finish(m, heed_softmax(heed_add(scores_of(t), heed_to(mask, x->dtype)), -1), t.v);
}

/* pytorch/pytorch #21518 */
static heed_tensor *keep_mask_added(struct attention *m, heed_tensor *x)
{
    return mask_added(m, x, heed_tril(ones(x), 0));
}

static heed_tensor *block_mask_added(struct attention *m, heed_tensor *x)
{
    return mask_added(m, x, heed_triu(ones(x), 1));
}

/* tinygrad/tinygrad #2425 */
static heed_tensor *mask_of_ones(struct attention *m, heed_tensor *x)
{
    return mask_added(m, x, ones(x));
}

/* The newest query sees all keys of the longest sequence only: bottom-right for top-left. */
static heed_tensor *mask_from_the_end(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    heed_tensor *scores = scores_of(t), *mask = causal(scores);
    const int64_t last = heed_size(mask, -1) - 1;
    heed_tensor *parts[] = {heed_narrow(mask, -1, last, 1), heed_narrow(mask, -1, 0, last)};
    heed_tensor *shifted = heed_cat(parts, 2, -1);
    return finish(m, heed_safe_softmax(heed_masked_fill(scores, shifted, -1e9), -1), t.v);
}

/* ---- wrong: projections ---- */

static heed_tensor *attend_with(struct attention *m, qkv t)
{
    t = split_all(m, t);
    return finish(m, heed_softmax(mask_future(scores_of(t)), -1), t.v);
}

static heed_tensor *q_and_k_exchanged(struct attention *m, heed_tensor *x)
{
    qkv t = project(m, x);
    return attend_with(m, (qkv){t.k, t.q, t.v});
}

static heed_tensor *k_and_v_exchanged(struct attention *m, heed_tensor *x)
{
    qkv t = project(m, x);
    return attend_with(m, (qkv){t.q, t.v, t.k});
}

static heed_tensor *keys_by_w_q(struct attention *m, heed_tensor *x)
{
    qkv t = project(m, x);
    return attend_with(m, (qkv){t.q, t.q, t.v});
}

static heed_tensor *values_by_w_k(struct attention *m, heed_tensor *x)
{
    qkv t = project(m, x);
    return attend_with(m, (qkv){t.q, t.k, t.k});
}

static heed_tensor *values_are_x(struct attention *m, heed_tensor *x)
{
    qkv t = project(m, x);
    return attend_with(m, (qkv){t.q, t.k, x});
}

static heed_tensor *w_o_missing(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    return merge(heed_matmul(heed_softmax(mask_future(scores_of(t)), -1), t.v));
}

static heed_tensor *weights_transposed(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    return finish(m, heed_transpose(heed_softmax(scores_of(t), -1), -2, -1), t.v);
}

/* ---- wrong: the graph ---- */

/* huggingface/candle #3569, paiml/aprender PR #2203: no gradient for W_q and W_k */
static heed_tensor *weights_detached(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    return finish(m, heed_detach(heed_softmax(mask_future(scores_of(t)), -1)), t.v);
}

static heed_tensor *input_detached(struct attention *m, heed_tensor *x)
{
    return attend(m, heed_detach(x));
}

static heed_tensor *nothing_recorded(struct attention *m, heed_tensor *x)
{
    HEED_SCOPE_NO_GRAD(scope);
    return heed_scope_keep(&scope, attend(m, x));
}

static heed_tensor *not_registered(struct attention *m, heed_tensor *x)
{
    return heed_matmul(attend(m, x), m->extra);
}

static heed_tensor *parameter_not_used(struct attention *m, heed_tensor *x)
{
    return attend(m, x);
}

static heed_tensor *dropout_always(struct attention *m, heed_tensor *x)
{
    return heed_dropout(attend(m, x), 0.1, true);
}

/* A softmax whose derivative forgets the sum. */
static heed_tensor *softmax_derivative(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    heed_tensor *e = heed_exp(mask_future(scores_of(t)));
    return finish(m, heed_div(e, heed_detach(heed_sum_dim(e, -1, true))), t.v);
}

/* ---- wrong: tokens, batch, length ---- */

/* Attends over the batch, as a module with (T, B, d) does when given (B, T, d). */
static heed_tensor *batch_first(struct attention *m, heed_tensor *x)
{
    return heed_transpose(attend(m, heed_contiguous(heed_transpose(x, 0, 1))), 0, 1);
}

/* A reshape where a transpose was meant. */
static heed_tensor *batch_reshaped(struct attention *m, heed_tensor *x)
{
    const heed_shape other = HEED_SHAPE(x->shape[1], x->shape[0], x->shape[2]);
    return heed_reshape(attend(m, heed_transpose(heed_reshape(x, other), 0, 1)),
                        heed_shape_of_tensor(x));
}

/* Keys are centred over all tokens, later ones included. */
static heed_tensor *keys_centred(struct attention *m, heed_tensor *x)
{
    qkv t = project(m, x);
    t.v = heed_sub(t.v, heed_mean_dim(t.v, 1, true));
    return attend_with(m, t);
}

/* A leak that gradients do not see: the loudest token is chosen among all. */
static heed_tensor *argmax_of_all(struct attention *m, heed_tensor *x)
{
    heed_tensor *loudest = heed_amax_dim(heed_sum_dim(heed_detach(x), -1, true), 1, true);
    return heed_mul(attend(m, x), heed_add_scalar(heed_tanh(loudest), 2));
}

/* A mask of one length, as a buffer that is not cut to T. */
static heed_tensor *mask_of_eight(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    return finish(
        m, heed_softmax(heed_masked_fill(scores_of(t), heed_causal_block_mask(8), -1e9), -1), t.v);
}

/* ---- wrong: two mistakes ---- */

static heed_tensor *merged_by_view_and_scaled_by_model(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    heed_tensor *scores = heed_div_scalar(raw_scores(t), sqrt((double)ATTENTION_WIDTH));
    return output(m, merge_by_view(heed_matmul(heed_softmax(mask_future(scores), -1), t.v)));
}

static heed_tensor *mask_missing_and_not_scaled(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    return finish(m, heed_softmax(raw_scores(t), -1), t.v);
}

/* ---- padding ---- */

static heed_tensor *padded_with(struct attention *m, heed_tensor *x, heed_tensor *bias)
{
    qkv t = split_all(m, project(m, x));
    return finish(m, heed_safe_softmax(heed_add(scores_of(t), bias), -1), t.v);
}

/* (B, T) -> (B, 1, 1, T), or (B, 1, T, 1) for queries */
static heed_tensor *spread(heed_tensor *mask, int at)
{
    return heed_unsqueeze(heed_unsqueeze(mask, 1), at);
}

static heed_tensor *bias_of(heed_tensor *block_mask, heed_dtype dtype)
{
    return heed_masked_fill(heed_scalar(0, dtype), block_mask, (double)-INFINITY);
}

static heed_tensor *padded_rightly(heed_tensor *x, heed_tensor *mask, void *context)
{
    return padded_with(context, x, bias_of(spread(mask, 2), x->dtype));
}

static heed_tensor *padding_added(heed_tensor *x, heed_tensor *mask, void *context)
{
    return padded_with(context, x, heed_to(spread(heed_logical_not(mask), 2), x->dtype));
}

static heed_tensor *padding_of_queries(heed_tensor *x, heed_tensor *mask, void *context)
{
    return padded_with(context, x, bias_of(spread(mask, 3), x->dtype));
}

static heed_tensor *padding_inverted(heed_tensor *x, heed_tensor *mask, void *context)
{
    return padded_with(context, x, bias_of(heed_logical_not(spread(mask, 2)), x->dtype));
}

static heed_tensor *padding_ignored(heed_tensor *x, heed_tensor *mask, void *context)
{
    (void)mask;
    return attend(context, x);
}

/* ---- caches ---- */

/* x plus the sines of its positions, the first of which is `start`. */
static heed_tensor *with_positions(heed_tensor *x, int64_t start)
{
    const int64_t half = heed_size(x, -1) / 2, end = start + heed_size(x, 1);
    heed_tensor *at = heed_unsqueeze(heed_arange((double)start, (double)end, 1, x->dtype), 1);
    heed_tensor *powers = heed_arange(0, (double)half, 1, x->dtype);
    heed_tensor *angle =
        heed_mul(at, heed_exp(heed_mul_scalar(powers, -log(10000) / (double)half)));
    heed_tensor *parts[] = {heed_sin(angle), heed_cos(angle)};
    return heed_add(x, heed_cat(parts, 2, -1));
}

static heed_tensor *with_absolute_positions(struct attention *m, heed_tensor *x)
{
    return attend(m, with_positions(x, 0));
}

/* AkiRusProd/numpy-transformer #1, cmu-l3/anlp-fall2025-code #1 */
static heed_tensor *sines_over_batch(struct attention *m, heed_tensor *x)
{
    return attend(m, heed_transpose(with_positions(heed_transpose(x, 0, 1), 0), 0, 1));
}

/* Changes x itself, as x += positions does. */
static heed_tensor *positions_in_place(struct attention *m, heed_tensor *x)
{
    heed_copy_into(x, with_positions(x, 0));
    return attend(m, x);
}

static void keep(heed_tensor **cache, heed_tensor *row, int64_t position)
{
    heed_tensor *both[] = {*cache, row};
    heed_tensor *all = position == 0 ? row : heed_cat(both, 2, 2);
    heed_release(*cache);
    *cache = heed_retain(all);
}

static heed_tensor *attend_to_cache(struct attention *m, qkv t)
{
    t.k = m->keys;
    t.v = m->values;
    return finish(m, heed_softmax(scores_of(t), -1), t.v);
}

static heed_tensor *cached_step(heed_tensor *x, int64_t position, void *context)
{
    struct attention *m = context;
    qkv t = split_all(m, project(m, x));
    keep(&m->keys, t.k, position);
    keep(&m->values, t.v, position);
    return attend_to_cache(m, t);
}

static heed_tensor *cached_step_with_positions(heed_tensor *x, int64_t position, void *context)
{
    return cached_step(with_positions(x, position), position, context);
}

/* skyzh/tiny-llm PR #46 */
static heed_tensor *positions_off_by_one(heed_tensor *x, int64_t position, void *context)
{
    return cached_step(with_positions(x, position + 1), position, context);
}

/* harvard-edge/cs249r_book PR #1953: attends before the current token is appended */
static heed_tensor *current_token_missing(heed_tensor *x, int64_t position, void *context)
{
    struct attention *m = context;
    qkv t = split_all(m, project(m, x));
    if (position == 0) {
        keep(&m->keys, heed_zeros_like(t.k), 0);
        keep(&m->values, heed_zeros_like(t.v), 0);
    }
    heed_tensor *y = attend_to_cache(m, t);
    keep(&m->keys, t.k, position);
    keep(&m->values, t.v, position);
    return y;
}

/* Only the last token is kept. */
static heed_tensor *cache_forgets(heed_tensor *x, int64_t position, void *context)
{
    (void)position;
    return cached_step(x, 0, context);
}

/* ---- right, in unusual forms ---- */

static heed_tensor *fused(struct attention *m, heed_tensor *x)
{
    heed_tensor *parts[3];
    heed_chunk(heed_linear_forward(m->W_q, x), 3, -1, parts);
    return attend_with(m, (qkv){parts[0], parts[1], parts[2]});
}

static heed_tensor *in_out(struct attention *m, heed_tensor *x)
{
    heed_tensor *parts[3];
    heed_chunk(heed_matmul(x, m->W_q->weight), 3, -1, parts);
    const qkv t = split_all(m, (qkv){parts[0], parts[1], parts[2]});
    heed_tensor *percents = heed_softmax(mask_future(scores_of(t)), -1);
    return heed_matmul(merge(heed_matmul(percents, t.v)), m->W_o->weight);
}

static heed_tensor *by_sdpa(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    return output(m, merge(heed_scaled_dot_product_attention(t.q, t.k, t.v, .is_causal = true)));
}

static heed_tensor *head_by_head(struct attention *m, heed_tensor *x)
{
    heed_tensor *heads[8];
    const int64_t d = ATTENTION_WIDTH / m->heads;
    qkv t = project(m, x);
    for (int h = 0; h < m->heads; h++) {
        const qkv one = {heed_narrow(t.q, -1, h * d, d), heed_narrow(t.k, -1, h * d, d),
                         heed_narrow(t.v, -1, h * d, d)};
        heads[h] = heed_matmul(heed_softmax(mask_future(scores_of(one)), -1), one.v);
    }
    return output(m, heed_cat(heads, m->heads, -1));
}

/* Keys in another order: a weighted mean does not depend on it. */
static heed_tensor *keys_sorted(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    t.k = heed_flip(t.k, HEED_DIMS(2));
    t.v = heed_flip(t.v, HEED_DIMS(2));
    return finish(m, heed_softmax(scores_of(t), -1), t.v);
}

/* A softmax of few digits, as transformers computes it in half precision: softmax(dtype=float32) */
static heed_tensor *softmax_in_f32(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    heed_tensor *scores = heed_to(mask_future(scores_of(t)), HEED_F32);
    return finish(m, heed_to(heed_softmax(scores, -1), x->dtype), t.v);
}

/* Has neither a gradient nor an effect: the softmax cancels it. */
static heed_tensor *key_bias_of_heads(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    t.k = heed_add(t.k, m->extra);
    return finish(m, heed_softmax(mask_future(scores_of(t)), -1), t.v);
}

static heed_tensor *one_key_head(struct attention *m, heed_tensor *x)
{
    qkv t = project(m, x);
    t = (qkv){split(t.q, m->heads), split(t.k, 1), split(t.v, 1)};
    return finish(m, heed_softmax(mask_future(scores_of(t)), -1), t.v);
}

/* Press et al., 2022: scores fall with the distance. */
static heed_tensor *alibi(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    const int64_t count = heed_size(x, 1);
    heed_tensor *at = heed_arange(0, (double)count, 1, x->dtype);
    heed_tensor *distance = heed_sub(heed_unsqueeze(at, 0), heed_unsqueeze(at, 1));
    heed_tensor *slopes =
        heed_reshape(heed_arange(1, m->heads + 1, 1, x->dtype), HEED_SHAPE(m->heads, 1, 1));
    heed_tensor *scores = heed_add(scores_of(t), heed_mul(heed_mul_scalar(slopes, 0.1), distance));
    return finish(m, heed_softmax(mask_future(scores), -1), t.v);
}

/* The largest score is subtracted before the mask, so later tokens change it: only rounding. */
static heed_tensor *by_hand(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    heed_tensor *scores = scores_of(t);
    scores = heed_sub(scores, heed_amax_dim(scores, -1, true));
    heed_tensor *e = heed_exp(heed_masked_fill(scores, causal(scores), -1e9));
    return finish(m, heed_div(e, heed_sum_dim(e, -1, true)), t.v);
}

static heed_tensor *x_times_w(struct attention *m, heed_tensor *x)
{
    const qkv t = {heed_matmul(x, m->W_q->weight), heed_matmul(x, m->W_k->weight),
                   heed_matmul(x, m->W_v->weight)};
    const qkv s = split_all(m, t);
    return heed_matmul(merge(heed_matmul(heed_softmax(mask_future(scores_of(s)), -1), s.v)),
                       m->W_o->weight);
}

static heed_tensor *zero_key(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    heed_tensor *zeros = heed_zeros_like(heed_narrow(t.k, 2, 0, 1));
    t.k = heed_cat((heed_tensor *[]){t.k, zeros}, 2, 2);
    t.v = heed_cat((heed_tensor *[]){t.v, zeros}, 2, 2);
    return finish(m, heed_softmax(scores_of(t), -1), t.v);
}

static heed_tensor *block(struct attention *m, heed_tensor *x)
{
    heed_tensor *y = heed_add(x, attend(m, heed_layer_norm_forward(m->norm, x)));
    heed_tensor *hidden = heed_relu(heed_linear_forward(m->up, y));
    return heed_add(y, heed_linear_forward(m->down, hidden));
}

static heed_tensor *two_layers(struct attention *m, heed_tensor *x)
{
    return attend(m->second, attend(m, x));
}

/* Su et al., 2021: pairs of features turn with the position. */
static heed_tensor *turn(heed_tensor *t)
{
    const int64_t d = heed_size(t, -1), count = heed_size(t, -2);
    heed_tensor *at = heed_unsqueeze(heed_arange(0, (double)count, 1, t->dtype), 1);
    heed_tensor *powers = heed_arange(0, (double)(d / 2), 1, t->dtype);
    heed_tensor *speeds = heed_exp(heed_mul_scalar(powers, -log(10000) * 2 / (double)d));
    heed_tensor *angle = heed_mul(at, speeds); /* (T, d / 2) */
    heed_tensor *a = heed_narrow(t, -1, 0, d / 2), *b = heed_narrow(t, -1, d / 2, d / 2);
    heed_tensor *c = heed_cos(angle), *s = heed_sin(angle);
    heed_tensor *parts[] = {heed_sub(heed_mul(a, c), heed_mul(b, s)),
                            heed_add(heed_mul(a, s), heed_mul(b, c))};
    return heed_cat(parts, 2, -1);
}

static heed_tensor *rotary(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    t.q = turn(t.q);
    t.k = turn(t.k);
    return finish(m, heed_softmax(mask_future(scores_of(t)), -1), t.v);
}

/* mlfoundations/open_lm #4, facebookresearch/xformers #841: turned by the index of the head */
static heed_tensor *rotary_over_heads(struct attention *m, heed_tensor *x)
{
    qkv t = split_all(m, project(m, x));
    t.q = heed_transpose(turn(heed_transpose(t.q, 1, 2)), 1, 2);
    t.k = heed_transpose(turn(heed_transpose(t.k, 1, 2)), 1, 2);
    return finish(m, heed_softmax(mask_future(scores_of(t)), -1), t.v);
}

/* ---- the catalogue ---- */

#define OPTIONS(...)                                                                               \
    {                                                                                              \
        .d_model = ATTENTION_WIDTH, __VA_ARGS__                                                    \
    }
#define CAUSAL OPTIONS(.heads = 4, .causal = true)
#define FREE   OPTIONS(.heads = 4)

const attention_entry attention_catalogue[] = {
    /* wrong */
    {"scaled_by_model", "scores divided by sqrt(d_model)",
     "scaled by sqrt(d_model) = 8; a head is 16 wide", scaled_by_model, 0, CAUSAL},
    {"not_scaled", "scores not divided", "not scaled", not_scaled, 0, CAUSAL},
    {"scaled_without_root", "scores divided by d_head", "divided by d_head itself = 16",
     scaled_without_root, 0, CAUSAL},
    {"multiplied_by_root", "scores multiplied by sqrt(d_head)", "multiplied by sqrt(d_head) = 4",
     multiplied_by_root, 0, CAUSAL},
    {"scaled_by_heads", "scores divided by the root of the number of heads",
     "number of heads = 1.414", scaled_by_heads, 0, OPTIONS(.heads = 2, .causal = true)},
    {"scaled_by_tokens", "scores divided by sqrt(T)", "number of tokens = 2.828", scaled_by_tokens,
     0, CAUSAL},
    {"merged_by_view", "heads merged by a reshape, without transposing back",
     "heads merged without transposing back", merged_by_view, 0, CAUSAL},
    {"split_by_view", "heads split by a reshape alone", "heads split by a reshape alone",
     splits_by_view, 0, FREE},
    {"both_by_view", "heads split and merged by a reshape alone", "split and merged by a reshape",
     both_by_view, 0, FREE},
    {"one_head", "heads never split", "a single head", one_head, 0, CAUSAL},
    {"one_head_for_all", "all heads use the first one's rows of W_q, W_k and W_v",
     "the parameters of one head for all", one_head_for_all, 0, CAUSAL},
    {"mean_of_heads", "all heads use the mean of their weights", "averaged over the heads",
     mean_of_heads, 0, CAUSAL},
    {"softmax_over_queries", "softmax over dim -2", "softmax over the queries",
     softmax_over_queries, 0, FREE},
    {"softmax_over_queries_masked", "softmax over dim -2, with a mask", "softmax over the queries",
     softmax_over_queries, 0, CAUSAL},
    {"softmax_over_heads", "softmax over dim 1", "softmax over the heads", softmax_over_heads, 0,
     FREE},
    {"softmax_over_batch", "softmax over dim 0", "softmax over the batch", softmax_over_batch, 0,
     FREE},
    {"without_softmax", "scores used as weights", "without a softmax", without_softmax, 0, FREE},
    {"softmax_twice", "softmax of a softmax", "softmax applied twice", softmax_twice, 0, FREE},
    {"mask_missing", "no mask", "without the mask", mask_missing, 0, CAUSAL},
    {"mask_inverted", "true where it should be false", "true and false of the mask exchanged",
     mask_inverted, 0, CAUSAL},
    {"mask_inverted_to_nan", "the same, with a softmax that gives NaN",
     "true and false of the mask exchanged", mask_inverted_to_nan, 0, CAUSAL},
    {"mask_transposed", "blocks earlier tokens", "blocks earlier tokens", mask_transposed, 0,
     CAUSAL},
    {"mask_blocks_self", "blocks the diagonal too", "blocks a token's own key", mask_blocks_self, 0,
     CAUSAL},
    {"mask_off_by_one", "shows the next token", "sees the next token", mask_off_by_one, 0, CAUSAL},
    {"mask_of_zero_scores", "blocked scores are 0", "blocked scores set to 0", mask_of_zero_scores,
     0, CAUSAL},
    {"mask_too_weak", "blocked scores are -5", NULL, mask_too_weak, 0, CAUSAL},
    {"mask_blocks_all", "blocks all, with -1e9", "sees token", mask_blocks_all, 0, CAUSAL},
    {"mask_after_softmax", "weights set to 0 after the softmax", "mask applied after the softmax",
     mask_after_softmax, 0, CAUSAL},
    {"keep_mask_added", "0 and 1 added, 1 keeps", "added as 0 and 1 (1 keeps)", keep_mask_added, 0,
     CAUSAL},
    {"block_mask_added", "0 and 1 added, 1 blocks", "added as 0 and 1 (1 blocks)", block_mask_added,
     0, CAUSAL},
    {"mask_of_ones", "a mask of ones added", "without the mask", mask_of_ones, 0, CAUSAL},
    {"mask_from_the_end", "a mask rolled by one", NULL, mask_from_the_end, 0, CAUSAL},
    {"q_and_k_exchanged", "k q^T", "W_q and W_k exchanged", q_and_k_exchanged, 0, CAUSAL},
    {"k_and_v_exchanged", "keys used as values", "W_k and W_v exchanged", k_and_v_exchanged, 0,
     CAUSAL},
    {"keys_by_w_q", "W_q used twice", "keys computed by W_q", keys_by_w_q, 0, CAUSAL},
    {"values_by_w_k", "W_k used twice", "values computed by W_k", values_by_w_k, 0, CAUSAL},
    {"values_are_x", "x itself weighted", "x itself as values", values_are_x, 0, CAUSAL},
    {"w_o_missing", "heads only concatenated", "without W_o", w_o_missing, 0, CAUSAL},
    {"weights_transposed", "P^T v", "weights transposed before", weights_transposed, 0, FREE},
    {"weights_detached", "the graph is cut at the weights", "changes y but receives no gradient",
     weights_detached, 0, CAUSAL},
    {"input_detached", "the graph is cut at x", "no gradient reaches x", input_detached, 0, CAUSAL},
    {"nothing_recorded", "computed without a graph", "y has no graph", nothing_recorded, 0, CAUSAL},
    {"not_registered", "a parameter that the module does not know", "not registered",
     not_registered, UNREGISTERED, OPTIONS(.heads = 4, .causal = true, .f32 = true)},
    {"parameter_not_used", "a parameter without effect", "it is not used", parameter_not_used,
     WITH_EXTRA, CAUSAL},
    {"dropout_always", "dropout in eval mode too", "draws random numbers in eval mode",
     dropout_always, 0, CAUSAL},
    {"softmax_derivative", "right values, wrong gradients", "do not have equal shares",
     softmax_derivative, 0, CAUSAL},
    {"batch_first", "attends over the batch", "another sequence of the batch changes this one",
     batch_first, 0, FREE},
    {"batch_reshaped", "a reshape in place of a transpose",
     "another sequence of the batch changes this one", batch_reshaped, 0, FREE},
    {"values_centred", "the mean of all tokens is subtracted", "all of them later tokens",
     keys_centred, 0, CAUSAL},
    {"argmax_of_all", "depends on later tokens, without a gradient", NULL, argmax_of_all, 0,
     CAUSAL},
    {"mask_of_eight", "a mask of one length", "T = 1 fails", mask_of_eight, 0,
     OPTIONS(.heads = 4, .causal = true)},
    {"sines_over_batch", "positions are added along the batch", "at another place in the batch",
     sines_over_batch, 0,
     OPTIONS(.heads = 4, .causal = true, .positions = HEED_POSITIONS_ABSOLUTE)},
    {"rotary_over_heads", "rotary positions along the heads", "positions have no effect",
     rotary_over_heads, 0,
     OPTIONS(.heads = 4, .causal = true, .positions = HEED_POSITIONS_RELATIVE)},
    {"two_mistakes_heads_and_scale", "merged by a reshape, and scaled by sqrt(d_model)",
     "scaled by sqrt(d_model) = 8 and with heads merged without",
     merged_by_view_and_scaled_by_model, 0, CAUSAL},
    {"two_mistakes_mask_and_scale", "no mask, no scale", "not scaled and without the mask",
     mask_missing_and_not_scaled, 0, CAUSAL},
    {"padding_added", "the padding mask is added as 0 and 1", "values at padding change other rows",
     attend, 0, OPTIONS(.heads = 4, .padded = padding_added)},
    {"padding_of_queries", "the padding mask blocks queries", "values at padding change other rows",
     attend, 0, OPTIONS(.heads = 4, .padded = padding_of_queries)},
    {"padding_inverted", "the padding mask keeps padding", NULL, attend, 0,
     OPTIONS(.heads = 4, .padded = padding_inverted)},
    {"padding_ignored", "the padding mask is not used", "values at padding change other rows",
     attend, 0, OPTIONS(.heads = 4, .padded = padding_ignored)},
    {"current_token_missing", "attends before the token is in the cache", "a token must see itself",
     attend, 0, OPTIONS(.heads = 4, .causal = true, .step = current_token_missing)},
    {"positions_off_by_one", "positions with a cache begin at 1", "with a cache differs",
     with_absolute_positions, 0,
     OPTIONS(.heads = 4, .causal = true, .positions = HEED_POSITIONS_ABSOLUTE,
             .step = positions_off_by_one)},
    {"cache_forgets", "only the last token is in the cache", "token 1 with a cache differs", attend,
     0, OPTIONS(.heads = 4, .causal = true, .step = cache_forgets)},
    /* right */
    {"causal", "several heads, causal, with a cache", "", attend, 0,
     OPTIONS(.heads = 4, .causal = true, .step = cached_step)},
    {"free", "several heads, no mask, with padding", "", attend, 0,
     OPTIONS(.heads = 4, .padded = padded_rightly)},
    {"single_head", "one head without W_o", "", attend, NO_OUTPUT, OPTIONS(.causal = true)},
    {"fused", "one projection for q, k and v", "", fused, FUSED, CAUSAL},
    {"in_out", "matrices (in, out), as GPT-2's", "", in_out, IN_OUT, CAUSAL},
    {"sdpa", "by heed_scaled_dot_product_attention", "", by_sdpa, 0, CAUSAL},
    {"head_by_head", "a loop over slices", "", head_by_head, 0, CAUSAL},
    {"keys_sorted", "keys in another order", "", keys_sorted, 0, FREE},
    {"biases", "biases in all projections", "", attend, WITH_BIAS, CAUSAL},
    {"one_key_head", "one key head for all queries", "", one_key_head, ONE_KEY_HEAD, CAUSAL},
    {"alibi", "scores fall with the distance", "", alibi, 0,
     OPTIONS(.heads = 4, .causal = true, .positions = HEED_POSITIONS_RELATIVE)},
    {"rotary", "rotary positions", "", rotary, 0,
     OPTIONS(.heads = 4, .causal = true, .positions = HEED_POSITIONS_RELATIVE)},
    {"sines", "sinusoidal positions, with a cache", "", with_absolute_positions, 0,
     OPTIONS(.heads = 4, .causal = true, .positions = HEED_POSITIONS_ABSOLUTE,
             .step = cached_step_with_positions)},
    {"positions_in_place", "sinusoidal positions, added to x itself", "", positions_in_place, 0,
     OPTIONS(.heads = 4, .causal = true, .positions = HEED_POSITIONS_ABSOLUTE)},
    {"softmax_in_f32", "the softmax in f32, whatever x is", "", softmax_in_f32, 0, CAUSAL},
    {"saturated", "large W_q and W_k: each row sees one token", "", attend, LARGE, CAUSAL},
    {"key_bias_of_heads", "a bias of keys for each head", "", key_bias_of_heads, KEY_BIAS, CAUSAL},
    {"by_hand", "softmax by hand, its maximum taken before the mask", "", by_hand, 0, CAUSAL},
    {"other_order", "W_v, W_k and W_q created in this order", "", attend, OTHER_ORDER, CAUSAL},
    {"x_times_w", "x W instead of x W^T", "", x_times_w, PLAIN, CAUSAL},
    {"zero_output", "W_o begins at zero", "", attend, ZERO_OUTPUT, CAUSAL},
    {"frozen", "W_k does not train", "", attend, FROZEN, CAUSAL},
    {"zero_key", "a key of zeros besides", "", zero_key, 0,
     OPTIONS(.heads = 4, .extra_keys = true)},
    {"block", "norm, residual and feed-forward network", "", block, WITH_BLOCK,
     OPTIONS(.heads = 4, .causal = true, .block = true)},
    {"two_layers", "two layers", "", two_layers, TWO_LAYERS,
     OPTIONS(.heads = 4, .causal = true, .layers = 2)},
};
const int attention_count = sizeof attention_catalogue / sizeof *attention_catalogue;

/* ---- modules ---- */

static void destroy(void *module)
{
    struct attention *m = module;
    heed_release(m->keys);
    heed_release(m->values);
    if ((m->entry->layers & UNREGISTERED) != 0) {
        heed_release(m->extra);
    }
}

static const heed_module_kind kind = {
    .name = "Attention", .size = sizeof(struct attention), .destroy = destroy};

static struct attention *new_layer(const attention_entry *entry)
{
    struct attention *m = heed_module_new(&kind);
    const unsigned with = entry->layers;
    const bool no_bias = (with & WITH_BIAS) == 0;
    const int64_t d = ATTENTION_WIDTH;
    if (m == NULL) {
        return NULL;
    }
    m->entry = entry;
    m->heads = entry->options.heads > 0 ? entry->options.heads : 1;
    const int64_t kv = (with & ONE_KEY_HEAD) != 0 ? d / m->heads : d;
    if ((with & FUSED) != 0) {
        heed_add_child(m, "qkv", &m->W_q, heed_linear_new(d, 3 * d, .no_bias = no_bias));
    } else if ((with & IN_OUT) != 0) {
        heed_add_child(m, "c_attn", &m->W_q, heed_linear_new(3 * d, d, .no_bias = no_bias));
    } else if ((with & OTHER_ORDER) != 0) {
        HEED_CHILD(m, W_v, heed_linear_new(d, kv, .no_bias = no_bias));
        HEED_CHILD(m, W_k, heed_linear_new(d, kv, .no_bias = no_bias));
        HEED_CHILD(m, W_q, heed_linear_new(d, d, .no_bias = no_bias));
    } else {
        HEED_CHILD(m, W_q, heed_linear_new(d, d, .no_bias = no_bias));
        HEED_CHILD(m, W_k, heed_linear_new(d, kv, .no_bias = no_bias));
        HEED_CHILD(m, W_v, heed_linear_new(d, kv, .no_bias = no_bias));
    }
    if ((with & NO_OUTPUT) == 0) {
        HEED_CHILD(m, W_o, heed_linear_new(d, d, .no_bias = no_bias));
    }
    if ((with & ZERO_OUTPUT) != 0 && m->W_o != NULL) {
        heed_fill_into(m->W_o->weight, 0);
    }
    if ((with & FROZEN) != 0 && m->W_k != NULL) {
        heed_set_requires_grad(m->W_k->weight, false);
    }
    if ((with & WITH_BLOCK) != 0) {
        HEED_CHILD(m, norm, heed_layer_norm_new(HEED_SHAPE(d)));
        HEED_CHILD(m, up, heed_linear_new(d, 2 * d));
        HEED_CHILD(m, down, heed_linear_new(2 * d, d));
    }
    if ((with & LARGE) != 0 && m->W_k != NULL) {
        HEED_SCOPE(scope);
        heed_copy_into(m->W_q->weight, heed_mul_scalar(m->W_q->weight, 100));
        heed_copy_into(m->W_k->weight, heed_mul_scalar(m->W_k->weight, 100));
    }
    if ((with & KEY_BIAS) != 0) {
        HEED_PARAMETER(m, extra, heed_randn(HEED_SHAPE(m->heads, 1, d / m->heads), HEED_F32));
    }
    if ((with & WITH_EXTRA) != 0) {
        HEED_PARAMETER(m, extra, heed_randn(HEED_SHAPE(d, d), HEED_F32));
    }
    if ((with & UNREGISTERED) != 0) {
        HEED_SCOPE(scope);
        m->extra =
            heed_retain(heed_set_requires_grad(heed_randn(HEED_SHAPE(d, d), HEED_F32), true));
    }
    return m;
}

struct attention *attention_new(const attention_entry *entry)
{
    struct attention *m = new_layer(entry);
    if (m != NULL && (entry->layers & TWO_LAYERS) != 0) {
        HEED_CHILD(m, second, new_layer(entry));
    }
    return m;
}

heed_tensor *attention_forward(heed_tensor *x, void *module)
{
    struct attention *m = module;
    return m->entry->forward(m, x);
}

heed_attention_check_args attention_args(struct attention *m)
{
    heed_attention_check_args args = m->entry->options;
    args.f = attention_forward;
    args.context = args.module = m;
    return args;
}
