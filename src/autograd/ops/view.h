/* The same elements with a different shape, layout or dtype. A view shares storage with its input;
 * gradients flow through it.
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim). */
#ifndef HEED_AUTOGRAD_VIEW_H
#define HEED_AUTOGRAD_VIEW_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* ---- views ---- */

/* heed_transpose: as torch.transpose(x, dim0, dim1): swaps two dims.
 *
 *   x (..., m, ..., n, ...)   ->   y (..., n, ..., m, ...), a view       dx = transpose(g) */
heed_tensor *heed_transpose(heed_tensor *x, int dim0, int dim1);

/* heed_permute: as torch.permute(x, dims): reorders all dims.
 *
 *   x (B, T, C), HEED_DIMS(0, 2, 1)   ->   y (B, C, T), a view          dx = g permuted back
 *
 * HEED_ERR_DIM: dims does not list each dim exactly once. */
heed_tensor *heed_permute(heed_tensor *x, heed_dims dims);

/* heed_reshape: as torch.reshape(x, shape): the same elements in row-major order; one size may be
 * -1 and is inferred. A view if the strides allow it, else a copy.      dx = reshape(g)
 *
 * HEED_ERR_SHAPE: a different number of elements, or more than one -1. */
heed_tensor *heed_reshape(heed_tensor *x, heed_shape shape);

/* heed_flatten: as torch.flatten(x, start_dim, end_dim): merges dims start_dim ... end_dim into
 * one; a 0-dim tensor becomes (1). A single dim gives x itself.
 *
 *   x (B, m, n), 1, -1   ->   y (B, m n), a view or copy as in reshape     dx = reshape(g)
 *
 * HEED_ERR_DIM: start_dim is after end_dim. */
heed_tensor *heed_flatten(heed_tensor *x, int start_dim, int end_dim);

/* heed_unflatten: as torch.unflatten(x, dim, sizes): splits one dim into several; one size may be
 * -1.
 *
 *   x (B, m n), 1, HEED_SHAPE(m, -1)   ->   y (B, m, n), a view           dx = reshape(g)
 *
 * HEED_ERR_SHAPE: the product of the sizes is not the dim's size, or there are too many dims. */
heed_tensor *heed_unflatten(heed_tensor *x, int dim, heed_shape sizes);

/* heed_expand: as torch's x.expand(shape): repeats dims of size 1 and adds leading dims, without a
 * copy; -1 keeps a size.                                dx = the sum of g over the repeats
 *
 * HEED_ERR_SHAPE: a size other than 1 would change. */
heed_tensor *heed_expand(heed_tensor *x, heed_shape shape);

/* heed_squeeze: as torch.squeeze(x, dim): removes a dim of size 1; a dim of any other size is kept.
 * heed_unsqueeze: as torch.unsqueeze(x, dim): inserts a dim of size 1 at `dim`, in
 * [-ndim - 1, ndim + 1).                                                dx = reshape(g) */
heed_tensor *heed_squeeze(heed_tensor *x, int dim);
heed_tensor *heed_unsqueeze(heed_tensor *x, int dim);

/* heed_detach: as torch's x.detach(): the same values without the graph. */
heed_tensor *heed_detach(heed_tensor *x);

/* ---- copies ---- */

/* heed_clone: a contiguous copy. heed_contiguous: x itself if it is contiguous, else a copy. As in
 * torch.                                                                dx = g */
heed_tensor *heed_clone(heed_tensor *x);
heed_tensor *heed_contiguous(heed_tensor *x);

/* heed_to: as torch's x.to(dtype): x itself if it has that dtype, else a cast copy. Floats are
 * truncated to i64; in a cast to bool, nonzero becomes true.
 *                                                    dx = g cast back, only between floats */
heed_tensor *heed_to(heed_tensor *x, heed_dtype dtype);

HEED_END_DECLS
#endif
