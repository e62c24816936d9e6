/* Checks that several operations share: dtypes that meet, factors of matrix products, and indices
 * inside their range (internal). */
#ifndef HEED_AUTOGRAD_OPERAND_CHECKS_H
#define HEED_AUTOGRAD_OPERAND_CHECKS_H

#include "../../tensor/read.h"

/* heed_common_dtype: the dtype in which a and b compute: a float meeting i64 or bool wins, i64
 * meeting bool wins; f32 meeting f64 is an error. */
static inline heed_status heed_common_dtype(const char *function, heed_dtype a, heed_dtype b,
                                            heed_dtype *common)
{
    if (heed_is_float(a) && heed_is_float(b) && a != b) {
        return heed_fail(HEED_ERR_DTYPE, "%s: %s meets %s; heed_to casts one of them", function,
                         heed_dtype_name(a), heed_dtype_name(b));
    }
    *common = heed_is_float(a) || (a == HEED_I64 && !heed_is_float(b)) ? a : b;
    return HEED_OK;
}

/* heed_batch_of: the dims of t in front of its matrix. */
static inline heed_shape heed_batch_of(const heed_tensor *t)
{
    heed_shape batch = heed_shape_of_tensor(t);
    batch.ndim -= 2;
    return batch;
}

/* heed_check_factors: what a product of matrices takes: two of one dtype, which is not bool. */
static inline heed_status heed_check_factors(const char *function, heed_dtype a, heed_dtype b)
{
    if (a != b || a == HEED_BOOL) {
        return heed_fail(HEED_ERR_DTYPE, "%s: %s with %s; heed_to casts to one dtype, not bool",
                         function, heed_dtype_name(a), heed_dtype_name(b));
    }
    return HEED_OK;
}

/* heed_check_index: is the index, at that place of its tensor, inside [0, count)? `what` it is
 * called in errors: index, id, target. */
heed_status heed_check_index(const char *function, const char *what, int64_t index, int64_t place,
                             int64_t count);

/* heed_checked_indices: the elements of an i64 tensor, row by row, all inside [0, count): no memory
 * is read or written at an index that this has not checked. NULL on error. A copy, where one is
 * needed, joins the scope. */
const int64_t *heed_checked_indices(const char *function, const char *what, heed_tensor *indices,
                                    int64_t count);

#endif
