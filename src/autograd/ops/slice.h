/* Parts of tensors, as views; and copies that join, reorder or repeat elements.
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim). */
#ifndef HEED_AUTOGRAD_SLICE_H
#define HEED_AUTOGRAD_SLICE_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* ---- parts, as views: slice, select, narrow, split, chunk, index ---- */

/* heed_slice: as torch's x[..., start:end:step, ...] in dim `dim`: negative indices count from the
 * end, and out-of-range indices are clipped. For x[start:], pass INT64_MAX as `end`. A view.
 *
 *   dx = g in the slice, else 0
 *
 * HEED_ERR_VALUE: step below 1. */
heed_tensor *heed_slice(heed_tensor *x, int dim, int64_t start, int64_t end, int64_t step);

/* heed_slice_backward: like torch's slice_backward: zeros of shape `shape`, with g in the slice.
 * The derivative of heed_slice; its own derivative is heed_slice.
 *
 * HEED_ERR_SHAPE: g does not have the shape of the slice. */
heed_tensor *heed_slice_backward(heed_tensor *g, heed_shape shape, int dim, int64_t start,
                                 int64_t end, int64_t step);

/* heed_select: as torch.select(x, dim, index), x[..., index, ...]: selects one index of a dim
 * and removes the dim. A negative index counts from the end.
 *
 *   x (..., n, ...)   ->   y (..., ...), a view          dx = g at index, else 0
 *
 * HEED_ERR_INDEX: index outside [-n, n). */
heed_tensor *heed_select(heed_tensor *x, int dim, int64_t index);

/* heed_narrow: as torch.narrow(x, dim, start, length): indices start ... start + length - 1 of dim;
 * a negative start counts from the end. A view. Unlike heed_slice, it does not clip.
 *
 *   x (..., n, ...)   ->   y (..., length, ...)          dx = g at these indices, else 0
 *
 * HEED_ERR_INDEX: the range is not inside the dim. HEED_ERR_VALUE: a negative length. */
heed_tensor *heed_narrow(heed_tensor *x, int dim, int64_t start, int64_t length);

/* heed_split: as torch.split(x, split_size, dim): consecutive parts of that size; the last may be
 * smaller. heed_chunk: as torch.chunk(x, chunks, dim): parts of equal size; the last may be
 * smaller, and there may be fewer than `chunks`.
 *
 *     heed_tensor *qkv[3];
 *     heed_chunk(heed_linear_forward(m->in_proj, x), 3, -1, qkv);
 *
 *   x (..., n, ...)   ->   parts[i] (..., n_i, ...), views          dx = each g in its part
 *
 * Both return the number of parts and set the rest of `parts` to NULL. `parts` is an array of
 * `most` or `chunks` elements. On error they return 0 and all parts are NULL.
 *
 * HEED_ERR_VALUE: split_size below 1 (0 is allowed for an empty dim), more than `most` parts, or
 * chunks below 1. */
int heed_split(heed_tensor *x, int64_t split_size, int dim, heed_tensor **parts, int most);
int heed_chunk(heed_tensor *x, int chunks, int dim, heed_tensor **parts);

/* heed_index: as torch's x[...] with integers, ranges, an ellipsis and None, given as a string:
 *
 *     heed_index(x, "1:, ::2")        x[1:, ::2]
 *     heed_index(x, "0, ..., -1")     x[0, ..., -1]
 *     heed_index(x, "None, :-1")      x[None, :-1]
 *
 *   -1               the index of a dim, which is removed; a negative index counts from the end
 *   start:end:step   a part of a dim, clipped as in heed_slice; each number may be omitted
 *   ...              all dims that the other parts leave, as if `:` were repeated
 *   None             a new dim of size 1
 *
 * A view, composed of heed_select, heed_slice and heed_unsqueeze; x itself if the string selects
 * all of it. A comma may end the string. Tensors of indices: index.h. dx = g in the part, else 0
 *
 * HEED_ERR_VALUE: any other text, or a step below 1. HEED_ERR_DIM: more indices and ranges than x
 * has dims. HEED_ERR_INDEX: an index outside its dim. HEED_ERR_SHAPE: more than 8 dims. */
heed_tensor *heed_index(heed_tensor *x, const char *text);

/* ---- joining ---- */

/* heed_cat: as torch.cat(tensors, dim): joins tensors along a dim; all other sizes must be equal.
 * Tensors of shape (0) are skipped, whatever the shapes of the others.
 *
 *   `count` tensors (..., n_i, ...)     ->   y (..., sum of n_i, ...)     gradients: slices of g
 *
 * HEED_ERR_SHAPE: other sizes differ, or a tensor has no dims. HEED_ERR_DTYPE: f32 with f64. */
heed_tensor *heed_cat(heed_tensor *const *tensors, int count, int dim);

/* heed_stack: as torch.stack(tensors, dim): joins tensors along a new dim; dim is in
 * [-ndim - 1, ndim + 1).
 *
 *   `count` tensors (...)     ->   y (..., count, ...)                    gradients: slices of g
 *
 * HEED_ERR_SHAPE: the shapes differ, or the tensors already have 8 dims. HEED_ERR_DTYPE: f32 with
 * f64. */
heed_tensor *heed_stack(heed_tensor *const *tensors, int count, int dim);

/* ---- reordering and repeating ---- */

/* heed_flip: as torch.flip(x, dims): reverses the order of elements along these dims.
 *
 *   y[..., i, ...] = x[..., n - 1 - i, ...]                               dx = flip(g)
 *
 * HEED_ERR_DIM: a dim is given twice. */
heed_tensor *heed_flip(heed_tensor *x, heed_dims dims);

/* heed_repeat: as torch's x.repeat(sizes): tiles x sizes[i] times along dim i; surplus sizes add
 * leading dims.
 *
 *   x (m, n)   sizes (a, b, c)   ->   y (a, b m, c n)           dx = the sum of g over the copies
 *
 * HEED_ERR_SHAPE: fewer sizes than dims. HEED_ERR_VALUE: a negative size. */
heed_tensor *heed_repeat(heed_tensor *x, heed_shape sizes);

/* heed_repeat_interleave_dim: as torch.repeat_interleave(x, repeats, dim): repeats each slice along
 * dim `repeats` times, with its copies adjacent.
 *
 *   x (..., n, ...)   ->   y (..., n repeats, ...)              dx = the sum of g over the copies
 *
 * HEED_ERR_VALUE: repeats is negative. HEED_ERR_DIM: x has no dims. */
heed_tensor *heed_repeat_interleave_dim(heed_tensor *x, int64_t repeats, int dim);

HEED_END_DECLS
#endif
