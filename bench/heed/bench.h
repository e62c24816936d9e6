/* Shared by Heed's workloads: their table (main.c), and training (training.c). */
#ifndef BENCH_HEED_BENCH_H
#define BENCH_HEED_BENCH_H

#include "bench/serve.h"
#include "heed.h"

/* The table: add_NAME adds the workloads of NAME.c. */
void add_training(void);   /* W2, W3, MLP */
void add_gpts(void);       /* W4, other GPTs, generation */
void add_toys(void);       /* W1, models of build/toys, many seeds */
void add_operations(void); /* W5, W6 */
void add_engine(void);     /* W7, memory, start */

/* add_workload: adds a copy of `w` under a printf-formatted name; returns the copy. add_subnormal:
 * adds w again, as NAME.subnormal. */
const struct workload *add_workload(struct workload w, const char *name, ...) HEED_PRINTF(2, 3);
void add_subnormal(struct workload w);

/* ---- training: a step is zero_grad, forward, backward, optimiser ---- */

struct training {
    heed_tensor *(*loss)(void);
    heed_tensor *input; /* also gets a gradient, cleared before each step; or NULL */
    heed_optimizer *optimizer;
    void *clipped;    /* the norm of this module's gradients is clipped to 1; or NULL */
    void *modules[3]; /* freed at the end; NULL-terminated */
};

/* start_training: makes training_step() train `t`. begin_training: also trains a little; returns
 * NULL, or an error if the loss does not fall. end_training: frees the modules. */
void start_training(struct training t);
const char *begin_training(struct training t);
void training_step(void);
void end_training(void);

void start_w1(void); /* makes training_step() train W1 */
void start_w4(void); /* or W4 */

/* save_toys: writes the first weights, data and losses of `count` seeds of a model to a safetensors
 * file, for the peers (toys.c); returns main's status. */
int save_toys(const char *name, int count, const char *path);

#endif
