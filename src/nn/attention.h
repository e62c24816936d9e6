/* Attention as in Josh Starmer's lesson "Coding Self-Attention in PyTorch": SelfAttention and
 * MultiHead, with the paper's W_o, and the masks they take. Tokens are blocked where a block_mask,
 * bool, is true, as in nn.MultiheadAttention (nn/torch_multihead_attention.h, which explains when
 * to use which); docs/masks.md has the other kinds of masks. */
#ifndef HEED_NN_ATTENTION_H
#define HEED_NN_ATTENTION_H

#include "layers.h"

HEED_BEGIN_DECLS

/* ---- self-attention ---- */

struct heed_self_attention {
    heed_module module;
    struct heed_linear *W_q, *W_k, *W_v; /* each (head_dim, d_model), without bias */
    int row_dim, col_dim;                /* the dims of tokens and of features */
    bool keep_weights;                   /* store attention_percent below on each forward */
    heed_tensor *attention_percent;      /* a detached copy, until the next one; or NULL */
};

typedef struct heed_self_attention_options {
    int64_t head_dim; /* of queries, keys and values; 0: d_model */
    int64_t kv_dim;   /* features of what heed_cross_attention_forward attends to; 0: d_model */
} heed_self_attention_options;

/* heed_self_attention_new: like the tutorial's SelfAttention(d_model, row_dim, col_dim)
 *
 * row_dim and col_dim are the dims of tokens and features, which must be the last two: 0 and 1 for
 * (T, d_model), 1 and 2 for (B, T, d_model), -2 and -1 for either; the forward checks them. W_q,
 * W_k and W_v are drawn in that order.
 *
 * HEED_ERR_VALUE: d_model is below 1, or head_dim or kv_dim is negative. */
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
 * A fully masked row gives zeros and zero gradients. (The tutorial's class, which fills with -1e9,
 * gives all tokens in such a row equal weights; PyTorch's softmax with -inf gives NaN.)
 * heed_self_attention_forward_weights: also sets *weights to softmax(...), of shape (..., T, T), in
 * the caller's scope and with gradients, or to NULL on error; weights may be NULL.
 * heed_cross_attention_forward: the same with keys and values of another sequence, such as an
 * encoder's: encodings_for_kv (..., S, kv_dim), block_mask (..., T, S).
 *
 * HEED_ERR_DIM: row_dim and col_dim are not the last two dims of token_encodings. HEED_ERR_SHAPE:
 * fewer than 2 dims, the last dim is not d_model, the batch dims differ, or the mask does not fit.
 * HEED_ERR_DTYPE: the mask is not bool, or the encodings do not have the parameters' dtype. */
heed_tensor *heed_self_attention_forward(struct heed_self_attention *m,
                                         heed_tensor *token_encodings, heed_tensor *block_mask);
heed_tensor *heed_self_attention_forward_weights(struct heed_self_attention *m,
                                                 heed_tensor *token_encodings,
                                                 heed_tensor *block_mask, heed_tensor **weights);
heed_tensor *heed_cross_attention_forward(struct heed_self_attention *m,
                                          heed_tensor *encodings_for_q,
                                          heed_tensor *encodings_for_kv, heed_tensor *block_mask);

/* ---- multi-head attention ---- */

struct heed_multi_head {
    heed_module module;
    struct heed_module_list *heads; /* of struct heed_self_attention */
    struct heed_linear *W_o;        /* (d_model, heads * head_dim), without bias */
    int row_dim, col_dim;
};

typedef struct heed_multi_head_options {
    int64_t head_dim; /* 0: d_model, as in the tutorial; the paper uses d_model / heads */
} heed_multi_head_options;

/* heed_multi_head_new: draws `heads` heads in order, then W_o. Parameters are named
 * heads.0.W_q.weight ... W_o.weight. row_dim and col_dim are as for SelfAttention.
 *
 * HEED_ERR_VALUE: d_model or heads is below 1, or head_dim is negative. */
struct heed_multi_head *heed_multi_head_new(int64_t d_model, int heads, int row_dim, int col_dim);
struct heed_multi_head *heed_multi_head_new_with(int64_t d_model, int heads, int row_dim,
                                                 int col_dim, heed_multi_head_options options);

/* heed_multi_head_forward
 *
 *   token_encodings (..., T, d_model)   block_mask bool, broadcasts to (..., T, T), or NULL
 *   ->   (..., T, d_model)
 *
 *   y = cat(head_0(x), head_1(x), ...) W_o^T
 *
 * heed_multi_head_head: one head; with heed_multi_head_head(m, 0)->keep_weights = true, the next
 * forward keeps its attention.
 * Errors are those of heed_self_attention_forward; HEED_ERR_INDEX: head is outside [0, heads). */
heed_tensor *heed_multi_head_forward(struct heed_multi_head *m, heed_tensor *token_encodings,
                                     heed_tensor *block_mask);
struct heed_self_attention *heed_multi_head_head(struct heed_multi_head *m, int head);

/* ---- masks ---- */

/* heed_causal_block_mask: (length, length), true above the diagonal: blocks attention to later
 * tokens, like torch.tril(torch.ones(n, n)) == 0.
 *
 * heed_padding_block_mask: blocks the padding of sequences of different lengths, for all queries
 *
 *   lengths (...) i64   ->   (..., 1, max_length), true where column >= length
 *
 * lengths (B) give (B, 1, T), which broadcasts to a batch's scores (B, T, T); heed_logical_or
 * combines it with other block masks. For a key_padding_mask (B, T), use heed_squeeze(mask, -2).
 * Padding tokens still attend like the others; ignore their outputs.
 *
 * HEED_ERR_SHAPE: a size is negative, or lengths have more than 6 dims. HEED_ERR_DTYPE: lengths are
 * not i64. HEED_ERR_VALUE: a length is outside [0, max_length]. HEED_ERR_OVERFLOW: more elements
 * than memory can address. */
heed_tensor *heed_causal_block_mask(int64_t length);
heed_tensor *heed_padding_block_mask(heed_tensor *lengths, int64_t max_length);

HEED_END_DECLS
#endif
