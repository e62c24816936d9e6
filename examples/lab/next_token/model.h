/* The next-token model: embedding, position encoding, one masked self-attention layer, a residual
 * connection and a linear layer to the vocabulary; and its files. */
#ifndef HEED_NEXT_TOKEN_MODEL_H
#define HEED_NEXT_TOKEN_MODEL_H

#include "examples/lab/next_token/toy_language.h"
#include "heed.h"

enum { MODEL_MOST_HEADS = 16, MODEL_WORDS_SIZE = 1024 };

typedef struct model_sizes {
    int64_t words;   /* in the vocabulary */
    int64_t context; /* maximum number of input tokens */
    int64_t d_model;
    int heads; /* 1: SelfAttention; more: MultiHead, each d_model / heads wide */
} model_sizes;

struct token_model {
    heed_module module;
    struct heed_embedding *we;
    struct heed_position_encoding *pe;
    struct heed_self_attention *self_attention; /* one head, or NULL */
    struct heed_multi_head *multi_head;         /* several heads, or NULL */
    struct heed_linear *fc_layer;
    model_sizes sizes;
};

struct token_model *model_new(model_sizes sizes);

/* model_forward: tokens (B, T) or (T) i64 -> logits (B, T, words) or (T, words). */
heed_tensor *model_forward(struct token_model *m, heed_tensor *tokens);

/* model_loss: mean cross-entropy of rows (B, T), each token predicted from the preceding ones.
 * model_loss_of: the same from the logits (B, T - 1, words) of the rows without their last token.
 */
heed_tensor *model_loss(struct token_model *m, heed_tensor *rows);
heed_tensor *model_loss_of(heed_tensor *logits, heed_tensor *rows);

/* model_attention: attention weights (heads, T, T) over T tokens, at most the context. */
heed_tensor *model_attention(struct token_model *m, const int64_t *tokens, int64_t count);

/* For attention over many sentences at once: after model_keep_weights, the next forward stores the
 * weights of each model_head in its attention_percent. */
int model_head_count(const struct token_model *m);
struct heed_self_attention *model_head(struct token_model *m, int head);
void model_keep_weights(struct token_model *m, bool keep);

/* ---- files: safetensors with the sizes and the vocabulary as metadata ---- */

/* model_words: the words of the language, separated by blanks. */
typedef struct model_text {
    char text[MODEL_WORDS_SIZE];
} model_text;
model_text model_words(const toy_language *language);

/* model_sizes_in: the sizes of the model in a file. model_load: loads its parameters into a model
 * of those sizes. HEED_ERR_VALUE: no such file, not written by model_save, or of other words.
 * model_save: replaces the file atomically. */
model_sizes model_sizes_in(const char *path, const toy_language *language);
heed_status model_load(const char *path, struct token_model *m);
heed_status model_save(const char *path, struct token_model *m, const toy_language *language);

#endif
