/* Rows of a table, selected by index: the operation of nn/layers/embedding.h, which owns the table.
 *
 * Rows with equal ids are added in row-major order, so results are reproducible bit for bit.
 */
#ifndef HEED_AUTOGRAD_EMBEDDING_ROWS_H
#define HEED_AUTOGRAD_EMBEDDING_ROWS_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_embedding: as torch.nn.functional.embedding(ids, weight)
 *
 *   ids (...) i64   weight (V, d) float   ->   y (..., d)
 *   y[...] = weight[ids[...]]                  dweight[v] = the sum of g where ids = v
 *
 * HEED_ERR_INDEX: an id outside [0, V). HEED_ERR_DTYPE: ids are not i64, or weight is not a float.
 * HEED_ERR_SHAPE: weight does not have 2 dims. */
heed_tensor *heed_embedding(heed_tensor *ids, heed_tensor *weight);

/* heed_embedding_dense_backward: as in torch: a tensor (num_embeddings, d) whose row v is the sum
 * of the rows of g (..., d) where ids (...) = v. The derivative of heed_embedding; its own
 * derivative is heed_embedding.
 *
 * HEED_ERR_INDEX: an id outside [0, num_embeddings). HEED_ERR_SHAPE: g does not have the shape of
 * ids plus a last dim. */
heed_tensor *heed_embedding_dense_backward(heed_tensor *g, heed_tensor *ids,
                                           int64_t num_embeddings);

HEED_END_DECLS
#endif
