/* PyTorch's multi-head attention, with its parameters, packed weights and masks.
 *
 * Heed has two multi-head modules, which compute different things:
 *
 *   struct heed_multihead_attention   nn.MultiheadAttention: queries may attend to another
 *                                     sequence; embed_dim is split among the heads; projections
 *                                     have biases; dropout; torch's masks. Use it to load models
 *                                     trained in PyTorch or to build a torch.nn.Transformer.
 *   struct heed_multi_head            (nn/attention.h) the tutorial's: self-attention only; each
 *                                     head is a complete SelfAttention with its own weights and no
 *                                     biases; W_o combines the heads. Use it to learn, and to
 *                                     inspect single heads.
 */
#ifndef HEED_NN_TORCH_MULTIHEAD_ATTENTION_H
#define HEED_NN_TORCH_MULTIHEAD_ATTENTION_H

#include "layers/linear.h"

HEED_BEGIN_DECLS

/* The weights of the q, k and v projections are one packed tensor, or three if kdim or vdim differs
 * from embed_dim; unused members are NULL. */
struct heed_multihead_attention {
    heed_module module;
    heed_tensor *in_proj_weight;  /* (3 * embed_dim, embed_dim): rows for q, then k, then v */
    heed_tensor *q_proj_weight;   /* (embed_dim, embed_dim) */
    heed_tensor *k_proj_weight;   /* (embed_dim, kdim) */
    heed_tensor *v_proj_weight;   /* (embed_dim, vdim) */
    heed_tensor *in_proj_bias;    /* (3 * embed_dim), or NULL */
    heed_tensor *bias_k, *bias_v; /* (1, 1, embed_dim): an extra key and value; or NULL */
    struct heed_linear *out_proj;
    int64_t embed_dim, kdim, vdim, head_dim;
    int num_heads;
    double dropout; /* of attention weights, in training mode */
    bool batch_first, add_zero_attn;
    bool keep_weights;              /* store attention_percent below on each forward */
    heed_tensor *attention_percent; /* (N, num_heads, L, S), a detached copy, or NULL */
};

/* Torch's arguments; zero selects torch's default. */
typedef struct heed_multihead_attention_options {
    int64_t kdim, vdim; /* features of keys and values; 0: embed_dim */
    double dropout;
    bool no_bias;       /* torch's bias=False */
    bool batch_first;   /* (N, L, E), as most other modules; not (L, N, E) */
    bool add_bias_kv;   /* append a learned key and value */
    bool add_zero_attn; /* append a key and value of zeros */
} heed_multihead_attention_options;

/* heed_multihead_attention_new: as torch.nn.MultiheadAttention(embed_dim, num_heads), with its
 * parameter names: in_proj_weight (or q_proj_weight, k_proj_weight, v_proj_weight if kdim or vdim
 * differs from embed_dim), in_proj_bias, bias_k, bias_v, out_proj.weight, out_proj.bias.
 *
 * Initialised as in torch: out_proj as a Linear whose bias is then zeroed; the in-projections with
 * Xavier-uniform numbers, packed ones as a single matrix; in_proj_bias with zeros.
 *
 * HEED_ERR_VALUE: a size is below 1, num_heads does not divide embed_dim, or dropout is outside [0,
 * 1]. */
struct heed_multihead_attention *heed_multihead_attention_new(int64_t embed_dim, int num_heads);
struct heed_multihead_attention *
heed_multihead_attention_new_with(int64_t embed_dim, int num_heads,
                                  heed_multihead_attention_options options);

/* Options for one forward call; zero selects torch's default. */
typedef struct heed_multihead_attention_forward_options {
    heed_tensor *key_padding_mask; /* (N, S), or (S) without a batch */
    heed_tensor *attn_mask;        /* (L, S), or (N * num_heads, L, S), grouped by sequence */
    bool is_causal;                /* query i attends to keys 0 ... i only */
    bool no_average_attn_weights;  /* torch's average_attn_weights=False */
} heed_multihead_attention_forward_options;

/* heed_multihead_attention_forward: as torch's forward with need_weights=False
 *
 *   query (L, N, embed_dim)   key (S, N, kdim)   value (S, N, vdim)   ->   (L, N, embed_dim)
 *
 * With batch_first, the shapes are (N, L, ...) and (N, S, ...); in training with dropout, y is then
 * a transposed view, as in torch 2 (heed_contiguous copies it). Without a batch, N is absent.
 *
 *   q = query W_q^T + b_q, likewise k and v
 *   q_h = features h * head_dim ... (h + 1) * head_dim - 1 of q, likewise k_h and v_h
 *   y = out_proj(cat over h of softmax(q_h k_h^T / sqrt(head_dim), masked) v_h)
 *
 * In bool masks, true BLOCKS, as everywhere in nn (use heed_causal_block_mask; for a
 * key_padding_mask, heed_squeeze(heed_padding_block_mask(...), -2)). Such masks are the inverse of
 * heed_scaled_dot_product_attention's keep masks; heed_block_mask_of_keep converts those. Float
 * masks are added to the scores. All given masks apply. is_causal is a mask in its own right and
 * needs no attn_mask, whereas torch takes it as a hint that attn_mask is causal. The keys that
 * add_bias_kv and add_zero_attn append are never masked.
 *
 * A query that may not attend to any key gets zero weights, and y is out_proj's bias; only that
 * bias gets gradients from such a query. (torch gives NaN with need_weights=True.)
 *
 * heed_multihead_attention_forward_weights: also sets *weights to softmax(...) after dropout, as
 * torch returns it: the mean over the heads, of shape (N, L, S), or, with no_average_attn_weights,
 * the weights of each head, of shape (N, num_heads, L, S). Without a batch, N is absent; S includes
 * the added keys. *weights is NULL on error.
 *
 * HEED_ERR_SHAPE: sizes do not match each other or the module. HEED_ERR_DTYPE: an input does not
 * have the parameters' dtype, or a mask is neither bool nor of that dtype. */
heed_tensor *heed_multihead_attention_forward(struct heed_multihead_attention *m,
                                              heed_tensor *query, heed_tensor *key,
                                              heed_tensor *value);
heed_tensor *
heed_multihead_attention_forward_with(struct heed_multihead_attention *m, heed_tensor *query,
                                      heed_tensor *key, heed_tensor *value,
                                      heed_multihead_attention_forward_options options);
heed_tensor *heed_multihead_attention_forward_weights(struct heed_multihead_attention *m,
                                                      heed_tensor *query, heed_tensor *key,
                                                      heed_tensor *value, heed_tensor **weights);
heed_tensor *heed_multihead_attention_forward_weights_with(
    struct heed_multihead_attention *m, heed_tensor *query, heed_tensor *key, heed_tensor *value,
    heed_tensor **weights, heed_multihead_attention_forward_options options);

HEED_END_DECLS
#endif
