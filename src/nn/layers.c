/* Layers: their parameters and how these are initialised; autograd/ops has what they compute.
 * Sinusoidal positions are computed once, in f32 as in the PyTorch tutorial. */
#include "nn.h"

#include <math.h>

/* ---- Linear ---- */

static void describe_linear(const void *module, char *text, size_t size)
{
    const struct heed_linear *m = module;
    snprintf(text, size, "in_features=%lld, out_features=%lld, bias=%s", (long long)m->in_features,
             (long long)m->out_features, m->bias != NULL ? "True" : "False");
}

HEED_MODULE_KIND(linear_kind, struct heed_linear, "Linear", describe_linear, heed_linear_forward);

heed_tensor *heed_draw_uniform(heed_shape shape, double bound)
{
    heed_tensor *t = heed_empty(shape, HEED_F32);
    heed_uniform_into(t, -bound, bound);
    return t;
}

struct heed_linear *(heed_linear_new)(heed_linear_new_args args)
{
    const int64_t in = args.in_features, out = args.out_features;
    heed_check_positive("linear", "in_features", in);
    heed_check_positive("linear", "out_features", out);
    struct heed_linear *m = heed_module_with(
        &linear_kind, &(struct heed_linear){.in_features = in, .out_features = out});
    /* rounded as in torch, which calls kaiming_uniform_(weight, a=sqrt(5)) */
    const double root = sqrt((double)in), std = sqrt(2 / (1 + sqrt(5) * sqrt(5))) / root;
    HEED_PARAMETER(m, weight, heed_draw_uniform(HEED_SHAPE(out, in), sqrt(3) * std));
    if (!args.no_bias) {
        HEED_PARAMETER(m, bias, heed_draw_uniform(HEED_SHAPE(out), 1 / root));
    }
    return heed_module_ready(m);
}

heed_tensor *heed_linear_forward(struct heed_linear *m, heed_tensor *x)
{
    HEED_DOOR(NULL);
    HEED_FORWARD(m);
    heed_forward_check("linear_forward", m);
    return heed_linear(x, m->weight, m->bias);
}

/* ---- Embedding ---- */

static void describe_embedding(const void *module, char *text, size_t size)
{
    const struct heed_embedding *m = module;
    snprintf(text, size, "%lld, %lld", (long long)m->num_embeddings, (long long)m->embedding_dim);
}

HEED_MODULE_KIND(embedding_kind, struct heed_embedding, "Embedding", describe_embedding,
                 heed_embedding_forward);

struct heed_embedding *heed_embedding_new(int64_t num_embeddings, int64_t embedding_dim)
{
    if (num_embeddings < 0 || embedding_dim < 0) {
        heed_fail(HEED_ERR_VALUE, "embedding: %lld rows of %lld; neither can be negative",
                  (long long)num_embeddings, (long long)embedding_dim);
    }
    struct heed_embedding *m =
        heed_module_with(&embedding_kind, &(struct heed_embedding){.num_embeddings = num_embeddings,
                                                                   .embedding_dim = embedding_dim});
    HEED_PARAMETER(m, weight, heed_randn(HEED_SHAPE(num_embeddings, embedding_dim), HEED_F32));
    return heed_module_ready(m);
}

heed_tensor *heed_embedding_forward(struct heed_embedding *m, heed_tensor *ids)
{
    HEED_DOOR(NULL);
    HEED_FORWARD(m);
    heed_forward_check("embedding_forward", m);
    return heed_embedding(ids, m->weight);
}

/* ---- positions ---- */

static void describe_positions(const void *module, char *text, size_t size)
{
    const struct heed_position_encoding *m = module;
    snprintf(text, size, "d_model=%lld, max_len=%lld", (long long)m->pe->shape[1],
             (long long)m->pe->shape[0]);
}

HEED_MODULE_KIND(positions_kind, struct heed_position_encoding, "PositionEncoding",
                 describe_positions, heed_position_encoding_forward);

static heed_tensor *encodings(int64_t d_model, int64_t max_len)
{
    const int64_t half = d_model / 2 + d_model % 2;
    heed_tensor *angles = heed_empty(HEED_SHAPE(max_len, half), HEED_F32);
    float *to = heed_data_f32(angles);
    for (int64_t i = 0; to != NULL && i < half; i++) {
        /* rounded to f32 at the same steps as torch */
        const float div_term = 1 / powf(10000, (float)(2 * i) / (float)d_model);
        for (int64_t t = 0; t < max_len; t++) {
            to[t * half + i] = (float)t * div_term;
        }
    }
    heed_tensor *const pair[] = {heed_sin(angles), heed_cos(angles)};
    heed_tensor *pairs = heed_reshape(heed_stack(pair, 2, -1), HEED_SHAPE(max_len, -1));
    return heed_contiguous(heed_slice(pairs, 1, 0, d_model, 1));
}

struct heed_position_encoding *heed_position_encoding_new(int64_t d_model, int64_t max_len)
{
    heed_check_positive("position_encoding", "d_model", d_model);
    heed_check_positive("position_encoding", "max_len", max_len);
    struct heed_position_encoding *m = heed_module_new(&positions_kind);
    HEED_BUFFER(m, pe, encodings(d_model, max_len));
    return heed_module_ready(m);
}

heed_tensor *heed_position_encoding_forward(struct heed_position_encoding *m, heed_tensor *x)
{
    static const char function[] = "position_encoding_forward";
    HEED_DOOR(NULL);
    HEED_FORWARD(m);
    heed_forward_check(function, m);
    heed_check_tensor(function, "x", x);
    const int64_t max_len = m->pe->shape[0], d_model = m->pe->shape[1];
    if (x->ndim < 2 || heed_size(x, -1) != d_model || heed_size(x, -2) > max_len) {
        heed_raise(HEED_ERR_SHAPE,
                   "%s: x %s; it must be (..., T, d_model), with d_model %lld and at most %lld "
                   "tokens, the module's max_len",
                   function, HEED_TEXT(x), (long long)d_model, (long long)max_len);
    }
    if (x->dtype != m->pe->dtype) {
        heed_raise(HEED_ERR_DTYPE,
                   "%s: x is %s and pe %s; cast x with heed_to, or the module with heed_module_to",
                   function, heed_dtype_name(x->dtype), heed_dtype_name(m->pe->dtype));
    }
    HEED_SCOPE(scope);
    return heed_scope_keep(&scope, heed_add(x, heed_narrow(m->pe, 0, 0, heed_size(x, -2))));
}

/* ---- LayerNorm ---- */

static void describe_layer_norm(const void *module, char *text, size_t size)
{
    const struct heed_layer_norm *m = module;
    snprintf(text, size, "(%lld,), eps=%g, elementwise_affine=True, bias=True",
             (long long)m->normalized_shape.size[0], m->eps);
}

HEED_MODULE_KIND(layer_norm_kind, struct heed_layer_norm, "LayerNorm", describe_layer_norm,
                 heed_layer_norm_forward);

struct heed_layer_norm *heed_layer_norm_new(heed_shape normalized_shape)
{
    if (normalized_shape.ndim != 1 || normalized_shape.size[0] < 0) {
        heed_fail(HEED_ERR_SHAPE,
                  "layer_norm: normalized_shape %s must be HEED_SHAPE(n), with n of 0 or more",
                  heed_shape_text(normalized_shape.ndim, normalized_shape.size).text);
    }
    struct heed_layer_norm *m = heed_module_with(
        &layer_norm_kind,
        &(struct heed_layer_norm){.normalized_shape = normalized_shape, .eps = 1e-5});
    HEED_PARAMETER(m, weight, heed_ones(normalized_shape, HEED_F32));
    HEED_PARAMETER(m, bias, heed_zeros(normalized_shape, HEED_F32));
    return heed_module_ready(m);
}

heed_tensor *heed_layer_norm_forward(struct heed_layer_norm *m, heed_tensor *x)
{
    HEED_DOOR(NULL);
    HEED_FORWARD(m);
    heed_forward_check("layer_norm_forward", m);
    return heed_layer_norm(x, m->normalized_shape, m->weight, m->bias, m->eps);
}

/* ---- Dropout ---- */

static void describe_dropout(const void *module, char *text, size_t size)
{
    const struct heed_dropout *m = module;
    snprintf(text, size, "p=%g, inplace=False", m->p);
}

HEED_MODULE_KIND(dropout_kind, struct heed_dropout, "Dropout", describe_dropout,
                 heed_dropout_forward);

struct heed_dropout *heed_dropout_new(double p)
{
    heed_check_probability("dropout", "p", p);
    return heed_module_ready(heed_module_with(&dropout_kind, &(struct heed_dropout){.p = p}));
}

heed_tensor *heed_dropout_forward(struct heed_dropout *m, heed_tensor *x)
{
    HEED_DOOR(NULL);
    HEED_FORWARD(m);
    heed_forward_check("dropout_forward", m);
    return heed_dropout(x, m->p, m->module.training);
}

/* ---- FeedForward ---- */

HEED_MODULE_KIND(feed_forward_kind, struct heed_feed_forward, "FeedForward", NULL,
                 heed_feed_forward_forward);

struct heed_feed_forward *heed_feed_forward_new(int64_t d_model, int64_t d_ff)
{
    heed_check_positive("feed_forward", "d_model", d_model);
    heed_check_positive("feed_forward", "d_ff", d_ff);
    struct heed_feed_forward *m = heed_module_new(&feed_forward_kind);
    HEED_CHILD(m, linear1, heed_linear_new(d_model, d_ff));
    HEED_CHILD(m, linear2, heed_linear_new(d_ff, d_model));
    return heed_module_ready(m);
}

heed_tensor *heed_feed_forward_forward(struct heed_feed_forward *m, heed_tensor *x)
{
    HEED_DOOR(NULL);
    HEED_FORWARD(m);
    heed_forward_check("feed_forward_forward", m);
    HEED_SCOPE(scope);
    heed_tensor *hidden = heed_relu(heed_linear_forward(m->linear1, x));
    return heed_scope_keep(&scope, heed_linear_forward(m->linear2, hidden));
}

/* ---- ModuleList ---- */

static const heed_module_kind module_list_kind = {.name = "ModuleList",
                                                  .size = sizeof(struct heed_module_list)};

struct heed_module_list *heed_module_list_new(void)
{
    return heed_module_ready(heed_module_new(&module_list_kind));
}

heed_status heed_module_list_append(struct heed_module_list *list, void *child)
{
    char name[16];
    snprintf(name, sizeof name, "%d", list != NULL ? list->module.count : 0);
    return heed_add_child(list, name, NULL, child);
}

int heed_module_list_count(const struct heed_module_list *list)
{
    return heed_module_check("module_list_count", list) == HEED_OK ? list->module.count : 0;
}

void *heed_module_list_at(const struct heed_module_list *list, int i)
{
    HEED_DOOR(NULL);
    heed_module_check("module_list_at", list);
    if (i < 0 || i >= list->module.count) {
        heed_raise(HEED_ERR_INDEX, "module_list_at: index %d is out of range for a list of %d", i,
                   list->module.count);
    }
    return list->module.entries[i].child;
}
