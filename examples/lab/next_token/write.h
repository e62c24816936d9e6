/* Sampling: the model continues a text, token by token. */
#ifndef HEED_NEXT_TOKEN_WRITE_H
#define HEED_NEXT_TOKEN_WRITE_H

#include <stdio.h>

#include "examples/lab/next_token/model.h"

typedef struct write_options {
    int64_t most;       /* maximum number of tokens to write */
    double temperature; /* 0: the likeliest token; else drawn from softmax(logits / temperature) */
    int64_t stop;       /* the token that ends the text and is not written, or VOCABULARY_NONE */
} write_options;

/* write_start: prints the tokens, or else the text `typed` for them (NULL: none). Returns the joint
 * that write_on continues from. write_on: prints the model's tokens one by one, until interrupted,
 * and appends them to `tokens`; never <unknown>. */
text_joint write_start(FILE *stream, const vocabulary *v, const token_list *tokens,
                       const char *typed);
heed_status write_on(FILE *stream, struct token_model *m, const vocabulary *v, token_list *tokens,
                     text_joint joint, write_options options);

/* write_choose: chooses a token by its logits (words), excluding `never`. */
int64_t write_choose(heed_tensor *logits, double temperature, int64_t never);

#endif
