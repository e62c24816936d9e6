/* PyTorch's multi-head attention: with its parameters, its packed weights and its masks.
 *
 * Two modules have several heads, and compute different things:
 *
 *   struct heed_multihead_attention   nn.MultiheadAttention: queries may attend to another
 *                                     sequence, heads share out embed_dim, projections have biases;
 *                                     dropout, torch's masks. Use it to load what PyTorch trained,
 *                                     or to build what torch.nn.Transformer is made of.
 *   struct heed_multi_head            (nn/attention/multi_head.h) the tutorial's: self-attention
 *                                     only; each head is a whole SelfAttention with its own
 *                                     weights, without biases, and W_o mixes them. Use it to learn,
 *                                     and to look into single heads.
 */
#ifndef HEED_NN_TORCH_MULTIHEAD_ATTENTION_H
#define HEED_NN_TORCH_MULTIHEAD_ATTENTION_H

#include "../layers/linear.h"

HEED_BEGIN_DECLS

/* The weights of the projections of q, k and v are one packed tensor, or three where kdim or vdim
 * is not embed_dim; those that are not there are NULL. */
struct heed_multihead_attention {
    heed_module module;
    heed_tensor *in_proj_weight;  /* (3 embed_dim, embed_dim): the rows of q, of k, of v */
    heed_tensor *q_proj_weight;   /* (embed_dim, embed_dim) */
    heed_tensor *k_proj_weight;   /* (embed_dim, kdim) */
    heed_tensor *v_proj_weight;   /* (embed_dim, vdim) */
    heed_tensor *in_proj_bias;    /* (3 embed_dim), or NULL */
    heed_tensor *bias_k, *bias_v; /* (1, 1, embed_dim): one more key and value; or NULL */
    struct heed_linear *out_proj;
    int64_t embed_dim, kdim, vdim, head_dim;
    int num_heads;
    double dropout; /* of weights, while training */
    bool batch_first, add_zero_attn;
    bool keep_weights;              /* store attention_percent below at each forward */
    heed_tensor *attention_percent; /* (N, num_heads, L, S), a detached copy, or NULL */
};

/* As torch's arguments; zero is torch's default. */
typedef struct heed_multihead_attention_options {
    int64_t kdim, vdim; /* features of keys and values; 0: embed_dim */
    double dropout;
    bool no_bias;       /* torch's bias=False */
    bool batch_first;   /* (N, L, E), not (L, N, E) */
    bool add_bias_kv;   /* a learned key and value behind all others */
    bool add_zero_attn; /* a key and value of zeros behind all others */
} heed_multihead_attention_options;

/* heed_multihead_attention_new: as torch.nn.MultiheadAttention(embed_dim, num_heads), with its
 * names: in_proj_weight (or q_proj_weight, k_proj_weight, v_proj_weight where kdim or vdim is not
 * embed_dim), in_proj_bias, bias_k, bias_v, out_proj.weight, out_proj.bias.
 *
 * Drawn as torch draws it: out_proj as a Linear, whose bias is then zeroed; the in-projections
 * Xavier-uniform, the packed ones as the one matrix that they are; in_proj_bias zeros.
 *
 * HEED_ERR_VALUE: a size below 1, an embed_dim that num_heads does not divide, dropout outside [0,
 * 1]. */
struct heed_multihead_attention *heed_multihead_attention_new(int64_t embed_dim, int num_heads);
struct heed_multihead_attention *
heed_multihead_attention_new_with(int64_t embed_dim, int num_heads,
                                  heed_multihead_attention_options options);

/* What one forward may be told; zero is torch's default. */
typedef struct heed_attention_options {
    heed_tensor *key_padding_mask; /* (N, S), (S) without a batch */
    heed_tensor *attn_mask; /* (L, S), or (N num_heads, L, S): the heads of a sentence together */
    bool is_causal;         /* query i sees the keys 0 ... i only */
    bool weights_per_head;  /* torch's average_attn_weights=False */
} heed_attention_options;

/* heed_multihead_attention_forward: as torch's forward with need_weights=False
 *
 *   query (L, N, embed_dim)   key (S, N, kdim)   value (S, N, vdim)   ->   (L, N, embed_dim)
 *
 * with batch_first (N, L, ...), (N, S, ...); or without a batch (L, ...), (S, ...).
 *
 *   q = query W_q^T + b_q, and so k and v; head h has features h head_dim ... (h + 1) head_dim - 1
 *   y = cat over h of softmax(q_h k_h^T / sqrt(head_dim), masked) v_h, and out_proj of it
 *
 * Masks of bool say true to BLOCK, as everywhere in nn (heed_causal_block_mask; of
 * heed_padding_block_mask heed_squeeze(mask, -2) is the key_padding_mask), and the inverse of what
 * heed_scaled_dot_product_attention takes: heed_block_mask_of_keep turns a keep mask. Masks of
 * float are added to the scores. All that are given hold. is_causal is one of them and needs no
 * attn_mask, where torch takes it as a hint that attn_mask is causal. The keys of add_bias_kv and
 * add_zero_attn are open to all.
 *
 * A query that may see no key gets weights of zero, and y = out_proj's bias; nothing but that bias
 * learns from it. (torch gives NaN with need_weights=True.)
 *
 * heed_multihead_attention_forward_weights: the same, and *weights is softmax(...), after dropout,
 * as torch returns it: the mean over the heads, (N, L, S), or with weights_per_head (N, num_heads,
 * L, S); without N where there is no batch, and S counts the keys that were added. NULL on error.
 *
 * HEED_ERR_SHAPE: sizes that do not fit each other or the module. HEED_ERR_DTYPE: other dtypes than
 * the parameters', or a mask that is neither bool nor of theirs. */
heed_tensor *heed_multihead_attention_forward(struct heed_multihead_attention *m,
                                              heed_tensor *query, heed_tensor *key,
                                              heed_tensor *value);
heed_tensor *heed_multihead_attention_forward_with(struct heed_multihead_attention *m,
                                                   heed_tensor *query, heed_tensor *key,
                                                   heed_tensor *value,
                                                   heed_attention_options options);
heed_tensor *heed_multihead_attention_forward_weights(struct heed_multihead_attention *m,
                                                      heed_tensor *query, heed_tensor *key,
                                                      heed_tensor *value, heed_tensor **weights);
heed_tensor *heed_multihead_attention_forward_weights_with(struct heed_multihead_attention *m,
                                                           heed_tensor *query, heed_tensor *key,
                                                           heed_tensor *value,
                                                           heed_tensor **weights,
                                                           heed_attention_options options);

HEED_END_DECLS
#endif
