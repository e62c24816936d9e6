/* The reader, the story's first model: it says which noun *it* stands for, in sentences such as
 * "the pizza came out of the oven and it tasted good", by attention on the whole sentence, also on
 * the words after *it*.
 *
 *     the NOUN VERB VERB VERB the NOUN and it WORD WORD
 *
 * Only *it* looks around, twice. The first look is attention of any width and changes its encoding;
 * the second look, whose queries, keys and values have two numbers, so that they can be drawn,
 * finds the noun. The answer is the noun whose value is nearest to the new vector of *it*. The
 * model learns from answers alone: no part of its loss says where to look. */
#ifndef HEED_PAGE_STORY_READER_H
#define HEED_PAGE_STORY_READER_H

#include "heed.h"

enum {
    READER_KINDS = 4, /* of nouns; the last two words fit all nouns of one kind */
    READER_KIND = 4,  /* nouns of a kind */
    READER_NOUNS = READER_KINDS * READER_KIND,
    READER_ENDS = 3, /* pairs of last words for a kind */
    READER_LENGTH = 11,
    READER_AT_FIRST = 1, /* positions of the nouns */
    READER_AT_SECOND = 6,
    READER_AT_IT = 8,
    READER_FIRST_NOUN = 3, /* id; those of all nouns follow each other */
    READER_MOST_WORDS = 64,
    READER_MOST_SENTENCES = 4608,
    READER_WIDE = 16, /* of encodings and of the first look */
    READER_FLAT = 2   /* of the second look */
};

typedef struct reader_sentence {
    int64_t token[READER_LENGTH]; /* ids */
    int64_t answer;               /* 0 ... READER_NOUNS - 1 */
    int64_t at;                   /* position of that noun: only to say where *it* looks */
} reader_sentence;

typedef struct reader_language {
    const char *words[READER_MOST_WORDS]; /* id -> word */
    int word_count;
    reader_sentence train[READER_MOST_SENTENCES], held_out[READER_MOST_SENTENCES];
    int train_count, held_out_count;
} reader_language;

/* reader_language_make: all sentences with two nouns of different kinds. Those with "pizza" and
 * "oven" are held out, and so is about a sixth of the other pairs. */
void reader_language_make(reader_language *language);

struct reader {
    heed_module module;
    struct heed_embedding *we;
    struct heed_self_attention *first;  /* READER_WIDE wide */
    struct heed_self_attention *second; /* READER_FLAT wide */
};

struct reader *reader_new(int64_t words);

/* What the reader computes; each is kept by the caller's scope. */
typedef struct reader_result {
    heed_tensor *first;    /* (B, 1, T): the percentages of *it* in its first look */
    heed_tensor *it;       /* (B, 1, READER_WIDE): its encoding afterwards */
    heed_tensor *q;        /* (B, 1, 2): of *it* in its second look */
    heed_tensor *k, *v;    /* (B, T, 2) */
    heed_tensor *scores;   /* (B, 1, T): q k^T / sqrt(2) */
    heed_tensor *percents; /* (B, 1, T) */
    heed_tensor *mix;      /* (B, 1, 2): the new vector of *it* */
    heed_tensor *nouns;    /* (nouns, 2): the value of each noun */
    heed_tensor *logits;   /* (B, nouns): minus the squared distance of mix to each */
} reader_result;

/* reader_forward: tokens (B, READER_LENGTH) i64 with *it* at position `at`. */
reader_result reader_forward(struct reader *m, heed_tensor *tokens, int at);

/* reader_train: a reader after the steps of its training; a number of `steps` below READER_STEPS
 * stops it early. Draws from a generator of its own. READER_SEED: of the seeds 0 to 23 eight answer
 * every sentence; of these, the one whose *it* looks most clearly at the right noun.
 * reader_accuracy: the share of sentences that it answers right; *mean: the mean percentage of *it*
 * on the right noun, or NULL. */
enum { READER_STEPS = 800, READER_SEED = 17 };
struct reader *reader_train(const reader_language *language, uint64_t seed, int steps);
double reader_accuracy(struct reader *m, const reader_sentence *sentences, int count, double *mean);

#endif
