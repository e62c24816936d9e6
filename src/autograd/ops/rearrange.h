/* Copies of elements: joined, in another order, or repeated.
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim).
 */
#ifndef HEED_AUTOGRAD_REARRANGE_H
#define HEED_AUTOGRAD_REARRANGE_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

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

/* ---- in another order, or several times ---- */

/* heed_flip: as torch.flip(x, dims): the elements along these dims in reverse order.
 *
 *   y[..., i, ...] = x[..., n - 1 - i, ...]                               dx = flip(g)
 *
 * HEED_ERR_DIM: a dim is given twice. */
heed_tensor *heed_flip(heed_tensor *x, heed_dims dims);

/* heed_roll: as torch.roll(x, shift): all elements, row by row, `shift` places on; those that leave
 * at the end come in at the beginning. heed_roll_dim: along one dim, as torch.roll(x, shift, dim);
 * heed_roll_dims: along several, each its shift; a dim may come again.
 *
 *   y[..., i, ...] = x[..., (i - shift) mod n, ...]                       dx = roll(g, -shift)
 *
 * HEED_ERR_VALUE: not one shift for each dim, or none. HEED_ERR_DIM: x has no dims. */
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
 * HEED_ERR_VALUE: a negative number. HEED_ERR_DIM: x has no dims. HEED_ERR_SHAPE: repeats of
 * another shape. HEED_ERR_DTYPE: repeats are not i64. */
heed_tensor *heed_repeat_interleave(heed_tensor *x, int64_t repeats);
heed_tensor *heed_repeat_interleave_dim(heed_tensor *x, int64_t repeats, int dim);
heed_tensor *heed_repeat_interleave_each(heed_tensor *x, heed_tensor *repeats, int dim);

HEED_END_DECLS
#endif
