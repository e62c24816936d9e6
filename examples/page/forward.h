/* The network that the page shows: the next-token model, or attention alone, computed line by line
 * as in the tutorial's class, with switches that break one line each. Each result is marked with
 * the name that it has in the class. */
#ifndef HEED_PAGE_FORWARD_H
#define HEED_PAGE_FORWARD_H

#include "examples/lab/next_token/model.h"

/* Mistakes to try; a bit set. NO_ZERO_GRAD and LR_100 concern training (run.c), the three after
 * them networks of several heads. */
enum {
    BREAK_NO_SCALE = 1,      /* scaled_sims = sims */
    BREAK_WRONG_DIM = 2,     /* softmax over the queries instead of the keys */
    BREAK_MASK_INVERTED = 4, /* tokens attend only to later ones */
    BREAK_MASK_AFTER = 8,    /* zeros after the softmax instead of -inf before it */
    BREAK_NO_POSITIONS = 16, /* the embeddings without position encodings */
    BREAK_SAME_KEYS = 32,    /* W_k = W_q */
    BREAK_NO_ZERO_GRAD = 64,
    BREAK_LR_100 = 128,
    BREAK_SPLIT_VIEW = 256,     /* heads split by reshape alone */
    BREAK_MERGE_VIEW = 512,     /* heads merged by reshape alone */
    BREAK_SCALE_D_MODEL = 1024, /* scaled by the root of d_model, not of a head's width */
    BREAKS = 2048
};

/* One of the two modules is set. */
typedef struct network {
    struct token_model *model;
    struct heed_self_attention *self_attention;
} network;

/* network_module: the module that is set. network_head_count, network_head: its heads (NULL while
 * an error is pending). */
void *network_module(const network *n);
int network_head_count(const network *n);
struct heed_self_attention *network_head(const network *n, int head);

/* network_of_attention: SelfAttention with random weights. HEED_ERR_VALUE: too wide.
 * network_in_double: a copy in f64, which draws no random numbers; none on error. network_free:
 * frees the module. */
network network_of_attention(int64_t d_model);
network network_in_double(const network *n);
void network_free(network *n);

/* forward_attention: token_encodings (..., T, d_model) -> (..., T, d_model).
 * forward_logits: tokens (..., T) i64 -> (..., T, words), for a network with a model.
 * block_mask: bool, at least (T, T): its upper left part is used; NULL: none. */
heed_tensor *forward_attention(const network *n, heed_tensor *token_encodings,
                               heed_tensor *block_mask, unsigned breaks);
heed_tensor *forward_logits(const network *n, heed_tensor *tokens, heed_tensor *block_mask,
                            unsigned breaks);

/* The named results of the last forward, in order; they belong to the scope of that forward. */
enum { FORWARD_MOST_MARKS = 16 * (MODEL_MOST_HEADS + 1) };
typedef struct forward_mark {
    const char *name;
    int head;
    heed_tensor *result;
} forward_mark;
void forward_begin(void); /* forgets the marks */
heed_tensor *forward_add_mark(const char *name, heed_tensor *result);
int forward_mark_count(void);
const forward_mark *forward_mark_at(int i);

/* forward_find_mark: the result with this name in this head, or NULL. */
heed_tensor *forward_find_mark(const char *name, int head);

#endif
