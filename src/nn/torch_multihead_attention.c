/* nn.MultiheadAttention: three projections, heed_scaled_dot_product_attention over all heads, and
 * an output projection. */
#include "nn.h"

#include <math.h>

static const heed_module_kind kind = {.name = "MultiheadAttention",
                                      .size = sizeof(struct heed_multihead_attention)};

struct heed_multihead_attention *(
    heed_multihead_attention_new)(heed_multihead_attention_new_args args)
{
    static const char function[] = "multihead_attention";
    const int64_t embed_dim = args.embed_dim;
    const int num_heads = args.num_heads;
    heed_check_positive(function, "embed_dim", embed_dim);
    if (heed_check_positive(function, "num_heads", num_heads) == HEED_OK &&
        embed_dim % num_heads != 0) {
        heed_fail(HEED_ERR_VALUE, "%s: num_heads %d does not divide embed_dim %lld", function,
                  num_heads, (long long)embed_dim);
    }
    heed_check_probability(function, "dropout", args.dropout);
    struct heed_multihead_attention *m = heed_module_with(
        &kind, &(struct heed_multihead_attention){.num_heads = num_heads,
                                                  .dropout = args.dropout,
                                                  .batch_first = args.batch_first});
    /* torch draws out_proj first, including its bias, which it zeroes later. */
    HEED_CHILD(m, out_proj, heed_linear_new(embed_dim, embed_dim, .no_bias = args.no_bias));
    const int64_t rows = heed_blocked() ? 1 : 3 * embed_dim;          /* else it might overflow */
    const double bound = sqrt(3) * sqrt(2 / (4 * (double)embed_dim)); /* Glorot and Bengio, 2010 */
    HEED_PARAMETER(m, in_proj_weight, heed_draw_uniform(HEED_SHAPE(rows, embed_dim), bound));
    if (!args.no_bias && !heed_blocked()) {
        HEED_PARAMETER(m, in_proj_bias, heed_zeros(HEED_SHAPE(rows), HEED_F32));
        heed_fill_into(m->out_proj->bias, 0);
    }
    return heed_module_ready(m);
}

/* ---- checks; q, k and v are (N, L, E) and (N, S, E) ---- */

static const char function[] = "multihead_attention_forward";

static void check_mask(const char *name, const heed_tensor *mask, heed_shape shape)
{
    if (mask != NULL && mask->dtype != HEED_BOOL) {
        heed_raise(HEED_ERR_DTYPE, "%s: %s is %s, not bool (true blocks)", function, name,
                   heed_dtype_name(mask->dtype));
    }
    if (mask != NULL && !heed_has_shape(mask, &shape)) {
        heed_raise(HEED_ERR_SHAPE, "%s: %s %s; it must be %s", function, name, HEED_TEXT(mask),
                   heed_shape_text(shape.ndim, shape.size).text);
    }
}

static void check(const heed_multihead_attention_forward_args *a)
{
    static const char *const names[] = {"query", "key", "value"};
    const heed_dtype dtype = a->m->in_proj_weight->dtype;
    const int64_t embed_dim = a->m->in_proj_weight->shape[1];
    const heed_tensor *q = a->query, *k = a->key, *v = a->value;
    const heed_tensor *const in[] = {q, k, v};
    const int batch = a->m->batch_first ? 0 : 1;
    bool fits = true;
    for (int i = 0; i < 3; i++) {
        heed_check_tensor(function, names[i], in[i]);
        if (in[i]->dtype != dtype) {
            heed_raise(HEED_ERR_DTYPE,
                       "%s: %s is %s and the weights %s; cast it with heed_to, or the module with "
                       "heed_module_to",
                       function, names[i], heed_dtype_name(in[i]->dtype), heed_dtype_name(dtype));
        }
        fits = fits && in[i]->ndim == 3 && in[i]->shape[2] == embed_dim;
    }
    if (!fits || !heed_same_shape(k, v) || k->shape[batch] != q->shape[batch]) {
        heed_raise(
            HEED_ERR_SHAPE,
            "%s: query %s, key %s and value %s must be (length, N, embed_dim), or (N, length, "
            "embed_dim) with .batch_first, with one value per key and embed_dim %lld",
            function, HEED_TEXT(q), HEED_TEXT(k), HEED_TEXT(v), (long long)embed_dim);
    }
    const int64_t N = q->shape[batch], L = q->shape[1 - batch], S = k->shape[1 - batch];
    check_mask("key_padding_mask", a->key_padding_mask, HEED_SHAPE(N, S));
    check_mask("attn_mask", a->attn_mask, HEED_SHAPE(L, S));
}

/* ---- forward ---- */

/* All masks as a keep mask that broadcasts to the scores (N, heads, L, S), or NULL. */
static heed_tensor *join_masks(const heed_multihead_attention_forward_args *a, int64_t queries,
                               int64_t keys)
{
    heed_tensor *mask = a->attn_mask, *padding = a->key_padding_mask;
    if (padding != NULL) {
        padding = heed_unsqueeze(heed_unsqueeze(padding, 1), 1);
        mask = mask != NULL ? heed_logical_or(mask, padding) : padding;
    }
    if (a->is_causal && mask != NULL) {
        mask = heed_logical_or(mask, heed_triu(heed_ones(HEED_SHAPE(queries, keys), HEED_BOOL), 1));
    }
    return mask != NULL ? heed_logical_not(mask) : NULL;
}

heed_tensor *(heed_multihead_attention_forward)(heed_multihead_attention_forward_args args)
{
    struct heed_multihead_attention *m = args.m;
    heed_tensor *in[] = {args.query, args.key, args.value}, *rows[3], *biases[3] = {NULL};
    if (args.weights != NULL) {
        *args.weights = NULL;
    }
    HEED_DOOR(NULL);
    HEED_FORWARD(m);
    heed_forward_check(function, m);
    check(&args);
    HEED_SCOPE(scope);
    heed_chunk(m->in_proj_weight, 3, 0, rows);
    if (m->in_proj_bias != NULL) {
        heed_chunk(m->in_proj_bias, 3, 0, biases);
    }
    for (int i = 0; i < 3; i++) { /* to (N, heads, L or S, head_dim) */
        in[i] = heed_linear(in[i], rows[i], biases[i]);
        in[i] = heed_unflatten(in[i], -1, HEED_SHAPE(m->num_heads, -1));
        in[i] = heed_permute(in[i], m->batch_first ? HEED_DIMS(0, 2, 1, 3) : HEED_DIMS(1, 2, 0, 3));
    }
    heed_tensor *mask = join_masks(&args, heed_size(in[0], 2), heed_size(in[1], 2));
    heed_tensor *y = heed_scaled_dot_product_attention(
        in[0], in[1], in[2], mask, .dropout_p = m->module.training ? m->dropout : 0,
        .is_causal = args.is_causal && mask == NULL, .weights = args.weights);
    y = heed_permute(y, m->batch_first ? HEED_DIMS(0, 2, 1, 3) : HEED_DIMS(2, 0, 1, 3));
    y = heed_linear_forward(m->out_proj, heed_flatten(y, 2, 3));
    if (args.weights != NULL) {
        *args.weights = heed_scope_keep(&scope, *args.weights);
    }
    return heed_scope_keep(&scope, y);
}
