/* The head of attention that SelfAttention and CrossAttention share (internal). */
#ifndef HEED_NN_ATTENTION_HEAD_H
#define HEED_NN_ATTENTION_HEAD_H

#include "module.h"

struct heed_self_attention;

/* What error messages call the function and its inputs. for_kv is NULL in self-attention. */
typedef struct heed_head_names {
    const char *function, *for_q, *for_kv;
} heed_head_names;

/* heed_attention_head_new: W_q, W_k and W_v; kv_dim is the width of the input of keys and values.
 * heed_attention_head_forward: softmax(q k^T / sqrt(head_dim)) v, and the weights unless NULL. */
void *heed_attention_head_new(const heed_module_kind *kind, const char *function, int64_t d_model,
                              int64_t kv_dim, int64_t head_dim, int row_dim, int col_dim);
heed_tensor *heed_attention_head_forward(heed_head_names name, struct heed_self_attention *m,
                                         heed_tensor *for_q, heed_tensor *for_kv,
                                         heed_tensor *block_mask, heed_tensor **weights);

#endif
