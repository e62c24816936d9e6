/* Embeddings of tokens, and of positions: sines and cosines, computed once, in f32 as in the
 * PyTorch tutorial. */
#include "embedding.h"

#include <math.h>

#include "../../autograd/ops/operations.h"
#include "../../tensor/create.h"
#include "../../tensor/random/random.h"
#include "../../tensor/read.h"
#include "../arguments.h"

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
        return NULL;
    }
    struct heed_embedding *m = heed_module_new(&embedding_kind);
    if (m == NULL) {
        return NULL;
    }
    m->num_embeddings = num_embeddings;
    m->embedding_dim = embedding_dim;
    HEED_PARAMETER(m, weight, heed_randn(HEED_SHAPE(num_embeddings, embedding_dim), HEED_F32));
    return heed_module_ready(m);
}

heed_tensor *heed_embedding_forward(struct heed_embedding *m, heed_tensor *ids)
{
    HEED_FORWARD(m);
    return heed_forward_check("embedding_forward", m) == HEED_OK ? heed_embedding(ids, m->weight)
                                                                 : NULL;
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
    const heed_named_size sizes[] = {{"d_model", d_model}, {"max_len", max_len}};
    if (heed_check_positive("position_encoding", sizes, 2) != HEED_OK) {
        return NULL;
    }
    struct heed_position_encoding *m = heed_module_new(&positions_kind);
    HEED_BUFFER(m, pe, encodings(d_model, max_len));
    return heed_module_ready(m);
}

heed_tensor *heed_position_encoding_forward(struct heed_position_encoding *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    static const char function[] = "position_encoding_forward";
    if (heed_forward_check(function, m) != HEED_OK ||
        heed_check_features(function, "x", x, "d_model", heed_size(m->pe, 1), m->pe->dtype) !=
            HEED_OK) {
        return NULL;
    }
    if (x->ndim < 2) {
        heed_fail(HEED_ERR_SHAPE, "%s: x %s; it must be (..., T, d_model)", function,
                  heed_shape_text(x->ndim, x->shape).text);
        return NULL;
    }
    const int64_t length = heed_size(x, -2), max_len = heed_size(m->pe, 0);
    if (length > max_len) {
        heed_fail(HEED_ERR_SHAPE, "%s: %lld tokens, but max_len is %lld", function,
                  (long long)length, (long long)max_len);
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    return heed_scope_end_with(&scope, heed_add(x, heed_slice(m->pe, 0, 0, length, 1)));
}
