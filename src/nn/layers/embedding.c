/* The embedding layer, with or without a row for padding. */
#include "embedding.h"

#include "../../autograd/ops/elementwise.h"
#include "../../autograd/ops/index.h"
#include "../../autograd/ops/slice.h"
#include "../../autograd/ops/view.h"
#include "../../tensor/create.h"
#include "../../tensor/random/random.h"

static void describe(const void *module, char *text, size_t size)
{
    const struct heed_embedding *m = module;
    int length = snprintf(text, size, "%lld, %lld", (long long)m->num_embeddings,
                          (long long)m->embedding_dim);
    if (m->padding_idx >= 0 && (size_t)length < size) {
        snprintf(text + length, size - (size_t)length, ", padding_idx=%lld",
                 (long long)m->padding_idx);
    }
}

HEED_MODULE_KIND(kind, struct heed_embedding, "Embedding", describe, heed_embedding_forward);

struct heed_embedding *heed_embedding_new(int64_t num_embeddings, int64_t embedding_dim)
{
    return heed_embedding_new_with(num_embeddings, embedding_dim, (heed_embedding_options){0});
}

struct heed_embedding *heed_embedding_new_with(int64_t num_embeddings, int64_t embedding_dim,
                                               heed_embedding_options options)
{
    const int64_t *padding_idx = options.padding_idx;
    if (num_embeddings < 0 || embedding_dim < 0) {
        heed_fail(HEED_ERR_VALUE, "embedding: %lld rows of %lld; neither can be negative",
                  (long long)num_embeddings, (long long)embedding_dim);
        return NULL;
    }
    if (padding_idx != NULL && (*padding_idx < -num_embeddings || *padding_idx >= num_embeddings)) {
        heed_fail(HEED_ERR_INDEX, "embedding: padding_idx %lld is out of range for %lld rows",
                  (long long)*padding_idx, (long long)num_embeddings);
        return NULL;
    }
    struct heed_embedding *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    m->num_embeddings = num_embeddings;
    m->embedding_dim = embedding_dim;
    m->padding_idx = -1;
    const heed_shape shape = HEED_SHAPE(num_embeddings, embedding_dim);
    heed_tensor *weight =
        options.no_init ? heed_zeros(shape, HEED_F32) : heed_randn(shape, HEED_F32);
    if (padding_idx != NULL) { /* torch draws this row too */
        m->padding_idx = *padding_idx < 0 ? *padding_idx + num_embeddings : *padding_idx;
        heed_fill_into(heed_select(weight, 0, m->padding_idx), 0);
    }
    HEED_PARAMETER(m, weight, weight);
    return heed_module_ready(m);
}

heed_tensor *heed_embedding_forward(struct heed_embedding *m, heed_tensor *ids)
{
    HEED_FORWARD(m);
    if (heed_forward_check("embedding_forward", m) != HEED_OK) {
        return NULL;
    }
    heed_tensor *rows = heed_embedding(ids, m->weight);
    if (m->padding_idx < 0 || rows == NULL) {
        return rows;
    }
    heed_scope scope; /* padding rows pass no gradient to weight */
    heed_scope_begin(&scope);
    heed_tensor *padding = heed_unsqueeze(heed_eq_scalar(ids, (double)m->padding_idx), -1);
    return heed_scope_end_with(&scope, heed_where(padding, heed_detach(rows), rows));
}
