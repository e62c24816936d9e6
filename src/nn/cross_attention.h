/* CrossAttention: SelfAttention (nn/attention.h) with two inputs. */
#ifndef HEED_NN_CROSS_ATTENTION_H
#define HEED_NN_CROSS_ATTENTION_H

#include "attention.h"

HEED_BEGIN_DECLS

/* SelfAttention whose queries come from one sequence, such as a decoder's, and whose keys and
 * values come from another, such as an encoder's. m->head.W_k and W_v are (head_dim, kv_dim);
 * row_dim and col_dim are -2 and -1. m->head.keep_weights keeps attention_percent there. */
struct heed_cross_attention {
    struct heed_self_attention head;
};

typedef struct heed_cross_attention_options {
    int64_t head_dim; /* of queries, keys and values; 0: d_model */
    int64_t kv_dim;   /* features of encodings_for_kv; 0: d_model */
} heed_cross_attention_options;

/* heed_cross_attention_new: W_q, W_k and W_v are drawn in that order. Tokens and features are the
 * last two dims. For several heads, as in PyTorch, use nn/torch_multihead_attention.h.
 *
 * HEED_ERR_VALUE: d_model is below 1, or head_dim or kv_dim is negative. */
struct heed_cross_attention *heed_cross_attention_new(int64_t d_model);
struct heed_cross_attention *heed_cross_attention_new_with(int64_t d_model,
                                                           heed_cross_attention_options options);

/* heed_cross_attention_forward
 *
 *   encodings_for_q (..., T, d_model)   encodings_for_kv (..., S, kv_dim)
 *   block_mask bool, broadcasts to (..., T, S), or NULL   ->   (..., T, head_dim)
 *
 *   q = encodings_for_q W_q^T   k = encodings_for_kv W_k^T   v = encodings_for_kv W_v^T
 *   then as heed_self_attention_forward: a query whose keys are all blocked gives zeros
 *
 * Padding of encodings_for_kv is masked by heed_padding_block_mask(lengths, S), or, given a
 * key_padding_mask (..., S), by heed_unsqueeze(key_padding_mask, -2). To apply several masks,
 * combine them:
 *
 *     heed_tensor *padding = heed_padding_block_mask(lengths, S); // (B, 1, S)
 *     heed_cross_attention_forward(m, x, memory, heed_logical_or(block_mask, padding));
 *
 * heed_cross_attention_forward_weights: also sets *weights to softmax(...), of shape (..., T, S);
 * weights may be NULL.
 *
 * HEED_ERR_SHAPE: fewer than 2 dims, the features do not match the module, the batch dims differ,
 * or the mask does not fit. HEED_ERR_DTYPE: the mask is not bool, or the encodings do not have the
 * parameters' dtype. */
heed_tensor *heed_cross_attention_forward(struct heed_cross_attention *m,
                                          heed_tensor *encodings_for_q,
                                          heed_tensor *encodings_for_kv, heed_tensor *block_mask);
heed_tensor *heed_cross_attention_forward_weights(struct heed_cross_attention *m,
                                                  heed_tensor *encodings_for_q,
                                                  heed_tensor *encodings_for_kv,
                                                  heed_tensor *block_mask, heed_tensor **weights);

HEED_END_DECLS
#endif
