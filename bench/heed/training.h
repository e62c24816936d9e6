/* Training, one model at a time: a step is zero_grad, forward, backward, optimiser. */
#ifndef BENCH_HEED_TRAINING_H
#define BENCH_HEED_TRAINING_H

#include "bench/heed/workloads.h"

struct training {
    heed_tensor *(*loss)(void);
    heed_tensor *input; /* also gets a gradient, cleared before each step; or NULL */
    heed_optimizer *optimizer;
    void *modules[8]; /* freed at the end; NULL-terminated */
};

/* start_training: makes training_step() train `t`. end_training: frees its modules. */
void start_training(struct training t);
void training_step(void);
void end_training(void);

/* ---- models of other workloads ---- */

void first_toy_step(void); /* creates W1 and trains it for one step */

struct training gpt_training(heed_gpt_config config, int64_t batch, int64_t length);
extern const heed_gpt_config bench_gpt_config; /* W4's */

#endif
