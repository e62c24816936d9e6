/* What torch's attention and GPT share: checks of heads and masks, splitting into
 * heads, and the feed-forward network (internal to nn). */
#ifndef HEED_NN_TRANSFORMER_PARTS_H
#define HEED_NN_TRANSFORMER_PARTS_H

#include "arguments.h"

struct heed_multihead_attention;

/* ---- checks ---- */

/* N sequences of L queries and S keys, as in nn.MultiheadAttention. */
typedef struct heed_multihead_sizes {
    int64_t batch, queries, keys; /* N, L, S */
    int heads;
    bool batched; /* else N is 1, and tensors have no batch dim */
    heed_dtype dtype;
} heed_multihead_sizes;

/* heed_multihead_sizes_of: sizes of a forward; query and key have 2 or 3 dims, both the same. */
heed_multihead_sizes heed_multihead_sizes_of(const struct heed_multihead_attention *m,
                                             const heed_tensor *query, const heed_tensor *key);

/* heed_check_heads: HEED_ERR_VALUE if the number of heads, 1 or more, does not divide `size`. */
heed_status heed_check_heads(const char *function, heed_named_size heads, heed_named_size size);

/* Masks are bool (true blocks) or floats added to the scores; NULL is no mask.
 * heed_check_padding_mask: (N, S). heed_check_attn_mask: (L, S) or (N * heads, L, S). */
heed_status heed_check_padding_mask(const char *function, const char *argument,
                                    const heed_tensor *mask, const heed_multihead_sizes *s);
heed_status heed_check_attn_mask(const char *function, const char *argument,
                                 const heed_tensor *mask, const heed_multihead_sizes *s);

/* ---- computations ---- */

/* heed_split_heads: x (N, L, E) if batch_first, else (L, N, E)   ->   (N, heads, L, E / heads)
 * heed_join_heads: the reverse. */
heed_tensor *heed_split_heads(heed_tensor *x, int heads, bool batch_first);
heed_tensor *heed_join_heads(heed_tensor *x, bool batch_first);

#endif
