/* Training, one model at a time: a step is zero_grad, forward, backward, optimiser. */
#ifndef BENCH_HEED_TRAINING_H
#define BENCH_HEED_TRAINING_H

#include "bench/gpt_sizes.h"
#include "bench/heed/workloads.h"
#include "examples/lab/gpt/model.h"

struct training {
    heed_tensor *(*loss)(void);
    heed_tensor *input; /* also gets a gradient, cleared before each step; or NULL */
    heed_optimizer *optimizer;
    void *clipped;    /* the norm of this module's gradients is clipped to 1; or NULL */
    void *modules[8]; /* freed at the end; NULL-terminated */
};

/* start_training: makes training_step() train `t`. begin_training: also trains a little; returns
 * NULL, or an error if the loss does not fall. forward_step: only forward, with its graph.
 * end_training: frees the modules. */
void start_training(struct training t);
const char *begin_training(struct training t);
void training_step(void);
void forward_step(void);
void end_training(void);

/* ---- models of other workloads ---- */

void first_toy_step(void); /* creates W1 and trains it for one step */

struct training gpt_training(gpt_config config, int64_t batch); /* rows of block_size tokens */
gpt_config gpt_config_of(const struct gpt_size *s);

#endif
