/* Attention over all heads of a batch, split across threads: by blocks of queries in the forward
 * pass, by heads for gradients. Each thread has its own workspace. */

#include "tensor.h"

#include <string.h>

enum { CACHE = 1 << 21 }; /* bytes of scores in a block */

typedef struct work {
    const heed_all_heads *heads;
    heed_head call; /* the fields shared by all heads */
    bool is_gradient;
    int64_t mask_strides[HEED_MAX_DIMS];
    int64_t blocks, count; /* pieces of work per head, and in all */
    int64_t chunks;        /* of pieces; each uses a workspace */
    size_t workspace_size;
    char *workspaces;
} work;

static heed_head head_of(const work *w, int64_t head)
{
    const heed_all_heads *all = w->heads;
    heed_head call = w->call;
    heed_matrix *const of_mask =
        all->mask != NULL && all->mask->dtype == HEED_BOOL ? &call.keep : &call.bias;
    const struct {
        const heed_tensor *t;
        heed_matrix *matrix;
    } parts[] = {{all->q, &call.q},    {all->k, &call.k},   {all->v, &call.v},
                 {all->mask, of_mask}, {all->y, &call.y},   {all->g, &call.g},
                 {all->dq, &call.dq},  {all->dk, &call.dk}, {all->dv, &call.dv}};
    const int batch = all->q->ndim - 2;
    int64_t index[HEED_MAX_DIMS];
    for (int d = batch - 1; d >= 0; d--) {
        index[d] = head % all->q->shape[d];
        head /= all->q->shape[d];
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const heed_tensor *t = parts[i].t;
        if (t != NULL) {
            const int64_t *strides = t == all->mask ? w->mask_strides : t->strides;
            int64_t offset = 0;
            for (int d = 0; d < batch; d++) {
                offset += index[d] * strides[d];
            }
            char *data = (char *)t->data + offset * (int64_t)heed_dtype_size(t->dtype);
            *parts[i].matrix = (heed_matrix){data, strides[batch], strides[batch + 1]};
        }
    }
    return call;
}

/* Chunks [first, end). A chunk takes every `chunks`-th piece, as later blocks of a causal head cost
 * more. */
static void attend_some(void *context, int64_t first, int64_t end)
{
    const work *w = context;
    const heed_kernels *kernels = heed_kernels_for(w->heads->q->dtype);
    for (int64_t chunk = first; chunk < end; chunk++) {
        for (int64_t i = chunk; i < w->count; i += w->chunks) {
            heed_head call = head_of(w, i / w->blocks);
            call.workspace = w->workspaces + (size_t)chunk * w->workspace_size;
            if (w->is_gradient) {
                kernels->attend_gradient(&call);
            } else {
                kernels->attend(&call, i % w->blocks);
            }
        }
    }
}

void heed_attend_heads(const heed_all_heads *heads)
{
    const bool is_gradient = heads->g != NULL;
    const heed_tensor *q = heads->q, *k = heads->k, *v = heads->v;
    const int64_t size = (int64_t)heed_dtype_size(q->dtype), copies = is_gradient ? 2 : 1;
    work w = {.heads = heads, .is_gradient = is_gradient};
    w.call = (heed_head){.queries = q->shape[q->ndim - 2],
                         .keys = k->shape[k->ndim - 2],
                         .features = q->shape[q->ndim - 1],
                         .values = v->shape[v->ndim - 1],
                         .scale = heads->scale,
                         .is_causal = heads->is_causal};
    /* Blocks are small enough that causal attention skips most masked keys and that the scores of a
     * block stay in cache. */
    w.call.rows = w.call.queries <= 128 ? HEED_MOST_QUERIES / 2 : HEED_MOST_QUERIES;
    while (w.call.rows > 16 && w.call.keys > CACHE / size / (copies * w.call.rows)) {
        w.call.rows /= 2;
    }
    if (heads->mask != NULL) {
        int64_t scores[HEED_MAX_DIMS];
        memcpy(scores, q->shape, sizeof *scores * q->ndim);
        scores[q->ndim - 1] = w.call.keys;
        heed_broadcast_strides(heads->mask, q->ndim, scores, w.mask_strides);
    }
    w.blocks = is_gradient ? 1 : (w.call.queries + w.call.rows - 1) / w.call.rows;
    w.count = w.blocks;
    for (int i = 0; i < q->ndim - 2; i++) {
        w.count *= q->shape[i];
    }
    if (w.count == 0) {
        return;
    }
    /* multiply-adds: two products, q k^T and p v, in the forward pass; five for gradients */
    const double cost = (is_gradient ? 2.5 : 1) * (double)w.count / (double)w.blocks *
                        (double)w.call.queries * (double)w.call.keys *
                        (double)(w.call.features + w.call.values);
    const int64_t threads = heed_get_num_threads();
    w.chunks = w.count < threads ? w.count : threads;
    w.chunks = cost / HEED_GRAIN_OF_PRODUCTS < (double)w.chunks
                   ? 1 + (int64_t)(cost / HEED_GRAIN_OF_PRODUCTS)
                   : w.chunks;
    const int64_t row = copies * heed_head_width(w.call.keys) + w.call.features;
    if ((double)(w.chunks * w.call.rows * size) * (double)row > 0x1p60) {
        heed_raise(HEED_ERR_MEMORY,
                   "scaled_dot_product_attention: out of memory for the scores of %lld keys",
                   (long long)w.call.keys);
    }
    w.workspace_size = ((size_t)(w.call.rows * row * size) + 63) / 64 * 64;
    w.workspaces = heed_scratch((size_t)w.chunks * w.workspace_size);
    heed_parallel_for(w.chunks, 1, attend_some, &w);
}
