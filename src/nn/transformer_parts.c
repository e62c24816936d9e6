/* What torch's attention and GPT share. */
#include "transformer_parts.h"

#include "../autograd/op.h"
#include "../autograd/ops/operations.h"
#include "../tensor/read.h"

/* ---- checks ---- */

heed_status heed_check_heads(const char *function, heed_named_size heads, heed_named_size size)
{
    return size.size % heads.size == 0
               ? heed_error_pending()
               : heed_fail(
                     HEED_ERR_VALUE,
                     "%s: %s %lld does not divide %s %lld, which is split evenly among the heads",
                     function, heads.name, (long long)heads.size, size.name, (long long)size.size);
}

/* Bool (true blocks), or floats added to the scores. */
static heed_status check_mask_dtype(const char *function, const char *argument,
                                    const heed_tensor *mask, heed_dtype dtype)
{
    return mask->dtype == HEED_BOOL || mask->dtype == dtype
               ? heed_error_pending()
               : heed_fail(
                     HEED_ERR_DTYPE,
                     "%s: %s is %s; it must be bool (true blocks) or %s (added to the scores)",
                     function, argument, heed_dtype_name(mask->dtype), heed_dtype_name(dtype));
}

static const char fits_otherwise[] = "; it fits with the other setting of .batch_first";

heed_status heed_check_padding_mask(const char *function, const char *argument,
                                    const heed_tensor *mask, const heed_multihead_sizes *s)
{
    const heed_shape shape = s->batched ? HEED_SHAPE(s->batch, s->keys) : HEED_SHAPE(s->keys);
    if (mask == NULL || check_mask_dtype(function, argument, mask, s->dtype) != HEED_OK) {
        return heed_error_pending();
    }
    return heed_has_shape(mask, &shape)
               ? HEED_OK
               : heed_fail(HEED_ERR_SHAPE, "%s: %s %s; it must be %s, %s%s", function, argument,
                           heed_shape_text(mask->ndim, mask->shape).text,
                           s->batched ? "(N, S)" : "(S)",
                           heed_shape_text(shape.ndim, shape.size).text,
                           s->batched && heed_has_shape(mask, &HEED_SHAPE(s->keys, s->batch))
                               ? fits_otherwise
                               : "");
}

heed_status heed_check_attn_mask(const char *function, const char *argument,
                                 const heed_tensor *mask, const heed_multihead_sizes *s)
{
    const heed_shape one = HEED_SHAPE(s->queries, s->keys);
    /* batch * heads cannot overflow: the query has at least that many elements. */
    const heed_shape all = HEED_SHAPE(s->batch * s->heads, s->queries, s->keys);
    if (mask == NULL || check_mask_dtype(function, argument, mask, s->dtype) != HEED_OK) {
        return heed_error_pending();
    }
    return heed_has_shape(mask, &one) || heed_has_shape(mask, &all)
               ? HEED_OK
               : heed_fail(HEED_ERR_SHAPE,
                           "%s: %s %s; it must be (L, S) = %s or (N * num_heads, L, S) = %s; "
                           "heed_repeat_interleave_dim(mask, num_heads, 0) converts (N, L, S)%s",
                           function, argument, heed_shape_text(mask->ndim, mask->shape).text,
                           heed_shape_text(one.ndim, one.size).text,
                           heed_shape_text(all.ndim, all.size).text,
                           s->batched && s->queries == s->keys &&
                                   heed_has_shape(mask, &HEED_SHAPE(s->batch, s->batch))
                               ? fits_otherwise
                               : "");
}

/* ---- computations ---- */

heed_tensor *heed_split_heads(heed_tensor *x, int heads, bool batch_first)
{
    x = heed_unflatten(x, -1, HEED_SHAPE(heads, -1));
    return batch_first ? heed_transpose(x, 1, 2) : heed_permute(x, HEED_DIMS(1, 2, 0, 3));
}

heed_tensor *heed_join_heads(heed_tensor *x, bool batch_first)
{
    x = batch_first ? heed_transpose(x, 1, 2) : heed_permute(x, HEED_DIMS(2, 0, 1, 3));
    return heed_flatten(x, 2, 3);
}
