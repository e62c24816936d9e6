/* Cross-attention with one head: the queries come from one sequence and the keys and values from
 * another, such as a decoder's and an encoder's. This is the PyTorch tutorial's class with two
 * inputs; for several heads, as in PyTorch, use heed_multihead_attention_forward(m, query, key,
 * value, ...). */
#ifndef HEED_NN_CROSS_ATTENTION_H
#define HEED_NN_CROSS_ATTENTION_H

#include "layers/linear.h"

HEED_BEGIN_DECLS

struct heed_cross_attention {
    heed_module module;
    struct heed_linear *W_q;        /* (head_dim, d_model), without bias */
    struct heed_linear *W_k, *W_v;  /* (head_dim, kv_dim), without bias */
    int row_dim, col_dim;           /* the dims of tokens and of features */
    bool keep_weights;              /* store attention_percent below on each forward */
    heed_tensor *attention_percent; /* a detached copy from the last forward; or NULL */
};

typedef struct heed_cross_attention_options {
    int64_t head_dim; /* of queries, keys and values; 0: d_model */
    int64_t kv_dim;   /* features of encodings_for_kv; 0: d_model */
} heed_cross_attention_options;

/* heed_cross_attention_new: like the tutorial's SelfAttention(d_model, row_dim, col_dim)
 *
 * row_dim and col_dim are the dims of tokens and features in both sequences: 0 and 1 for (T,
 * d_model), 1 and 2 for (B, T, d_model); -2 and -1 work for either. W_q, W_k and W_v are drawn in
 * that order.
 *
 * HEED_ERR_VALUE: d_model is below 1, or head_dim or kv_dim is negative. */
struct heed_cross_attention *heed_cross_attention_new(int64_t d_model, int row_dim, int col_dim);
struct heed_cross_attention *heed_cross_attention_new_with(int64_t d_model, int row_dim,
                                                           int col_dim,
                                                           heed_cross_attention_options options);

/* True blocks; if both are given, both apply. */
typedef struct heed_cross_attention_masks {
    heed_tensor *block_mask;       /* bool, broadcasts to (..., T, S); NULL: none */
    heed_tensor *key_padding_mask; /* bool (..., S): true for padding keys; NULL: none */
} heed_cross_attention_masks;

/* heed_cross_attention_forward
 *
 *   encodings_for_q (..., T, d_model)   encodings_for_kv (..., S, kv_dim)   ->   (..., T, head_dim)
 *
 *   q = encodings_for_q W_q^T   k = encodings_for_kv W_k^T   v = encodings_for_kv W_v^T
 *   attention = softmax(q k^T / sqrt(head_dim), -inf where a mask blocks) v
 *
 * heed_squeeze(heed_padding_block_mask(lengths, S), -2) creates a key_padding_mask. A query that
 * may not attend to any key gives zeros and zero gradients, as in heed_self_attention_forward.
 * heed_cross_attention_forward_weights: also sets *weights to softmax(...), of shape (..., T, S).
 *
 * HEED_ERR_DIM: row_dim and col_dim are not the last two dims of both inputs. HEED_ERR_SHAPE: the
 * features do not match the module, the batch dims differ, or a mask does not fit. HEED_ERR_DTYPE:
 * a mask is not bool, or the encodings do not have the parameters' dtype. */
heed_tensor *heed_cross_attention_forward(struct heed_cross_attention *m,
                                          heed_tensor *encodings_for_q,
                                          heed_tensor *encodings_for_kv);
heed_tensor *heed_cross_attention_forward_with(struct heed_cross_attention *m,
                                               heed_tensor *encodings_for_q,
                                               heed_tensor *encodings_for_kv,
                                               heed_cross_attention_masks masks);
heed_tensor *heed_cross_attention_forward_weights(struct heed_cross_attention *m,
                                                  heed_tensor *encodings_for_q,
                                                  heed_tensor *encodings_for_kv,
                                                  heed_tensor **weights);
heed_tensor *heed_cross_attention_forward_weights_with(struct heed_cross_attention *m,
                                                       heed_tensor *encodings_for_q,
                                                       heed_tensor *encodings_for_kv,
                                                       heed_tensor **weights,
                                                       heed_cross_attention_masks masks);

HEED_END_DECLS
#endif
