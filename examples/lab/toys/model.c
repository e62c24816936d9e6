/* The modules, their weights, and the forward. */
#include "examples/lab/toys/model.h"

#include <math.h>

/* ---- modules ---- */

static const heed_module_kind block_kind = {.name = "Block", .size = sizeof(struct toys_block)};
static const heed_module_kind kind = {.name = "Toy", .size = sizeof(struct toys_model)};

static struct heed_layer_norm *norm_new(const toys_settings *s)
{
    return heed_layer_norm_new(HEED_SHAPE(s->width));
}

static struct heed_linear *linear_new(int64_t in, int64_t out)
{
    return heed_linear_new(in, out, .no_bias = true);
}

static struct toys_block *block_new(const toys_settings *s)
{
    struct toys_block *m = heed_module_new(&block_kind);
    if (m == NULL) {
        return NULL;
    }
    if (s->norm != NORM_NONE) {
        HEED_CHILD(m, norm_1, norm_new(s));
    }
    HEED_CHILD(m, qkv, linear_new(s->width, 3 * s->width));
    HEED_CHILD(m, W_o, linear_new(s->width, s->width));
    if (s->ff > 0 && s->norm != NORM_NONE) {
        HEED_CHILD(m, norm_2, norm_new(s));
    }
    if (s->ff > 0) {
        HEED_CHILD(m, ff, heed_feed_forward_new(s->width, s->ff));
    }
    return m;
}

static struct heed_embedding *embedding_new(const toys_settings *s, int64_t count)
{
    struct heed_embedding *m = heed_embedding_new(count, s->width);
    if (m != NULL) {
        HEED_SCOPE_NO_GRAD(scope);
        heed_copy_into(m->weight, heed_mul_scalar(m->weight, 1 / sqrt((double)s->width)));
    }
    return m;
}

/* Sinusoids of the embeddings' size: torch's, times the same factor. */
static heed_tensor *sinusoids(const toys_settings *s, int64_t count)
{
    struct heed_position_encoding *m = heed_position_encoding_new(s->width, count);
    heed_tensor *pe = m == NULL ? NULL : heed_mul_scalar(m->pe, sqrt(2) / sqrt((double)s->width));
    heed_module_free(m);
    return pe;
}

struct toys_model *toys_model_new(const toys_settings *s, toys_shape shape)
{
    struct toys_model *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    m->settings = *s;
    m->shape = shape;
    if (shape.vocabulary > 0) {
        HEED_CHILD(m, wte, embedding_new(s, shape.vocabulary));
    } else {
        HEED_CHILD(m, input, heed_linear_new(shape.inputs, s->width));
    }
    if (s->positions == POSITIONS_LEARNED) {
        HEED_CHILD(m, wpe, embedding_new(s, shape.tokens));
    } else if (s->positions == POSITIONS_SINUSOIDAL) {
        HEED_BUFFER(m, pe, sinusoids(s, shape.tokens));
    }
    HEED_CHILD(m, blocks, heed_module_list_new());
    for (int64_t i = 0; i < s->layers && !heed_error_pending(); i++) {
        heed_module_list_append(m->blocks, block_new(s));
    }
    if (s->norm != NORM_NONE) {
        HEED_CHILD(m, norm, norm_new(s));
    }
    HEED_CHILD(m, unembed, linear_new(s->width, shape.outputs));
    return m;
}

struct toys_block *toys_block_of(const struct toys_model *m, int i)
{
    return heed_module_list_at(m->blocks, i);
}

/* ---- forward ---- */

static heed_tensor *normalise(struct heed_layer_norm *m, heed_tensor *x)
{
    return m != NULL ? heed_layer_norm_forward(m, x) : x;
}

/* x (rows, T, count * width) -> (rows, heads, T, head width) each; `parts` of them in one view. */
static heed_tensor *split(heed_tensor *x, int64_t all_heads)
{
    return heed_transpose(heed_unflatten(x, -1, HEED_SHAPE(all_heads, -1)), 1, 2);
}

/* The rotation of queries and keys of T tokens. */
static heed_tensor *rotate(const struct toys_model *m, heed_tensor *x, heed_tensor *positions)
{
    return m->settings.positions == POSITIONS_ROTARY ? heed_rope(x, positions) : x;
}

/* x (rows, T, width) -> (rows, T, width); with last_only, the queries are those of the last token,
 * which sees all: (rows, 1, width). */
static heed_tensor *attend(const struct toys_model *m, struct toys_block *block, heed_tensor *x,
                           bool last_only)
{
    HEED_FORWARD(block);
    const int64_t heads = m->settings.heads, width = m->settings.width, tokens = heed_size(x, 1);
    heed_tensor *q, *k, *v;
    if (last_only) {
        heed_tensor *weight = block->qkv->weight, *last = heed_narrow(x, 1, tokens - 1, 1);
        heed_tensor *kv =
            split(heed_linear(x, heed_narrow(weight, 0, width, 2 * width), NULL), 2 * heads);
        q = split(heed_linear(last, heed_narrow(weight, 0, 0, width), NULL), heads);
        q = rotate(m, q, heed_full(HEED_SHAPE(1), (double)(tokens - 1), HEED_I64));
        k = rotate(m, heed_narrow(kv, 1, 0, heads), NULL);
        v = heed_narrow(kv, 1, heads, heads);
    } else {
        heed_tensor *qkv = split(heed_linear_forward(block->qkv, x), 3 * heads);
        heed_tensor *qk = rotate(m, heed_narrow(qkv, 1, 0, 2 * heads), NULL);
        q = heed_narrow(qk, 1, 0, heads);
        k = heed_narrow(qk, 1, heads, heads);
        v = heed_narrow(qkv, 1, 2 * heads, heads);
    }
    heed_tensor *y = heed_scaled_dot_product_attention(q, k, v, .is_causal = !last_only);
    return heed_linear_forward(block->W_o, heed_flatten(heed_transpose(y, 1, 2), 2, 3));
}

/* The sum of the embeddings and what the blocks add, at all tokens or at the last one. */
static heed_tensor *stream(struct toys_model *m, const toys_batch *b)
{
    heed_tensor *x = m->wte != NULL ? heed_embedding_forward(m->wte, b->inputs)
                                    : heed_linear_forward(m->input, b->inputs);
    heed_tensor *positions = m->wpe != NULL ? m->wpe->weight : m->pe;
    if (positions != NULL) {
        x = heed_add(x, heed_narrow(positions, 0, 0, b->shape.tokens));
    }
    for (int i = 0; i < m->settings.layers && !heed_error_pending(); i++) {
        struct toys_block *block = toys_block_of(m, i);
        const bool last_only = i + 1 == m->settings.layers && b->shape.first + 1 == b->shape.tokens;
        heed_tensor *attended = attend(m, block, normalise(block->norm_1, x), last_only);
        x = last_only ? heed_narrow(x, 1, b->shape.first, 1) : x;
        x = heed_add(x, attended);
        if (block->ff != NULL) {
            x = heed_add(x, heed_feed_forward_forward(block->ff, normalise(block->norm_2, x)));
        }
    }
    return x;
}

/* Only the scored positions reach the last norm and the output layer. */
heed_tensor *toys_forward(struct toys_model *m, const toys_batch *b)
{
    HEED_FORWARD(m);
    heed_tensor *x = stream(m, b);
    if (heed_size(x, 1) == b->shape.tokens && (b->shape.first > 0 || b->shape.every > 1)) {
        x = heed_slice(x, 1, b->shape.first, INT64_MAX, b->shape.every);
    }
    return heed_linear_forward(m->unembed, normalise(m->norm, x));
}

heed_tensor *toys_loss(const struct toys_model *m, const toys_batch *b, heed_tensor *outputs)
{
    if (b->shape.vocabulary == 0) {
        return heed_mse_loss(heed_squeeze(outputs, -1), b->targets);
    }
    heed_tensor *logits = heed_reshape(outputs, HEED_SHAPE(-1, b->shape.outputs));
    if (m->settings.loss == LOSS_F64) {
        logits = heed_to(logits, HEED_F64);
    }
    return heed_cross_entropy(logits, heed_reshape(b->targets, HEED_SHAPE(-1)));
}
