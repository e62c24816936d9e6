/* The next-token model: embedding, position encoding, one masked self-attention layer, a residual
 * connection and a linear layer to the vocabulary; and its files. The toy task and texts share it.
 */
#ifndef HEED_NEXT_TOKEN_MODEL_H
#define HEED_NEXT_TOKEN_MODEL_H

#include "examples/lab/common/vocabulary.h"
#include "heed.h"

enum { MODEL_MOST_HEADS = 16 };

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

/* model_next: the logits (words) after `count` tokens, of which the last ones fit the context. */
heed_tensor *model_next(struct token_model *m, const int64_t *tokens, int64_t count);

/* model_attention: attention weights (heads, T, T) over T tokens, at most the context. */
heed_tensor *model_attention(struct token_model *m, const int64_t *tokens, int64_t count);

/* For attention over many sentences at once: after model_keep_weights, the next forward stores the
 * weights of each model_head in its attention_percent. */
int model_head_count(const struct token_model *m);
struct heed_self_attention *model_head(struct token_model *m, int head);
void model_keep_weights(struct token_model *m, bool keep);

/* model_step_bytes: the least memory that a training step needs. */
double model_step_bytes(model_sizes sizes, int64_t batch);

/* ---- files: safetensors with task, sizes and vocabulary as metadata ---- */

/* The data that a model is trained on. */
typedef enum model_task { TASK_TOY, TASK_CHAR, TASK_WORD, TASKS } model_task;
extern const char *const model_task_names[TASKS + 1]; /* NULL-terminated */

/* Everything in a model except its parameters. */
typedef struct model_description {
    model_task task;
    model_sizes sizes;
    vocabulary vocabulary;
} model_description;

/* model_describe_file: describes the model in a file. model_load: loads its parameters into a model
 * of those sizes. HEED_ERR_VALUE: no such file, or not written by model_save. */
model_description model_describe_file(const char *path);
heed_status model_load(const char *path, struct token_model *m);

/* model_save: replaces the file atomically. */
heed_status model_save(const char *path, struct token_model *m, model_task task,
                       const vocabulary *v);

/* model_save_logits: writes a safetensors file of `logits` (count, words), those after each of
 * `count` tokens, at most the context. */
heed_status model_save_logits(const char *path, struct token_model *m, const int64_t *tokens,
                              int64_t count);

#endif
