/* Small models, one of each seed. */
#ifndef BENCH_HEED_TOYS_H
#define BENCH_HEED_TOYS_H

#include "bench/heed/workloads.h"
#include "bench/toy_sizes.h"
#include "examples/lab/toys/model.h"

/* W1: 5 tokens, d_model 2, masked self-attention, a Linear. */
struct w1 {
    heed_module module;
    struct heed_embedding *we;
    struct heed_position_encoding *pe;
    struct heed_self_attention *attention;
    struct heed_linear *fc;
};

/* A model and what it trains on. */
struct toy {
    const struct toy_size *size;
    void *model;       /* struct w1, or struct toys_model */
    toys_batch batch;  /* of W1, only inputs and targets */
    heed_tensor *mask; /* of W1 */
    heed_optimizer *adam;
};

/* toy_begin: the model and the first batch of a seed; those of a model of build/toys are the ones
 * that it has too. toy_loss: the mean loss. toy_step: a training step. toy_end: frees the model. */
void toy_begin(struct toy *t, const struct toy_size *size, uint64_t seed);
heed_tensor *toy_loss(const struct toy *t);
void toy_step(const struct toy *t);
void toy_end(const struct toy *t);

/* toys_part: parameter `part` of `count` toys, stacked; or, counted from the number of parameters,
 * their INPUTS, TARGETS, or losses. */
enum { INPUTS, TARGETS, LOSSES, PARTS, MOST_PARAMETERS = 32 };
heed_tensor *toys_part(const struct toy *all, int count, int part);

/* run_threads: calls `work` with 0, 1, ... on a thread each. */
void run_threads(int count, void (*work)(int number));

#endif
