/* nn.MultiheadAttention: three projections, heed_scaled_dot_product_attention over all heads, and
 * an output projection. Inputs are checked first, so that errors name the user's arguments. */

#include "torch_multihead_attention.h"

#include <math.h>

#include "../autograd/ops/dot_product_attention.h"
#include "../autograd/ops/operations.h"
#include "../tensor/check.h"
#include "../tensor/create.h"
#include "../tensor/random/random.h"
#include "../tensor/read.h"
#include "arguments.h"
#include "mask.h"
#include "transformer_parts.h"

/* ---- creation ---- */

HEED_FORGET_WEIGHTS(forget_weights, struct heed_multihead_attention)
static const heed_module_kind kind = {.name = "MultiheadAttention",
                                      .size = sizeof(struct heed_multihead_attention),
                                      .destroy = forget_weights};

static heed_status check_arguments(int64_t embed_dim, int num_heads, int64_t kdim, int64_t vdim,
                                   double dropout)
{
    const heed_named_size sizes[] = {
        {"embed_dim", embed_dim}, {"num_heads", num_heads}, {"kdim", kdim}, {"vdim", vdim}};
    if (heed_check_positive("multihead_attention", sizes, 4) != HEED_OK) {
        return heed_error_pending();
    }
    if (embed_dim % num_heads != 0) {
        return heed_fail(HEED_ERR_VALUE,
                         "multihead_attention: num_heads %d does not divide embed_dim %lld; "
                         "heed_multi_head_new allows heads of any width",
                         num_heads, (long long)embed_dim);
    }
    return heed_check_probability("multihead_attention", "dropout", dropout);
}

static heed_tensor *new_weight(int64_t rows, int64_t columns)
{
    heed_tensor *weight = heed_empty(HEED_SHAPE(rows, columns), HEED_F32);
    const double sum = (double)rows + (double)columns;
    const double bound = sqrt(3) * sqrt(2.0 / sum); /* Glorot and Bengio, 2010 */
    heed_uniform_into(weight, -bound, bound);
    return weight;
}

/* An extra key or value: Xavier-normal with fan_in = fan_out = embed_dim, as in torch. */
static heed_tensor *new_token(int64_t embed_dim)
{
    heed_tensor *token = heed_empty(HEED_SHAPE(1, 1, embed_dim), HEED_F32);
    heed_normal_into(token, 0, sqrt(2.0 / (2.0 * (double)embed_dim)));
    return token;
}

/* In torch's order. */
static void add_in_projections(struct heed_multihead_attention *m,
                               heed_multihead_attention_options options)
{
    const int64_t width = m->embed_dim;
    if (m->kdim == width && m->vdim == width) {
        HEED_PARAMETER(m, in_proj_weight, new_weight(3 * width, width));
    } else {
        HEED_PARAMETER(m, q_proj_weight, new_weight(width, width));
        HEED_PARAMETER(m, k_proj_weight, new_weight(width, m->kdim));
        HEED_PARAMETER(m, v_proj_weight, new_weight(width, m->vdim));
    }
    if (!options.no_bias) {
        HEED_PARAMETER(m, in_proj_bias, heed_zeros(HEED_SHAPE(3 * width), HEED_F32));
    }
    if (options.add_bias_kv) {
        HEED_PARAMETER(m, bias_k, new_token(width));
        HEED_PARAMETER(m, bias_v, new_token(width));
    }
}

struct heed_multihead_attention *heed_multihead_attention_new(int64_t embed_dim, int num_heads)
{
    return heed_multihead_attention_new_with(embed_dim, num_heads,
                                             (heed_multihead_attention_options){0});
}

struct heed_multihead_attention *
heed_multihead_attention_new_with(int64_t embed_dim, int num_heads,
                                  heed_multihead_attention_options options)
{
    const int64_t kdim = options.kdim != 0 ? options.kdim : embed_dim;
    const int64_t vdim = options.vdim != 0 ? options.vdim : embed_dim;
    if (check_arguments(embed_dim, num_heads, kdim, vdim, options.dropout) != HEED_OK) {
        return NULL;
    }
    struct heed_multihead_attention *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    m->embed_dim = embed_dim;
    m->kdim = kdim;
    m->vdim = vdim;
    m->head_dim = embed_dim / num_heads;
    m->num_heads = num_heads;
    m->dropout = options.dropout;
    m->batch_first = options.batch_first;
    m->add_zero_attn = options.add_zero_attn;
    /* torch draws out_proj first, including its bias, which it zeroes later. */
    HEED_CHILD(m, out_proj,
               heed_linear_new_with(embed_dim, embed_dim,
                                    (heed_linear_options){.no_bias = options.no_bias}));
    if (m->out_proj != NULL) { /* it exists, so embed_dim^2 does not overflow */
        add_in_projections(m, options);
        if (m->out_proj->bias != NULL) {
            heed_fill_into(m->out_proj->bias, 0);
        }
    }
    return heed_module_ready(m);
}

/* ---- sizes ---- */

/* N and L of x: (N, L, E) if batch_first, else (L, N, E); or (L, E). */
static int64_t count_of(const heed_tensor *x, bool batch_first)
{
    return x->ndim < 3 ? 1 : x->shape[batch_first ? 0 : 1];
}

static int64_t length_of(const heed_tensor *x, bool batch_first)
{
    return x->shape[x->ndim == 3 && batch_first ? 1 : 0];
}

heed_multihead_sizes heed_multihead_sizes_of(const struct heed_multihead_attention *m,
                                             const heed_tensor *query, const heed_tensor *key)
{
    return (heed_multihead_sizes){.batch = count_of(query, m->batch_first),
                                  .queries = length_of(query, m->batch_first),
                                  .keys = length_of(key, m->batch_first),
                                  .heads = m->num_heads,
                                  .batched = query->ndim == 3,
                                  .dtype = m->out_proj->weight->dtype};
}

/* ---- checks ---- */

static const char function[] = "multihead_attention_forward";

/* Checks that query, key and value match. */
static heed_status check_sizes(const struct heed_multihead_attention *m, const heed_tensor *query,
                               const heed_tensor *key, const heed_tensor *value)
{
    const bool first = m->batch_first;
    const char *misfit = NULL;
    if (query->ndim < 2 || query->ndim > 3 || key->ndim != query->ndim ||
        value->ndim != query->ndim) {
        misfit = first ? "all must be (N, length, features), or (length, features)"
                       : "all must be (length, N, features), or (length, features)";
    } else if (count_of(key, first) != count_of(query, first) ||
               count_of(value, first) != count_of(query, first)) {
        misfit = first ? "their sizes in dim 0, the batch, must be equal"
                       : "their sizes in dim 1, the batch, must be equal; .batch_first "
                         "makes it dim 0";
    } else if (length_of(value, first) != length_of(key, first)) {
        misfit = "there must be as many values as keys";
    }
    return misfit == NULL ? HEED_OK
                          : heed_fail(HEED_ERR_SHAPE, "%s: query %s, key %s, value %s: %s",
                                      function, heed_shape_text(query->ndim, query->shape).text,
                                      heed_shape_text(key->ndim, key->shape).text,
                                      heed_shape_text(value->ndim, value->shape).text, misfit);
}

static heed_status check(const struct heed_multihead_attention *m, heed_tensor *const *inputs,
                         const heed_multihead_attention_forward_options *options)
{
    if (heed_forward_check(function, m) != HEED_OK) {
        return heed_error_pending();
    }
    const heed_dtype dtype = m->out_proj->weight->dtype;
    if (heed_check_features(function, "query", inputs[0], "embed_dim", m->embed_dim, dtype) !=
            HEED_OK ||
        heed_check_features(function, "key", inputs[1], "kdim", m->kdim, dtype) != HEED_OK ||
        heed_check_features(function, "value", inputs[2], "vdim", m->vdim, dtype) != HEED_OK ||
        check_sizes(m, inputs[0], inputs[1], inputs[2]) != HEED_OK) {
        return heed_error_pending();
    }
    const heed_multihead_sizes s = heed_multihead_sizes_of(m, inputs[0], inputs[1]);
    if (heed_check_padding_mask(function, "key_padding_mask", options->key_padding_mask, &s) !=
        HEED_OK) {
        return heed_error_pending();
    }
    return heed_check_attn_mask(function, "attn_mask", options->attn_mask, &s);
}

/* ---- combining masks ---- */

static heed_tensor *as_bias(heed_tensor *mask, heed_dtype dtype)
{
    return mask->dtype == HEED_BOOL ? heed_bias_mask_of_block(mask, dtype) : mask;
}

/* Both masks apply; either may be NULL. */
static heed_tensor *join(heed_tensor *a, heed_tensor *b, heed_dtype dtype)
{
    if (a == NULL || b == NULL) {
        return a != NULL ? a : b;
    }
    return a->dtype == HEED_BOOL && b->dtype == HEED_BOOL
               ? heed_logical_or(a, b)
               : heed_add(as_bias(a, dtype), as_bias(b, dtype));
}

/* Appends `keys` columns that block nothing. */
static heed_tensor *with_open_keys(heed_tensor *mask, int64_t keys)
{
    heed_shape shape = heed_shape_of_tensor(mask);
    shape.size[mask->ndim - 1] = keys;
    return heed_cat((heed_tensor *[]){mask, heed_zeros(shape, mask->dtype)}, 2, -1);
}

/* Combines all masks into a keep mask or bias mask that broadcasts to the scores (N, H, L, S +
 * added); NULL if nothing is masked. */
static heed_tensor *join_masks(const heed_multihead_attention_forward_options *options,
                               const heed_multihead_sizes *s, int64_t added)
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
    if (mask != NULL && added > 0) {
        mask = with_open_keys(mask, added);
    }
    return mask != NULL && mask->dtype == HEED_BOOL ? heed_keep_mask_of_block(mask) : mask;
}

/* ---- forward ---- */

/* Projects query, key and value to the q, k and v of all heads. */
static void project_all(const struct heed_multihead_attention *m, heed_tensor *const *inputs,
                        heed_tensor **heads)
{
    heed_tensor *weights[] = {m->q_proj_weight, m->k_proj_weight, m->v_proj_weight};
    heed_tensor *biases[] = {NULL, NULL, NULL};
    if (m->in_proj_weight != NULL) {
        heed_chunk(m->in_proj_weight, 3, 0, weights);
    }
    if (m->in_proj_bias != NULL) {
        heed_chunk(m->in_proj_bias, 3, 0, biases);
    }
    for (int i = 0; i < 3; i++) {
        const bool batched = inputs[i]->ndim == 3;
        heed_tensor *x = batched ? inputs[i] : heed_unsqueeze(inputs[i], 0);
        heads[i] = heed_split_heads(heed_linear(x, weights[i], biases[i]), m->num_heads,
                                    m->batch_first || !batched);
    }
}

/* Appends a token to x (N, H, S, head_dim). */
static heed_tensor *with_token(heed_tensor *x, heed_tensor *token)
{
    heed_shape shape = heed_shape_of_tensor(x);
    shape.size[2] = 1;
    return heed_cat((heed_tensor *[]){x, heed_expand(token, shape)}, 2, 2);
}

/* Appends the module's extra keys (or values) to x. */
static heed_tensor *with_added(const struct heed_multihead_attention *m, heed_tensor *x,
                               heed_tensor *bias, heed_dtype dtype)
{
    if (bias != NULL) {
        x = with_token(x, heed_split_heads(bias, m->num_heads, true));
    }
    return m->add_zero_attn ? with_token(x, heed_zeros(HEED_SHAPE(1, 1, 1, 1), dtype)) : x;
}

/* The heads' results (N, H, L, head_dim), joined and projected: (N, L, E) if batch_first, else
 * (L, N, E). torch stores both as (L, N, E), and draws the mask of a dropout that follows in that
 * order. Only a module that itself drops is taken to be followed by one: the other layout
 * is faster. */
static heed_tensor *project_out(const struct heed_multihead_attention *m, heed_tensor *heads,
                                bool batch_first)
{
    const bool turned = batch_first && m->module.training && m->dropout > 0;
    heed_tensor *y =
        heed_linear_forward(m->out_proj, heed_join_heads(heads, batch_first && !turned));
    return turned ? heed_transpose(y, 0, 1) : y;
}

/* percent, if not NULL, receives the weights, of shape (N, H, L, S). */
static heed_tensor *attend(const struct heed_multihead_attention *m, heed_tensor *const *inputs,
                           const heed_multihead_attention_forward_options *options,
                           const heed_multihead_sizes *s, heed_tensor **percent)
{
    heed_tensor *heads[3];
    const int added = (m->bias_k != NULL) + m->add_zero_attn; /* extra keys */
    project_all(m, inputs, heads);
    heed_tensor *k = with_added(m, heads[1], m->bias_k, s->dtype);
    heed_tensor *v = with_added(m, heads[2], m->bias_v, s->dtype);
    const bool causal_alone = options->is_causal && options->attn_mask == NULL &&
                              options->key_padding_mask == NULL && added == 0;
    heed_tensor *mask = causal_alone ? NULL : join_masks(options, s, added);
    heed_tensor *attended = heed_scaled_dot_product_attention_weights(
        heads[0], k, v, mask, m->module.training ? m->dropout : 0, causal_alone, 0, percent);
    heed_tensor *y = project_out(m, attended, m->batch_first || !s->batched);
    return s->batched ? y : heed_squeeze(y, 0);
}

heed_tensor *heed_multihead_attention_forward_weights_with(
    struct heed_multihead_attention *m, heed_tensor *query, heed_tensor *key, heed_tensor *value,
    heed_tensor **weights, heed_multihead_attention_forward_options options)
{
    HEED_FORWARD(m);
    heed_tensor *inputs[] = {query, key, value}, *percent = NULL;
    if (weights != NULL) {
        *weights = NULL;
    }
    if (check(m, inputs, &options) != HEED_OK) {
        return NULL;
    }
    const heed_multihead_sizes s = heed_multihead_sizes_of(m, query, key);
    heed_scope scope;
    heed_scope_begin(&scope);
    const bool wanted = weights != NULL || m->keep_weights;
    heed_tensor *y = attend(m, inputs, &options, &s, wanted ? &percent : NULL);
    if (m->keep_weights) {
        heed_release(m->attention_percent);
        m->attention_percent = heed_retain(heed_clone(heed_detach(percent)));
    }
    if (weights != NULL) {
        percent = options.no_average_attn_weights ? percent : heed_mean_dim(percent, 1, false);
        *weights = heed_scope_keep(&scope, s.batched ? percent : heed_squeeze(percent, 0));
    }
    return heed_scope_end_with(&scope, y);
}

heed_tensor *heed_multihead_attention_forward_weights(struct heed_multihead_attention *m,
                                                      heed_tensor *query, heed_tensor *key,
                                                      heed_tensor *value, heed_tensor **weights)
{
    return heed_multihead_attention_forward_weights_with(
        m, query, key, value, weights, (heed_multihead_attention_forward_options){0});
}

heed_tensor *heed_multihead_attention_forward_with(struct heed_multihead_attention *m,
                                                   heed_tensor *query, heed_tensor *key,
                                                   heed_tensor *value,
                                                   heed_multihead_attention_forward_options options)
{
    return heed_multihead_attention_forward_weights_with(m, query, key, value, NULL, options);
}

heed_tensor *heed_multihead_attention_forward(struct heed_multihead_attention *m,
                                              heed_tensor *query, heed_tensor *key,
                                              heed_tensor *value)
{
    return heed_multihead_attention_forward_with(m, query, key, value,
                                                 (heed_multihead_attention_forward_options){0});
}
