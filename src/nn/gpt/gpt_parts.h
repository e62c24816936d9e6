/* What the files that make up the GPT share (internal to nn). */
#ifndef HEED_NN_GPT_PARTS_H
#define HEED_NN_GPT_PARTS_H

#include "gpt.h"

/* The keys and values of one block, (B, H, block_size, C / H) each, of which the first tokens are there. */
typedef struct heed_gpt_past {
    heed_tensor *keys, *values;
} heed_gpt_past;

struct heed_gpt_cache {
    int64_t batch, length, block_size;
    int n_layer;
    heed_gpt_past *past; /* of each block */
};

/* heed_gpt_check_ids: is there a model, and are these ids of tokens, by shape and dtype?
 * heed_gpt_check_idx: and can the model look at so many, behind `before` others? */
heed_status heed_gpt_check_ids(const char *function, const struct heed_gpt *m,
                               const heed_tensor *idx);
heed_status heed_gpt_check_idx(const char *function, const struct heed_gpt *m,
                               const heed_tensor *idx, int64_t before);

/* heed_gpt_run: (B, T) -> logits (B, T, V), in the innermost scope; with a cache, whose length stays, or
 * NULL. Where last_only is true, those of the last token alone, (B, 1, V): the others cost as much each. */
heed_tensor *heed_gpt_run(struct heed_gpt *m, heed_tensor *idx, heed_gpt_cache *cache,
                          bool last_only);

/* heed_gpt_is_tied: is lm_head's weight that of wte? Asked of the tensors, which decide. */
bool heed_gpt_is_tied(const struct heed_gpt *m);

/* heed_ends_in: which tensor is this? By the end of its name. */
bool heed_ends_in(const char *name, const char *end);

#endif
