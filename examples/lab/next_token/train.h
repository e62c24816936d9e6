/* Training: batches of random pieces, cross-entropy over all positions, AdamW. */
#ifndef HEED_NEXT_TOKEN_TRAIN_H
#define HEED_NEXT_TOKEN_TRAIN_H

#include "examples/lab/next_token/model.h"

/* The data that batches are drawn from: `count` pieces of `length` tokens, whose starts are
 * `stride` tokens apart. The toy's sentences are adjacent, the windows of a text overlap. */
typedef struct pieces {
    const int64_t *tokens;
    int64_t count, stride, length; /* length: the inputs and one more token */
} pieces;

/* pieces_of_text: all windows of `context` + 1 tokens, for training; none if the text is too short.
 * pieces_in_turn: at most `most` windows that predict no token twice, for evaluation. */
pieces pieces_of_text(const int64_t *tokens, int64_t count, int64_t context);
pieces pieces_in_turn(const int64_t *tokens, int64_t count, int64_t context, int64_t most);

/* pieces_batch: rows (batch, length) i64, drawn with this thread's generator.
 * pieces_loss: the mean loss over all pieces, `batch` at a time; NaN if there are none. */
heed_tensor *pieces_batch(const pieces *p, int64_t batch);
double pieces_loss(struct token_model *m, const pieces *p, int64_t batch);

enum { TRAIN_MEASUREMENTS = 40 };

typedef struct train_options {
    int64_t steps, batch;
    double lr;
} train_options;

/* train_optimizer: the optimiser that train uses. train_rate: its learning rate in a step, counted
 * from 0: it rises over the first tenth of the steps and falls over the last three tenths. */
heed_optimizer *train_optimizer(struct token_model *m, double lr);
double train_rate(const train_options *options, int64_t step);

typedef struct train_state {
    int64_t step;    /* the step just taken, from 1 */
    double loss;     /* of its batch, in nats per token */
    bool measured;   /* about TRAIN_MEASUREMENTS times, and after the last step */
    double held_out; /* if measured: the loss of the held-out part; NaN if it is empty */
} train_state;

/* train: takes options->steps steps and calls `watch` (or NULL) after each; false ends training.
 * The random numbers continue those that the model's weights were drawn from. HEED_ERR_VALUE: the
 * loss is infinite or NaN. */
typedef bool train_watch(void *context, struct token_model *m, const train_state *now);
heed_status train(struct token_model *m, const pieces *training, const pieces *held_out,
                  const train_options *options, train_watch *watch, void *context);

#endif
