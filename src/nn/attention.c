/* Attention: softmax(q k^T / sqrt(d_k)) v (Vaswani et al., 2017, section 3.2), and its masks. */

#include "nn.h"

#include <math.h>
#include <string.h>

/* The tutorial's SelfAttention.forward, line for line. In self-attention, both encodings are the
 * same tensor. The tutorial fills with -1e9; -inf gives the same weights, except that safe_softmax
 * then gives zeros in a fully masked row, not equal weights. */
static heed_tensor *attend(const struct heed_self_attention *m, heed_tensor *encodings_for_q,
                           heed_tensor *encodings_for_kv, heed_tensor *block_mask,
                           heed_tensor **attention_percent)
{
    heed_tensor *q = heed_linear_forward(m->W_q, encodings_for_q);
    heed_tensor *k = heed_linear_forward(m->W_k, encodings_for_kv);
    heed_tensor *v = heed_linear_forward(m->W_v, encodings_for_kv);

    heed_tensor *sims = heed_matmul(q, heed_transpose(k, m->row_dim, m->col_dim));
    heed_tensor *scaled_sims = heed_div_scalar(sims, sqrt((double)heed_size(k, m->col_dim)));
    if (block_mask != NULL) {
        scaled_sims = heed_masked_fill(scaled_sims, block_mask, (double)-INFINITY);
    }
    *attention_percent = heed_safe_softmax(scaled_sims, m->col_dim);
    return heed_matmul(*attention_percent, v);
}

/* ---- SelfAttention, and the same with keys and values of another sequence ---- */

static void forget_weights(void *module)
{
    heed_release(((struct heed_self_attention *)module)->attention_percent);
}

static heed_tensor *self_forward(void *module, heed_tensor *x)
{
    return heed_self_attention_forward(module, x, NULL);
}

static const heed_module_kind self_kind = {.name = "SelfAttention",
                                           .size = sizeof(struct heed_self_attention),
                                           .destroy = forget_weights,
                                           .forward = self_forward};

struct heed_self_attention *(heed_self_attention_new)(heed_self_attention_new_args args)
{
    const int64_t d_model = args.d_model;
    const int64_t head_dim = args.head_dim != 0 ? args.head_dim : d_model;
    const int64_t kv_dim = args.kv_dim != 0 ? args.kv_dim : d_model;
    heed_check_positive("self_attention", "d_model", d_model);
    heed_check_positive("self_attention", "head_dim", head_dim);
    heed_check_positive("self_attention", "kv_dim", kv_dim);
    struct heed_self_attention *m = heed_module_with(
        &self_kind, &(struct heed_self_attention){
                        .row_dim = args.row_dim,
                        .col_dim = args.row_dim == 0 && args.col_dim == 0 ? 1 : args.col_dim});
    HEED_CHILD(m, W_q, heed_linear_new(d_model, head_dim, .no_bias = true));
    HEED_CHILD(m, W_k, heed_linear_new(kv_dim, head_dim, .no_bias = true));
    HEED_CHILD(m, W_v, heed_linear_new(kv_dim, head_dim, .no_bias = true));
    return heed_module_ready(m);
}

static void check(const char *function, const struct heed_self_attention *m,
                  const heed_tensor *for_q, const heed_tensor *for_kv,
                  const heed_tensor *block_mask)
{
    const char *name = for_q == for_kv ? "token_encodings" : "encodings_for_q";
    heed_check_tensor(function, name, for_q);
    heed_check_tensor(function, "encodings_for_kv", for_kv);
    const int ndim = for_q->ndim;
    if (ndim < 2) {
        heed_raise(HEED_ERR_SHAPE, "%s: %s %s must be (..., tokens, d_model), at least 2 dims",
                   function, name, HEED_TEXT(for_q));
    }
    /* With other dims the result would be wrong: 0 and 1 of (B, T, d) mix batch and tokens. */
    const int row = m->row_dim < 0 ? m->row_dim + ndim : m->row_dim;
    const int column = m->col_dim < 0 ? m->col_dim + ndim : m->col_dim;
    if (row != ndim - 2 || column != ndim - 1) {
        heed_raise(
            HEED_ERR_DIM,
            "%s: row_dim %d and col_dim %d are not the last two of the %d dims of %s; create "
            "the module with -2 and -1",
            function, m->row_dim, m->col_dim, ndim, name);
    }
    if (for_kv->ndim != ndim ||
        memcmp(for_kv->shape, for_q->shape, sizeof *for_q->shape * (size_t)(ndim - 2)) != 0) {
        heed_raise(HEED_ERR_SHAPE,
                   "%s: %s %s and encodings_for_kv %s: all dims but the last two must be equal; "
                   "repeat one of them with heed_expand",
                   function, name, HEED_TEXT(for_q), HEED_TEXT(for_kv));
    }
    if (block_mask != NULL && block_mask->dtype != HEED_BOOL) {
        heed_raise(HEED_ERR_DTYPE,
                   "%s: block_mask is %s, not bool (true blocks); docs/attention.md converts other "
                   "masks",
                   function, heed_dtype_name(block_mask->dtype));
    }
    heed_shape scores = heed_shape_of_tensor(for_q);
    scores.size[ndim - 1] = for_kv->shape[ndim - 2];
    if (block_mask != NULL && !heed_broadcasts_to(block_mask, &scores)) {
        heed_raise(HEED_ERR_SHAPE,
                   "%s: block_mask %s does not broadcast to the scores %s, (..., queries, keys)",
                   function, HEED_TEXT(block_mask), heed_shape_text(scores.ndim, scores.size).text);
    }
}

/* attend, in a scope of its own, which frees the values that no derivative reads. */
static heed_tensor *head_forward(const char *function, struct heed_self_attention *m,
                                 heed_tensor *for_q, heed_tensor *for_kv, heed_tensor *block_mask,
                                 heed_tensor **weights)
{
    if (weights != NULL) {
        *weights = NULL;
    }
    HEED_DOOR(NULL);
    HEED_FORWARD(m);
    heed_forward_check(function, m);
    check(function, m, for_q, for_kv, block_mask);
    HEED_SCOPE(scope);
    heed_tensor *attention_percent;
    heed_tensor *output = attend(m, for_q, for_kv, block_mask, &attention_percent);
    if (m->keep_weights) {
        heed_tensor *kept = heed_retain(heed_clone(heed_detach(attention_percent)));
        heed_release(m->attention_percent);
        m->attention_percent = kept;
    }
    if (weights != NULL) {
        *weights = heed_scope_keep(&scope, attention_percent);
    }
    return heed_scope_keep(&scope, output);
}

heed_tensor *heed_self_attention_forward(struct heed_self_attention *m,
                                         heed_tensor *token_encodings, heed_tensor *block_mask)
{
    return heed_self_attention_forward_weights(m, token_encodings, block_mask, NULL);
}

heed_tensor *heed_self_attention_forward_weights(struct heed_self_attention *m,
                                                 heed_tensor *token_encodings,
                                                 heed_tensor *block_mask, heed_tensor **weights)
{
    return head_forward("self_attention_forward", m, token_encodings, token_encodings, block_mask,
                        weights);
}

heed_tensor *heed_cross_attention_forward(struct heed_self_attention *m,
                                          heed_tensor *encodings_for_q,
                                          heed_tensor *encodings_for_kv, heed_tensor *block_mask)
{
    return head_forward("cross_attention_forward", m, encodings_for_q, encodings_for_kv, block_mask,
                        NULL);
}

/* ---- MultiHead ---- */

static heed_tensor *multi_forward(void *module, heed_tensor *x)
{
    return heed_multi_head_forward(module, x, NULL);
}

static const heed_module_kind multi_kind = {
    .name = "MultiHead", .size = sizeof(struct heed_multi_head), .forward = multi_forward};

struct heed_multi_head *(heed_multi_head_new)(heed_multi_head_new_args args)
{
    const int64_t d_model = args.d_model;
    const int64_t head_dim = args.head_dim != 0 ? args.head_dim : d_model;
    heed_check_positive("multi_head", "d_model", d_model);
    heed_check_positive("multi_head", "heads", args.heads);
    heed_check_positive("multi_head", "head_dim", head_dim);
    struct heed_multi_head *m = heed_module_with(
        &multi_kind, &(struct heed_multi_head){
                         .row_dim = args.row_dim,
                         .col_dim = args.row_dim == 0 && args.col_dim == 0 ? 1 : args.col_dim});
    struct heed_module_list *heads = heed_module_list_new();
    for (int i = 0; i < args.heads && !heed_blocked(); i++) {
        heed_module_list_append(heads, heed_self_attention_new(d_model, args.row_dim, args.col_dim,
                                                               .head_dim = head_dim));
    }
    HEED_CHILD(m, heads, heads);
    /* cannot overflow: weights with that many rows in all have been allocated */
    const int64_t width = heed_blocked() ? 1 : args.heads * head_dim;
    HEED_CHILD(m, W_o, heed_linear_new(width, d_model, .no_bias = true));
    return heed_module_ready(m);
}

struct heed_self_attention *heed_multi_head_head(struct heed_multi_head *m, int head)
{
    HEED_DOOR(NULL);
    heed_module_check("multi_head_head", m);
    return heed_module_list_at(m->heads, head);
}

heed_tensor *heed_multi_head_forward(struct heed_multi_head *m, heed_tensor *token_encodings,
                                     heed_tensor *block_mask)
{
    static const char function[] = "multi_head_forward";
    HEED_DOOR(NULL);
    HEED_FORWARD(m);
    heed_forward_check(function, m);
    const int heads = m->heads->module.count;
    HEED_SCOPE(scope);
    heed_tensor **outputs = heed_scratch((size_t)heads * sizeof *outputs);
    for (int i = 0; i < heads; i++) {
        outputs[i] = head_forward(function, heed_module_list_at(m->heads, i), token_encodings,
                                  token_encodings, block_mask, NULL);
    }
    heed_tensor *y = heed_linear_forward(m->W_o, heed_cat(outputs, heads, m->col_dim));
    return heed_scope_keep(&scope, y);
}

/* ---- masks ---- */

static void check_length(const char *function, int64_t length)
{
    if (length < 0) {
        heed_raise(HEED_ERR_SHAPE, "%s: length is %lld; it must be 0 or more", function,
                   (long long)length);
    }
    heed_check_scope(function);
}

heed_tensor *heed_causal_block_mask(int64_t length)
{
    HEED_DOOR(NULL);
    check_length("causal_block_mask", length);
    return heed_triu(heed_ones(HEED_SHAPE(length, length), HEED_BOOL), 1);
}

/* Checks that lengths are i64, have at most HEED_MAX_DIMS - 2 dims and are in [0, max_length]. */
static void check_lengths(heed_tensor *lengths, int64_t max_length)
{
    heed_check_not_null("padding_block_mask", "lengths", lengths);
    if (lengths->dtype != HEED_I64) {
        heed_raise(HEED_ERR_DTYPE, "padding_block_mask: lengths are %s, not i64",
                   heed_dtype_name(lengths->dtype));
    }
    if (lengths->ndim > HEED_MAX_DIMS - 2) {
        heed_raise(HEED_ERR_SHAPE, "padding_block_mask: lengths %s; they may have at most %d dims",
                   HEED_TEXT(lengths), HEED_MAX_DIMS - 2);
    }
    const int64_t *length = heed_const_data_i64(heed_contiguous(lengths));
    for (int64_t i = 0; i < lengths->numel; i++) {
        if (length[i] < 0 || length[i] > max_length) {
            heed_raise(HEED_ERR_VALUE,
                       "padding_block_mask: length %lld at index %lld is outside [0, %lld]",
                       (long long)length[i], (long long)i, (long long)max_length);
        }
    }
}

heed_tensor *heed_padding_block_mask(heed_tensor *lengths, int64_t max_length)
{
    HEED_DOOR(NULL);
    check_length("padding_block_mask", max_length);
    HEED_SCOPE(scope);
    check_lengths(lengths, max_length);
    heed_tensor *columns = heed_arange(0, (double)max_length, 1, HEED_I64);
    return heed_scope_keep(&scope,
                           heed_ge(columns, heed_unsqueeze(heed_unsqueeze(lengths, -1), -1)));
}
