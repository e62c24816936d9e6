/* The next-token model: embedding, position encoding, one masked self-attention, a residual and a
 * linear layer to the vocabulary. The same for the toy and for a text of one's own.
 */
#ifndef HEED_NEXT_TOKEN_MODEL_H
#define HEED_NEXT_TOKEN_MODEL_H

#include "heed.h"

enum { MODEL_MOST_HEADS = 16 };

typedef struct model_sizes {
    int64_t words;   /* of the vocabulary */
    int64_t context; /* most tokens that it sees at once */
    int64_t d_model;
    int heads; /* 1: SelfAttention; more: MultiHead */
} model_sizes;

struct token_model {
    heed_module module;
    struct heed_embedding *we;
    struct heed_position_encoding *pe;
    struct heed_self_attention *self_attention; /* one head, or NULL */
    struct heed_multi_head *multi_head;         /* several, or NULL */
    struct heed_linear *fc_layer;
    model_sizes sizes;
};

/* model_head_dim: two heads are as wide as d_model, as in the tutorial; more of them share it. */
int64_t model_head_dim(int64_t d_model, int heads);

struct token_model *model_new(model_sizes sizes);

/* model_forward: tokens (B, T) or (T) i64 -> logits (B, T, words) or (T, words). */
heed_tensor *model_forward(struct token_model *m, heed_tensor *tokens);

/* model_loss: how badly each token of rows (B, T) is foreseen from those before it. */
heed_tensor *model_loss(struct token_model *m, heed_tensor *rows);

/* model_next: the logits (words) of what follows `count` tokens, of which it sees the last ones. */
heed_tensor *model_next(struct token_model *m, const int64_t *tokens, int64_t count);

/* model_attention: the weights (heads, T, T) with which it reads T tokens, at most its context. */
heed_tensor *model_attention(struct token_model *m, const int64_t *tokens, int64_t count);

/* For looking at many sentences at once: model_keep_weights has each head keep its attention of the
 * next forward, which model_head then has as attention_percent. */
int model_head_count(const struct token_model *m);
struct heed_self_attention *model_head(struct token_model *m, int head);
void model_keep_weights(struct token_model *m, bool keep);

/* model_step_bytes: about how much memory a training step takes. */
double model_step_bytes(model_sizes sizes, int64_t batch);

#endif
