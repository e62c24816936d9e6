/* Checks shared by several operations: dtype promotion, batch dims, factors of matrix products,
 * dims, and index bounds (internal). */
#ifndef HEED_AUTOGRAD_OPERAND_CHECKS_H
#define HEED_AUTOGRAD_OPERAND_CHECKS_H

#include "../../tensor/read.h"

/* heed_common_dtype: the dtype to which a and b promote: float before i64 before bool; f32 with f64
 * is an error. */
static inline heed_status heed_common_dtype(const char *function, heed_dtype a, heed_dtype b,
                                            heed_dtype *common)
{
    if (heed_is_float(a) && heed_is_float(b) && a != b) {
        return heed_fail(HEED_ERR_DTYPE, "%s: %s with %s; cast one of them with heed_to", function,
                         heed_dtype_name(a), heed_dtype_name(b));
    }
    *common = heed_is_float(a) || (a == HEED_I64 && !heed_is_float(b)) ? a : b;
    return HEED_OK;
}

/* heed_batch_of: the batch dims of t: all but the last two. */
static inline heed_shape heed_batch_of(const heed_tensor *t)
{
    heed_shape batch = heed_shape_of_tensor(t);
    batch.ndim -= 2;
    return batch;
}

/* heed_check_factors: checks that the factors of a matrix product have the same dtype, other than
 * bool. */
static inline heed_status heed_check_factors(const char *function, heed_dtype a, heed_dtype b)
{
    if (a != b || a == HEED_BOOL) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: %s with %s; cast them to one dtype, not bool, with heed_to", function,
                         heed_dtype_name(a), heed_dtype_name(b));
    }
    return HEED_OK;
}

/* heed_find_size: for functions that cut a dim of x: checks x, wraps dim and gets its size. */
heed_status heed_find_size(const char *function, const heed_tensor *x, int *dim, int64_t *size);

/* heed_check_index: checks that the index, at position `place` of its tensor, is in [0, count).
 * `what` names it in errors: index, id, target. */
heed_status heed_check_index(const char *function, const char *what, int64_t index, int64_t place,
                             int64_t count);

/* heed_checked_indices: the elements of an i64 tensor in row-major order, all checked to be in [0,
 * count). Every index must pass this check before it is used to access memory. NULL on error. If
 * the tensor is not contiguous, the elements are a copy in the current scope. */
const int64_t *heed_checked_indices(const char *function, const char *what, heed_tensor *indices,
                                    int64_t count);

#endif
