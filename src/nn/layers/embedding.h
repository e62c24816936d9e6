/* The embedding layer: a table of trainable rows. */
#ifndef HEED_NN_EMBEDDING_H
#define HEED_NN_EMBEDDING_H

#include "../module.h"

HEED_BEGIN_DECLS

struct heed_embedding {
    heed_module module;
    heed_tensor *weight; /* (num_embeddings, embedding_dim) */
    int64_t num_embeddings, embedding_dim;
    int64_t padding_idx; /* the row that is not trained; -1: none */
};

typedef struct heed_embedding_options {
    const int64_t *padding_idx; /* NULL: none; negative: counted from the end */
    bool no_init;               /* zeros instead of random numbers; for loading weights */
} heed_embedding_options;

/* heed_embedding_new: as torch.nn.Embedding(num_embeddings, embedding_dim): weight is drawn from a
 * normal distribution with mean 0 and standard deviation 1. heed_embedding_new_with: row
 * padding_idx is zero and receives no gradient.
 * HEED_ERR_VALUE: a size is negative. HEED_ERR_INDEX: padding_idx is out of range. */
struct heed_embedding *heed_embedding_new(int64_t num_embeddings, int64_t embedding_dim);
struct heed_embedding *heed_embedding_new_with(int64_t num_embeddings, int64_t embedding_dim,
                                               heed_embedding_options options);

/* heed_embedding_forward
 *
 *   ids (...) i64   ->   y (..., embedding_dim)
 *   y[...] = weight[ids[...]]
 *
 * HEED_ERR_INDEX: an id is outside [0, num_embeddings). */
heed_tensor *heed_embedding_forward(struct heed_embedding *m, heed_tensor *ids);

HEED_END_DECLS
#endif
