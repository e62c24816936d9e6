/* The next-token model: embedding, position encoding, one masked self-attention, a residual and a
 * linear layer to the vocabulary; and its files. The toy and texts use the same model.
 */
#ifndef HEED_NEXT_TOKEN_MODEL_H
#define HEED_NEXT_TOKEN_MODEL_H

#include "examples/common/vocabulary.h"
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

/* model_head_dim: two heads are each as wide as d_model, as in the tutorial; more share it. */
int64_t model_head_dim(int64_t d_model, int heads);

struct token_model *model_new(model_sizes sizes);

/* model_forward: tokens (B, T) or (T) i64 -> logits (B, T, words) or (T, words). */
heed_tensor *model_forward(struct token_model *m, heed_tensor *tokens);

/* model_loss: the mean cross-entropy of rows (B, T), each token predicted from those before. */
heed_tensor *model_loss(struct token_model *m, heed_tensor *rows);

/* model_next: the logits (words) after these `count` tokens, of which it sees the last ones. */
heed_tensor *model_next(struct token_model *m, const int64_t *tokens, int64_t count);

/* model_attention: the weights (heads, T, T) of attention over T tokens, at most its context. */
heed_tensor *model_attention(struct token_model *m, const int64_t *tokens, int64_t count);

/* For attention over many sentences at once: after model_keep_weights, each model_head has the
 * weights of the next forward as attention_percent. */
int model_head_count(const struct token_model *m);
struct heed_self_attention *model_head(struct token_model *m, int head);
void model_keep_weights(struct token_model *m, bool keep);

/* model_step_bytes: about how much memory a training step takes. */
double model_step_bytes(model_sizes sizes, int64_t batch);

/* ---- files: safetensors whose metadata hold the task, the sizes and the vocabulary ---- */

/* What a model learns. */
typedef enum model_task { TASK_TOY, TASK_CHAR, TASK_WORD, TASKS } model_task;
extern const char *const model_task_names[TASKS + 1]; /* ended by NULL */

/* All of a model except its parameters. */
typedef struct model_description {
    model_task task;
    model_sizes sizes;
    vocabulary vocabulary;
} model_description;

/* model_describe_file: describes the model in a file. model_load: its parameters, into a model of
 * those sizes. HEED_ERR_VALUE: no such file, or model_save has not written it. */
model_description model_describe_file(const char *path);
heed_status model_load(const char *path, struct token_model *m);

/* model_save: replaces the file as a whole, or not at all. */
heed_status model_save(const char *path, struct token_model *m, model_task task,
                       const vocabulary *v);

/* model_save_logits: a .npy file of the logits (count, words) after each of `count` tokens, at most
 * the model's context. */
heed_status model_save_logits(const char *path, struct token_model *m, const int64_t *tokens,
                              int64_t count);

#endif
