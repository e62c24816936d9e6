/* Operations that change the shape, or how the elements lie. Views share storage with their input;
 * the gradient flows through them.
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim).
 */
#ifndef HEED_AUTOGRAD_SHAPE_H
#define HEED_AUTOGRAD_SHAPE_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* ---- views ---- */

/* heed_transpose: as torch.transpose(x, dim0, dim1): the two dims change places.
 *
 *   x (..., m, ..., n, ...)   ->   y (..., n, ..., m, ...), a view       dx = transpose(g) */
heed_tensor *heed_transpose(heed_tensor *x, int dim0, int dim1);

/* heed_permute: as torch.permute(x, dims): all dims in another order.
 *
 *   x (B, T, C), HEED_DIMS(0, 2, 1)   ->   y (B, C, T), a view          dx = g permuted back
 *
 * HEED_ERR_DIM: not each dim once. */
heed_tensor *heed_permute(heed_tensor *x, heed_dims dims);

/* heed_reshape: as torch.reshape(x, shape): the same elements in row-major order; one size may be
 * -1 and is found. A view where the strides allow it, else a copy.      dx = reshape(g)
 *
 * HEED_ERR_SHAPE: another number of elements, or more than one -1. */
heed_tensor *heed_reshape(heed_tensor *x, heed_shape shape);

/* heed_flatten: as torch.flatten(x, start_dim, end_dim): the dims from one to the other, both
 * included, become one; of a tensor without dims (1).
 *
 *   x (B, m, n), 1, -1   ->   y (B, m n), a view or a copy as of reshape  dx = reshape(g)
 *
 * HEED_ERR_DIM: start_dim comes after end_dim. */
heed_tensor *heed_flatten(heed_tensor *x, int start_dim, int end_dim);

/* heed_unflatten: as torch.unflatten(x, dim, sizes): one dim becomes several; one size may be -1.
 *
 *   x (B, m n), 1, HEED_SHAPE(m, -1)   ->   y (B, m, n), a view           dx = reshape(g)
 *
 * HEED_ERR_SHAPE: the sizes do not multiply to that of the dim, or too many dims. */
heed_tensor *heed_unflatten(heed_tensor *x, int dim, heed_shape sizes);

/* heed_expand: as torch's x.expand(shape): dims of size 1, and new ones in front, repeated without
 * a copy; -1 keeps a size.                         dx = the sum of g over what was repeated
 *
 * HEED_ERR_SHAPE: a size that is not 1 would change. */
heed_tensor *heed_expand(heed_tensor *x, heed_shape shape);

/* heed_broadcast_to: as torch.broadcast_to(x, shape): heed_expand by another name. */
heed_tensor *heed_broadcast_to(heed_tensor *x, heed_shape shape);

/* heed_squeeze: as torch.squeeze(x, dim): without that dim if its size is 1, else x as it is.
 * heed_unsqueeze: as torch.unsqueeze(x, dim): with a new dim of size 1 at `dim`, in
 * [-ndim - 1, ndim + 1).                                                dx = reshape(g) */
heed_tensor *heed_squeeze(heed_tensor *x, int dim);
heed_tensor *heed_unsqueeze(heed_tensor *x, int dim);

/* heed_slice: as torch's x[..., start:end:step, ...] in dim `dim`: negative places count from the
 * end, places outside are cut; INT64_MAX as end is the end. A view.
 *
 *   dx = g in the places that were taken, else 0
 *
 * HEED_ERR_VALUE: step below 1. */
heed_tensor *heed_slice(heed_tensor *x, int dim, int64_t start, int64_t end, int64_t step);

/* heed_slice_backward: as torch's slice_backward: zeros of `shape` with g in the slice. The
 * derivative of heed_slice; its own is the slice of its gradient.
 *
 * HEED_ERR_SHAPE: g does not have the shape of the slice. */
heed_tensor *heed_slice_backward(heed_tensor *g, heed_shape shape, int dim, int64_t start,
                                 int64_t end, int64_t step);

/* heed_select: as torch.select(x, dim, index), x[..., index, ...]: one place of a dim, which goes; a
 * negative index counts from the end.
 *
 *   x (..., n, ...)   ->   y (..., ...), a view          dx = g in that place, else 0
 *
 * HEED_ERR_INDEX: index outside [-n, n). */
heed_tensor *heed_select(heed_tensor *x, int dim, int64_t index);

/* heed_narrow: as torch.narrow(x, dim, start, length): the places start ... start + length - 1; a
 * negative start counts from the end. A view. Unlike heed_slice it cuts nothing off.
 *
 *   x (..., n, ...)   ->   y (..., length, ...)          dx = g in these places, else 0
 *
 * HEED_ERR_INDEX: places outside the dim. HEED_ERR_VALUE: a negative length. */
heed_tensor *heed_narrow(heed_tensor *x, int dim, int64_t start, int64_t length);

/* heed_split: as torch.split(x, split_size, dim): parts of that size one behind the other, the last
 * one perhaps smaller. heed_split_sizes: as torch.split with a list: `count` parts of these sizes.
 * heed_chunk: as torch.chunk(x, chunks, dim): parts of equal size, the last one perhaps smaller;
 * fewer than `chunks` where that many do not come out.
 *
 *     heed_tensor *qkv[3];
 *     heed_chunk(heed_linear_forward(m->in_proj, x), 3, -1, qkv);
 *
 *   x (..., n, ...)   ->   parts[i] (..., n_i, ...), views          dx = each g in its place
 *
 * They return how many parts they made, and set the rest of `parts` to NULL: room for `most`, `count`
 * and `chunks`. On error that is 0, and all are NULL.
 *
 * HEED_ERR_VALUE: a size below 1 (0 for an empty dim is right), more than `most` parts, sizes that
 * do not sum to n, chunks below 1. */
int heed_split(heed_tensor *x, int64_t split_size, int dim, heed_tensor **parts, int most);
int heed_split_sizes(heed_tensor *x, const int64_t *sizes, int count, int dim, heed_tensor **parts);
int heed_chunk(heed_tensor *x, int chunks, int dim, heed_tensor **parts);

/* heed_diagonal: as torch.diagonal(x, offset, dim1, dim2): the places where the index in dim2 is
 * that in dim1 plus offset, as the last dim. A view.
 *
 *   x (..., m, ..., n, ...)   ->   y (..., ..., ..., count)       dx = g on the diagonal, else 0
 *
 * HEED_ERR_DIM: dim1 and dim2 are the same. */
heed_tensor *heed_diagonal(heed_tensor *x, int64_t offset, int dim1, int dim2);

/* heed_diagonal_backward: as torch's diagonal_backward: zeros of `shape` with g on the diagonal. The
 * derivative of heed_diagonal; its own is the diagonal of its gradient.
 *
 * HEED_ERR_SHAPE: g does not have the shape of the diagonal. */
heed_tensor *heed_diagonal_backward(heed_tensor *g, heed_shape shape, int64_t offset, int dim1,
                                    int dim2);

/* heed_detach: as torch's x.detach(): the same values without the graph. */
heed_tensor *heed_detach(heed_tensor *x);

/* ---- copies ---- */

/* heed_cat: as torch.cat(tensors, dim): joined along a dim; all other sizes equal. A tensor of
 * shape (0) is left out, whatever shape the others have.
 *
 *   tensors: count of (..., n_i, ...)   ->   y (..., sum of n_i, ...)     each its slice of g
 *
 * HEED_ERR_SHAPE: other sizes differ, or no tensor has dims. HEED_ERR_DTYPE: f32 with f64. */
heed_tensor *heed_cat(heed_tensor *const *tensors, int count, int dim);

/* heed_stack: as torch.stack(tensors, dim): joined along a new dim, in [-ndim - 1, ndim + 1).
 *
 *   tensors: count of (...)   ->   y (..., count, ...)                    each its place of g
 *
 * HEED_ERR_SHAPE: their shapes differ, or have 8 dims already. HEED_ERR_DTYPE: f32 with f64. */
heed_tensor *heed_stack(heed_tensor *const *tensors, int count, int dim);

/* heed_clone: a copy of its own, contiguous; heed_contiguous: x itself if it is contiguous, else
 * the copy. As torch's.                                                  dx = g */
heed_tensor *heed_clone(heed_tensor *x);
heed_tensor *heed_contiguous(heed_tensor *x);

/* heed_to: as torch's x.to(dtype): x itself if it is of that dtype, else a cast copy. Floats are
 * cut towards 0 to i64; to bool, everything but 0 is true.  dx = g cast back, between floats */
heed_tensor *heed_to(heed_tensor *x, heed_dtype dtype);

/* ---- rearranging: copies with the elements in another order, or several times (rearrange.c) ---- */

/* heed_flip: as torch.flip(x, [dim]): the places of a dim in reverse order; heed_flip_dims: of
 * several, of none with an empty list.
 *
 *   y[..., i, ...] = x[..., n - 1 - i, ...]                               dx = flip(g)
 *
 * HEED_ERR_DIM: a dim is given twice. */
heed_tensor *heed_flip(heed_tensor *x, int dim);
heed_tensor *heed_flip_dims(heed_tensor *x, heed_dims dims);

/* heed_roll: as torch.roll(x, shift): all elements, row by row, `shift` places on; those that leave
 * at the end come in at the beginning. heed_roll_dim: along one dim, as torch.roll(x, shift, dim);
 * heed_roll_dims: along several, each its shift; a dim may come again.
 *
 *   y[..., i, ...] = x[..., (i - shift) mod n, ...]                       dx = roll(g, -shift)
 *
 * HEED_ERR_VALUE: not one shift for each dim, or none. HEED_ERR_DIM: x has no dims to roll along. */
heed_tensor *heed_roll(heed_tensor *x, int64_t shift);
heed_tensor *heed_roll_dim(heed_tensor *x, int64_t shift, int dim);
heed_tensor *heed_roll_dims(heed_tensor *x, heed_shape shifts, heed_dims dims);

/* heed_repeat: as torch's x.repeat(sizes): x so many times one behind the other in each dim; more
 * sizes than x has dims add dims in front.
 *
 *   x (m, n)   sizes (a, b, c)   ->   y (a, b m, c n)           dx = the sum of g over the copies
 *
 * HEED_ERR_SHAPE: fewer sizes than dims. HEED_ERR_VALUE: a negative size. */
heed_tensor *heed_repeat(heed_tensor *x, heed_shape sizes);

/* heed_repeat_interleave_dim: as torch.repeat_interleave(x, repeats, dim): each place of a dim so
 * many times, one copy behind the other; heed_repeat_interleave: each element, in one dim.
 * heed_repeat_interleave_each: each place its own number of times, as torch's with a tensor.
 *
 *   x (..., n, ...)   repeats (n) or (1) or () i64   ->   y (..., sum of repeats, ...)
 *   dx = the sum of g over the copies
 *
 * HEED_ERR_VALUE: a negative number. HEED_ERR_DIM: x has no dims. HEED_ERR_SHAPE: repeats of another
 * shape. HEED_ERR_DTYPE: repeats are not i64. */
heed_tensor *heed_repeat_interleave(heed_tensor *x, int64_t repeats);
heed_tensor *heed_repeat_interleave_dim(heed_tensor *x, int64_t repeats, int dim);
heed_tensor *heed_repeat_interleave_each(heed_tensor *x, heed_tensor *repeats, int dim);

HEED_END_DECLS
#endif
