/* The toy task: the sentences of toy_language.h as training data, a model's score on them, and heat
 * maps of its attention. */
#ifndef HEED_NEXT_TOKEN_TOY_H
#define HEED_NEXT_TOKEN_TOY_H

#include <stdio.h>

#include "examples/lab/common/vocabulary.h"
#include "examples/lab/next_token/toy_language.h"
#include "examples/lab/next_token/train.h"

/* toy_vocabulary: the words, with their ids in the language; without <unknown>. */
vocabulary toy_vocabulary(const toy_language *language);

/* toy_pieces: the sentences as pieces for training or evaluation. */
pieces toy_pieces(const toy_sentence *sentences, int64_t count);

/* A model's score on some sentences. */
typedef struct toy_score {
    double accuracy;  /* fraction of sentences whose word after *it* is predicted */
    double attention; /* of *it* on its subject; the best head of each sentence, averaged */
} toy_score;
toy_score toy_evaluate(struct token_model *m, const toy_sentence *sentences, int64_t count);

/* toy_show_attention: prints a heat map of one sentence, for the head whose *it* attends most to
 * the subject. toy_show_writing: prints the model's continuation of some sentences after *it*. */
void toy_show_attention(FILE *stream, struct token_model *m, const toy_language *language,
                        const toy_sentence *sentence, const char *title);
void toy_show_writing(FILE *stream, struct token_model *m, const toy_language *language,
                      const vocabulary *v, double temperature);

#endif
