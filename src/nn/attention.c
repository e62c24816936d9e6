/* Attention: softmax(q k^T / sqrt(d_k)) v (Vaswani et al., 2017, section 3.2). */

#include "attention.h"

#include <math.h>
#include <string.h>

#include "../autograd/ops/operations.h"
#include "../tensor/alloc.h"
#include "../tensor/read.h"
#include "../tensor/shape.h"
#include "arguments.h"
#include "attention_head.h"

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

/* ---- what SelfAttention shares with CrossAttention (cross_attention.c) ---- */

HEED_FORGET_WEIGHTS(forget_weights, struct heed_self_attention) /* releases attention_percent */

void *heed_attention_head_new(const heed_module_kind *kind, const char *function, int64_t d_model,
                              int64_t kv_dim, int64_t head_dim, int row_dim, int col_dim)
{
    head_dim = head_dim != 0 ? head_dim : d_model;
    const heed_named_size sizes[] = {
        {"d_model", d_model}, {"head_dim", head_dim}, {"kv_dim", kv_dim}};
    if (heed_check_positive(function, sizes, kv_dim != d_model ? 3 : 2) != HEED_OK) {
        return NULL;
    }
    struct heed_self_attention *m = heed_module_new(kind);
    if (m == NULL) {
        return NULL;
    }
    const heed_linear_options no_bias = {.no_bias = true};
    HEED_CHILD(m, W_q, heed_linear_new_with(d_model, head_dim, no_bias));
    HEED_CHILD(m, W_k, heed_linear_new_with(kv_dim, head_dim, no_bias));
    HEED_CHILD(m, W_v, heed_linear_new_with(kv_dim, head_dim, no_bias));
    m->row_dim = row_dim;
    m->col_dim = col_dim;
    return heed_module_ready(m);
}

static heed_status check(heed_head_names name, const struct heed_self_attention *m,
                         const heed_tensor *for_q, const heed_tensor *for_kv,
                         const heed_tensor *block_mask)
{
    const heed_dtype dtype = m->W_q->weight->dtype;
    if (heed_check_features(name.function, name.for_q, for_q, "d_model", m->W_q->in_features,
                            dtype) != HEED_OK ||
        (name.for_kv != NULL && heed_check_features(name.function, name.for_kv, for_kv, "kv_dim",
                                                    m->W_k->in_features, dtype) != HEED_OK)) {
        return heed_error_pending();
    }
    const int ndim = for_q->ndim;
    if (ndim < 2) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: %s %s must be (..., tokens, d_model), at least 2 dims", name.function,
                         name.for_q, HEED_TEXT(for_q));
    }
    /* With other dims the result would be wrong: 0 and 1 of (B, T, d) mix batch and tokens. */
    const int row = m->row_dim < 0 ? m->row_dim + ndim : m->row_dim;
    const int column = m->col_dim < 0 ? m->col_dim + ndim : m->col_dim;
    if (row != ndim - 2 || column != ndim - 1) {
        return heed_fail(HEED_ERR_DIM,
                         "%s: row_dim %d and col_dim %d are not the last two of the %d dims of %s; "
                         "create the module with -2 and -1",
                         name.function, m->row_dim, m->col_dim, ndim, name.for_q);
    }
    if (for_kv->ndim != ndim ||
        memcmp(for_kv->shape, for_q->shape, sizeof *for_q->shape * (size_t)(ndim - 2)) != 0) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: %s %s and %s %s: all dims but the last two must be equal; repeat one "
                         "of them with heed_expand",
                         name.function, name.for_q, HEED_TEXT(for_q), name.for_kv,
                         HEED_TEXT(for_kv));
    }
    if (block_mask != NULL && block_mask->dtype != HEED_BOOL) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: block_mask is %s, not bool (true blocks); nn/mask.h converts other "
                         "masks",
                         name.function, heed_dtype_name(block_mask->dtype));
    }
    heed_shape scores = heed_shape_of_tensor(for_q);
    scores.size[ndim - 1] = for_kv->shape[ndim - 2];
    if (block_mask != NULL && !heed_broadcasts_to(block_mask, &scores)) {
        return heed_fail(
            HEED_ERR_SHAPE,
            "%s: block_mask %s does not broadcast to the scores %s, (..., queries, keys)",
            name.function, HEED_TEXT(block_mask), heed_shape_text(scores.ndim, scores.size).text);
    }
    return HEED_OK;
}

/* attend, in a scope of its own, which frees the values that no derivative reads. */
heed_tensor *heed_attention_head_forward(heed_head_names name, struct heed_self_attention *m,
                                         heed_tensor *for_q, heed_tensor *for_kv,
                                         heed_tensor *block_mask, heed_tensor **weights)
{
    HEED_FORWARD(m);
    heed_tensor *attention_percent = NULL;
    if (weights != NULL) {
        *weights = NULL;
    }
    if (heed_forward_check(name.function, m) != HEED_OK ||
        check(name, m, for_q, for_kv, block_mask) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *output = attend(m, for_q, for_kv, block_mask, &attention_percent);
    if (m->keep_weights) {
        heed_release(m->attention_percent);
        m->attention_percent = heed_retain(heed_clone(heed_detach(attention_percent)));
    }
    if (weights != NULL) {
        *weights = heed_scope_keep(&scope, attention_percent);
    }
    return heed_scope_end_with(&scope, output);
}

/* ---- SelfAttention ---- */

static heed_tensor *self_forward(void *module, heed_tensor *x)
{
    return heed_self_attention_forward(module, x, NULL);
}

static const heed_module_kind self_kind = {.name = "SelfAttention",
                                           .size = sizeof(struct heed_self_attention),
                                           .destroy = forget_weights,
                                           .forward = self_forward};

struct heed_self_attention *heed_self_attention_new(int64_t d_model, int row_dim, int col_dim)
{
    return heed_self_attention_new_with(d_model, row_dim, col_dim,
                                        (heed_self_attention_options){0});
}

struct heed_self_attention *heed_self_attention_new_with(int64_t d_model, int row_dim, int col_dim,
                                                         heed_self_attention_options options)
{
    return heed_attention_head_new(&self_kind, "self_attention", d_model, d_model, options.head_dim,
                                   row_dim, col_dim);
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
    const heed_head_names name = {"self_attention_forward", "token_encodings", NULL};
    return heed_attention_head_forward(name, m, token_encodings, token_encodings, block_mask,
                                       weights);
}

/* ---- MultiHead ---- */

static heed_tensor *multi_forward(void *module, heed_tensor *x)
{
    return heed_multi_head_forward(module, x, NULL);
}

static const heed_module_kind multi_kind = {
    .name = "MultiHead", .size = sizeof(struct heed_multi_head), .forward = multi_forward};

struct heed_multi_head *heed_multi_head_new(int64_t d_model, int heads, int row_dim, int col_dim)
{
    return heed_multi_head_new_with(d_model, heads, row_dim, col_dim, (heed_multi_head_options){0});
}

struct heed_multi_head *heed_multi_head_new_with(int64_t d_model, int heads, int row_dim,
                                                 int col_dim, heed_multi_head_options options)
{
    const int64_t head_dim = options.head_dim != 0 ? options.head_dim : d_model;
    const heed_named_size sizes[] = {
        {"d_model", d_model}, {"heads", heads}, {"head_dim", head_dim}};
    if (heed_check_positive("multi_head", sizes, 3) != HEED_OK) {
        return NULL;
    }
    struct heed_multi_head *m = heed_module_new(&multi_kind);
    if (m == NULL) {
        return NULL;
    }
    const heed_self_attention_options head = {.head_dim = head_dim};
    HEED_CHILD(m, heads, heed_module_list_new());
    for (int i = 0; i < heads && !heed_error_pending(); i++) {
        heed_module_list_append(m->heads,
                                heed_self_attention_new_with(d_model, row_dim, col_dim, head));
    }
    /* cannot overflow: weights with that many rows in all have been allocated */
    const int64_t width = heed_error_pending() ? 0 : heads * head_dim;
    HEED_CHILD(m, W_o,
               heed_linear_new_with(width, d_model, (heed_linear_options){.no_bias = true}));
    m->row_dim = row_dim;
    m->col_dim = col_dim;
    return heed_module_ready(m);
}

struct heed_self_attention *heed_multi_head_head(struct heed_multi_head *m, int head)
{
    return heed_module_check("multi_head_head", m) == HEED_OK ? heed_module_list_at(m->heads, head)
                                                              : NULL;
}

heed_tensor *heed_multi_head_forward(struct heed_multi_head *m, heed_tensor *token_encodings,
                                     heed_tensor *block_mask)
{
    HEED_FORWARD(m);
    const heed_head_names name = {"multi_head_forward", "token_encodings", NULL};
    if (heed_forward_check(name.function, m) != HEED_OK) {
        return NULL;
    }
    const int heads = heed_module_list_count(m->heads);
    heed_tensor **outputs = heed_alloc((size_t)heads * sizeof *outputs);
    if (outputs == NULL) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    for (int i = 0; i < heads; i++) {
        outputs[i] =
            heed_attention_head_forward(name, heed_module_list_at(m->heads, i), token_encodings,
                                        token_encodings, block_mask, NULL);
    }
    heed_tensor *y = heed_linear_forward(m->W_o, heed_cat(outputs, heads, m->col_dim));
    heed_free(outputs);
    return heed_scope_end_with(&scope, y);
}
