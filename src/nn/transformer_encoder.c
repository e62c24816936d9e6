/* nn.TransformerEncoderLayer and nn.TransformerEncoder, built from other modules. Inputs are
 * checked first, so that errors name the user's arguments. */
#include "transformer_encoder.h"

#include "../autograd/grad.h"
#include "../autograd/ops/elementwise.h"
#include "../tensor/check.h"
#include "../tensor/create.h"
#include "../tensor/random/random.h"
#include "arguments.h"
#include "module_state.h"
#include "transformer_parts.h"

/* ---- creating a layer ---- */

HEED_MODULE_KIND(layer_kind, struct heed_transformer_encoder_layer, "TransformerEncoderLayer", NULL,
                 heed_transformer_encoder_layer_forward);

static heed_status check_arguments(int64_t d_model, int nhead, int64_t dim_feedforward,
                                   double dropout, double eps)
{
    static const char function[] = "transformer_encoder_layer";
    const heed_named_size sizes[] = {
        {"d_model", d_model}, {"nhead", nhead}, {"dim_feedforward", dim_feedforward}};
    if (heed_check_positive(function, sizes, 3) != HEED_OK ||
        heed_check_heads(function, sizes[1], sizes[0]) != HEED_OK ||
        heed_check_probability(function, "dropout", dropout) != HEED_OK) {
        return heed_error_pending();
    }
    return heed_check_not_negative(function, "layer_norm_eps", eps);
}

struct heed_transformer_encoder_layer *heed_transformer_encoder_layer_new(int64_t d_model,
                                                                          int nhead)
{
    return heed_transformer_encoder_layer_new_with(d_model, nhead,
                                                   (heed_transformer_encoder_layer_options){0});
}

struct heed_transformer_encoder_layer *
heed_transformer_encoder_layer_new_with(int64_t d_model, int nhead,
                                        heed_transformer_encoder_layer_options options)
{
    const int64_t hidden = options.dim_feedforward != 0 ? options.dim_feedforward : 2048;
    const double dropout = options.dropout != NULL ? *options.dropout : 0.1;
    if (check_arguments(d_model, nhead, hidden, dropout, options.layer_norm_eps) != HEED_OK) {
        return NULL;
    }
    struct heed_transformer_encoder_layer *m = heed_module_new(&layer_kind);
    if (m == NULL) {
        return NULL;
    }
    const heed_multihead_attention_options attention = {
        .dropout = dropout, .no_bias = options.no_bias, .batch_first = options.batch_first};
    const heed_linear_options linear = {.no_bias = options.no_bias};
    const heed_layer_norm_options norm = {.eps = options.layer_norm_eps,
                                          .no_bias = options.no_bias};
    const heed_shape shape = HEED_SHAPE(d_model);
    HEED_CHILD(m, self_attn, heed_multihead_attention_new_with(d_model, nhead, attention));
    HEED_CHILD(m, linear1, heed_linear_new_with(d_model, hidden, linear));
    HEED_CHILD(m, dropout, heed_dropout_new(dropout));
    HEED_CHILD(m, linear2, heed_linear_new_with(hidden, d_model, linear));
    HEED_CHILD(m, norm1, heed_layer_norm_new_with(shape, norm));
    HEED_CHILD(m, norm2, heed_layer_norm_new_with(shape, norm));
    HEED_CHILD(m, dropout1, heed_dropout_new(dropout));
    HEED_CHILD(m, dropout2, heed_dropout_new(dropout));
    m->activation = options.activation != NULL ? options.activation : heed_relu;
    m->norm_first = options.norm_first;
    return heed_module_ready(m);
}

/* ---- the forward of a layer ---- */

/* Checks that src and the masks fit this layer. */
static heed_status check(const char *function, const struct heed_transformer_encoder_layer *m,
                         const heed_tensor *src, heed_transformer_encoder_forward_options options)
{
    const struct heed_multihead_attention *attention = m->self_attn;
    if (heed_check_features(function, "src", src, "d_model", attention->embed_dim,
                            m->linear1->weight->dtype) != HEED_OK) {
        return heed_error_pending();
    }
    if (src->ndim < 2 || src->ndim > 3) {
        return heed_fail(HEED_ERR_SHAPE, "%s: src %s; it must be %s, or (S, d_model)", function,
                         heed_shape_text(src->ndim, src->shape).text,
                         attention->batch_first ? "(N, S, d_model)" : "(S, N, d_model)");
    }
    if (options.is_causal && !attention->batch_first &&
        heed_check_sequence_dim(function, "src", src) != HEED_OK) {
        return heed_error_pending();
    }
    const heed_multihead_sizes s = heed_multihead_sizes_of(attention, src, src);
    if (heed_check_padding_mask(function, "src_key_padding_mask", options.src_key_padding_mask,
                                &s) != HEED_OK) {
        return heed_error_pending();
    }
    return heed_check_attn_mask(function, "src_mask", options.src_mask, &s);
}

static heed_tensor *attend(struct heed_transformer_encoder_layer *m, heed_tensor *x,
                           heed_transformer_encoder_forward_options options)
{
    const heed_multihead_attention_forward_options masks = {
        .attn_mask = options.src_mask,
        .key_padding_mask = options.src_key_padding_mask,
        .is_causal = options.is_causal,
    };
    x = heed_multihead_attention_forward_with(m->self_attn, x, x, x, masks);
    return heed_dropout_forward(m->dropout1, x);
}

static heed_tensor *feed(struct heed_transformer_encoder_layer *m, heed_tensor *x)
{
    x = heed_feed(x, m->linear1, m->activation, m->dropout, m->linear2);
    return heed_dropout_forward(m->dropout2, x);
}

static heed_tensor *run(struct heed_transformer_encoder_layer *m, heed_tensor *src,
                        heed_transformer_encoder_forward_options options)
{
    HEED_FORWARD(m);
    heed_tensor *x = src;
    heed_scope scope;
    heed_scope_begin(&scope);
    if (m->norm_first) {
        x = heed_add(x, attend(m, heed_layer_norm_forward(m->norm1, x), options));
        x = heed_add(x, feed(m, heed_layer_norm_forward(m->norm2, x)));
    } else {
        x = heed_layer_norm_forward(m->norm1, heed_add(x, attend(m, x, options)));
        x = heed_layer_norm_forward(m->norm2, heed_add(x, feed(m, x)));
    }
    return heed_scope_end_with(&scope, x);
}

heed_tensor *heed_transformer_encoder_layer_forward(struct heed_transformer_encoder_layer *m,
                                                    heed_tensor *src)
{
    return heed_transformer_encoder_layer_forward_with(
        m, src, (heed_transformer_encoder_forward_options){0});
}

heed_tensor *
heed_transformer_encoder_layer_forward_with(struct heed_transformer_encoder_layer *m,
                                            heed_tensor *src,
                                            heed_transformer_encoder_forward_options options)
{
    static const char function[] = "transformer_encoder_layer_forward";
    return heed_forward_check(function, m) == HEED_OK && check(function, m, src, options) == HEED_OK
               ? run(m, src, options)
               : NULL;
}

/* ---- a stack ---- */

HEED_MODULE_KIND(stack_kind, struct heed_transformer_encoder, "TransformerEncoder", NULL,
                 heed_transformer_encoder_forward);

/* Like Python's deepcopy: the same weights, mode and dtype. Draws no random numbers. */
static struct heed_transformer_encoder_layer *
copy_layer(struct heed_transformer_encoder_layer *layer)
{
    const struct heed_multihead_attention *attention = layer->self_attn;
    const heed_generator generator = heed_get_generator();
    struct heed_transformer_encoder_layer *copy = heed_transformer_encoder_layer_new_with(
        attention->embed_dim, attention->num_heads,
        (heed_transformer_encoder_layer_options){.dim_feedforward = layer->linear1->out_features,
                                                 .dropout = &(double){0},
                                                 .activation = layer->activation,
                                                 .batch_first = attention->batch_first,
                                                 .norm_first = layer->norm_first,
                                                 .no_bias = layer->linear1->bias == NULL});
    heed_set_generator(&generator);
    if (copy == NULL) {
        return NULL;
    }
    copy->self_attn->dropout = attention->dropout;
    copy->self_attn->keep_weights = attention->keep_weights;
    copy->dropout->p = layer->dropout->p;
    copy->dropout1->p = layer->dropout1->p;
    copy->dropout2->p = layer->dropout2->p;
    copy->norm1->eps = layer->norm1->eps;
    copy->norm2->eps = layer->norm2->eps;
    heed_module_to(copy, layer->linear1->weight->dtype);
    (layer->module.training ? heed_train : heed_eval)(copy);
    const heed_tensor_list from = heed_parameters(layer), to = heed_parameters(copy);
    for (int i = 0; i < to.count && i < from.count; i++) {
        heed_copy_into(to.tensors[i], from.tensors[i]);
        heed_set_requires_grad(to.tensors[i], from.tensors[i]->requires_grad);
    }
    return copy;
}

struct heed_transformer_encoder *
heed_transformer_encoder_new(struct heed_transformer_encoder_layer *encoder_layer, int num_layers)
{
    return heed_transformer_encoder_new_with(encoder_layer, num_layers,
                                             (heed_transformer_encoder_options){0});
}

struct heed_transformer_encoder *
heed_transformer_encoder_new_with(struct heed_transformer_encoder_layer *encoder_layer,
                                  int num_layers, heed_transformer_encoder_options options)
{
    if (num_layers < 1) {
        heed_fail(HEED_ERR_VALUE, "transformer_encoder: num_layers is %d; it must be 1 or more",
                  num_layers);
    } else if (encoder_layer == NULL) {
        heed_fail(HEED_ERR_NULL, "transformer_encoder: encoder_layer is NULL");
    }
    struct heed_transformer_encoder *m = heed_module_new(&stack_kind);
    if (m == NULL) { /* with an error pending, appending frees the modules */
        heed_module_list_append(NULL, encoder_layer);
        heed_module_list_append(NULL, options.norm);
        return NULL;
    }
    HEED_CHILD(m, layers, heed_module_list_new());
    heed_module_list_append(m->layers, encoder_layer);
    for (int i = 1; i < num_layers && heed_error_pending() == HEED_OK; i++) {
        heed_module_list_append(m->layers, copy_layer(encoder_layer));
    }
    if (options.norm != NULL) {
        HEED_CHILD(m, norm, options.norm);
    }
    return heed_module_ready(m);
}

struct heed_transformer_encoder_layer *
heed_transformer_encoder_layer_at(struct heed_transformer_encoder *m, int i)
{
    return heed_module_check("transformer_encoder_layer_at", m) == HEED_OK
               ? heed_module_list_at(m->layers, i)
               : NULL;
}

heed_tensor *heed_transformer_encoder_forward(struct heed_transformer_encoder *m, heed_tensor *src)
{
    return heed_transformer_encoder_forward_with(m, src,
                                                 (heed_transformer_encoder_forward_options){0});
}

heed_tensor *heed_transformer_encoder_forward_with(struct heed_transformer_encoder *m,
                                                   heed_tensor *src,
                                                   heed_transformer_encoder_forward_options options)
{
    HEED_FORWARD(m);
    static const char function[] = "transformer_encoder_forward";
    if (heed_forward_check(function, m) != HEED_OK ||
        check(function, heed_transformer_encoder_layer_at(m, 0), src, options) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *x = src;
    for (int i = 0; i < heed_module_list_count(m->layers); i++) {
        x = run(heed_module_list_at(m->layers, i), x, options);
    }
    if (m->norm != NULL) {
        x = heed_layer_norm_forward(m->norm, x);
    }
    return heed_scope_end_with(&scope, x);
}
