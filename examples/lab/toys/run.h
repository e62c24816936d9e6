/* One run: a model, trained with one seed, and what came out. */
#ifndef HEED_TOYS_RUN_H
#define HEED_TOYS_RUN_H

#include "examples/lab/toys/model.h"

/* The result of a run; plain numbers, so that ranks can send it. */
typedef struct toys_result {
    int64_t steps;       /* taken; fewer than requested after --until */
    int64_t learned_at;  /* the first evaluated step with the score --learned; -1: none */
    double train_loss;   /* of the last step; NaN: it diverged, or no step was taken */
    toys_score test;     /* of the test batch, at the end */
    double longer;       /* score on longer sequences; NaN: not asked for */
    double best, simple; /* losses of the best and the simpler predictor on the test batch */
    double seconds;
} toys_result;

/* The state of a run while it trains. */
typedef struct toys_run {
    const toys_task *task;
    toys_settings settings;
    struct toys_model *model;
    heed_optimizer *adamw;
    toys_batch train, test, longer; /* retained; train: of a task that has `fix` */
    toys_result result;
    int64_t step;
    double loss;   /* of this step */
    bool measured; /* result.test is of this step */
} toys_run;

/* toys_run_begin: the weights and the test batch of a seed. toys_run_step: a step, and an
 * evaluation if one is due; false after the last, or if the loss is not finite. toys_run_end: the
 * longer sequences, and the result. toys_run_free: frees what begin made.
 *
 * The test batches are drawn with a generator of their own, so the weights and the batches depend
 * on neither. */
void toys_run_begin(toys_run *r, const toys_task *task, const toys_settings *s, uint64_t seed);
bool toys_run_step(toys_run *r);
toys_result toys_run_end(toys_run *r);
void toys_run_free(toys_run *r);

/* toys_rate: the learning rate of a step, counted from 0. */
double toys_rate(const toys_settings *s, int64_t step);

#endif
