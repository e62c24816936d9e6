/* Self-attention: softmax(q k^T / sqrt(d_k)) v (Vaswani et al., 2017, section 3.2.1). */

#include "self_attention.h"

#include <math.h>

#include "arguments.h"
#include "attention_head.h"

static void forget_weights(void *module)
{
    struct heed_self_attention *m = module;
    heed_release(m->attention_percent);
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
    HEED_CHILD(m, W_q, heed_linear_new_with(d_model, head_dim, no_bias));
    HEED_CHILD(m, W_k, heed_linear_new_with(d_model, head_dim, no_bias));
    HEED_CHILD(m, W_v, heed_linear_new_with(d_model, head_dim, no_bias));
    m->row_dim = row_dim;
    m->col_dim = col_dim;
    return heed_module_ready(m);
}

struct heed_self_attention *heed_self_attention_new(int64_t d_model, int row_dim, int col_dim)
{
    return heed_self_attention_new_with(d_model, row_dim, col_dim,
                                        (heed_self_attention_options){0});
}

heed_tensor *heed_self_attention_forward_weights(struct heed_self_attention *m,
                                                 heed_tensor *token_encodings,
                                                 heed_tensor *block_mask, heed_tensor **weights)
{
    HEED_FORWARD(m);
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
