/* Functions that create tensors and copy values in and out. New tensors are leaves that do not
 * require gradients; NULL on error.
 *
 * HEED_ERR_SCOPE: no scope is open. HEED_ERR_SHAPE: more than 8 dims, or a negative size.
 * HEED_ERR_OVERFLOW, HEED_ERR_MEMORY: too large to address, or out of memory.
 */
#ifndef HEED_TENSOR_CREATE_H
#define HEED_TENSOR_CREATE_H

#include "tensor.h"

HEED_BEGIN_DECLS

/* heed_empty: uninitialised elements, like torch.empty. Fill it through heed_data_*. */
heed_tensor *heed_empty(heed_shape shape, heed_dtype dtype);

/* heed_zeros, heed_ones, heed_full: as in torch. For bool, any value but 0 is true.
 * HEED_ERR_VALUE: i64 cannot represent the value. */
heed_tensor *heed_zeros(heed_shape shape, heed_dtype dtype);
heed_tensor *heed_ones(heed_shape shape, heed_dtype dtype);
heed_tensor *heed_full(heed_shape shape, double value, heed_dtype dtype);

/* heed_scalar: a tensor without dims. */
heed_tensor *heed_scalar(double value, heed_dtype dtype);

/* heed_eye: ones on the diagonal, zeros elsewhere, like torch.eye(n, m):   (n, m) */
heed_tensor *heed_eye(int64_t n, int64_t m, heed_dtype dtype);

/* heed_zeros_like, heed_ones_like, heed_full_like: x's shape and dtype, like the
 * torch functions of these names, but always contiguous.
 * HEED_ERR_VALUE: i64 cannot represent the value. */
heed_tensor *heed_zeros_like(const heed_tensor *x);
heed_tensor *heed_ones_like(const heed_tensor *x);
heed_tensor *heed_full_like(const heed_tensor *x, double value);

/* heed_arange: start, start + step, ... up to but excluding end, like torch.arange.   (n)
 *
 * HEED_ERR_VALUE: step is 0, not finite, or leads away from end; i64 cannot represent a number; the
 * start or step of an i64 arange is fractional. HEED_ERR_DTYPE: bool. */
heed_tensor *heed_arange(double start, double end, double step, heed_dtype dtype);

/* heed_from_*: copies the elements at `values`, in row-major order.
 *
 *     heed_tensor *x = heed_from_f32((float[]){1.16f, 0.23f, 0.57f, 1.36f}, HEED_SHAPE(2, 2));
 *
 * An array that is too short is an error if the compiler knows its size, as it does for arrays
 * named in the call. These functions call heed_from_values, which is exported for other languages:
 * `size` is the number of bytes at `values`, SIZE_MAX if unknown.
 *
 * HEED_ERR_NULL: values is NULL but the shape has elements. HEED_ERR_SHAPE: the array is shorter
 * than the shape needs. HEED_ERR_DTYPE: dtype is invalid. */
heed_tensor *heed_from_values(const void *values, size_t size, heed_shape shape, heed_dtype dtype);

#if defined __clang__ /* otherwise clang knows sizes only when optimising */
#define HEED_PASS_SIZE __attribute__((pass_object_size(0)))
#else
#define HEED_PASS_SIZE
#endif
#define HEED_DEFINE_FROM(name, type, dtype)                                                        \
    static inline __attribute__((always_inline)) heed_tensor *name(                                \
        const type *const values HEED_PASS_SIZE, heed_shape shape)                                 \
    {                                                                                              \
        return heed_from_values(values, __builtin_object_size(values, 0), shape, dtype);           \
    }
HEED_DEFINE_FROM(heed_from_f32, float, HEED_F32)
HEED_DEFINE_FROM(heed_from_f64, double, HEED_F64)
HEED_DEFINE_FROM(heed_from_i64, int64_t, HEED_I64)
HEED_DEFINE_FROM(heed_from_bool, bool, HEED_BOOL)
#undef HEED_DEFINE_FROM
#undef HEED_PASS_SIZE

/* heed_copy_out: copies all elements of t, which may be a view, in row-major order into `values`,
 * an array of `count` elements of t's dtype.
 * HEED_ERR_SHAPE: count differs from the number of elements. */
heed_status heed_copy_out(const heed_tensor *t, void *values, int64_t count);

/* heed_copy_into: overwrites `target`, which may be a view, with `source`, broadcast and cast, like
 * torch's copy_ on a leaf under no_grad: gradients do not flow through it. Increments the version.
 * heed_fill_into: the same with a single value.
 * HEED_ERR_SHAPE: source does not broadcast to target's shape, or elements of target share
 * memory. */
heed_status heed_copy_into(heed_tensor *target, const heed_tensor *source);
heed_status heed_fill_into(heed_tensor *target, double value);

HEED_END_DECLS
#endif
