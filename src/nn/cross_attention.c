/* Cross-attention: queries from one sequence, keys and values from another (Vaswani et al., 2017,
 * section 3.2.3). attention_head.c has the computation. */
#include "cross_attention.h"

#include "../tensor/read.h"
#include "arguments.h"
#include "attention_head.h"

static const char function[] = "cross_attention_forward";

static void forget_weights(void *module)
{
    struct heed_cross_attention *m = module;
    heed_release(m->attention_percent);
}

static const heed_module_kind kind = {.name = "CrossAttention",
                                      .size = sizeof(struct heed_cross_attention),
                                      .destroy = forget_weights};

struct heed_cross_attention *heed_cross_attention_new_with(int64_t d_model, int row_dim,
                                                           int col_dim,
                                                           heed_cross_attention_options options)
{
    const int64_t head_dim = options.head_dim != 0 ? options.head_dim : d_model;
    const int64_t kv_dim = options.kv_dim != 0 ? options.kv_dim : d_model;
    const heed_named_size sizes[] = {
        {"d_model", d_model}, {"head_dim", head_dim}, {"kv_dim", kv_dim}};
    if (heed_check_positive("cross_attention", sizes, 3) != HEED_OK) {
        return NULL;
    }
    struct heed_cross_attention *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    const heed_linear_options no_bias = {.no_bias = true};
    HEED_CHILD(m, W_q, heed_linear_new_with(d_model, head_dim, no_bias));
    HEED_CHILD(m, W_k, heed_linear_new_with(kv_dim, head_dim, no_bias));
    HEED_CHILD(m, W_v, heed_linear_new_with(kv_dim, head_dim, no_bias));
    m->row_dim = row_dim;
    m->col_dim = col_dim;
    return heed_module_ready(m);
}

struct heed_cross_attention *heed_cross_attention_new(int64_t d_model, int row_dim, int col_dim)
{
    return heed_cross_attention_new_with(d_model, row_dim, col_dim,
                                         (heed_cross_attention_options){0});
}

/* ---- checks ---- */

/* Checks that the mask has one element per key. */
static heed_status check_padding(const heed_tensor *mask, const heed_tensor *encodings_for_kv)
{
    heed_shape keys = heed_shape_of_tensor(encodings_for_kv);
    keys.ndim--;
    if (heed_check_bool_mask(function, "key_padding_mask", mask) != HEED_OK) {
        return heed_error_pending();
    }
    return heed_has_shape(mask, &keys)
               ? HEED_OK
               : heed_fail(HEED_ERR_SHAPE,
                           "%s: key_padding_mask %s; it must be %s, one element per key of "
                           "encodings_for_kv %s",
                           function, heed_shape_text(mask->ndim, mask->shape).text,
                           heed_shape_text(keys.ndim, keys.size).text,
                           heed_shape_text(encodings_for_kv->ndim, encodings_for_kv->shape).text);
}

static heed_status check(const struct heed_cross_attention *m, const heed_tensor *for_q,
                         const heed_tensor *for_kv, heed_cross_attention_masks masks)
{
    if (heed_check_encodings(function, "encodings_for_q", for_q, m->row_dim, m->col_dim, "d_model",
                             m->W_q->weight) != HEED_OK ||
        heed_check_encodings(function, "encodings_for_kv", for_kv, m->row_dim, m->col_dim, "kv_dim",
                             m->W_k->weight) != HEED_OK) {
        return heed_error_pending();
    }
    heed_shape queries = heed_shape_of_tensor(for_kv); /* for_q's shape if the batch dims match */
    queries.size[queries.ndim - 2] = for_q->shape[for_q->ndim - 2];
    queries.size[queries.ndim - 1] = for_q->shape[for_q->ndim - 1];
    if (!heed_has_shape(for_q, &queries)) {
        return heed_fail(
            HEED_ERR_SHAPE,
            "%s: encodings_for_q %s and encodings_for_kv %s: all dims but the last two "
            "must be equal; repeat one of them with heed_expand",
            function, heed_shape_text(for_q->ndim, for_q->shape).text,
            heed_shape_text(for_kv->ndim, for_kv->shape).text);
    }
    if (heed_check_block_mask(function, masks.block_mask, for_q, for_kv) != HEED_OK) {
        return heed_error_pending();
    }
    return masks.key_padding_mask != NULL ? check_padding(masks.key_padding_mask, for_kv) : HEED_OK;
}

/* ---- forward ---- */

heed_tensor *heed_cross_attention_forward_weights_with(struct heed_cross_attention *m,
                                                       heed_tensor *encodings_for_q,
                                                       heed_tensor *encodings_for_kv,
                                                       heed_tensor **weights,
                                                       heed_cross_attention_masks masks)
{
    HEED_FORWARD(m);
    if (weights != NULL) {
        *weights = NULL;
    }
    if (heed_forward_check(function, m) != HEED_OK ||
        check(m, encodings_for_q, encodings_for_kv, masks) != HEED_OK) {
        return NULL;
    }
    const heed_attention_head head = {m->W_q,     m->W_k,
                                      m->W_v,     m->row_dim,
                                      m->col_dim, m->keep_weights ? &m->attention_percent : NULL};
    return heed_attention_head_forward(&head, encodings_for_q, encodings_for_kv, masks.block_mask,
                                       masks.key_padding_mask, weights);
}

heed_tensor *heed_cross_attention_forward_weights(struct heed_cross_attention *m,
                                                  heed_tensor *encodings_for_q,
                                                  heed_tensor *encodings_for_kv,
                                                  heed_tensor **weights)
{
    return heed_cross_attention_forward_weights_with(m, encodings_for_q, encodings_for_kv, weights,
                                                     (heed_cross_attention_masks){0});
}

heed_tensor *heed_cross_attention_forward_with(struct heed_cross_attention *m,
                                               heed_tensor *encodings_for_q,
                                               heed_tensor *encodings_for_kv,
                                               heed_cross_attention_masks masks)
{
    return heed_cross_attention_forward_weights_with(m, encodings_for_q, encodings_for_kv, NULL,
                                                     masks);
}

heed_tensor *heed_cross_attention_forward(struct heed_cross_attention *m,
                                          heed_tensor *encodings_for_q,
                                          heed_tensor *encodings_for_kv)
{
    return heed_cross_attention_forward_with(m, encodings_for_q, encodings_for_kv,
                                             (heed_cross_attention_masks){0});
}
