/* A tiny language of sentences such as "the pizza came out of the oven and it tasted good": the
 * words after *it* depend only on the subject, seven words back, so a model that predicts them has
 * learned to attend to it. Plain C without Heed.
 *
 *     the SUBJECT VERB VERB VERB the PLACE and it WORD WORD <eos>
 */
#ifndef HEED_NEXT_TOKEN_TOY_LANGUAGE_H
#define HEED_NEXT_TOKEN_TOY_LANGUAGE_H

#include <stdint.h>

enum {
    TOY_SUBJECTS = 24,
    TOY_PLACES = 6,
    TOY_VERBS = 4,
    TOY_LENGTH = 12,    /* tokens of a sentence */
    TOY_AT_SUBJECT = 1, /* position of the subject */
    TOY_AT_IT = 8,      /* and of *it* */
    TOY_MOST_WORDS = 128,
    TOY_MOST_SENTENCES = TOY_SUBJECTS * TOY_PLACES * TOY_VERBS
};

typedef struct toy_sentence {
    int64_t token[TOY_LENGTH]; /* ids */
} toy_sentence;

typedef struct toy_language {
    const char *words[TOY_MOST_WORDS]; /* the vocabulary: id -> word */
    int word_count;
    toy_sentence train[TOY_MOST_SENTENCES], held_out[TOY_MOST_SENTENCES];
    int train_count, held_out_count;
} toy_language;

/* toy_language_make: all sentences of the language. Those with (subject + place + seed) mod 6 = 0
 * are held out; they contain every subject and every place equally often. */
void toy_language_make(toy_language *language, uint64_t seed);

#endif
