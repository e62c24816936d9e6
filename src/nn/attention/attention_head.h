/* One head of attention, as SelfAttention and CrossAttention have it (internal to nn). */
#ifndef HEED_NN_ATTENTION_HEAD_H
#define HEED_NN_ATTENTION_HEAD_H

#include "../layers/linear.h"

typedef struct heed_attention_head {
    struct heed_linear *W_q, *W_k, *W_v;
    int row_dim, col_dim;
    heed_tensor **kept; /* stores a detached copy of the weights; NULL: nowhere */
} heed_attention_head;

/* heed_attention_head_forward: the output of a head for arguments that have been checked. Queries
 * are made of token_encodings, keys and values of encodings_for_kv. Masks and `weights` may be
 * NULL. */
heed_tensor *heed_attention_head_forward(const heed_attention_head *m, heed_tensor *token_encodings,
                                         heed_tensor *encodings_for_kv, heed_tensor *block_mask,
                                         heed_tensor *key_padding_mask, heed_tensor **weights);

/* heed_keep_copy: *kept becomes a detached copy of the weights `value`, or NULL if that is; what it
 * held is released. For heads of every kind. */
void heed_keep_copy(heed_tensor **kept, heed_tensor *value);

#endif
