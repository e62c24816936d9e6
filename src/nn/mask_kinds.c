/* Conversions between the kinds of masks, causal keep and bias masks, and masks of padding. */
#include <math.h>

#include "../autograd/ops/operations.h"
#include "../tensor/check.h"
#include "../tensor/create.h"
#include "../tensor/read.h"
#include "../tensor/scope.h"
#include "arguments.h"
#include "mask.h"

static heed_status check_bias_dtype(const char *function, heed_dtype dtype)
{
    if (!heed_is_float(dtype)) {
        return heed_fail(
            HEED_ERR_DTYPE,
            "%s: dtype is %s; a bias mask is added to the scores, so its dtype must be a float",
            function, heed_dtype_name(dtype));
    }
    return heed_error_pending();
}

static heed_status check_bool(const char *function, const char *argument, const heed_tensor *mask)
{
    if (heed_check_not_null(function, argument, mask) != HEED_OK) {
        return heed_error_pending();
    }
    if (mask->dtype != HEED_BOOL) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: %s is %s, not bool; convert it with heed_to(mask, HEED_BOOL)",
                         function, argument, heed_dtype_name(mask->dtype));
    }
    return heed_check_scope(function);
}

static heed_tensor *inverse(const char *function, const char *argument, heed_tensor *mask)
{
    return check_bool(function, argument, mask) == HEED_OK ? heed_logical_not(mask) : NULL;
}

heed_tensor *heed_block_mask_of_keep(heed_tensor *keep_mask)
{
    return inverse("block_mask_of_keep", "keep_mask", keep_mask);
}

heed_tensor *heed_keep_mask_of_block(heed_tensor *block_mask)
{
    return inverse("keep_mask_of_block", "block_mask", block_mask);
}

heed_tensor *heed_bias_mask_of_block(heed_tensor *block_mask, heed_dtype dtype)
{
    static const char function[] = "bias_mask_of_block";
    return check_bool(function, "block_mask", block_mask) == HEED_OK &&
                   check_bias_dtype(function, dtype) == HEED_OK
               ? heed_where_scalars(block_mask, -HUGE_VAL, 0, dtype)
               : NULL;
}

heed_tensor *heed_bias_mask_of_keep(heed_tensor *keep_mask, heed_dtype dtype)
{
    static const char function[] = "bias_mask_of_keep";
    return check_bool(function, "keep_mask", keep_mask) == HEED_OK &&
                   check_bias_dtype(function, dtype) == HEED_OK
               ? heed_where_scalars(keep_mask, 0, -HUGE_VAL, dtype)
               : NULL;
}

heed_tensor *heed_causal_keep_mask(int64_t length)
{
    return heed_check_mask_length("causal_keep_mask", length, true) == HEED_OK
               ? heed_tril(heed_ones(HEED_SHAPE(length, length), HEED_BOOL), 0)
               : NULL;
}

heed_tensor *heed_causal_bias_mask(int64_t length, heed_dtype dtype)
{
    if (heed_check_mask_length("causal_bias_mask", length, true) != HEED_OK ||
        check_bias_dtype("causal_bias_mask", dtype) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    return heed_scope_end_with(
        &scope, heed_where_scalars(heed_causal_keep_mask(length), 0, -HUGE_VAL, dtype));
}

/* ---- padding ---- */

/* Checks that lengths are i64, have at most HEED_MAX_DIMS - 2 dims and are in [0, max_length]. */
static heed_status check_lengths(heed_tensor *lengths, int64_t max_length)
{
    if (heed_check_not_null("padding_block_mask", "lengths", lengths) != HEED_OK) {
        return heed_error_pending();
    }
    if (lengths->dtype != HEED_I64) {
        return heed_fail(HEED_ERR_DTYPE, "padding_block_mask: lengths are %s, not i64",
                         heed_dtype_name(lengths->dtype));
    }
    if (lengths->ndim > HEED_MAX_DIMS - 2) {
        return heed_fail(HEED_ERR_SHAPE,
                         "padding_block_mask: lengths %s; they may have at most %d dims",
                         heed_shape_text(lengths->ndim, lengths->shape).text, HEED_MAX_DIMS - 2);
    }
    const int64_t *length = heed_const_data_i64(heed_contiguous(lengths));
    for (int64_t i = 0; length != NULL && i < lengths->numel; i++) {
        if (length[i] < 0 || length[i] > max_length) {
            return heed_fail(HEED_ERR_VALUE,
                             "padding_block_mask: length %lld at index %lld is outside [0, %lld]",
                             (long long)length[i], (long long)i, (long long)max_length);
        }
    }
    return heed_error_pending();
}

heed_tensor *heed_padding_block_mask(heed_tensor *lengths, int64_t max_length)
{
    if (heed_check_mask_length("padding_block_mask", max_length, false) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *mask = NULL;
    if (check_lengths(lengths, max_length) == HEED_OK) {
        heed_tensor *columns = heed_arange(0, (double)max_length, 1, HEED_I64);
        mask = heed_ge(columns, heed_unsqueeze(heed_unsqueeze(lengths, -1), -1));
    }
    return heed_scope_end_with(&scope, mask);
}
