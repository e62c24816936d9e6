/* The operations, in reading order. */
#ifndef HEED_AUTOGRAD_OPERATIONS_H
#define HEED_AUTOGRAD_OPERATIONS_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* ======== element by element: the operations of ops.def, where, allclose, equal ========
 *
 * Shapes broadcast as in torch: aligned at the last dim, with sizes equal or 1. A float with i64 or
 * bool gives that float dtype; f32 with f64 is HEED_ERR_DTYPE: use heed_to. "float" below means
 * that i64 and bool are cast to f32 first.
 *
 * Each binary operation also has a form with a number as its right operand (`_scalar`). With an i64
 * or bool tensor the number must be an integer, else HEED_ERR_VALUE: use heed_to first.
 *
 * HEED_ERR_SHAPE: the shapes do not broadcast. HEED_ERR_DTYPE: f32 with f64, or an operation that
 * does not support bool. */

/* ---- one operand: x (...) -> y (...), like the torch functions of the same name ---- */

heed_tensor *heed_neg(heed_tensor *x);    /* y = -x             dx = -g             not bool */
heed_tensor *heed_exp(heed_tensor *x);    /* y = e^x            dx = g y            float */
heed_tensor *heed_expm1(heed_tensor *x);  /* y = e^x - 1        dx = g (y + 1)      float */
heed_tensor *heed_log(heed_tensor *x);    /* y = ln x           dx = g / x          float */
heed_tensor *heed_log1p(heed_tensor *x);  /* y = ln(1 + x)      dx = g / (1 + x)    float */
heed_tensor *heed_sqrt(heed_tensor *x);   /* y = x^(1/2)        dx = g / (2 y)      float */
heed_tensor *heed_rsqrt(heed_tensor *x);  /* y = x^(-1/2)       dx = -g y^3 / 2     float */
heed_tensor *heed_square(heed_tensor *x); /* y = x^2            dx = 2 g x          not bool */
heed_tensor *heed_sin(heed_tensor *x);    /* y = sin x          dx = g cos x        float */
heed_tensor *heed_cos(heed_tensor *x);    /* y = cos x          dx = -g sin x       float */
heed_tensor *heed_tanh(heed_tensor *x);   /* y = tanh x         dx = g (1 - y^2)    float */
heed_tensor *heed_erf(heed_tensor *x);    /* y = erf x   dx = 2 g e^(-x^2) / pi^(1/2)   float */
heed_tensor *heed_abs(heed_tensor *x);    /* y = |x|            dx = g sign(x)      not bool */
heed_tensor *heed_sign(heed_tensor *x);   /* y = 1, 0, -1; 0 for NaN     dx = 0 */
heed_tensor *heed_floor(heed_tensor *x);  /* y = x rounded down          dx = 0      not bool */

/* Activations; i64 and bool are cast to f32. s is sigmoid(x). */
heed_tensor *heed_relu(heed_tensor *x);     /* y = max(x, 0)      dx = g where y > 0  not bool */
heed_tensor *heed_sigmoid(heed_tensor *x);  /* y = 1 / (1 + e^-x)   dx = g y (1 - y) */
heed_tensor *heed_silu(heed_tensor *x);     /* y = x s            dx = g s (1 + x (1 - s)) */
heed_tensor *heed_softplus(heed_tensor *x); /* y = ln(1 + e^x); x if x > 20   dx = g s */
/* heed_gelu: as torch.nn.functional.gelu(x) (Hendrycks and Gimpel, 2016). heed_gelu_tanh: torch's
 * approximate="tanh".
 *
 *   y = x P(x), with P and p the normal CDF and its density     dx = g (P(x) + x p(x))
 *   heed_gelu_tanh: P(x) = (1 + tanh((2 / pi)^(1/2) (x + 0.044715 x^3))) / 2 */
heed_tensor *heed_gelu(heed_tensor *x);
heed_tensor *heed_gelu_tanh(heed_tensor *x);

/* ---- two operands: a (...), b (...) -> y (broadcast) ---- */

/* Sums of bools are "or", products are "and". An i64 to a negative power is 1 / a^-b, truncated. */
heed_tensor *heed_add(heed_tensor *a, heed_tensor *b); /* y = a + b   da = g         db = g */
heed_tensor *heed_sub(heed_tensor *a, heed_tensor *b); /* y = a - b   da = g         db = -g */
heed_tensor *heed_mul(heed_tensor *a, heed_tensor *b); /* y = a b     da = g b       db = g a */
heed_tensor *heed_div(heed_tensor *a, heed_tensor *b); /* y = a / b   da = g / b     db = -g y / b
                                                          float, as torch.true_divide */
heed_tensor *heed_pow(heed_tensor *a, heed_tensor *b); /* y = a^b     da = g b a^(b-1)
                                                          db = g y ln a; 0 where a = 0 <= b */
/* heed_maximum, heed_minimum: the larger and the smaller operand
 *
 *   y = the operand that is chosen, NaN if either is NaN
 *   da = g where a is chosen, g / 2 where a = b          db: likewise */
heed_tensor *heed_maximum(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_minimum(heed_tensor *a, heed_tensor *b);
/* The same with a number b, as a + 2 in torch:   a (...)   ->   y (...)      da: as above */
heed_tensor *heed_add_scalar(heed_tensor *a, double b);
heed_tensor *heed_sub_scalar(heed_tensor *a, double b);
heed_tensor *heed_mul_scalar(heed_tensor *a, double b);
heed_tensor *heed_div_scalar(heed_tensor *a, double b);
heed_tensor *heed_pow_scalar(heed_tensor *a, double b); /* i64: b >= 0, else HEED_ERR_VALUE */
heed_tensor *heed_maximum_scalar(heed_tensor *a, double b);
heed_tensor *heed_minimum_scalar(heed_tensor *a, double b);

/* ---- comparisons: a (...), b (...) -> bool (broadcast), no gradient ---- */

/* As torch.eq(a, b) and the like: equal, not equal, less, less or equal, greater, greater or equal.
 * NaN gives false, but true in heed_ne. */
heed_tensor *heed_eq(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_ne(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_lt(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_le(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_gt(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_ge(heed_tensor *a, heed_tensor *b);

/* The same with a number, as a == 2 in torch: a (...) -> bool (...). It need not be an integer,
 * whatever the tensor's dtype: i64 elements are then compared as f64. */
heed_tensor *heed_eq_scalar(heed_tensor *a, double b);
heed_tensor *heed_ne_scalar(heed_tensor *a, double b);
heed_tensor *heed_lt_scalar(heed_tensor *a, double b);
heed_tensor *heed_le_scalar(heed_tensor *a, double b);
heed_tensor *heed_gt_scalar(heed_tensor *a, double b);
heed_tensor *heed_ge_scalar(heed_tensor *a, double b);

/* ---- comparisons of whole tensors ---- */

/* heed_allclose: true if |a - b| <= atol + rtol * |b| for all elements, as torch.allclose. An
 * infinity is close only to itself. NaN is close to nothing, or with equal_nan only to NaN. torch's
 * defaults are rtol 1e-5 and atol 1e-8. False on error. */
bool heed_allclose(heed_tensor *a, heed_tensor *b, double rtol, double atol, bool equal_nan);

/* heed_equal: true if shape, dtype and elements are equal, as torch.equal. False on error. */
bool heed_equal(heed_tensor *a, heed_tensor *b);

/* ---- logic: any dtype, nonzero (including NaN) is true -> bool, no gradient ---- */

/* As torch.logical_and(a, b) and the like. */
heed_tensor *heed_logical_and(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_logical_or(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_logical_not(heed_tensor *x);

/* As torch.isnan(x). */
heed_tensor *heed_isnan(heed_tensor *x);

/* heed_where: as torch.where(condition, a, b). heed_where_scalars: with two numbers. With a number
 * a: heed_masked_fill(b, condition, a); with a number b: heed_masked_fill(a,
 * heed_logical_not(condition), b).
 *
 *   condition (...) bool   a (...)   b (...)   ->   y (broadcast)
 *   y = a where condition, else b
 *   da = g where condition, else 0          db = 0 where condition, else g
 *
 * HEED_ERR_DTYPE: condition is not bool. */
heed_tensor *heed_where(heed_tensor *condition, heed_tensor *a, heed_tensor *b);
heed_tensor *heed_where_scalars(heed_tensor *condition, double a, double b, heed_dtype dtype);

/* ======== the same elements with a different shape, layout or dtype ========
 *
 * A view shares storage with its input;
 * gradients flow through it.
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim). */

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

/* ======== parts, as views; and copies that join, reorder or repeat elements ========
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim). */

/* ---- parts, as views: slice, select, narrow, split, chunk, index ---- */

/* heed_slice: as torch's x[..., start:end:step, ...] in dim `dim`: negative indices count from the
 * end, and out-of-range indices are clipped. For x[start:], pass INT64_MAX as `end`. A view.
 *
 *   dx = g in the slice, else 0
 *
 * HEED_ERR_VALUE: step below 1. */
heed_tensor *heed_slice(heed_tensor *x, int dim, int64_t start, int64_t end, int64_t step);

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
 * HEED_ERR_INDEX: the range is not inside the dim, or the length is negative. */
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
 * all of it. A comma may end the string. dx = g in the part, else 0
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

/* heed_repeat_interleave_dim: as torch.repeat_interleave(x, repeats, dim): repeats each slice along
 * dim `repeats` times, with its copies adjacent.
 *
 *   x (..., n, ...)   ->   y (..., n repeats, ...)              dx = the sum of g over the copies
 *
 * HEED_ERR_VALUE: repeats is negative. HEED_ERR_DIM: x has no dims. */
heed_tensor *heed_repeat_interleave_dim(heed_tensor *x, int64_t repeats, int dim);

/* ======== reductions; cumsum ========
 *
 * The plain form reduces all dims, `_dim` reduces one, and `_dims` reduces several, or all if the
 * list is empty. keepdim keeps reduced dims with size 1. Floats are summed in double and rounded
 * once.
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim), or given twice. */

/* ---- sums ---- */

/* heed_sum: as torch.sum(x, dim, keepdim)
 *
 *   x (..., n, ...)   ->   y (..., ...); i64 for i64 and bool
 *   y = sum over the dims                       dx = g, broadcast along them */
heed_tensor *heed_sum(heed_tensor *x);
heed_tensor *heed_sum_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_sum_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* heed_mean: as torch.mean(x, dim, keepdim)
 *
 *   x (..., n, ...) float   ->   y (..., ...)
 *   y = sum over the dims / count; NaN if count is 0       dx = g / count, broadcast along them
 *
 * HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_mean(heed_tensor *x);
heed_tensor *heed_mean_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_mean_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* heed_cumsum: as torch.cumsum(x, dim): cumulative sums along dim
 *
 *   x (..., n, ...)   ->   y (..., n, ...); i64 for i64 and bool
 *   y_i = x_0 + ... + x_i                               dx_i = g_i + ... + g_(n-1) */
heed_tensor *heed_cumsum(heed_tensor *x, int dim);

/* ---- extremes ---- */

/* heed_amax, heed_amin: the largest and the smallest element, as torch.amax(x, dim, keepdim)
 *
 *   x (..., n, ...)   ->   y (..., ...)
 *   y = the largest over the dims; NaN if any is NaN
 *   dx = g / k at the k elements equal to y, else 0; all NaN if y is NaN, as in torch
 *
 * HEED_ERR_SHAPE: a dim without elements. */
heed_tensor *heed_amax(heed_tensor *x);
heed_tensor *heed_amax_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_amax_dims(heed_tensor *x, heed_dims dims, bool keepdim);
heed_tensor *heed_amin(heed_tensor *x);
heed_tensor *heed_amin_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_amin_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* heed_max, heed_min: as torch.max(x), over all elements. Like heed_amax, but if y is NaN, the
 * gradient goes to the NaN elements. Along a dim, with indices: heed_max_dim.
 *
 * HEED_ERR_SHAPE: a dim without elements. */
heed_tensor *heed_max(heed_tensor *x);
heed_tensor *heed_min(heed_tensor *x);

/* heed_argmax, heed_argmin: index of the largest or smallest element of the flattened x, as
 * torch.argmax(x). With a dim: index along dim, as torch.argmax(x, dim, keepdim). Equal elements
 * give the index of the first; if any is NaN, the result is the index of the first NaN.
 *
 *   x (..., n, ...)   ->   y (..., ...) i64, no gradient
 *
 * HEED_ERR_SHAPE: a dim without elements. HEED_ERR_DTYPE: bool. */
heed_tensor *heed_argmax(heed_tensor *x);
heed_tensor *heed_argmax_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_argmin(heed_tensor *x);
heed_tensor *heed_argmin_dim(heed_tensor *x, int dim, bool keepdim);

/* ---- variance and norm ---- */

/* heed_var: as torch.var(x, dim, correction, keepdim); the plain form uses torch's default
 * correction, 1
 *
 *   x (..., n, ...) float   ->   y (..., ...)
 *   y = the sum of (x - mean)^2 / (n - correction)      dx = g 2 (x - mean) / (n - correction)
 *
 * If n <= correction, the divisor is 0 and y is inf, or NaN if all elements are equal.
 * heed_std: its square root, y = sqrt(var).   dx = g (x - mean) / (y (n - correction)); 0 if y = 0
 *
 * HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_var(heed_tensor *x);
heed_tensor *heed_var_dim(heed_tensor *x, int dim, int correction, bool keepdim);
heed_tensor *heed_var_dims(heed_tensor *x, heed_dims dims, int correction, bool keepdim);
heed_tensor *heed_std(heed_tensor *x);
heed_tensor *heed_std_dim(heed_tensor *x, int dim, int correction, bool keepdim);
heed_tensor *heed_std_dims(heed_tensor *x, heed_dims dims, int correction, bool keepdim);

/* heed_norm: as torch.linalg.vector_norm(x, 2, dim, keepdim): the length of vectors
 *
 *   x (..., n, ...) float   ->   y (..., ...)
 *   y = the square root of the sum of x^2            dx = g x / y, 0 where y is 0
 *
 * HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_norm(heed_tensor *x);
heed_tensor *heed_norm_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_norm_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* heed_logsumexp: as torch.logsumexp(x, dim, keepdim): ln of a sum of exponentials, without
 * overflow
 *
 *   x (..., n, ...)   ->   y (..., ...); f32 for i64 and bool
 *   y = ln sum over the dims of e^x; -inf if all x are -inf         dx = g e^(x - y)
 *
 * The gradient is NaN where both x and y are infinite, as in torch. */
heed_tensor *heed_logsumexp(heed_tensor *x);
heed_tensor *heed_logsumexp_dim(heed_tensor *x, int dim, bool keepdim);
heed_tensor *heed_logsumexp_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* ---- undoing broadcasting ---- */

/* heed_sum_to_size: x summed to `shape` over the dims that broadcasting repeated, as torch's
 * x.sum_to_size(shape). The engine uses it to undo broadcasting.      dx = expand(g)
 *
 * HEED_ERR_SHAPE: `shape` does not broadcast to x's. */
heed_tensor *heed_sum_to_size(heed_tensor *x, heed_shape shape);

/* ======== sorting; the largest along a dim with its index ========
 *
 * All dtypes are supported. Sorting is stable in both directions. NaN is larger than all numbers,
 * as in torch, and -0 equals 0.
 *
 * HEED_ERR_DIM: a dim outside [-ndim, ndim). */

/* heed_argsort: as torch.argsort(x, dim, descending, stable=True)
 *
 *   x (..., n, ...)   ->   y (..., n, ...) i64, no gradient
 *   gather(x, dim, y) is sorted along dim */
heed_tensor *heed_argsort(heed_tensor *x, int dim, bool descending);

/* heed_sort: as torch.sort(x, dim, descending, stable=True): the elements sorted along dim. If
 * `indices` is not NULL, sets *indices to their original positions, as returned by heed_argsort: a
 * separate i64 tensor in the same scope, NULL on error.
 *
 *   x (..., n, ...)   ->   y (..., n, ...)       dx = g in the original order */
heed_tensor *heed_sort(heed_tensor *x, int dim, bool descending, heed_tensor **indices);

/* heed_topk: as torch.topk(x, k, dim, largest): the k largest along dim, largest first, or the k
 * smallest, smallest first. *indices as in heed_sort. Among equal elements, the earlier ones are
 * taken.
 *
 *   x (..., n, ...)   ->   y (..., k, ...)       dx = g at the selected elements, else 0
 *
 * HEED_ERR_VALUE: k outside [0, n]. */
heed_tensor *heed_topk(heed_tensor *x, int64_t k, int dim, bool largest, heed_tensor **indices);

/* heed_max_dim, heed_min_dim: as torch.max(x, dim, keepdim): the largest and the smallest along
 * dim. *indices as in heed_sort: the indices along dim that heed_argmax_dim and heed_argmin_dim
 * return.
 *
 *   x (..., n, ...)   ->   y (..., ...), *indices (..., ...)      dx = g at these indices, else 0
 *
 *     heed_tensor *places, *best = heed_max_dim(scores, -1, false, &places);
 *
 * HEED_ERR_SHAPE: a dim without elements. */
heed_tensor *heed_max_dim(heed_tensor *x, int dim, bool keepdim, heed_tensor **indices);
heed_tensor *heed_min_dim(heed_tensor *x, int dim, bool keepdim, heed_tensor **indices);

/* ======== selecting elements and rows by index, and adding at indices ========
 *
 * An index is i64 and counts from 0; negative values are an error, as in torch. Values with equal
 * indices are added in row-major order, so results are reproducible bit for bit.
 *
 * HEED_ERR_INDEX: an index outside its dim. HEED_ERR_DTYPE: the index is not i64. HEED_ERR_DIM: a
 * dim outside [-ndim, ndim). */

/* ---- whole rows ---- */

/* heed_index_select: as torch.index_select(x, dim, index)
 *
 *   x (..., m, ...)   index (n), or () for n = 1   ->   y (..., n, ...)
 *   y[..., i, ...] = x[..., index[i], ...]       dx = g added at the index
 *
 * HEED_ERR_SHAPE: the index has 2 dims or more, or x is 0-dim and the index does not have one
 * element. */
heed_tensor *heed_index_select(heed_tensor *x, int dim, heed_tensor *index);

/* heed_one_hot: as torch.nn.functional.one_hot(ids, num_classes)
 *
 *   ids (...) i64   ->   y (..., num_classes) i64, no gradient
 *   y[..., c] = 1 where ids = c, else 0          num_classes -1: the largest id + 1
 *
 * HEED_ERR_INDEX: an id outside [0, num_classes). HEED_ERR_VALUE: num_classes is below -1, or below
 * 1 while ids is empty. HEED_ERR_SHAPE: ids already has 8 dims. */
heed_tensor *heed_one_hot(heed_tensor *ids, int64_t num_classes);

/* ---- single elements ---- */

/* heed_gather: as torch.gather(x, dim, index)
 *
 *   x (..., m, ...)   index (..., n, ...)   ->   y (as index)
 *   y[i, j, k] = x[i, index[i, j, k], k] for dim = 1       dx = scatter_add(0, dim, index, g)
 *
 * The index has as many dims as x. Its sizes in dims other than dim may be smaller than x's.
 * HEED_ERR_SHAPE: the index has a different number of dims, or is larger than x in a dim other than
 * dim. */
heed_tensor *heed_gather(heed_tensor *x, int dim, heed_tensor *index);

/* heed_scatter_add: as torch.scatter_add(x, dim, index, src), but with a src of the index's shape
 *
 *   x (..., m, ...)   index (..., n, ...)   src (as index)   ->   y (as x)
 *   y = x with src[i, j, k] added to y[i, index[i, j, k], k] for dim = 1, in row-major order
 *   dx = g          dsrc = gather(g, dim, index)
 *
 * HEED_ERR_SHAPE: as for gather, or src does not have the index's shape. HEED_ERR_DTYPE: the dtypes
 * of x and src differ. */
heed_tensor *heed_scatter_add(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *src);

/* ---- rows of a table, which nn/layers.h owns ----
 *
 * Rows with equal ids are added in row-major order, so results are reproducible bit for bit. */

/* heed_embedding: as torch.nn.functional.embedding(ids, weight)
 *
 *   ids (...) i64   weight (V, d) float   ->   y (..., d)
 *   y[...] = weight[ids[...]]                  dweight[v] = the sum of g where ids = v
 *
 * HEED_ERR_INDEX: an id outside [0, V). HEED_ERR_DTYPE: ids are not i64, or weight is not a float.
 * HEED_ERR_SHAPE: weight does not have 2 dims. */
heed_tensor *heed_embedding(heed_tensor *ids, heed_tensor *weight);

/* ======== masks: given, triangular or random ======== */

/* heed_masked_fill: as torch.masked_fill(x, mask, value): replaces elements where the mask is true,
 * which is also the convention of attention block masks (docs/masks.md).
 *
 *   x (...)   replace_mask (...) bool      ->   y (broadcast)
 *   y = value where replace_mask, else x        dx = 0 where replace_mask, else g
 *
 * HEED_ERR_DTYPE: the mask is not bool. HEED_ERR_SHAPE: x and the mask do not broadcast.
 * HEED_ERR_VALUE: x's dtype cannot represent value. */
heed_tensor *heed_masked_fill(heed_tensor *x, heed_tensor *replace_mask, double value);

/* heed_tril, heed_triu: the lower and the upper triangle, as torch.tril(x, diagonal) and torch.triu
 *
 *   x (..., m, n)   ->   y (..., m, n)
 *   tril: y[i, j] = x[i, j] where j <= i + diagonal, else 0      dx = tril(g, diagonal)
 *   triu: y[i, j] = x[i, j] where j >= i + diagonal, else 0      dx = triu(g, diagonal)
 *
 * HEED_ERR_SHAPE: x has fewer than 2 dims. */
heed_tensor *heed_tril(heed_tensor *x, int64_t diagonal);
heed_tensor *heed_triu(heed_tensor *x, int64_t diagonal);

/* heed_dropout: as torch.nn.functional.dropout(x, p, training), with the same random numbers as
 * torch for the same seed
 *
 *   x (...) float   ->   y (...)
 *   y = x noise, dx = g noise; noise is 0 with probability p, else 1 / (1 - p)
 *
 * Returns x itself, of any dtype, if not training, if p is 0, or if x is empty. If p is 1, it
 * returns x times 0. These cases draw nothing. Other masks are drawn in x's memory order, as in
 * torch.
 *
 * HEED_ERR_VALUE: p is outside [0, 1]. HEED_ERR_DTYPE: x is not a float. */
heed_tensor *heed_dropout(heed_tensor *x, double p, bool training);

/* ======== matrix products ======== */

/* heed_matmul: matrix product, as torch.matmul(a, b)
 *
 *   a (..., m, k)   b (..., k, n)   ->   y (..., m, n)      batch dims broadcast
 *   a (k)           b (..., k, n)   ->   y (..., n)         a vector is a row on the left
 *   a (..., m, k)   b (k)           ->   y (..., m)         and a column on the right
 *   y = a b         da = g b^T           db = a^T g
 *
 * HEED_ERR_SHAPE: inner sizes differ, the batch dims do not broadcast, or a tensor has no dims.
 * HEED_ERR_DTYPE: the dtypes differ, or are bool. */
heed_tensor *heed_matmul(heed_tensor *a, heed_tensor *b);

/* heed_linear: as torch.nn.functional.linear(x, weight, bias); nn/layers.h owns the
 * parameters
 *
 *   x (..., in)   weight (out, in)   bias (out), or NULL for none   ->   y (..., out)
 *   y = x weight^T + bias
 *   dx = g weight      dweight = g^T x      dbias = sum(g), both sums over all rows of x
 *
 * HEED_ERR_SHAPE: the shapes do not match. HEED_ERR_DTYPE: the dtypes differ, or are bool. */
heed_tensor *heed_linear(heed_tensor *x, heed_tensor *weight, heed_tensor *bias);

/* heed_einsum: as torch.einsum(equation, a, b)
 *
 *     heed_tensor *sims   = heed_einsum("bqhd,bkhd->bhqk", q, k);
 *     heed_tensor *output = heed_einsum("bhqk,bkhd->bqhd", attention, v);
 *
 * Each letter, A-Z or a-z, names a dim of a, of b, or (after "->") of the result. Spaces are
 * ignored.
 *
 *   y[letters of the result] = the sum over all other letters of a[letters of a] b[letters of b]
 *
 * - Without "->", the result has the letters that appear once, A-Z before a-z.
 * - "..." matches all dims without letters. They broadcast. Without "->" they come first in the
 *   result. If "->" is given but no "..." follows it, they are summed over.
 * - A dim of size 1 broadcasts to the size of the same letter in the other operand.
 *
 *   da = einsum of g and b, with the letters of a as the result            db: likewise
 *
 * Computed as one batched heed_matmul of views, or as heed_mul if no letter shared by both operands
 * is summed over, with the dtype rules of that function. An operand is copied only if several of
 * its letters form one matrix dim but are not adjacent in memory. The result may be a view: call
 * heed_contiguous before heed_data_*. For three operands, call heed_einsum twice.
 *
 * HEED_ERR_VALUE: the equation is malformed, does not have two operands, or repeats a letter in one
 * of them. HEED_ERR_SHAPE: it does not match the shapes, or the result has more than 8 dims.
 * HEED_ERR_DTYPE: the dtypes differ, or are bool. */
heed_tensor *heed_einsum(const char *equation, heed_tensor *a, heed_tensor *b);

/* ======== softmax functions along a dim ======== */

/* heed_softmax: as torch.softmax(x, dim)
 *
 *   x (..., n, ...) float   ->   y (..., n, ...)
 *   y_i = e^x_i / sum over j of e^x_j along dim       dx = y (g - sum(g y, dim))
 *
 * The maximum is subtracted first, so large x do not overflow. -inf gives 0 with gradient 0. If all
 * x along dim are -inf, the result is NaN, as in torch; heed_safe_softmax gives zeros.
 * HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_softmax(heed_tensor *x, int dim);

/* heed_safe_softmax: as torch._safe_softmax(x, dim) in PyTorch 2.5 and later: softmax, but zeros
 * with gradient 0 if all x along dim are -inf, as for a query whose keys are all masked
 *
 *   x (..., n, ...) float   ->   y (..., n, ...)
 *   y = 0 where all x along dim are -inf, else softmax(x, dim)    dx = y (g - sum(g y, dim))
 *
 * NaN propagates along dim. HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_safe_softmax(heed_tensor *x, int dim);

/* heed_log_softmax: as torch.log_softmax(x, dim): ln softmax, without underflow
 *
 *   x (..., n, ...) float   ->   y (..., n, ...)
 *   y_i = x_i - ln sum over j of e^x_j along dim      dx = g - e^y sum(g, dim)
 *
 * HEED_ERR_DTYPE: i64 or bool. */
heed_tensor *heed_log_softmax(heed_tensor *x, int dim);

/* ======== normalisation over the last dims ========
 *
 * `normalized_shape` is the shape of those dims: x (..., normalized_shape). weight and bias have
 * that shape and x's dtype; NULL: none.
 *
 * HEED_ERR_SHAPE: normalized_shape has no dims or x's shape does not end with it, or weight or bias
 * does not have that shape. HEED_ERR_DTYPE: x is not a float, or weight or bias does not have x's
 * dtype. */

/* heed_layer_norm: as torch.nn.functional.layer_norm(x, normalized_shape, weight, bias, eps); eps 0
 * means torch's default, 1e-5.
 *
 *   x (..., n) float   weight (n)   bias (n)   ->   y (..., n)
 *   z = (x - mean) / sqrt(var + eps), y = weight z + bias; mean and var (biased) over n
 *   dx = (h - mean(h) - z mean(h z)) / sqrt(var + eps), with h = g weight
 *   dweight = sum of g z, dbias = sum of g, over the rows */
heed_tensor *heed_layer_norm(heed_tensor *x, heed_shape normalized_shape, heed_tensor *weight,
                             heed_tensor *bias, double eps);

/* ======== rotary position embedding ======== */

/* heed_rope: rotates pairs of features by angles that grow with the position (Su et al., RoFormer,
 * 2021, section 3.4.2). Applied to queries and keys before their product, it makes a score depend
 * on how far apart they are, not on where they are:
 *
 *   x (..., T, d) float   positions (T) i64   ->   y (..., T, d)
 *   y[t] has the pairs  (a cos w - b sin w, a sin w + b cos w),  w = positions[t] base^(-2i / d)
 *   dx: g rotated by -w
 *
 * for the pairs (a, b) = (x[t, i], x[t, i + d / 2]), the halves of GPT-NeoX and of Llama in
 * transformers, or (x[t, 2i], x[t, 2i + 1]), the neighbours of the paper and of GPT-J. Weights
 * trained with one do not fit the other.
 *
 * positions may have any shape that broadcasts to x's without its last dim, as (N, 1, T) for
 * x (N, heads, T, d), and be negative. NULL: 0, 1, ... T - 1. With a cache of keys, rotate a new
 * key by its own position before it is kept. Angles are computed in f64.
 *
 * HEED_ERR_SHAPE: x has fewer than 2 dims, d is odd, or positions do not fit. HEED_ERR_DTYPE: x is
 * not a float, or positions are not i64. HEED_ERR_VALUE: base is not a positive number. */
typedef struct heed_rope_options {
    double base;      /* 0: 10000 */
    bool interleaved; /* pairs of neighbours instead of halves */
} heed_rope_options;

heed_tensor *heed_rope(heed_tensor *x, heed_tensor *positions, heed_rope_options options);

/* ======== losses of two tensors of the same shape ========
 *
 * Both return the mean; for other reductions, write the formula: heed_sum(heed_square(...)).
 * Both tensors are floats, or one is i64 or bool and is cast.
 *
 * HEED_ERR_SHAPE: the shapes differ. HEED_ERR_DTYPE: neither is a float, or f32 with f64. */

/* heed_mse_loss: as torch.nn.functional.mse_loss(input, target)
 *
 *   input (...)   target (...)   ->   y ()
 *   y = mean of (input - target)^2
 *   dinput = 2 g (input - target) / count          dtarget = -dinput */
heed_tensor *heed_mse_loss(heed_tensor *input, heed_tensor *target);

/* heed_binary_cross_entropy_with_logits: as torch's function of that name in torch.nn.functional:
 * each element is a separate yes-or-no decision; target is 1, 0 or a probability.
 *
 *   y = mean of -(target ln sigmoid(input) + (1 - target) ln sigmoid(-input))
 *   dinput = g (sigmoid(input) - target) / count          dtarget = -g input / count */
heed_tensor *heed_binary_cross_entropy_with_logits(heed_tensor *input, heed_tensor *target);

/* ======== the loss of classes ======== */

/* How the losses of targets are reduced. */
typedef enum heed_reduction {
    HEED_MEAN, /* the default: mean over the targets that are not ignored; NaN if there are none */
    HEED_SUM,  /* sum */
    HEED_NONE, /* no reduction: losses with the shape of the targets */
} heed_reduction;

/* heed_cross_entropy: as torch.nn.functional.cross_entropy(logits, targets)
 *
 *   logits (N, C), (C) or (N, C, d...) float   targets (N), () or (N, d...) i64   ->   ()
 *   y = mean over the targets t of -log_softmax(logits)[t]
 *   dlogits = g (softmax(logits) - one_hot(t)) / count
 *
 * heed_cross_entropy_with: with options; one that is zero takes torch's default:
 *
 *     heed_cross_entropy_with(logits, targets,
 *                             (heed_cross_entropy_options){.label_smoothing = 0.1});
 *
 *   ignore_index      passed by address (&padding) because 0 is a class; targets equal to it are
 *                     ignored
 *   label_smoothing   in [0, 1]: the share of each target that is spread evenly over all classes
 *
 * If all targets are ignored, the mean is NaN, as in torch. Flatten (B, T, C) logits first, as in
 * torch: heed_reshape(logits, HEED_SHAPE(-1, C)) and heed_reshape(targets, HEED_SHAPE(-1)).
 *
 * HEED_ERR_SHAPE: the shapes do not match. HEED_ERR_DTYPE: logits are not floats, or targets are
 * not i64. HEED_ERR_INDEX: a target outside [0, C). HEED_ERR_VALUE: an invalid option. */
typedef struct heed_cross_entropy_options {
    const int64_t *ignore_index; /* NULL: torch's -100 */
    heed_reduction reduction;
    double label_smoothing;
} heed_cross_entropy_options;

/* The arguments of the operation. */
typedef struct heed_cross_entropy_args {
    int64_t ignore_index;
    double label_smoothing;
    heed_reduction reduction;
} heed_cross_entropy_args;

heed_tensor *heed_cross_entropy(heed_tensor *logits, heed_tensor *targets);
heed_tensor *heed_cross_entropy_with(heed_tensor *logits, heed_tensor *targets,
                                     heed_cross_entropy_options options);

/* ---- attention ---- */

/* heed_scaled_dot_product_attention: as torch.nn.functional.scaled_dot_product_attention(q, k, v,
 * mask, dropout_p, is_causal, scale) in PyTorch 2.5 and later (Vaswani et al., 2017, section 3.2.1)
 *
 *   q (..., L, E)   k (..., S, E)   v (..., S, Ev)   ->   y (..., L, Ev)     the same batch dims
 *   mask bool or q's dtype, broadcasts to the scores (..., L, S); NULL: none
 *
 *   y = dropout(p) v        p = softmax(scale q k^T, masked)        floats of one dtype
 *   dv = p^T g      ds = p (g v^T - sum(g v^T p, dim -1))
 *   dq = scale ds k      dk = scale ds^T q
 *
 * In a bool mask, true means KEEP: it is heed_logical_not of the block masks that nn modules take
 * (docs/masks.md). A float mask is added to the scores, and its gradient is ds. With is_causal,
 * query i sees only keys 0 ... i, whatever L and S are; is_causal cannot be combined with a mask.
 *
 * A query whose keys are all masked, by a bool mask or by -inf in a float mask, gives zeros with
 * zero gradients, never NaN. So do all queries if S is 0.
 *
 * Without dropout, and if no weights are requested, the scores are computed for some queries at a
 * time and never stored (Rabe and Staats, 2021): memory grows with L + S, not with L * S. Second
 * derivatives and the gradient of a float mask do store them. y has the memory layout of q:
 * if the H heads of q are a view of (..., L, H E), heed_transpose and heed_flatten turn y into
 * (..., L, H Ev) without a copy, as in torch.
 *
 * dropout_p is applied whenever it is above 0: pass 0 outside of training. scale 0 means torch's
 * default, 1 / sqrt(E). Instead of torch's enable_gqa, use
 * heed_repeat_interleave_dim(k, times, -3), and the same for v.
 *
 * heed_scaled_dot_product_attention_weights: the same, and sets *weights to dropout(p), of shape
 * (..., L, S), or to NULL on error.
 *
 * HEED_ERR_SHAPE: the shapes do not match, or the mask does not broadcast to the scores.
 * HEED_ERR_DTYPE: q, k and v are not floats of one dtype, or the mask is neither bool nor of that
 * dtype. HEED_ERR_VALUE: is_causal with a mask, dropout_p outside [0, 1], a scale that is not
 * finite. */
heed_tensor *heed_scaled_dot_product_attention(heed_tensor *q, heed_tensor *k, heed_tensor *v,
                                               heed_tensor *mask, double dropout_p, bool is_causal,
                                               double scale);
heed_tensor *heed_scaled_dot_product_attention_weights(heed_tensor *q, heed_tensor *k,
                                                       heed_tensor *v, heed_tensor *mask,
                                                       double dropout_p, bool is_causal,
                                                       double scale, heed_tensor **weights);

HEED_END_DECLS
#endif
