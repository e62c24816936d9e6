/* Looking rows up in a table. */
#ifndef HEED_AUTOGRAD_EMBEDDING_H
#define HEED_AUTOGRAD_EMBEDDING_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_embedding: as torch.nn.functional.embedding(ids, weight)
 *
 *   ids (...) i64   weight (V, d) float   ->   y (..., d)
 *   y[...] = weight[ids[...]]                  dweight[v] = the sum of g where ids = v
 *
 * HEED_ERR_INDEX: an id outside [0, V). HEED_ERR_DTYPE: ids are not i64, weight no floats.
 * HEED_ERR_SHAPE: weight does not have 2 dims. */
heed_tensor *heed_embedding(heed_tensor *ids, heed_tensor *weight);

/* heed_embedding_dense_backward: as torch's: g (..., d) added up into the rows that ids (...)
 * choose, (num_embeddings, d). The derivative of heed_embedding; its own looks the gradient up.
 *
 * HEED_ERR_INDEX, HEED_ERR_SHAPE: as above, or g is not ids' shape with a last dim more. */
heed_tensor *heed_embedding_dense_backward(heed_tensor *g, heed_tensor *ids,
                                           int64_t num_embeddings);

HEED_END_DECLS
#endif
