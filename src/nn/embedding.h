/* The embedding layer: a table of rows to learn. */
#ifndef HEED_NN_EMBEDDING_H
#define HEED_NN_EMBEDDING_H

#include "nn/module.h"

HEED_BEGIN_DECLS

struct heed_embedding {
    heed_module module;
    heed_tensor *weight; /* (num_embeddings, embedding_dim) */
    int64_t num_embeddings, embedding_dim;
};

/* heed_embedding_new: as torch.nn.Embedding(num_embeddings, embedding_dim): normal with mean 0 and
 * standard deviation 1. HEED_ERR_VALUE: a size below 0. */
struct heed_embedding *heed_embedding_new(int64_t num_embeddings, int64_t embedding_dim);

/* heed_embedding_forward
 *
 *   ids (...) i64   ->   y (..., embedding_dim)
 *   y[...] = weight[ids[...]]
 *
 * HEED_ERR_INDEX: an id outside [0, num_embeddings). */
heed_tensor *heed_embedding_forward(struct heed_embedding *m, heed_tensor *ids);

void heed_embedding_free(struct heed_embedding *m);

HEED_END_DECLS
#endif
