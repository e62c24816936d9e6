/* Checks of the arguments of PyTorch's attention classes (internal to nn). */
#ifndef HEED_NN_TORCH_CHECKS_H
#define HEED_NN_TORCH_CHECKS_H

#include "arguments.h"

struct heed_multihead_attention;

/* N sequences of L queries and S keys, as in nn.MultiheadAttention. */
typedef struct heed_attention_sizes {
    int64_t batch, queries, keys; /* N, L, S */
    int heads;
    bool batched; /* else N is 1, and tensors have no batch dim */
    heed_dtype dtype;
} heed_attention_sizes;

/* heed_attention_sizes_of: the sizes of a forward; query and key have 2 or 3 dims, both the same.
 */
heed_attention_sizes heed_attention_sizes_of(const struct heed_multihead_attention *m,
                                             const heed_tensor *query, const heed_tensor *key);

/* heed_check_heads: HEED_ERR_VALUE if the number of heads, 1 or more, does not divide `size`. */
heed_status heed_check_heads(const char *function, heed_named_size heads, heed_named_size size);

/* Masks are bool (true blocks) or floats added to the scores; NULL is no mask.
 * heed_check_padding_mask: (N, S). heed_check_attn_mask: (L, S) or (N * heads, L, S). */
heed_status heed_check_padding_mask(const char *function, const char *argument,
                                    const heed_tensor *mask, const heed_attention_sizes *s);
heed_status heed_check_attn_mask(const char *function, const char *argument,
                                 const heed_tensor *mask, const heed_attention_sizes *s);

#endif
