/* One attention head, shared by SelfAttention and CrossAttention (internal to nn). */
#ifndef HEED_NN_ATTENTION_HEAD_H
#define HEED_NN_ATTENTION_HEAD_H

#include "layers/linear.h"

typedef struct heed_attention_head {
    struct heed_linear *W_q, *W_k, *W_v;
    int row_dim, col_dim;
    heed_tensor **kept; /* where to keep a detached copy of the weights; NULL: not kept */
} heed_attention_head;

/* heed_attention_head_forward: the output of a head; the caller has checked the arguments. Queries
 * are projected from token_encodings, keys and values from encodings_for_kv. Masks and `weights`
 * may be NULL. */
heed_tensor *heed_attention_head_forward(const heed_attention_head *m, heed_tensor *token_encodings,
                                         heed_tensor *encodings_for_kv, heed_tensor *block_mask,
                                         heed_tensor *key_padding_mask, heed_tensor **weights);

/* heed_keep_copy: replaces *kept with a detached copy of the weights `value`, which may be NULL,
 * and releases the old tensor. Used by all attention modules. */
void heed_keep_copy(heed_tensor **kept, heed_tensor *value);

#endif
