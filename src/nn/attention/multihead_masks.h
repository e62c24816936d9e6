/* The sizes of one forward of nn.MultiheadAttention; and its masks, as the one that
 * scaled_dot_product_attention takes (internal to nn). */
#ifndef HEED_NN_MULTIHEAD_MASKS_H
#define HEED_NN_MULTIHEAD_MASKS_H

#include "multihead_attention.h"

/* The sizes of one forward. Without a batch it is computed as one of size 1, batch first. */
typedef struct heed_multihead_sizes {
    int64_t batch, queries, keys; /* N, L, S */
    int64_t added;                /* keys that the module adds to them */
    int heads;
    bool batched, batch_first;
    heed_dtype dtype;
} heed_multihead_sizes;

/* The sequences of x: (N, length, E) if batch_first, else (length, N, E); or (length, E), which is one. */
typedef struct heed_sequences {
    int64_t count, length; /* N, L or S */
} heed_sequences;
heed_sequences heed_sequences_of(const heed_tensor *x, bool batch_first);

/* heed_multihead_sizes_of: those of a forward with this query and key, of 2 or 3 dims both. */
heed_multihead_sizes heed_multihead_sizes_of(const struct heed_multihead_attention *m,
                                             const heed_tensor *query, const heed_tensor *key);

/* What the function that the user called calls them. */
typedef struct heed_mask_names {
    const char *attn_mask, *key_padding_mask;
} heed_mask_names;

/* heed_check_multihead_masks: are they of the kinds and shapes that torch takes? */
heed_status heed_check_multihead_masks(const char *function, const heed_mask_names *names,
                                       const heed_attention_options *options,
                                       const heed_multihead_sizes *s);

/* heed_join_multihead_masks: what all of them say: a keep mask or a bias mask that broadcasts to the
 * scores (N, H, L, S + added); NULL where nothing is masked, or on error. */
heed_tensor *heed_join_multihead_masks(const heed_attention_options *options,
                                       const heed_multihead_sizes *s);

#endif
