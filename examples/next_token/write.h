/* Letting a model write on. */
#ifndef HEED_NEXT_TOKEN_WRITE_H
#define HEED_NEXT_TOKEN_WRITE_H

#include <stdio.h>

#include "examples/common/vocabulary.h"
#include "examples/next_token/model.h"

typedef struct write_options {
    int64_t most;       /* tokens */
    double temperature; /* 0: the likeliest token; else drawn, from softmax(logits / temperature) */
    int64_t stop;       /* the token that ends, unwritten, or VOCABULARY_NONE */
} write_options;

/* write_start: writes `count` tokens, joined, or what was `typed` to say the same; returns what
 * write_on has to know of that. write_on: goes on with what the model adds to the tokens, as it
 * comes and until interrupted; never <unknown>. */
text_joint write_start(FILE *stream, const vocabulary *v, const token_list *tokens,
                       const char *typed);
heed_status write_on(FILE *stream, struct token_model *m, const vocabulary *v, token_list *tokens,
                     text_joint joint, write_options options);

/* write_choose: a token by its logits (words); `never` is a token that it is not. */
int64_t write_choose(heed_tensor *logits, double temperature, int64_t never);

#endif
