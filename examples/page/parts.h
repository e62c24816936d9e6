/* What the files of the engine share; engine.h has what they export. */
#ifndef HEED_PAGE_PARTS_H
#define HEED_PAGE_PARTS_H

#include <stdio.h>

#include "examples/lab/next_token/toy.h"
#include "examples/page/engine.h"
#include "examples/page/forward.h"

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
#else
#define EXPORT(name)
#endif

enum { D_MODEL = 32, CONTEXT = TOY_LENGTH - 1 }; /* of the toy model */

/* ---- engine.c ---- */

/* begin_text: a stream for the text that a function returns; NULL if there is an error.
 * end_text: the text written to it; NULL if there is an error. write_list: a JSON array.
 * write_tensor: an f32 tensor as a flat JSON array, after `before`: the comma and the name. */
FILE *begin_text(void);
const char *end_text(FILE *stream);
void write_list(FILE *json, const int64_t *values, int count);
void write_tensor(FILE *json, const char *before, const heed_tensor *t);

/* is_seed: a whole number below 2^53; fails otherwise. */
bool is_seed(double seed);

/* mask_of: blocked (count, count) as a bool tensor. */
heed_tensor *mask_of(const uint8_t *blocked, int64_t count);

/* ---- run.c: the training run ---- */

/* The state after a multiple of SNAPSHOT_EVERY steps. */
typedef struct snapshot {
    heed_generator generator;
    heed_tensor **tensors; /* retained copies, NULL where there is none: see COPIES */
    int64_t *steps;        /* of the optimiser's slots */
    int count;             /* of parameters */
} snapshot;

/* What training changes. */
typedef struct training {
    network net;
    heed_optimizer *adamw;
    heed_generator generator; /* the run's own, as passes and other modules draw nothing from it */
    int step;
    snapshot *snapshots;
    size_t snapshot_count, snapshot_capacity;
} training;

extern struct run {
    toy_language language;
    train_options options;
    uint64_t seed;
    unsigned breaks;
    heed_tensor *block_mask;    /* (CONTEXT, CONTEXT), retained: of all but training */
    heed_tensor *training_mask; /* of training: never changes after step 0 */
    training now;
} run;

/* run_exists: fails if there is no run. */
bool run_exists(void);

/* run_loss: rows (B, TOY_LENGTH) -> the mean cross-entropy, with the forward's marks. */
heed_tensor *run_loss(heed_tensor *rows, heed_tensor *block_mask);

/* run_tokens: ids as i64, at most TOY_LENGTH; fails if one is unknown. */
bool run_tokens(int64_t *ids, const int32_t *tokens, int count);

void run_end(void);

/* ---- pass.c ---- */

/* forget_pass: page_losses fails until there is another pass. */
void forget_pass(void);
void pass_end(void);

#endif
