/* The sizes and the masks of nn.MultiheadAttention: are the masks of the right kinds and shapes, and
 * what do they say together? */
#include "multihead_masks.h"

#include "../../autograd/ops/elementwise.h"
#include "../../autograd/ops/masking.h"
#include "../../autograd/ops/rearrange.h"
#include "../../autograd/ops/view.h"
#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "mask.h"

/* ---- sizes ---- */

heed_sequences heed_sequences_of(const heed_tensor *x, bool batch_first)
{
    if (x->ndim < 3) {
        return (heed_sequences){1, x->shape[0]};
    }
    return (heed_sequences){x->shape[batch_first ? 0 : 1], x->shape[batch_first ? 1 : 0]};
}

heed_multihead_sizes heed_multihead_sizes_of(const struct heed_multihead_attention *m,
                                             const heed_tensor *query, const heed_tensor *key)
{
    const heed_sequences queries = heed_sequences_of(query, m->batch_first);
    const bool batched = query->ndim == 3;
    return (heed_multihead_sizes){.batch = queries.count,
                                  .queries = queries.length,
                                  .keys = heed_sequences_of(key, m->batch_first).length,
                                  .added = (m->bias_k != NULL) + m->add_zero_attn,
                                  .heads = m->num_heads,
                                  .batched = batched,
                                  .batch_first = m->batch_first || !batched,
                                  .dtype = m->out_proj->weight->dtype};
}

/* ---- checks ---- */

static heed_status check_dtype(const char *function, const char *argument, const heed_tensor *mask,
                               heed_dtype dtype)
{
    if (mask->dtype != HEED_BOOL && mask->dtype != dtype) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: %s is %s; bool, where true blocks, or %s, which is added", function,
                         argument, heed_dtype_name(mask->dtype), heed_dtype_name(dtype));
    }
    return HEED_OK;
}

static heed_status check_padding(const char *function, const char *name, const heed_tensor *mask,
                                 const heed_multihead_sizes *s)
{
    const heed_shape shape = s->batched ? HEED_SHAPE(s->batch, s->keys) : HEED_SHAPE(s->keys);
    if (check_dtype(function, name, mask, s->dtype) != HEED_OK) {
        return heed_error_pending();
    }
    return heed_has_shape(mask, &shape)
               ? HEED_OK
               : heed_fail(HEED_ERR_SHAPE, "%s: %s %s; it must be %s, %s", function, name,
                           heed_shape_text(mask->ndim, mask->shape).text,
                           s->batched ? "(N, S)" : "(S)",
                           heed_shape_text(shape.ndim, shape.size).text);
}

static heed_status check_attn_mask(const char *function, const char *name, const heed_tensor *mask,
                                   const heed_multihead_sizes *s)
{
    const heed_shape one = HEED_SHAPE(s->queries, s->keys);
    /* No overflow: the query has as many elements, and more. */
    const heed_shape all = HEED_SHAPE(s->batch * s->heads, s->queries, s->keys);
    if (check_dtype(function, name, mask, s->dtype) != HEED_OK) {
        return heed_error_pending();
    }
    return heed_has_shape(mask, &one) || heed_has_shape(mask, &all)
               ? HEED_OK
               : heed_fail(HEED_ERR_SHAPE,
                           "%s: %s %s; it must be (L, S), %s, or (N num_heads, L, S), %s; "
                           "heed_repeat_interleave_dim(mask, num_heads, 0) makes it of (N, L, S)",
                           function, name, heed_shape_text(mask->ndim, mask->shape).text,
                           heed_shape_text(one.ndim, one.size).text,
                           heed_shape_text(all.ndim, all.size).text);
}

heed_status heed_check_multihead_masks(const char *function, const heed_mask_names *names,
                                       const heed_attention_options *options,
                                       const heed_multihead_sizes *s)
{
    const heed_tensor *padding = options->key_padding_mask, *mask = options->attn_mask;
    if ((padding != NULL &&
         check_padding(function, names->key_padding_mask, padding, s) != HEED_OK) ||
        (mask != NULL && check_attn_mask(function, names->attn_mask, mask, s) != HEED_OK)) {
        return heed_error_pending();
    }
    return HEED_OK;
}

/* ---- all in one ---- */

static heed_tensor *as_bias(heed_tensor *mask, heed_dtype dtype)
{
    return mask->dtype == HEED_BOOL ? heed_bias_mask_of_block(mask, dtype) : mask;
}

/* Both hold; either may be NULL. */
static heed_tensor *join(heed_tensor *a, heed_tensor *b, heed_dtype dtype)
{
    if (a == NULL || b == NULL) {
        return a != NULL ? a : b;
    }
    return a->dtype == HEED_BOOL && b->dtype == HEED_BOOL
               ? heed_logical_or(a, b)
               : heed_add(as_bias(a, dtype), as_bias(b, dtype));
}

/* `keys` more columns, which block nothing. */
static heed_tensor *with_open_keys(heed_tensor *mask, int64_t keys)
{
    heed_shape shape = heed_shape_of_tensor(mask);
    shape.size[mask->ndim - 1] = keys;
    return heed_cat((heed_tensor *[]){mask, heed_zeros(shape, mask->dtype)}, 2, -1);
}

heed_tensor *heed_join_multihead_masks(const heed_attention_options *options,
                                       const heed_multihead_sizes *s)
{
    heed_tensor *mask = options->attn_mask, *padding = options->key_padding_mask;
    if (mask != NULL && mask->ndim == 3) {
        mask = heed_unflatten(mask, 0, HEED_SHAPE(s->batch, s->heads));
    }
    if (padding != NULL && s->batched) {
        padding = heed_unsqueeze(heed_unsqueeze(padding, 1), 1);
    }
    mask = join(mask, padding, s->dtype);
    if (options->is_causal) {
        heed_tensor *all = heed_ones(HEED_SHAPE(s->queries, s->keys), HEED_BOOL);
        mask = join(mask, heed_triu(all, 1), s->dtype);
    }
    if (mask != NULL && s->added > 0) {
        mask = with_open_keys(mask, s->added);
    }
    return mask != NULL && mask->dtype == HEED_BOOL ? heed_keep_mask_of_block(mask) : mask;
}
