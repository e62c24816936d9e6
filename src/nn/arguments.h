/* Argument checks shared by modules, optimisers and files (internal to nn). Functions check before
 * they compute, so that an error names the function the user called and the argument it was passed.
 * Each check returns the pending error, its own or an earlier one.
 */
#ifndef HEED_NN_ARGUMENTS_H
#define HEED_NN_ARGUMENTS_H

#include "tensor_list.h"

/* heed_check_not_null: HEED_ERR_NULL if `value` is NULL. heed_check_parameters: HEED_ERR_NULL if
 * any tensor of the list is NULL. */
heed_status heed_check_not_null(const char *function, const char *argument, const void *value);
heed_status heed_check_parameters(const char *function, heed_tensor_list parameters);

/* ---- numbers ---- */

typedef struct heed_named_size {
    const char *name;
    int64_t size;
} heed_named_size;

/* All report HEED_ERR_VALUE. heed_check_positive: if any of `count` sizes is below 1; the message
 * lists them all. heed_check_not_negative: if a number is below 0, infinite or NaN. */
heed_status heed_check_positive(const char *function, const heed_named_size *sizes, int count);
heed_status heed_check_not_negative(const char *function, const char *argument, double number);

/* ---- the input of a forward; NULL is rejected ---- */

/* heed_check_dtype: `x` has the dtype of the module's parameters. heed_check_features: in addition,
 * its last dim is `size`, which messages call `size_name`. */
heed_status heed_check_dtype(const char *function, const char *argument, const heed_tensor *x,
                             heed_dtype dtype);
heed_status heed_check_features(const char *function, const char *argument, const heed_tensor *x,
                                const char *size_name, int64_t size, heed_dtype dtype);

/* heed_check_encodings: row_dim and col_dim are the last two dims of `x`, and its features match
 * the module's `weight` (out, in). */
heed_status heed_check_encodings(const char *function, const char *argument, const heed_tensor *x,
                                 int row_dim, int col_dim, const char *size_name,
                                 const heed_tensor *weight);

/* ---- masks ---- */

/* heed_check_mask_length: the length of a mask, (T, T) if square, else (..., 1, T), is possible,
 * and a scope is open. */
heed_status heed_check_mask_length(const char *function, int64_t length, bool square);

/* heed_check_bool_mask: the mask is bool. heed_check_block_mask: in addition, it broadcasts to the
 * scores (..., T, S) of queries (..., T, features) and keys (..., S, features); NULL is no mask. */
heed_status heed_check_bool_mask(const char *function, const char *argument,
                                 const heed_tensor *mask);
heed_status heed_check_block_mask(const char *function, const heed_tensor *block_mask,
                                  const heed_tensor *queries, const heed_tensor *keys);

#endif
