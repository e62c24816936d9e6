/* Checks that several modules and optimisers share, and the copies of weights that they keep. */

#include "checks.h"

#include <math.h>

#include "../autograd/ops/view.h"
#include "../tensor/read.h"

static heed_status check_there(const char *function, const char *argument, const heed_tensor *x)
{
    if (!heed_error_pending() && x == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: %s is NULL", function, argument);
    }
    return heed_error_pending();
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

heed_status heed_check_dtype(const char *function, const char *argument, const heed_tensor *x,
                             heed_dtype dtype)
{
    const heed_status status = check_there(function, argument, x);
    if (status == HEED_OK && x->dtype != dtype) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: %s is %s, and the parameters are %s; heed_to casts the one, "
                         "heed_module_to the others",
                         function, argument, heed_dtype_name(x->dtype), heed_dtype_name(dtype));
    }
    return status;
}

heed_status heed_check_features(const char *function, const char *argument, const heed_tensor *x,
                                const char *size_name, int64_t size, heed_dtype dtype)
{
    const heed_status status = check_there(function, argument, x);
    if (status == HEED_OK && (x->ndim == 0 || x->shape[x->ndim - 1] != size)) {
        return heed_fail(HEED_ERR_SHAPE, "%s: %s %s must end in %s, %lld", function, argument,
                         heed_shape_text(x->ndim, x->shape).text, size_name, (long long)size);
    }
    return status == HEED_OK ? heed_check_dtype(function, argument, x, dtype) : status;
}

/* The class works silently wrong where its dims are not those of the tokens: on (B, T, d) with 0
 * and 1 it would mix the batch with the tokens. */
heed_status heed_check_token_dims(const char *function, const char *argument, const heed_tensor *x,
                                  int row_dim, int col_dim)
{
    const heed_status status = check_there(function, argument, x);
    if (status != HEED_OK) {
        return status;
    }
    const int row = row_dim < 0 ? row_dim + x->ndim : row_dim;
    const int column = col_dim < 0 ? col_dim + x->ndim : col_dim;
    if (x->ndim < 2 || row != x->ndim - 2 || column != x->ndim - 1) {
        return heed_fail(
            HEED_ERR_DIM,
            "%s: row_dim %d and col_dim %d are not the last two of %d dims of %s; make "
            "it with -2 and -1",
            function, row_dim, col_dim, x->ndim, argument);
    }
    return HEED_OK;
}

heed_status heed_check_bool_mask(const char *function, const char *argument,
                                 const heed_tensor *mask)
{
    return mask->dtype == HEED_BOOL ? HEED_OK
                                    : heed_fail(HEED_ERR_DTYPE,
                                                "%s: %s is %s, not bool, where true blocks; "
                                                "nn/attention/mask.h turns other masks "
                                                "into one",
                                                function, argument, heed_dtype_name(mask->dtype));
}

/* A mask of another kind or shape is told apart here, where its name is known. */
heed_status heed_check_block_mask(const char *function, const heed_tensor *block_mask,
                                  const heed_shape *scores)
{
    if (heed_check_bool_mask(function, "block_mask", block_mask) != HEED_OK) {
        return heed_error_pending();
    }
    return heed_broadcasts_to(block_mask, scores)
               ? HEED_OK
               : heed_fail(HEED_ERR_SHAPE,
                           "%s: block_mask %s does not broadcast to the scores %s, (..., queries, "
                           "keys)",
                           function, heed_shape_text(block_mask->ndim, block_mask->shape).text,
                           heed_shape_text(scores->ndim, scores->size).text);
}

heed_status heed_check_not_negative(const char *function, const char *argument, double number)
{
    return number >= 0 && isfinite(number)
               ? heed_error_pending()
               : heed_fail(HEED_ERR_VALUE, "%s: %s is %g; it must be finite, and 0 or above",
                           function, argument, number);
}

void heed_keep_weights(heed_tensor **kept, heed_tensor *weights)
{
    heed_release(*kept);
    *kept = weights != NULL ? heed_retain(heed_clone(heed_detach(weights))) : NULL;
}

void heed_hand_out_weights(heed_scope *scope, heed_tensor *percent, heed_tensor **kept,
                           heed_tensor **weights)
{
    if (kept != NULL) {
        heed_keep_weights(kept, percent);
    }
    if (weights != NULL) {
        *weights = heed_scope_keep(scope, percent);
    }
}
