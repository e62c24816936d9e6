/* Embedding: copies rows of a table, and adds gradients up into them. */
#include "embedding.h"

#include <string.h>

#include "../../tensor/iterate.h"
#include "../../tensor/parallel.h"
#include "../../tensor/read.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "ids.h"
#include "shape.h"

/* ---- embedding: inputs are ids, weight ---- */

static heed_status embedding_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *weight = call->inputs[1];
    if (heed_expect_dtype(call, 0, HEED_I64) != HEED_OK || heed_expect_float(call, 1) != HEED_OK) {
        return heed_self.error;
    }
    if (weight->ndim != 2 || result->shape.ndim == HEED_MAX_DIMS) {
        return heed_fail(HEED_ERR_SHAPE,
                         "embedding: ids %s in weight %s; weight has 2 dims, ids at most %d",
                         HEED_TEXT(call->inputs[0]), HEED_TEXT(weight), HEED_MAX_DIMS - 1);
    }
    result->dtype = weight->dtype;
    result->shape.size[result->shape.ndim++] = weight->shape[1];
    return HEED_OK;
}

/* Rows of a table that ids name, and as many that lie one behind the other. */
typedef struct rows {
    const int64_t *ids;
    int64_t count, columns;
    heed_dtype dtype;
    char *table, *lined_up;
} rows;

/* As many elements are some 10 microseconds of work; a unit of columns is a cache line or two. */
enum { GRAIN = 32768, UNIT = 16 };

static void look_rows_up(void *context, int64_t first, int64_t end)
{
    const rows *r = context;
    const size_t size = (size_t)r->columns * heed_dtype_size(r->dtype);
    for (int64_t i = first; i < end; i++) {
        memcpy(r->lined_up + (size_t)i * size, r->table + (size_t)r->ids[i] * size, size);
    }
}

/* Of units of columns, first ... end: each sum is one thread's, which adds in the order of the ids. */
static void add_columns(void *context, int64_t first, int64_t end)
{
    const rows *r = context;
    const int64_t element = (int64_t)heed_dtype_size(r->dtype), size = r->columns * element;
    const int64_t start = first * UNIT, stop = end * UNIT < r->columns ? end * UNIT : r->columns;
    for (int64_t i = 0; i < r->count; i++) {
        heed_kernels_for(r->dtype)->add_into(stop - start, r->lined_up + i * size + start * element,
                                             r->table + r->ids[i] * size + start * element);
    }
}

static heed_status embedding_forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor *weight = heed_contiguous(call->inputs[1]);
    if (weight == NULL) {
        return heed_self.error;
    }
    const int64_t *ids = heed_checked_ids("embedding", "id", call->inputs[0], weight->shape[0]);
    if (ids != NULL) {
        const int64_t columns = weight->shape[1];
        rows r = {ids, call->inputs[0]->numel, columns, weight->dtype, weight->data, y->data};
        heed_parallel_for(r.count, GRAIN / (columns + 1) + 1, look_rows_up, &r);
    }
    return heed_self.error;
}

/* Adds row i of g to the row of `table` that id i names. */
static heed_status add_rows(heed_tensor *g, heed_tensor *ids, heed_tensor *table)
{
    const heed_tensor *from = heed_contiguous(g);
    const int64_t *id = heed_checked_ids("embedding_dense_backward", "id", ids, table->shape[0]);
    if (from != NULL && id != NULL) {
        rows r = {id, ids->numel, table->shape[1], table->dtype, table->data, from->data};
        heed_parallel_for((r.columns + UNIT - 1) / UNIT, GRAIN / UNIT / (r.count + 1) + 1,
                          add_columns, &r);
    }
    return heed_self.error;
}

static void embedding_backward(const heed_vjp *v)
{
    v->grads[1] = heed_embedding_dense_backward(v->g, v->inputs[0], heed_size(v->inputs[1], 0));
}

static bool embedding_add_gradient(const heed_vjp *v, int i, heed_tensor *sum)
{
    (void)i;
    return add_rows(v->g, v->inputs[0], sum) == HEED_OK;
}

HEED_OPERATION(embedding) = {.name = "embedding",
                             .inputs = 2,
                             .names = HEED_NAMES("ids", "weight"),
                             .rule = embedding_rule,
                             .forward = embedding_forward,
                             .backward = embedding_backward,
                             .add_gradient = embedding_add_gradient,
                             .saves = {0, HEED_SAVES_INPUT(0)}};

heed_tensor *heed_embedding(heed_tensor *ids, heed_tensor *weight)
{
    return heed_apply(&op_embedding, (heed_tensor *[]){ids, weight}, 2, NULL, 0);
}

/* ---- embedding_dense_backward: inputs are g, ids ---- */

static heed_status dense_backward_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *g = call->inputs[0], *ids = call->inputs[1];
    if (heed_expect_float(call, 0) != HEED_OK || heed_expect_dtype(call, 1, HEED_I64) != HEED_OK) {
        return heed_self.error;
    }
    if (g->ndim != ids->ndim + 1 ||
        memcmp(g->shape, ids->shape, sizeof *ids->shape * ids->ndim) != 0) {
        return heed_fail(HEED_ERR_SHAPE,
                         "embedding_dense_backward: g %s for ids %s; g has their shape and one "
                         "dim more",
                         HEED_TEXT(g), HEED_TEXT(ids));
    }
    result->shape = HEED_SHAPE(*(const int64_t *)call->args, g->shape[g->ndim - 1]);
    return HEED_OK;
}

static heed_status dense_backward_forward(const heed_call *call, heed_tensor *y)
{
    heed_fill_elements(y, 0);
    return add_rows(call->inputs[0], call->inputs[1], y);
}

static void dense_backward_backward(const heed_vjp *v)
{
    v->grads[0] = heed_embedding(v->inputs[1], v->g);
}

HEED_OPERATION(embedding_dense_backward) = {.name = "embedding_dense_backward",
                                            .inputs = 2,
                                            .names = HEED_NAMES("g", "ids"),
                                            .rule = dense_backward_rule,
                                            .forward = dense_backward_forward,
                                            .backward = dense_backward_backward,
                                            .saves = {HEED_SAVES_INPUT(1)}};

heed_tensor *heed_embedding_dense_backward(heed_tensor *g, heed_tensor *ids, int64_t num_embeddings)
{
    return heed_apply(&op_embedding_dense_backward, (heed_tensor *[]){g, ids}, 2, &num_embeddings,
                      sizeof num_embeddings);
}
