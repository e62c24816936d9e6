/* Splits attention across threads: into blocks of queries in the forward pass, and into heads, or
 * several pieces per head, for gradients. Each active thread has its own workspace.
 *
 * All blocks of queries of a head contribute to its dk and dv. With few heads, the blocks of a head
 * are divided into pieces, so that several threads have work. The first piece writes to dk and dv,
 * each other piece to its own pair; the pairs are added to dk and dv at the end, in order. The
 * number of pieces depends only on the shape, so sums do not depend on the number of threads. */

#include "dispatch.h"

#include <string.h>

#include "kernels/attention_tiles.h"
#include "shape.h"
#include "thread.h"

#define DECLARE(isa)                                                                               \
    extern const heed_attention_kernels heed_kernels_##isa##_f32_attention,                        \
        heed_kernels_##isa##_f64_attention;
HEED_ISAS(DECLARE)

#define TABLES(isa)                                                                                \
    {[HEED_F32] = &heed_kernels_##isa##_f32_attention,                                             \
     [HEED_F64] = &heed_kernels_##isa##_f64_attention},
static const heed_attention_kernels *const kernels[][HEED_DTYPES] = {HEED_ISAS(TABLES)};

/* A call in progress. */
typedef struct work {
    const heed_all_heads *heads;
    heed_one_head call; /* the fields shared by all heads */
    bool is_gradient;
    heed_shape batch;
    int64_t mask_strides[HEED_MAX_DIMS];
    int64_t heads_count, pieces_of_head;
    char *pairs; /* dk (S, E) and dv (S, Ev) of each piece but the first of each head */
    size_t workspace_size;
    char *workspaces; /* one for each active thread */
    int workspace_count;
    uint8_t *taken;
} work;

/* ---- heads ---- */

static heed_matrix matrix_of(const heed_tensor *t, const int64_t *strides, const heed_shape *batch,
                             int64_t head)
{
    int64_t offset = 0;
    for (int i = batch->ndim - 1; i >= 0; i--) {
        offset += head % batch->size[i] * strides[i];
        head /= batch->size[i];
    }
    char *data = (char *)t->data + offset * (int64_t)heed_dtype_size(t->dtype);
    return (heed_matrix){data, strides[batch->ndim], strides[batch->ndim + 1]};
}

/* The arguments of the kernel for one head. */
static heed_one_head head_of(const work *w, int64_t head)
{
    const heed_all_heads *all = w->heads;
    heed_one_head call = w->call;
    const struct {
        const heed_tensor *t;
        heed_matrix *matrix;
    } parts[] = {{all->q, &call.q}, {all->k, &call.k},   {all->v, &call.v},   {all->y, &call.y},
                 {all->g, &call.g}, {all->dq, &call.dq}, {all->dk, &call.dk}, {all->dv, &call.dv}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].t != NULL) {
            *parts[i].matrix = matrix_of(parts[i].t, parts[i].t->strides, &w->batch, head);
        }
    }
    if (all->mask != NULL) {
        *(all->mask->dtype == HEED_BOOL ? &call.keep : &call.bias) =
            matrix_of(all->mask, w->mask_strides, &w->batch, head);
    }
    return call;
}

/* ---- gradients in several pieces ---- */

/* Pieces per head. Many heads keep all threads busy, and few blocks are not worth splitting. */
static int64_t pieces_of_gradient(int64_t heads, int64_t blocks)
{
    return blocks < 8 || heads > 3 ? 1 : heads > 1 ? 2 : 4;
}

/* Sets dk and dv to the pair of piece 1, 2, ... of a head. */
static void use_pair(const work *w, int64_t head, int64_t piece, heed_one_head *call)
{
    const int64_t size = (int64_t)heed_dtype_size(w->heads->q->dtype);
    const int64_t columns = call->features + call->values;
    const int64_t pair = head * (w->pieces_of_head - 1) + piece - 1;
    char *dk = w->pairs + pair * call->keys * columns * size;
    call->dk = (heed_matrix){dk, call->features, 1};
    call->dv = (heed_matrix){dk + call->keys * call->features * size, call->values, 1};
}

static void add_row(const work *w, const heed_matrix *from, const heed_matrix *to, int64_t row,
                    int64_t columns)
{
    const int64_t size = (int64_t)heed_dtype_size(w->heads->q->dtype);
    heed_kernels_for(w->heads->q->dtype)
        ->add_into(columns, (const char *)from->data + row * from->row * size,
                   (char *)to->data + row * to->row * size);
}

/* Adds rows first ... end of all pairs to dk and dv. */
static void add_pairs(void *context, int64_t first, int64_t end)
{
    const work *w = context;
    for (int64_t head = 0; head < w->heads_count; head++) {
        const heed_one_head sum = head_of(w, head);
        for (int64_t piece = 1; piece < w->pieces_of_head; piece++) {
            heed_one_head call = sum;
            use_pair(w, head, piece, &call);
            for (int64_t row = first; row < end; row++) {
                add_row(w, &call.dk, &sum.dk, row, call.features);
                add_row(w, &call.dv, &sum.dv, row, call.values);
            }
        }
    }
}

/* ---- threads ---- */

/* Pieces [first, end): blocks of queries or, for gradients, sets of blocks. */
static void attend_some(void *context, int64_t first, int64_t end)
{
    const work *w = context;
    const heed_attention_kernels *of_dtype = kernels[heed_chosen_isa][w->heads->q->dtype];
    int workspace = 0; /* find a free one; there is one for each active thread */
    while (__atomic_exchange_n(&w->taken[workspace], 1, __ATOMIC_ACQUIRE) != 0) {
        workspace = (workspace + 1) % w->workspace_count;
    }
    for (int64_t i = first; i < end; i++) {
        const int64_t head = i / w->pieces_of_head, piece = i % w->pieces_of_head;
        heed_one_head call = head_of(w, head);
        call.workspace = w->workspaces + (size_t)workspace * w->workspace_size;
        if (!w->is_gradient) {
            of_dtype->attend(&call, piece);
            continue;
        }
        if (piece > 0) {
            use_pair(w, head, piece, &call);
        }
        of_dtype->attend_gradient(&call, piece, w->pieces_of_head);
    }
    __atomic_store_n(&w->taken[workspace], 0, __ATOMIC_RELEASE);
}

static heed_status run(const heed_all_heads *heads, bool is_gradient)
{
    const heed_tensor *q = heads->q, *k = heads->k, *v = heads->v;
    work w = {.heads = heads, .is_gradient = is_gradient};
    w.call = (heed_one_head){
        .queries = q->shape[q->ndim - 2],
        .keys = k->shape[k->ndim - 2],
        .features = q->shape[q->ndim - 1],
        .values = v->shape[v->ndim - 1],
        .scale = heads->scale,
        .is_causal = heads->is_causal,
    };
    /* Blocks are small enough that causal attention skips most masked keys and that the scores of a
     * block stay in cache. */
    enum { CACHE = 1 << 21, TILE = 256 };
    const int64_t all = heed_attention_width(w.call.keys),
                  size = (int64_t)heed_dtype_size(q->dtype);
    w.call.columns = all < TILE ? all : TILE;
    w.call.rows = w.call.queries <= 128 ? 32 : 64;
    while (is_gradient && w.call.rows > 16 && 2 * w.call.rows * w.call.keys > CACHE / size) {
        w.call.rows /= 2;
    }
    heed_get_shape(q, &w.batch);
    w.batch.ndim -= 2;
    if (heads->mask != NULL) {
        int64_t scores[HEED_MAX_DIMS];
        memcpy(scores, q->shape, sizeof *scores * q->ndim);
        scores[q->ndim - 1] = w.call.keys;
        heed_broadcast_strides(heads->mask, q->ndim, scores, w.mask_strides);
    }
    const size_t workspace =
        heed_attention_workspace(&w.call, is_gradient, heed_dtype_size(q->dtype));
    w.heads_count = 1;
    for (int i = 0; i < w.batch.ndim; i++) {
        w.heads_count *= w.batch.size[i];
    }
    const int64_t blocks = (w.call.queries + w.call.rows - 1) / w.call.rows;
    if (w.heads_count == 0 || (blocks == 0 && !is_gradient)) {
        return HEED_OK;
    }
    w.pieces_of_head = is_gradient ? pieces_of_gradient(w.heads_count, blocks) : blocks;
    const int64_t count = w.heads_count * w.pieces_of_head, threads = heed_get_num_threads();
    w.workspace_count = (int)(count < threads ? count : threads);
    w.workspace_size = (workspace + 63) / 64 * 64;
    const int64_t columns = w.call.features + w.call.values;
    const int64_t pairs = is_gradient ? count - w.heads_count : 0;
    const size_t of_pairs = (size_t)(pairs * w.call.keys * columns * size);
    const size_t bytes = (size_t)w.workspace_count * (w.workspace_size + 1) + of_pairs;
    w.workspaces = heed_alloc_sized(bytes);
    if (w.workspaces == NULL) {
        return heed_self.error;
    }
    w.pairs = w.workspaces + (size_t)w.workspace_count * w.workspace_size;
    w.taken = (uint8_t *)w.pairs + of_pairs;
    memset(w.taken, 0, (size_t)w.workspace_count);
    /* Multiply-adds per piece: two products, q k^T and p v, in the forward pass; five for
     * gradients. */
    const double queries = (double)w.call.queries / (double)w.pieces_of_head;
    const double cost = (is_gradient ? 2.5 : 1) * queries * (double)w.call.keys * (double)columns;
    heed_parallel_for(count, 1 + (int64_t)(HEED_GRAIN_OF_PRODUCTS / (cost + 1)), attend_some, &w);
    if (pairs > 0) {
        heed_parallel_for(w.call.keys, HEED_GRAIN_OF_ELEMENTS / (pairs * columns + 1) + 1,
                          add_pairs, &w);
    }
    heed_free_sized(w.workspaces, bytes);
    return HEED_OK;
}

heed_status heed_attend_heads(const heed_all_heads *heads)
{
    return run(heads, false);
}

heed_status heed_attend_heads_gradient(const heed_all_heads *heads)
{
    return run(heads, true);
}
