/* Self-attention with one head, like the PyTorch tutorial's class. */
#ifndef HEED_NN_SELF_ATTENTION_H
#define HEED_NN_SELF_ATTENTION_H

#include "layers/linear.h"

HEED_BEGIN_DECLS

struct heed_self_attention {
    heed_module module;
    struct heed_linear *W_q, *W_k, *W_v; /* each (head_dim, d_model), without bias */
    int row_dim, col_dim;                /* the dims of tokens and of features */
    bool keep_weights;                   /* store attention_percent below on each forward */
    heed_tensor *attention_percent;      /* a detached copy from the last forward; or NULL */
};

typedef struct heed_self_attention_options {
    int64_t head_dim; /* of queries, keys and values; 0: d_model */
} heed_self_attention_options;

/* heed_self_attention_new: like the tutorial's SelfAttention(d_model, row_dim, col_dim)
 *
 * row_dim and col_dim are the dims of tokens and features: 0 and 1 for (T, d_model), 1 and 2 for
 * (B, T, d_model); -2 and -1 work for either. W_q, W_k and W_v are drawn in that order.
 *
 * HEED_ERR_VALUE: d_model is below 1, or head_dim is negative. */
struct heed_self_attention *heed_self_attention_new(int64_t d_model, int row_dim, int col_dim);
struct heed_self_attention *heed_self_attention_new_with(int64_t d_model, int row_dim, int col_dim,
                                                         heed_self_attention_options options);

/* heed_self_attention_forward
 *
 *   token_encodings (..., T, d_model)   block_mask bool, broadcasts to (..., T, T), or NULL
 *   ->   (..., T, head_dim)
 *
 *   q = x W_q^T   k = x W_k^T   v = x W_v^T
 *   attention = softmax(q k^T / sqrt(head_dim), -inf where block_mask) v
 *
 * Tokens are blocked where the mask is true; nn/mask.h creates masks and converts other
 * kinds. A fully masked row gives zeros and zero gradients. (The tutorial's class, which fills with
 * -1e9, gives all tokens in such a row equal weights; PyTorch's softmax with -inf gives NaN.)
 * heed_self_attention_forward_weights: also sets *weights to softmax(...), of shape (..., T, T).
 *
 * HEED_ERR_DIM: row_dim and col_dim are not the last two dims of token_encodings. HEED_ERR_SHAPE:
 * the last dim is not d_model, or the mask does not fit. HEED_ERR_DTYPE: the mask is not bool. */
heed_tensor *heed_self_attention_forward(struct heed_self_attention *m,
                                         heed_tensor *token_encodings, heed_tensor *block_mask);
heed_tensor *heed_self_attention_forward_weights(struct heed_self_attention *m,
                                                 heed_tensor *token_encodings,
                                                 heed_tensor *block_mask, heed_tensor **weights);

HEED_END_DECLS
#endif
