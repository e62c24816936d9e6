/* The toy: what a model knows of its sentences, and what is shown of that. */
#ifndef HEED_NEXT_TOKEN_TOY_H
#define HEED_NEXT_TOKEN_TOY_H

#include <stdio.h>

#include "examples/common/vocabulary.h"
#include "examples/next_token/toy_language.h"
#include "examples/next_token/train.h"

/* toy_vocabulary: the words with their numbers in the language; no <unknown>. */
vocabulary toy_vocabulary(const toy_language *language);

/* toy_pieces: sentences as what is trained on, or measured with. */
pieces toy_pieces(const toy_sentence *sentences, int64_t count);

/* What a model knows of sentences. */
typedef struct toy_score {
    double accuracy;  /* share of sentences in which the word after *it* is foreseen */
    double attention; /* of *it* on its subject, the best head of each sentence, averaged */
} toy_score;
toy_score toy_evaluate(struct token_model *m, const toy_sentence *sentences, int64_t count);

/* toy_show_attention: how one sentence is read, by the head whose *it* looks most at the subject.
 * toy_show_writing: what the model writes after *it* in some sentences. */
void toy_show_attention(FILE *stream, struct token_model *m, const toy_language *language,
                        const toy_sentence *sentence, const char *title);
void toy_show_writing(FILE *stream, struct token_model *m, const toy_language *language,
                      const vocabulary *v, double temperature);

#endif
