/* Training: random pieces of what there is to learn, cross-entropy over all places, AdamW. */
#ifndef HEED_NEXT_TOKEN_TRAIN_H
#define HEED_NEXT_TOKEN_TRAIN_H

#include "examples/next_token/model.h"

/* Where batches come from: `count` pieces of `length` tokens, each beginning `stride` tokens after
 * the one before. Sentences of the toy stand side by side, windows of a text overlap. */
typedef struct pieces {
    const int64_t *tokens;
    int64_t count, stride, length; /* length: one more than the model sees of it at once */
} pieces;

/* pieces_of_text: every window of `context` + 1 tokens, to train on; none if it is too short.
 * pieces_in_turn: windows in which each token is foreseen once, at most `most`, to measure with. */
pieces pieces_of_text(const int64_t *tokens, int64_t count, int64_t context);
pieces pieces_in_turn(const int64_t *tokens, int64_t count, int64_t context, int64_t most);

/* pieces_loss: the mean loss over all pieces, `batch` at a time; NaN if there are none. */
double pieces_loss(struct token_model *m, const pieces *p, int64_t batch);

enum { TRAIN_MEASUREMENTS = 40 };

typedef struct train_options {
    int64_t steps, batch;
    double lr;
} train_options;

typedef struct train_state {
    int64_t step;    /* that has just been taken; the first is 1 */
    double loss;     /* of its batch, nats per token */
    bool measured;   /* about TRAIN_MEASUREMENTS times, and after the last step */
    double held_out; /* then: the loss of what is held out; NaN if nothing is */
} train_state;

/* train: takes options->steps steps, and calls `watch` (or none) after each, until that returns
 * false. Random numbers go on from where drawing the model left them.
 * HEED_ERR_VALUE: the loss has become infinite or NaN. */
typedef bool train_watch(void *context, struct token_model *m, const train_state *now);
heed_status train(struct token_model *m, const pieces *learnt, const pieces *held_out,
                  const train_options *options, train_watch *watch, void *context);

#endif
