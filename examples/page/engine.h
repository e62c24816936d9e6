/* The functions that the page calls, compiled to WebAssembly; tests call them natively.
 *
 * Functions return 0, NULL or NaN on an error, which page_error then describes. Strings and the
 * values that they refer to stay valid until the next call. Every instance of the WebAssembly
 * module has one training run and one attention module that is shown without a model. */
#ifndef HEED_PAGE_ENGINE_H
#define HEED_PAGE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* page_error: the message of the pending error, which is cleared; NULL: none. */
const char *page_error(void);

/* page_end: frees everything. */
void page_end(void);

/* page_alloc, page_free: memory for arguments. */
void *page_alloc(size_t size);
void page_free(void *block);

/* page_language: {"words": [...], "train": [[id, ...], ...], "heldOut": [...], "context": 11,
 * "it": 8, "subject": 1} for the current run: the toy language and where *it* and its subject are
 * in a sentence. */
const char *page_language(void);

/* ---- training ---- */

/* page_start: a new run of the toy model: the same weights, batches and steps as next_token with
 * these options. breaks: BREAK_... of forward.h.
 * page_step: one training step; returns its loss. page_steps: the number of steps taken.
 * page_go_to: goes to the state after `step` steps, bit by bit as it was: it restores a snapshot
 * and repeats the steps since. page_hash: FNV-1a of the weights, 16 hex digits. */
bool page_start(double seed, int heads, double lr, int steps, unsigned breaks);
double page_step(void);
int page_steps(void);
bool page_go_to(int step);
const char *page_hash(void);

/* page_set_mask: blocks key j for query i where blocked[i * context + j] is not 0; NULL: the causal
 * mask. It applies to scores, attention, writing and passes; to training only if it is set at step
 * 0, so that going back to a step repeats what was done. */
bool page_set_mask(const uint8_t *blocked);

/* page_score: {"accuracy", "attention", "loss"} on the held-out sentences: the fraction of words
 * after *it* that are predicted, the attention of *it* on its subject (the best head of each
 * sentence, averaged), the mean loss; null where one is infinite or NaN.
 * page_attention: {"heads", "tokens", "at"}: f32 weights (heads, T, T) over a sentence.
 * page_write: {"words": [id, ...]}: the likeliest continuation, at most `most` words. */
const char *page_score(void);
const char *page_attention(const int32_t *tokens, int count);
const char *page_write(const int32_t *tokens, int count, int most);

/* ---- passes ---- */

/* page_pass: a forward and a backward pass of the run's model over a sentence of at least two
 * words; the loss is the mean cross-entropy of each next word. page_pass_alone: of the attention
 * module over encodings (count, d_model), in f64, so that all digits that the page shows are right;
 * blocked: (count, count) or NULL; the loss is the sum of the squares of the result.
 *
 *   {"loss": T, "marks": [{"name", "head", "tensor": T, "gradient": T}, ...],
 *    "leaves": [{"name", "tensor": T, "gradient": T}, ...],
 *    "tensors": [{"dtype", "shape", "strides", "at"}, ...]}
 *
 * T is an index in "tensors", or -1. "at" is an address; strides are in elements. Leaves are the
 * parameters in the order of heed_parameters, then the encodings, if given. The values stay in
 * memory until the next pass or another attention module. */
const char *page_pass(const int32_t *tokens, int count);
const char *page_pass_alone(const float *encodings, int count, const uint8_t *blocked);

/* page_losses: sets losses[i] to the loss of the last page_pass's sentence, in f64, with one
 * element of a leaf set to values[i]. */
bool page_losses(int leaf, int cell, const double *values, int count, double *losses);

/* ---- attention alone ---- */

/* page_alone: the attention module of the tutorial, with weights drawn from `seed`. */
bool page_alone(double seed, int d_model);

#endif
