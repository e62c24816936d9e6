/* torch.nn.MultiheadAttention, to load models trained in PyTorch. Unlike heed_multi_head
 * (nn/attention.h), it splits embed_dim among the heads, has biases and dropout, and may attend to
 * another sequence. */
#ifndef HEED_NN_TORCH_MULTIHEAD_ATTENTION_H
#define HEED_NN_TORCH_MULTIHEAD_ATTENTION_H

#include "layers.h"

HEED_BEGIN_DECLS

struct heed_multihead_attention {
    heed_module module;
    heed_tensor *in_proj_weight; /* (3 * embed_dim, embed_dim): rows for q, then k, then v */
    heed_tensor *in_proj_bias;   /* (3 * embed_dim), or NULL */
    struct heed_linear *out_proj;
    int num_heads;
    double dropout; /* of attention weights, in training mode */
    bool batch_first;
};

/* Torch's arguments; zero selects torch's default. */
typedef struct heed_multihead_attention_options {
    double dropout;
    bool no_bias;     /* torch's bias=False */
    bool batch_first; /* (N, L, E), as most other modules; not (L, N, E) */
} heed_multihead_attention_options;

/* heed_multihead_attention_new_with: as torch.nn.MultiheadAttention(embed_dim, num_heads, ...),
 * with its initialisation and names: in_proj_weight, in_proj_bias, out_proj.weight, out_proj.bias.
 *
 * HEED_ERR_VALUE: a size is below 1, num_heads does not divide embed_dim, or dropout is outside
 * [0, 1]. */
struct heed_multihead_attention *
heed_multihead_attention_new_with(int64_t embed_dim, int num_heads,
                                  heed_multihead_attention_options options);

/* Options for one forward call; zero selects torch's default. */
typedef struct heed_multihead_attention_forward_options {
    heed_tensor *key_padding_mask; /* (N, S); true BLOCKS */
    heed_tensor *attn_mask;        /* (L, S); true BLOCKS */
    bool is_causal;                /* query i attends to keys 0 ... i only */
    heed_tensor **weights;         /* set to those of each head, (N, num_heads, L, S) */
} heed_multihead_attention_forward_options;

/* heed_multihead_attention_forward_with: as torch's forward
 *
 *   query (L, N, embed_dim)   key, value (S, N, embed_dim)   ->   (L, N, embed_dim)
 *
 * With batch_first, the shapes are (N, L, ...) and (N, S, ...). For one sequence, N is 1.
 *
 *   q = query W_q^T + b_q, likewise k and v
 *   q_h = features h * head_dim ... (h + 1) * head_dim - 1 of q, likewise k_h and v_h
 *   y = out_proj(cat over h of softmax(q_h k_h^T / sqrt(head_dim), masked) v_h)
 *
 * All given masks apply; is_causal needs no attn_mask, whereas torch takes it as a hint that
 * attn_mask is causal. A query that may not attend to any key gets zero weights, and y is
 * out_proj's bias (torch may give NaN). weights are softmax(...) after dropout, as torch's with
 * average_attn_weights=False; NULL on error.
 *
 * HEED_ERR_SHAPE: sizes do not match each other or the module. HEED_ERR_DTYPE: an input does not
 * have the parameters' dtype, or a mask is not bool. */
heed_tensor *
heed_multihead_attention_forward_with(struct heed_multihead_attention *m, heed_tensor *query,
                                      heed_tensor *key, heed_tensor *value,
                                      heed_multihead_attention_forward_options options);

HEED_END_DECLS
#endif
