/* Cross-attention with one head: one sequence asks, and another answers, as a decoder asks its
 * encoder. The class of the PyTorch tutorial with two inputs; with several heads, as PyTorch has
 * it, it is heed_multihead_attention_forward(m, query, key, value, ...). */
#ifndef HEED_NN_CROSS_ATTENTION_H
#define HEED_NN_CROSS_ATTENTION_H

#include "../layers/linear.h"

HEED_BEGIN_DECLS

struct heed_cross_attention {
    heed_module module;
    struct heed_linear *W_q;        /* (head_dim, d_model), without bias */
    struct heed_linear *W_k, *W_v;  /* (head_dim, kv_dim), without bias */
    int row_dim, col_dim;           /* of the queries and of the keys */
    bool keep_weights;              /* store attention_percent below at each forward */
    heed_tensor *attention_percent; /* a detached copy, of the last forward; or NULL */
};

typedef struct heed_cross_attention_options {
    int64_t head_dim; /* of queries, keys and values; 0: d_model */
    int64_t kv_dim;   /* features of the sequence that answers; 0: d_model */
} heed_cross_attention_options;

/* heed_cross_attention_new: as SelfAttention(d_model, row_dim, col_dim) of the tutorial
 *
 * row_dim and col_dim are the dims of tokens and features in both sequences: 0 and 1 for (T,
 * d_model), 1 and 2 for (B, T, d_model), -2 and -1 for both. W_q, W_k and W_v are drawn in that
 * order.
 *
 * HEED_ERR_VALUE: d_model below 1, or head_dim or kv_dim below 0. */
struct heed_cross_attention *heed_cross_attention_new(int64_t d_model, int row_dim, int col_dim);
struct heed_cross_attention *heed_cross_attention_new_with(int64_t d_model, int row_dim,
                                                           int col_dim,
                                                           heed_cross_attention_options options);

/* True blocks; both hold. */
typedef struct heed_cross_attention_masks {
    heed_tensor *block_mask;       /* bool, broadcasts to (..., T, S); NULL: none */
    heed_tensor *key_padding_mask; /* bool (..., S): which keys are padding; NULL: none */
} heed_cross_attention_masks;

/* heed_cross_attention_forward
 *
 *   encodings_for_q (..., T, d_model)   encodings_for_kv (..., S, kv_dim)   ->   (..., T, head_dim)
 *
 *   q = encodings_for_q W_q^T   k = encodings_for_kv W_k^T   v = encodings_for_kv W_v^T
 *   attention = softmax(q k^T / sqrt(head_dim), -inf where a mask blocks) v
 *
 * heed_squeeze(heed_padding_block_mask(lengths, S), -2) is a key_padding_mask. A query that may see
 * no key gives zeros, and nothing is learned from it, as in heed_self_attention_forward.
 * heed_cross_attention_forward_weights: the same, and *weights is softmax(...), (..., T, S).
 *
 * HEED_ERR_DIM: row_dim and col_dim are not the last two dims of both. HEED_ERR_SHAPE: other
 * features than the module's, other batch dims, or a mask that does not fit. HEED_ERR_DTYPE: a mask
 * is not bool, or the encodings are not of the parameters' dtype. */
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
