/* New tensors, and values in and out of them. Each returns a leaf without gradient, or NULL.
 *
 * HEED_ERR_SCOPE: no scope is open. HEED_ERR_SHAPE: more than 8 dims, or a negative size.
 * HEED_ERR_OVERFLOW, HEED_ERR_MEMORY: more than the machine can hold.
 */
#ifndef HEED_TENSOR_CREATE_H
#define HEED_TENSOR_CREATE_H

#include "tensor.h"

HEED_BEGIN_DECLS

/* heed_empty: elements of no particular value, as torch.empty. Fill it through heed_data_*. */
heed_tensor *heed_empty(heed_shape shape, heed_dtype dtype);

/* heed_zeros, heed_ones, heed_full: as in torch. A bool is true for any value but 0.
 * HEED_ERR_VALUE: a value that i64 cannot hold. */
heed_tensor *heed_zeros(heed_shape shape, heed_dtype dtype);
heed_tensor *heed_ones(heed_shape shape, heed_dtype dtype);
heed_tensor *heed_full(heed_shape shape, double value, heed_dtype dtype);

/* heed_scalar: a tensor without dims. */
heed_tensor *heed_scalar(double value, heed_dtype dtype);

/* heed_eye: ones on the diagonal, zeros elsewhere, as torch.eye(n, m):   (n, m) */
heed_tensor *heed_eye(int64_t n, int64_t m, heed_dtype dtype);

/* heed_empty_like, heed_zeros_like, heed_ones_like, heed_full_like: of x's shape and dtype, as
 * torch's functions of these names; contiguous, however x lies in memory.
 * HEED_ERR_VALUE: a value that i64 cannot hold. */
heed_tensor *heed_empty_like(const heed_tensor *x);
heed_tensor *heed_zeros_like(const heed_tensor *x);
heed_tensor *heed_ones_like(const heed_tensor *x);
heed_tensor *heed_full_like(const heed_tensor *x, double value);

/* heed_arange: start, start + step, ... while before end, as torch.arange.   (n)
 * heed_linspace: `steps` numbers from start to end, both included, as torch.linspace.   (steps)
 *
 * Floats are torch's to the bit: those of torch 2 on x86 with AVX2 or AVX-512 (of arange over more
 * than 32768 numbers, those of one thread; torch's own depend on how many there are). Whole numbers
 * from linspace are cut towards 0.
 *
 * HEED_ERR_VALUE: step is 0, not finite or leads away from end; steps is negative; a number that
 * i64 cannot hold, or that arange of i64 would have to cut. HEED_ERR_DTYPE: bool. */
heed_tensor *heed_arange(double start, double end, double step, heed_dtype dtype);
heed_tensor *heed_linspace(double start, double end, int64_t steps, heed_dtype dtype);

/* heed_from_*: a copy of the elements at `values`, row by row.
 *
 *     heed_tensor *x = heed_from_f32((float[]){1.16f, 0.23f, 0.57f, 1.36f}, HEED_SHAPE(2, 2));
 *
 * HEED_ERR_NULL: no values for a shape that has elements. */
heed_tensor *heed_from_f32(const float *values, heed_shape shape);
heed_tensor *heed_from_f64(const double *values, heed_shape shape);
heed_tensor *heed_from_i64(const int64_t *values, heed_shape shape);
heed_tensor *heed_from_bool(const bool *values, heed_shape shape);

/* heed_copy_out: copies all elements, row by row, from any view into `values`, which holds `count`
 * elements of t's dtype.
 * HEED_ERR_SHAPE: count is not the number of elements. */
heed_status heed_copy_out(const heed_tensor *t, void *values, int64_t count);

/* heed_set_data: makes the leaf `target` hold the elements of `value`, of one shape but perhaps of
 * another dtype, as torch's target.data = value: the two then share memory. target->grad is
 * forgotten. One of the doors.
 * HEED_ERR_SHAPE: the shapes differ. HEED_ERR_GRAPH: target is a result of an operation.
 * HEED_ERR_DTYPE: target requires a gradient, and value is no float. */
heed_status heed_set_data(heed_tensor *target, const heed_tensor *value);

/* heed_copy_into: overwrites `target`, which may be a view, with `source`, broadcast and cast, as
 * torch's copy_ on a leaf under no_grad: no gradient passes. One of the doors.
 * HEED_ERR_SHAPE: source does not broadcast to target's shape, or target overlaps itself.
 * heed_fill_into: the same with one value. */
heed_status heed_copy_into(heed_tensor *target, const heed_tensor *source);
heed_status heed_fill_into(heed_tensor *target, double value);

HEED_END_DECLS
#endif
