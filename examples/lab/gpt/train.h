/* gpt train: the parts of a training run, and the command. examples/pytorch/char_gpt.py is its
 * PyTorch counterpart. */
#ifndef HEED_GPT_TRAIN_H
#define HEED_GPT_TRAIN_H

#include "examples/lab/gpt/checkpoint.h"

/* ---- windows, evaluation ---- */

/* gpt_train_tokens: the number of training tokens, the first nine tenths of a text. The rest is for
 * validation. */
int64_t gpt_train_tokens(int64_t tokens);

/* Windows of a text, each with the token after it: window i begins at first + i * apart. */
typedef struct gpt_windows {
    int64_t first, apart, count;
} gpt_windows;

/* gpt_windows_of: adjacent complete windows of tokens first ... first + count - 1; only every k-th
 * if there are more than `most`. */
gpt_windows gpt_windows_of(int64_t first, int64_t count, int64_t context, int64_t most);

/* gpt_evaluate: the mean loss over windows, `batch` at a time, in eval mode, without a graph and
 * without drawing random numbers; NAN if there are no windows. */
double gpt_evaluate(struct gpt *m, const token_list *tokens, const gpt_windows *windows,
                    int64_t batch);

/* ---- runs: a text, a model, an optimiser and a record, new or from a file ---- */

/* A run must not be moved: its parts point to each other. */
typedef struct gpt_run {
    gpt_train_options options; /* with all defaults filled in; the same as record.settings */
    gpt_record record;
    text_buffer text;
    token_list tokens;
    int64_t train_tokens; /* the first tokens of the text */
    gpt_windows validation;
    struct gpt *model;
    heed_optimizer *optimizer;
    int64_t resumed; /* steps taken before the run was loaded */
} gpt_run;

/* gpt_run_prepare: reads the files, creates or loads the model, and checks that the outputs can be
 * written. HEED_ERR_VALUE, HEED_ERR_FILE: invalid options or files. */
heed_status gpt_run_prepare(gpt_run *run, const gpt_train_options *given);
void gpt_run_free(gpt_run *run);

/* gpt_run_step: trains on a batch of random windows of the training tokens.
 * HEED_ERR_VALUE: the loss or the gradient is infinite or NaN; the model is unchanged. */
typedef struct gpt_step {
    double loss, lr, grad_norm;
} gpt_step;
heed_status gpt_run_step(gpt_run *run, gpt_step *step);

/* gpt_run_validate: evaluates and records the validation loss; true: it is the lowest so far.
 * Without a validation part it does nothing and returns false. gpt_run_ended: all
 * steps are taken. */
bool gpt_run_validate(gpt_run *run);
bool gpt_run_ended(const gpt_run *run);

/* gpt_train: the command. */
int gpt_train(int argc, char **argv);

#endif
