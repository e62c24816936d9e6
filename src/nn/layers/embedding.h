/* The embedding layer: a table of trainable rows. */
#ifndef HEED_NN_EMBEDDING_H
#define HEED_NN_EMBEDDING_H

#include "../module.h"

HEED_BEGIN_DECLS

struct heed_embedding {
    heed_module module;
    heed_tensor *weight; /* (num_embeddings, embedding_dim) */
    int64_t num_embeddings, embedding_dim;
};

/* heed_embedding_new: as torch.nn.Embedding(num_embeddings, embedding_dim): weight is drawn from a
 * normal distribution with mean 0 and standard deviation 1. HEED_ERR_VALUE: a size is negative. */
struct heed_embedding *heed_embedding_new(int64_t num_embeddings, int64_t embedding_dim);

/* heed_embedding_forward
 *
 *   ids (...) i64   ->   y (..., embedding_dim)
 *   y[...] = weight[ids[...]]
 *
 * HEED_ERR_INDEX: an id is outside [0, num_embeddings). */
heed_tensor *heed_embedding_forward(struct heed_embedding *m, heed_tensor *ids);

/* ---- sinusoidal position encoding (Vaswani et al., 2017, section 3.5) ---- */

struct heed_position_encoding {
    heed_module module;
    heed_tensor *pe; /* (max_len, d_model), a buffer */
};

/* heed_position_encoding_new
 *
 *   pe[t, 2i] = sin(t / 10000^(2i / d_model))    pe[t, 2i + 1] = cos(t / 10000^(2i / d_model))
 *
 * If d_model is odd, the last column is a sine. HEED_ERR_VALUE: d_model or max_len is below 1. */
struct heed_position_encoding *heed_position_encoding_new(int64_t d_model, int64_t max_len);

/* heed_position_encoding_forward
 *
 *   x (..., T, d_model)   ->   y (..., T, d_model)
 *   y = x + pe[:T]
 *
 * Torch's attention and encoder take (T, N, d_model) unless .batch_first is set.
 * HEED_ERR_SHAPE: T exceeds max_len, or the last dim is not d_model. */
heed_tensor *heed_position_encoding_forward(struct heed_position_encoding *m, heed_tensor *x);

HEED_END_DECLS
#endif
