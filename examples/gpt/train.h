/* Training in numbers: batches, steps, and the loss of what is not learnt. PyTorch's twin of this is
 * examples/pytorch/char_gpt.py. */
#ifndef HEED_GPT_TRAIN_H
#define HEED_GPT_TRAIN_H

#include "examples/gpt/corpus.h"
#include "examples/gpt/options.h"
#include "heed.h"

/* gpt_learnt: how many of the first tokens are learnt, nine tenths; the others are for validation. */
int64_t gpt_learnt(int64_t tokens);

/* gpt_lr: the learning rate of a step, the first is 0. Up to lr in a line over `warmup` steps, then
 *
 *     cosine     half a wave down to min_lr          step      a tenth after each third of the rest
 *     linear     a line down to min_lr               constant  lr
 */
double gpt_lr(const gpt_train_options *o, int64_t step);

/* Pieces of a text one after the other, without overlap, each with the token after it: piece i begins
 * at first + i apart. */
typedef struct gpt_windows {
    int64_t first, apart, count;
} gpt_windows;

/* gpt_windows_of: those of tokens first ... first + count - 1, a last one that would be cut left out; of
 * more than `most` every k-th. */
gpt_windows gpt_windows_of(int64_t first, int64_t count, int64_t context, int64_t most);

/* gpt_evaluate: the mean loss over windows, `batch` at a time; in eval mode, without a graph or random
 * numbers; NAN if there are none. */
double gpt_evaluate(struct heed_gpt *m, const corpus *text, const gpt_windows *windows,
                    int64_t batch);

/* What a step was like. */
typedef struct gpt_step {
    double loss, lr, grad_norm;
} gpt_step;

/* gpt_take_step: learns from `accumulate` batches of random pieces of the first `learnt` tokens.
 * HEED_ERR_VALUE: the loss or the gradient is infinite or NaN; the model is as it was. */
heed_status gpt_take_step(struct heed_gpt *m, heed_optimizer *optimizer, const gpt_train_options *o,
                          const corpus *text, int64_t learnt, gpt_step *step);

/* gpt_optimizer_new: AdamW with weight decay for matrices. */
heed_optimizer *gpt_optimizer_new(struct heed_gpt *m, const gpt_train_options *o);

#endif
