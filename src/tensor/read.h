/* Reading a tensor: its sizes, its elements, and the doors to its memory.
 *
 * HEED_ERR_NULL: an argument is NULL. HEED_ERR_SCOPE: the value has been freed.
 */
#ifndef HEED_TENSOR_READ_H
#define HEED_TENSOR_READ_H

#include "tensor.h"

HEED_BEGIN_DECLS

/* heed_size: the length of a dim, as torch's size(dim).
 * HEED_ERR_DIM: no such dim. 0 on error. */
int64_t heed_size(const heed_tensor *t, int dim);

/* heed_shape_of_tensor: the whole shape, to make another tensor with, as torch's t.shape. */
heed_shape heed_shape_of_tensor(const heed_tensor *t);

/* heed_has_shape: is t of this shape? heed_same_shape: of the same one? False on error.
 * HEED_ERR_NULL: as of the functions below, an argument is NULL. */
bool heed_has_shape(const heed_tensor *t, const heed_shape *shape);
bool heed_same_shape(const heed_tensor *a, const heed_tensor *b);

/* heed_is_contiguous: do the elements lie in row-major order without gaps? */
bool heed_is_contiguous(const heed_tensor *t);

/* heed_is_expanded: do several places share an element, so that t cannot be overwritten?
 * heed_broadcasts_to: does t, repeated, become of this shape? */
bool heed_is_expanded(const heed_tensor *t);
bool heed_broadcasts_to(const heed_tensor *t, const heed_shape *shape);

/* heed_item: the one element of a tensor of any dtype, as torch's item().
 * HEED_ERR_SHAPE: not exactly one element. NaN on error. */
double heed_item(const heed_tensor *t);

/* heed_item_i64: the same, exact for i64. HEED_ERR_DTYPE: not i64 or bool. 0 on error. */
int64_t heed_item_i64(const heed_tensor *t);

/* heed_at: one element, as torch's t[i, j].item(); negative indices count from the end.
 *
 *     double percent = heed_at(attention, HEED_INDEX(7, 1));
 *
 * HEED_ERR_SHAPE: not one index per dim. HEED_ERR_INDEX: out of range. NaN on error. */
double heed_at(const heed_tensor *t, heed_shape index);

/* heed_data_*: the elements, writable: one of the few doors through which a value changes in
 * place. Each call raises the version of the storage, so a backward that needs the old value says
 * so. heed_const_data_*: the same for reading, without that.
 *
 * HEED_ERR_DTYPE: another dtype. HEED_ERR_SHAPE: not contiguous (heed_contiguous copies, and
 * heed_copy_into writes through views). NULL on error; not NULL for a tensor without elements. */
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
