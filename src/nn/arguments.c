/* Argument checks and their error messages. */

#include "arguments.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../tensor/check.h"
#include "../tensor/read.h"

heed_status heed_check_not_null(const char *function, const char *argument, const void *value)
{
    return value != NULL ? heed_error_pending()
                         : heed_fail(HEED_ERR_NULL, "%s: %s is NULL", function, argument);
}

heed_status heed_check_parameters(const char *function, heed_tensor_list parameters)
{
    for (int i = 0; i < parameters.count && !heed_error_pending(); i++) {
        if (parameters.tensors == NULL || parameters.tensors[i] == NULL) {
            return heed_fail(HEED_ERR_NULL, "%s: parameter %d is NULL", function, i);
        }
    }
    return heed_error_pending();
}

/* ---- numbers ---- */

heed_status heed_check_positive(const char *function, const heed_named_size *sizes, int count)
{
    char list[200] = "";
    bool all_positive = true;
    for (int i = 0; i < count; i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s %lld", i > 0 ? ", " : "", sizes[i].name,
                 (long long)sizes[i].size);
        all_positive = all_positive && sizes[i].size >= 1;
    }
    return all_positive
               ? heed_error_pending()
               : heed_fail(HEED_ERR_VALUE, "%s: %s; each must be 1 or more", function, list);
}

heed_status heed_check_not_negative(const char *function, const char *argument, double number)
{
    return number >= 0 && isfinite(number)
               ? heed_error_pending()
               : heed_fail(HEED_ERR_VALUE, "%s: %s is %g; it must be finite and 0 or more",
                           function, argument, number);
}

/* ---- dtypes and shapes ---- */

heed_status heed_check_dtype(const char *function, const char *argument, const heed_tensor *x,
                             heed_dtype dtype)
{
    const heed_status status = heed_check_not_null(function, argument, x);
    if (status == HEED_OK && x->dtype != dtype) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: %s is %s, but the parameters are %s; cast the tensor with heed_to or "
                         "the module with heed_module_to",
                         function, argument, heed_dtype_name(x->dtype), heed_dtype_name(dtype));
    }
    return status;
}

heed_status heed_check_features(const char *function, const char *argument, const heed_tensor *x,
                                const char *size_name, int64_t size, heed_dtype dtype)
{
    const heed_status status = heed_check_not_null(function, argument, x);
    if (status == HEED_OK && (x->ndim == 0 || x->shape[x->ndim - 1] != size)) {
        return heed_fail(HEED_ERR_SHAPE, "%s: %s %s must end in %s, %lld", function, argument,
                         heed_shape_text(x->ndim, x->shape).text, size_name, (long long)size);
    }
    return status == HEED_OK ? heed_check_dtype(function, argument, x, dtype) : status;
}

heed_status heed_check_encodings(const char *function, const char *argument, const heed_tensor *x,
                                 int row_dim, int col_dim, const char *size_name,
                                 const heed_tensor *weight)
{
    if (heed_check_not_null(function, argument, x) != HEED_OK) {
        return heed_error_pending();
    }
    /* Other dims would silently give wrong results: for (B, T, d), dims 0 and 1 would mix
     * batch and tokens. */
    const int row = row_dim < 0 ? row_dim + x->ndim : row_dim;
    const int column = col_dim < 0 ? col_dim + x->ndim : col_dim;
    if (x->ndim < 2 || row != x->ndim - 2 || column != x->ndim - 1) {
        return heed_fail(HEED_ERR_DIM,
                         "%s: row_dim %d and col_dim %d are not the last two of the %d dims of %s; "
                         "create the module with -2 and -1",
                         function, row_dim, col_dim, x->ndim, argument);
    }
    return heed_check_features(function, argument, x, size_name, weight->shape[1], weight->dtype);
}

/* ---- masks ---- */

/* Checked here, so that errors name the public function; larger masks exceed any address space. */
heed_status heed_check_mask_length(const char *function, int64_t length, bool square)
{
    if (length < 0) {
        return heed_fail(HEED_ERR_SHAPE, "%s: length is %lld; it must be 0 or more", function,
                         (long long)length);
    }
    if (length > INT64_C(1) << (square ? 28 : 53)) {
        return heed_fail(HEED_ERR_OVERFLOW,
                         "%s: a mask of length %lld has more elements than memory can address",
                         function, (long long)length);
    }
    return heed_check_scope(function);
}

heed_status heed_check_bool_mask(const char *function, const char *argument,
                                 const heed_tensor *mask)
{
    return mask->dtype == HEED_BOOL ? HEED_OK
                                    : heed_fail(HEED_ERR_DTYPE,
                                                "%s: %s is %s, not bool (true blocks); "
                                                "nn/mask.h converts other masks",
                                                function, argument, heed_dtype_name(mask->dtype));
}

heed_status heed_check_block_mask(const char *function, const heed_tensor *block_mask,
                                  const heed_tensor *queries, const heed_tensor *keys)
{
    if (block_mask == NULL) {
        return heed_error_pending();
    }
    heed_shape scores = heed_shape_of_tensor(queries); /* (..., T, S) */
    scores.size[scores.ndim - 1] = keys->shape[keys->ndim - 2];
    if (heed_check_bool_mask(function, "block_mask", block_mask) != HEED_OK) {
        return heed_error_pending();
    }
    return heed_broadcasts_to(block_mask, &scores)
               ? HEED_OK
               : heed_fail(HEED_ERR_SHAPE,
                           "%s: block_mask %s does not broadcast to the scores %s, (..., queries, "
                           "keys)",
                           function, heed_shape_text(block_mask->ndim, block_mask->shape).text,
                           heed_shape_text(scores.ndim, scores.size).text);
}
