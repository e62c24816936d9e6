/* New tensors, and values in and out of them. Each returns a leaf without gradient, or NULL.
 *
 * HEED_ERR_SCOPE: no scope is open. HEED_ERR_SHAPE: more than 8 dims, or a negative size.
 * HEED_ERR_OVERFLOW, HEED_ERR_MEMORY: more than the machine can hold.
 */
#ifndef HEED_TENSOR_CREATE_H
#define HEED_TENSOR_CREATE_H

#include "tensor/tensor.h"

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

/* heed_arange: start, start + step, ... while before end, as torch.arange.
 * HEED_ERR_VALUE: step is 0 or leads away from end. HEED_ERR_DTYPE: bool. */
heed_tensor *heed_arange(double start, double end, double step, heed_dtype dtype);

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
