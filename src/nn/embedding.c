/* The embedding layer. */
#include "nn/embedding.h"

#include "autograd/embedding.h"
#include "tensor/random.h"

static void describe(const void *module, char *text, size_t size)
{
    const struct heed_embedding *m = module;
    snprintf(text, size, "%lld, %lld", (long long)m->num_embeddings, (long long)m->embedding_dim);
}

static const heed_module_kind kind = {
    .name = "Embedding", .size = sizeof(struct heed_embedding), .describe = describe};

struct heed_embedding *heed_embedding_new(int64_t num_embeddings, int64_t embedding_dim)
{
    if (num_embeddings < 0 || embedding_dim < 0) {
        heed_fail(HEED_ERR_VALUE, "embedding: %lld rows of %lld; neither can be negative",
                  (long long)num_embeddings, (long long)embedding_dim);
        return NULL;
    }
    struct heed_embedding *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    m->num_embeddings = num_embeddings;
    m->embedding_dim = embedding_dim;
    heed_add_parameter(m, "weight", &m->weight,
                       heed_randn(HEED_SHAPE(num_embeddings, embedding_dim), HEED_F32));
    return heed_module_ready(m);
}

heed_tensor *heed_embedding_forward(struct heed_embedding *m, heed_tensor *ids)
{
    return heed_forward_check("embedding_forward", m) == HEED_OK ? heed_embedding(ids, m->weight)
                                                                 : NULL;
}

void heed_embedding_free(struct heed_embedding *m)
{
    heed_module_free(m);
}
