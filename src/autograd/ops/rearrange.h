/* Copies that join, reorder or repeat elements.
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim). */
#ifndef HEED_AUTOGRAD_REARRANGE_H
#define HEED_AUTOGRAD_REARRANGE_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

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

/* heed_roll: as torch.roll(x, shift): shifts all elements, in row-major order, by `shift`
 * positions; those shifted past the end wrap around. heed_roll_dim: along one dim, as torch.roll(x,
 * shift, dim). heed_roll_dims: along several dims, with one shift each; a dim may be listed twice.
 *
 *   y[..., i, ...] = x[..., (i - shift) mod n, ...]                       dx = roll(g, -shift)
 *
 * HEED_ERR_VALUE: the numbers of shifts and dims differ, or are 0. HEED_ERR_DIM: x has no dims. */
heed_tensor *heed_roll(heed_tensor *x, int64_t shift);
heed_tensor *heed_roll_dim(heed_tensor *x, int64_t shift, int dim);
heed_tensor *heed_roll_dims(heed_tensor *x, heed_shape shifts, heed_dims dims);

/* heed_repeat: as torch's x.repeat(sizes): tiles x sizes[i] times along dim i; surplus sizes add
 * leading dims.
 *
 *   x (m, n)   sizes (a, b, c)   ->   y (a, b m, c n)           dx = the sum of g over the copies
 *
 * HEED_ERR_SHAPE: fewer sizes than dims. HEED_ERR_VALUE: a negative size. */
heed_tensor *heed_repeat(heed_tensor *x, heed_shape sizes);

/* heed_repeat_interleave_dim: as torch.repeat_interleave(x, repeats, dim): repeats each slice along
 * dim `repeats` times, with its copies adjacent. heed_repeat_interleave: repeats each element of
 * the flattened x. heed_repeat_interleave_each: takes a separate number of repeats for each slice,
 * like torch's form with a tensor.
 *
 *   x (..., n, ...)   repeats (n) or (1) or () i64   ->   y (..., sum of repeats, ...)
 *   dx = the sum of g over the copies
 *
 * HEED_ERR_VALUE: repeats is negative. HEED_ERR_DIM: x has no dims. HEED_ERR_SHAPE: repeats has a
 * different shape. HEED_ERR_DTYPE: repeats is not i64. */
heed_tensor *heed_repeat_interleave(heed_tensor *x, int64_t repeats);
heed_tensor *heed_repeat_interleave_dim(heed_tensor *x, int64_t repeats, int dim);
heed_tensor *heed_repeat_interleave_each(heed_tensor *x, heed_tensor *repeats, int dim);

HEED_END_DECLS
#endif
