/* A task that one attention head cannot solve and two can: in "the dog chased the cat ." the stop
 * says who did it and to whom. Both are animals and all 256 pairs are sentences, so only their
 * places tell them apart: a single head mixes the two into one vector. */
#ifndef HEED_PAGE_STORY_HEADS_H
#define HEED_PAGE_STORY_HEADS_H

#include "heed.h"

enum {
    HEADS_ANIMALS = 16,
    HEADS_VERBS = 3,
    HEADS_LENGTH = 6,
    HEADS_AT_WHO = 1, /* positions */
    HEADS_AT_WHOM = 4,
    HEADS_AT_STOP = 5,
    HEADS_FIRST_ANIMAL = 2, /* id; those of all animals follow each other, then those of verbs */
    HEADS_WORDS = HEADS_FIRST_ANIMAL + HEADS_ANIMALS + HEADS_VERBS,
    HEADS_WIDE = 16, /* of encodings; the heads share it evenly, so that all models have as many
                        weights */
    HEADS_STEPS = 500,
    HEADS_SEEDS = 10 /* of each comparison: 0 ... 9 */
};

/* heads_words: id -> word. heads_held_out: whether a pair of animals is never trained on. */
extern const char *const heads_words[HEADS_WORDS];
bool heads_held_out(int who, int whom);

/* An embedding with positions, multi-head attention of the stop, a residual, and a linear layer
 * to two vectors, which are compared with the animals' embeddings. */
struct heads_model {
    heed_module module;
    struct heed_embedding *we;
    struct heed_position_encoding *pe;
    struct heed_multi_head *attention;
    struct heed_linear *answers; /* without bias, to 2 HEADS_WIDE */
};

struct heads_model *heads_new(int heads);

/* heads_forward: tokens (B, HEADS_LENGTH) i64 -> logits (B, 2, animals): who, whom. percents:
 * the percentages of the stop in each head, (B, 1, T); or NULL. */
enum { HEADS_MOST = 4 };
heed_tensor *heads_forward(struct heads_model *m, heed_tensor *tokens, heed_tensor **percents);

/* heads_train: after `steps` of HEADS_STEPS steps, with a generator of its own. heads_accuracy: the
 * share of held-out or other sentences of which both answers are right. */
struct heads_model *heads_train(int heads, uint64_t seed, int steps);
double heads_accuracy(struct heads_model *m, bool held_out);

#endif
