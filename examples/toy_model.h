/* The toy next-token model: embedding, position encoding, one masked self-attention, a residual and
 * a linear layer to the vocabulary. What it takes to learn what *it* is.
 */
#ifndef HEED_EXAMPLES_TOY_MODEL_H
#define HEED_EXAMPLES_TOY_MODEL_H

#include "examples/toy_language.h"
#include "heed.h"

struct toy_model {
    heed_module module;
    struct heed_embedding *we;
    struct heed_position_encoding *pe;
    struct heed_self_attention *self_attention; /* one head, or NULL */
    struct heed_multi_head *multi_head;         /* several, or NULL */
    struct heed_linear *fc_layer;
};

typedef struct toy_options {
    uint64_t seed;
    int heads; /* 1: SelfAttention; more: MultiHead */
    int64_t d_model, head_dim, batch;
    int steps;
    double lr, eps, weight_decay;
} toy_options;

/* toy_defaults: the settings; they train 1, 2 and 4 heads alike. */
toy_options toy_defaults(uint64_t seed, int heads);

struct toy_model *toy_model_new(const toy_options *options, int64_t words);

/* toy_model_forward: tokens (B, T) or (T) i64 -> logits (B, T, words) or (T, words). */
heed_tensor *toy_model_forward(struct toy_model *m, heed_tensor *tokens);

/* toy_model_loss: how badly each token of `count` sentences is foreseen from those before it. */
heed_tensor *toy_model_loss(struct toy_model *m, const toy_sentence *sentences, int64_t count);

/* What a model knows of sentences. */
typedef struct toy_score {
    double accuracy;  /* share of sentences in which the word after *it* is foreseen */
    double attention; /* of *it* on its subject, the best head of each sentence, averaged */
} toy_score;
toy_score toy_evaluate(struct toy_model *m, const toy_sentence *sentences, int64_t count);

/* toy_attention: the weights (heads, T, T) with which it reads one sentence's first T tokens. */
heed_tensor *toy_attention(struct toy_model *m, const int64_t *sentence, int64_t length);

/* toy_next_word: the word that it finds likeliest after the first `length` of a sentence. */
int64_t toy_next_word(struct toy_model *m, const int64_t *tokens, int64_t length);

/* toy_train: trains, and calls `progress` (or none) after each step, until it returns false. The
 * model is drawn by the caller right after heed_manual_seed(options->seed). */
typedef bool toy_progress(void *context, struct toy_model *m, int step, double loss);
heed_status toy_train(struct toy_model *m, const toy_language *language, const toy_options *options,
                      toy_progress *progress, void *context);

#endif
