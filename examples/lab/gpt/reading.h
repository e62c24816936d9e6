/* A model's attention over some tokens, and their labels. */
#ifndef HEED_GPT_READING_H
#define HEED_GPT_READING_H

#include "examples/lab/gpt/model.h"
#include "examples/lab/gpt/tokenizer.h"

enum { READING_TOKENS = 64 };

/* Must not be moved. */
typedef struct gpt_reading {
    struct gpt *model;
    int64_t ids[READING_TOKENS], count;
    text_buffer spelling; /* of the labels */
    const char *labels[READING_TOKENS];
} gpt_reading;

/* gpt_reading_begin: reads the last of `count` tokens, as many as fit the context. */
void gpt_reading_begin(gpt_reading *r, struct gpt *m, const tokenizer *t, const int64_t *ids,
                       int64_t count);

/* gpt_reading_attention: the weights (layers, heads, T, T) of a gpt_reading in eval mode. Draws no
 * random numbers; the model's mode is unchanged. */
heed_tensor *gpt_reading_attention(void *reading);

void gpt_reading_free(gpt_reading *r);

#endif
