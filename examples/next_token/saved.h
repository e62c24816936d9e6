/* Models in files: safetensors whose metadata tell the task, the sizes and the vocabulary. */
#ifndef HEED_NEXT_TOKEN_SAVED_H
#define HEED_NEXT_TOKEN_SAVED_H

#include "examples/common/vocabulary.h"
#include "examples/next_token/model.h"
#include "examples/next_token/options.h"

/* All that makes a model but its parameters. */
typedef struct saved_model {
    options_task task;
    model_sizes sizes;
    vocabulary vocabulary;
} saved_model;

/* saved_read: what a file says of its model. saved_load: its parameters, into a model of those
 * sizes. HEED_ERR_VALUE: no such file, or nothing that saved_write has written. */
saved_model saved_read(const char *path);
heed_status saved_load(const char *path, struct token_model *m);

/* saved_write: a model into a file, which is replaced as a whole or not at all. */
heed_status saved_write(const char *path, struct token_model *m, options_task task,
                        const vocabulary *v);

/* saved_write_logits: the logits (count, words) of what follows each of `count` tokens, at most the
 * model's context, as a .npy file. */
heed_status saved_write_logits(const char *path, struct token_model *m, const int64_t *tokens,
                               int64_t count);

#endif
