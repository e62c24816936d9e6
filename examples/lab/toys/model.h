/* The model of a toy: a residual stream to which blocks of attention, with or without a
 * feed-forward network, add; causal, without dropout. */
#ifndef HEED_TOYS_MODEL_H
#define HEED_TOYS_MODEL_H

#include "examples/lab/toys/task.h"

struct toys_block {
    heed_module module;
    struct heed_layer_norm *norm_1, *norm_2; /* or NULL */
    struct heed_linear *qkv, *W_o; /* (3 width, width): queries, keys, values; no biases */
    struct heed_feed_forward *ff;  /* or NULL */
};

struct toys_model {
    heed_module module;
    struct heed_embedding *wte; /* of tokens that are ids, or NULL */
    struct heed_linear *input;  /* of tokens that are numbers, or NULL */
    struct heed_embedding *wpe; /* learned positions, or NULL */
    heed_tensor *pe;            /* sinusoidal positions, a buffer, or NULL */
    struct heed_module_list *blocks;
    struct heed_layer_norm *norm; /* or NULL */
    struct heed_linear *unembed;  /* without bias */
    toys_settings settings;
    toys_shape shape;
};

/* toys_model_new: a model for sequences of this shape, or with fewer tokens, with weights from this
 * thread's generator. Embeddings are drawn with standard deviation 1 / sqrt(width), everything else
 * as in torch. */
struct toys_model *toys_model_new(const toys_settings *s, toys_shape shape);

/* toys_forward: the outputs (rows, scored, outputs) at the scored positions of a batch.
 * toys_loss: their loss, as in toys_score.
 * toys_block_of: block i. */
heed_tensor *toys_forward(struct toys_model *m, const toys_batch *b);
heed_tensor *toys_loss(const struct toys_model *m, const toys_batch *b, heed_tensor *outputs);
struct toys_block *toys_block_of(const struct toys_model *m, int i);

#endif
