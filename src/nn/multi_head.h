/* The tutorial's multi-head self-attention: parallel heads, combined by W_o.
 * nn/torch_multihead_attention.h has PyTorch's own module and explains when to use which.
 */
#ifndef HEED_NN_MULTI_HEAD_H
#define HEED_NN_MULTI_HEAD_H

#include "layers/container.h"
#include "self_attention.h"

HEED_BEGIN_DECLS

struct heed_multi_head {
    heed_module module;
    struct heed_module_list *heads; /* of struct heed_self_attention */
    struct heed_linear *W_o;        /* (d_model, heads * head_dim), without bias */
    int row_dim, col_dim;
};

typedef struct heed_multi_head_options {
    int64_t head_dim; /* 0: d_model, as in the tutorial; the paper uses d_model / heads */
} heed_multi_head_options;

/* heed_multi_head_new: initialises `heads` heads in order, then W_o. Parameters are named
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
 *   y = cat(head_0(x), head_1(x), ...) W_o^T        zeros where block_mask blocks a whole row
 *
 * heed_multi_head_head: one head, for inspecting its weights (keep_weights).
 * Errors are those of heed_self_attention_forward; HEED_ERR_INDEX: head is outside [0, heads). */
heed_tensor *heed_multi_head_forward(struct heed_multi_head *m, heed_tensor *token_encodings,
                                     heed_tensor *block_mask);
struct heed_self_attention *heed_multi_head_head(struct heed_multi_head *m, int head);

HEED_END_DECLS
#endif
