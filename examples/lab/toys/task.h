/* A task: a generator of sequences whose right answers are known, and the loss of the best
 * predictor. Each task is a file; tasks.c has what they share; docs/toys.md has the claims. */
#ifndef HEED_TOYS_TASK_H
#define HEED_TOYS_TASK_H

#include "examples/lab/toys/options.h"
#include "heed.h"

enum { TOYS_UNSCORED = -100, TOYS_LABEL = 24 }; /* cross_entropy's default ignore_index */

/* The shape of a task's sequences. Positions first, first + every, ... of a sequence are scored,
 * except those whose target is TOYS_UNSCORED. */
typedef struct toys_shape {
    int64_t tokens; /* per sequence */
    int64_t first, every;
    int64_t vocabulary; /* 0: a token is not an id, but `inputs` numbers */
    int64_t inputs;
    int64_t outputs; /* classes, or 1 for a number */
} toys_shape;

/* toys_scored: the number of scored positions. */
static inline int64_t toys_scored(const toys_shape *shape)
{
    return (shape->tokens - shape->first + shape->every - 1) / shape->every;
}

typedef struct toys_batch {
    toys_shape shape;
    int64_t rows;
    heed_tensor *inputs;  /* i64 (rows, tokens), or f32 (rows, tokens, shape.inputs) */
    heed_tensor *targets; /* i64 (rows, scored), or f32 */
} toys_batch;

/* What a predictor achieves on a batch. */
typedef struct toys_score {
    double loss;  /* mean over the scored positions: cross-entropy in nats, or squared error */
    double score; /* share of them that is right; or of the variance that is explained */
} toys_score;

/* A predictor that needs no training: writes its loss at each scored position of a batch, (rows,
 * scored); NaN where the target is TOYS_UNSCORED. */
typedef void toys_predictor(const toys_settings *s, const toys_batch *b, double *losses);

typedef struct toys_task {
    const char *name, *about;
    const char *defaults; /* "layers=2 heads=4" */

    /* The shape of sequences of `length` items. */
    toys_shape (*shape)(const toys_settings *s, int64_t length);

    /* Fills in the inputs and targets of b, which have no values yet, with the generator of this
     * thread. Draws only what torch can draw too: the twin repeats it. NULL: the sequences are
     * fixed. */
    void (*draw)(const toys_settings *s, int64_t length, const toys_batch *b);

    /* Of a task with few sequences: `fix` draws, once per run, which are trained on; NULL: all
     * batches are new. draw_fixed: the sequences to train on or, if `test`, the others. */
    heed_tensor *(*fix)(const toys_settings *s);
    int64_t (*fixed_rows)(const toys_settings *s, bool test);
    void (*draw_fixed)(const toys_settings *s, const toys_batch *b, heed_tensor *fixed, bool test);

    /* The best predictor, which no model can beat on average, and a simpler one, whose name is
     * `simple_name`; NULL: the best loss is 0; there is no simpler one. */
    toys_predictor *best, *simple;
    const char *simple_name;

    /* The text of an input token; NULL: a number. */
    void (*label)(const toys_settings *s, int64_t token, char text[TOYS_LABEL]);

    /* For induction scores: position to which an induction head attends from `at`; -1: none. */
    int64_t (*induction_target)(const toys_batch *b, int64_t row, int64_t at);
} toys_task;

extern const toys_task toys_copy, toys_reverse, toys_sort, toys_induction, toys_recall,
    toys_majority, toys_parity, toys_dyck, toys_lottery, toys_modadd, toys_regression;

/* All tasks, NULL-terminated. toys_task_named: HEED_ERR_VALUE: there is none of that name. */
extern const toys_task *const toys_tasks[];
const toys_task *toys_task_named(const char *name);

/* toys_draw: a new batch in the innermost scope. toys_draw_fixed: all sequences of a task that has
 * `fix`. */
toys_batch toys_draw(const toys_task *t, const toys_settings *s, int64_t length, int64_t rows);
toys_batch toys_draw_fixed(const toys_task *t, const toys_settings *s, heed_tensor *fixed,
                           bool test);

/* toys_measure: the loss and score of outputs (rows, scored, shape.outputs). */
toys_score toys_measure(const toys_batch *b, heed_tensor *outputs);

/* toys_predict: the losses of a predictor, f64 (rows, scored). toys_mean_loss: their mean at one
 * scored position or, with -1, at all, without NaN. */
heed_tensor *toys_predict(toys_predictor *p, const toys_settings *s, const toys_batch *b);
double toys_mean_loss(heed_tensor *losses, int64_t position);

/* toys_label: the text of a token. */
void toys_label(const toys_task *t, const toys_settings *s, int64_t token, char text[TOYS_LABEL]);

/* ---- for tasks ---- */

/* toys_numbers: count numbers from 0 to below - 1, valid in the innermost scope; NULL on error.
 * toys_shuffle: puts the first `count` of n items in random order, with `count` numbers below 2^24.
 */
const int64_t *toys_numbers(int64_t below, int64_t count);
void toys_shuffle(int64_t *items, int64_t n, int64_t count, const int64_t *numbers);

/* Sequences of n symbols, a separator "=", and an answer of n symbols, which is scored. */
toys_shape toys_answer_shape(const toys_settings *s, int64_t length);
void toys_answer_label(const toys_settings *s, int64_t token, char text[TOYS_LABEL]);

#endif
