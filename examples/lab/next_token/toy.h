/* Trains a model on the sentences of toy_language.h, scores it, and shows its attention. */
#ifndef HEED_NEXT_TOKEN_TOY_H
#define HEED_NEXT_TOKEN_TOY_H

#include <stdio.h>

#include "examples/lab/next_token/model.h"

/* ---- training ---- */

typedef struct train_options {
    int64_t steps, batch;
    double lr;
} train_options;

/* train_batch: rows (batch, TOY_LENGTH) i64 of random training sentences, drawn with this thread's
 * generator. train_optimizer: the optimiser. train_rate: its learning rate in a step, counted from
 * 0: it rises over the first tenth of the steps and falls over the last three tenths. */
heed_tensor *train_batch(const toy_language *language, int64_t batch);
heed_optimizer *train_optimizer(struct token_model *m, double lr);
double train_rate(const train_options *options, int64_t step);

/* train: takes options->steps steps and calls `watch` (or NULL) after each, counted from 1, with
 * the loss of its batch in nats per token; false ends training. The random numbers continue those
 * that the model's weights were drawn from. HEED_ERR_VALUE: the loss is infinite or NaN. */
typedef bool train_watch(void *context, struct token_model *m, int64_t step, double loss);
heed_status train(struct token_model *m, const toy_language *language, const train_options *options,
                  train_watch *watch, void *context);

/* ---- a trained model ---- */

/* A model's score on the held-out sentences. */
typedef struct toy_score {
    double accuracy;  /* fraction of sentences whose word after *it* is predicted */
    double attention; /* of *it* on its subject; the best head of each sentence, averaged */
    double loss;
} toy_score;
toy_score toy_evaluate(struct token_model *m, const toy_language *language);

/* toy_show_attention: prints a heat map of one sentence, for the head whose *it* attends most to
 * the subject. */
void toy_show_attention(FILE *stream, struct token_model *m, const toy_language *language,
                        const toy_sentence *sentence, const char *title);

/* toy_write: prints the likeliest words after `count` tokens, each after a blank, until <eos> or
 * `most` words. */
void toy_write(FILE *stream, struct token_model *m, const toy_language *language,
               const int64_t *tokens, int64_t count, int most);

#endif
