/* Self-attention: softmax(q k^T / sqrt(d_k)) v (Vaswani et al., 2017, section 3.2.1). */

#include "self_attention.h"

#include <math.h>

#include "../../autograd/ops/elementwise.h"
#include "../../autograd/ops/masking.h"
#include "../../autograd/ops/matmul.h"
#include "../../autograd/ops/softmax.h"
#include "../../autograd/ops/view.h"
#include "../../tensor/read.h"
#include "../arguments.h"

static void forget_weights(void *module)
{
    struct heed_self_attention *m = module;
    heed_keep_copy(&m->attention_percent, NULL);
}

static heed_tensor *forward(void *module, heed_tensor *x)
{
    return heed_self_attention_forward(module, x, NULL);
}

static const heed_module_kind kind = {.name = "SelfAttention",
                                      .size = sizeof(struct heed_self_attention),
                                      .destroy = forget_weights,
                                      .forward = forward};

struct heed_self_attention *heed_self_attention_new_with(int64_t d_model, int row_dim, int col_dim,
                                                         heed_self_attention_options options)
{
    const int64_t head_dim = options.head_dim != 0 ? options.head_dim : d_model;
    const heed_named_size sizes[] = {{"d_model", d_model}, {"head_dim", head_dim}};
    if (heed_check_positive("self_attention", sizes, 2) != HEED_OK) {
        return NULL;
    }
    struct heed_self_attention *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    const heed_linear_options no_bias = {.no_bias = true};
    heed_add_child(m, "W_q", &m->W_q, heed_linear_new_with(d_model, head_dim, no_bias));
    heed_add_child(m, "W_k", &m->W_k, heed_linear_new_with(d_model, head_dim, no_bias));
    heed_add_child(m, "W_v", &m->W_v, heed_linear_new_with(d_model, head_dim, no_bias));
    m->row_dim = row_dim;
    m->col_dim = col_dim;
    return heed_module_ready(m);
}

struct heed_self_attention *heed_self_attention_new(int64_t d_model, int row_dim, int col_dim)
{
    return heed_self_attention_new_with(d_model, row_dim, col_dim,
                                        (heed_self_attention_options){0});
}

/* The tutorial's forward, line for line, except that the tutorial fills with -1e9. To softmax that
 * is -inf, to the bit, unless a row is blocked everywhere: there -1e9 gives equal weights to all
 * tokens, and safe_softmax with -inf gives zeros. In self-attention both encodings are
 * token_encodings. */
static heed_tensor *attend(const heed_attention_head *m, heed_tensor *encodings_for_q,
                           heed_tensor *encodings_for_kv, heed_tensor *block_mask,
                           heed_tensor **weights)
{
    heed_tensor *q = heed_linear_forward(m->W_q, encodings_for_q);
    heed_tensor *k = heed_linear_forward(m->W_k, encodings_for_kv);
    heed_tensor *v = heed_linear_forward(m->W_v, encodings_for_kv);

    heed_tensor *sims = heed_matmul(q, heed_transpose(k, m->row_dim, m->col_dim));
    heed_tensor *scaled_sims = heed_div_scalar(sims, sqrt((double)heed_size(k, m->col_dim)));
    if (block_mask != NULL) {
        scaled_sims = heed_masked_fill(scaled_sims, block_mask, -HUGE_VAL);
    }
    heed_tensor *attention_percent = heed_safe_softmax(scaled_sims, m->col_dim);
    *weights = attention_percent;
    return heed_matmul(attention_percent, v);
}

/* Both masks as one; NULL where there is none. */
static heed_tensor *join_masks(heed_tensor *block_mask, heed_tensor *key_padding_mask)
{
    if (key_padding_mask == NULL) {
        return block_mask;
    }
    heed_tensor *padding = heed_unsqueeze(key_padding_mask, -2);
    return block_mask != NULL ? heed_logical_or(block_mask, padding) : padding;
}

heed_tensor *heed_attention_head_forward(const heed_attention_head *m, heed_tensor *encodings_for_q,
                                         heed_tensor *encodings_for_kv, heed_tensor *block_mask,
                                         heed_tensor *key_padding_mask, heed_tensor **weights)
{
    heed_tensor *percent = NULL;
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *mask = join_masks(block_mask, key_padding_mask);
    heed_tensor *output = attend(m, encodings_for_q, encodings_for_kv, mask, &percent);
    if (m->kept != NULL) {
        heed_keep_copy(m->kept, percent);
    }
    if (weights != NULL) {
        *weights = heed_scope_keep(&scope, percent);
    }
    return heed_scope_end_with(&scope, output);
}

heed_tensor *heed_self_attention_forward_weights(struct heed_self_attention *m,
                                                 heed_tensor *token_encodings,
                                                 heed_tensor *block_mask, heed_tensor **weights)
{
    static const char function[] = "self_attention_forward";
    if (weights != NULL) {
        *weights = NULL;
    }
    if (heed_forward_check(function, m) != HEED_OK ||
        heed_check_encodings(function, "token_encodings", token_encodings, m->row_dim, m->col_dim,
                             "d_model", m->W_q->weight) != HEED_OK ||
        heed_check_block_mask(function, block_mask, token_encodings, token_encodings) != HEED_OK) {
        return NULL;
    }
    const heed_attention_head head = {m->W_q,     m->W_k,
                                      m->W_v,     m->row_dim,
                                      m->col_dim, m->keep_weights ? &m->attention_percent : NULL};
    return heed_attention_head_forward(&head, token_encodings, token_encodings, block_mask, NULL,
                                       weights);
}

heed_tensor *heed_self_attention_forward(struct heed_self_attention *m,
                                         heed_tensor *token_encodings, heed_tensor *block_mask)
{
    return heed_self_attention_forward_weights(m, token_encodings, block_mask, NULL);
}
