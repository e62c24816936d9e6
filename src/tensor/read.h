/* Reading a tensor: sizes, elements, and pointers to its memory.
 *
 * HEED_ERR_NULL: an argument is NULL. HEED_ERR_SCOPE: the value has been freed.
 */
#ifndef HEED_TENSOR_READ_H
#define HEED_TENSOR_READ_H

#include "tensor.h"

HEED_BEGIN_DECLS

/* heed_size: the size of a dim, like torch's size(dim).
 * HEED_ERR_DIM: no such dim. Returns 0 on error. */
int64_t heed_size(const heed_tensor *t, int dim);

/* heed_shape_of_tensor: the whole shape, like torch's t.shape; use it to create another tensor. */
heed_shape heed_shape_of_tensor(const heed_tensor *t);

/* heed_is_contiguous: true if the elements are in row-major order without gaps, like torch's
 * t.is_contiguous(). False on error. */
bool heed_is_contiguous(const heed_tensor *t);

/* heed_item: the element of a one-element tensor of any dtype, like torch's item().
 * HEED_ERR_SHAPE: t does not have exactly one element. Returns NaN on error. */
double heed_item(const heed_tensor *t);

/* heed_item_i64: the same, exact for i64. HEED_ERR_DTYPE: neither i64 nor bool. Returns 0 on
 * error. */
int64_t heed_item_i64(const heed_tensor *t);

/* heed_at: one element, like torch's t[i, j].item(); negative indices count from the end.
 *
 *     double percent = heed_at(attention, HEED_INDEX(7, 1));
 *
 * HEED_ERR_SHAPE: the number of indices differs from t's number of dims. HEED_ERR_INDEX: an index
 * is out of range. Returns NaN on error. */
double heed_at(const heed_tensor *t, heed_shape index);

/* heed_data_*: a writable pointer to the elements. Each call increments the version of the storage,
 * so that a backward pass that needs the old value fails.
 * heed_const_data_*: a pointer for reading only; does not increment the version.
 *
 * HEED_ERR_DTYPE: t has another dtype. HEED_ERR_SHAPE: t is not contiguous (heed_contiguous copies,
 * heed_copy_into writes through views). Returns NULL on error only, not for a tensor without
 * elements. */
float *heed_data_f32(heed_tensor *t);
double *heed_data_f64(heed_tensor *t);
int64_t *heed_data_i64(heed_tensor *t);
bool *heed_data_bool(heed_tensor *t);
const float *heed_const_data_f32(const heed_tensor *t);
const double *heed_const_data_f64(const heed_tensor *t);
const int64_t *heed_const_data_i64(const heed_tensor *t);
const bool *heed_const_data_bool(const heed_tensor *t);

HEED_END_DECLS
#endif
