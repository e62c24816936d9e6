/* Elements and rows looked up by index, and added up at indices.
 *
 * An index is i64 and counts from 0: a negative one is an error here, as in torch. Wherever a
 * gradient meets an index several times, it is added up in the order of the indices, so that it
 * has the same bits each time.
 *
 * HEED_ERR_INDEX: an index outside its dim. HEED_ERR_DTYPE: the index is not i64. HEED_ERR_DIM: a
 * dim outside [-ndim, ndim).
 */
#ifndef HEED_AUTOGRAD_INDEX_H
#define HEED_AUTOGRAD_INDEX_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* ---- whole rows ---- */

/* heed_index_select: as torch.index_select(x, dim, index)
 *
 *   x (..., m, ...)   index (n), or () for n = 1   ->   y (..., n, ...)
 *   y[..., i, ...] = x[..., index[i], ...]       dx = index_add(0, dim, index, g)
 *
 * HEED_ERR_SHAPE: the index has 2 dims or more; or not one element, for an x without dims. */
heed_tensor *heed_index_select(heed_tensor *x, int dim, heed_tensor *index);

/* heed_index_add: as torch.index_add(x, dim, index, source)
 *
 *   x (..., m, ...)   index (n)   source (..., n, ...)   ->   y (..., m, ...)
 *   y = x with source[..., i, ...] added to y[..., index[i], ...], for i = 0, 1, ...
 *   dx = g          dsource = index_select(g, dim, index)
 *
 * HEED_ERR_SHAPE: source is not of x's shape with n in dim. HEED_ERR_DTYPE: x and source differ. */
heed_tensor *heed_index_add(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *source);

/* heed_masked_select: as torch.masked_select(x, mask): the elements where the mask is true, row by
 * row
 *
 *   x (...)   keep_mask (...) bool   ->   y (n), for n true ones; the shapes broadcast
 *   dx = g where it was taken from, else 0
 *
 * HEED_ERR_SHAPE: the shapes do not broadcast. HEED_ERR_DTYPE: keep_mask is not bool. */
heed_tensor *heed_masked_select(heed_tensor *x, heed_tensor *keep_mask);

/* heed_one_hot: as torch.nn.functional.one_hot(ids, num_classes)
 *
 *   ids (...) i64   ->   y (..., num_classes) i64, without gradient
 *   y[..., c] = 1 where ids = c, else 0          num_classes -1: the largest id + 1
 *
 * HEED_ERR_INDEX: an id outside [0, num_classes). HEED_ERR_VALUE: num_classes below -1; or not
 * known, because there are no ids. HEED_ERR_SHAPE: ids have 8 dims. */
heed_tensor *heed_one_hot(heed_tensor *ids, int64_t num_classes);

/* ---- single elements ---- */

/* heed_gather: as torch.gather(x, dim, index)
 *
 *   x (..., m, ...)   index (..., n, ...)   ->   y (as index)
 *   y[i, j, k] = x[i, index[i, j, k], k] for dim = 1       dx = scatter_add(0, dim, index, g)
 *
 * The index has as many dims as x, and may be smaller than x in the others.
 * HEED_ERR_SHAPE: it has other dims, or is larger in one but dim. */
heed_tensor *heed_gather(heed_tensor *x, int dim, heed_tensor *index);

/* heed_scatter_add: as torch.scatter_add(x, dim, index, src)
 *
 *   x (..., m, ...)   index (..., n, ...)   src (at least as large as index)   ->   y (as x)
 *   y = x with src[i, j, k] added to y[i, index[i, j, k], k] for dim = 1, row by row
 *   dx = g          dsrc = gather(g, dim, index), 0 where the index does not reach
 *
 * HEED_ERR_SHAPE: as for gather, or src is smaller than index. HEED_ERR_DTYPE: x and src differ. */
heed_tensor *heed_scatter_add(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *src);

/* ---- rows of a table: nn/layers/embedding.h is the module with the parameter ---- */

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
