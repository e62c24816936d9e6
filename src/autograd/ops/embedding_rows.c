/* Rows of a table: embedding, and its derivative. */

#include "operations.h"

#include <string.h>

#include "../../tensor/dispatch.h"
#include "../../tensor/elements.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "operand_checks.h"

/* ---- embedding: inputs are ids, weight ---- */

static heed_status embedding_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *weight = call->inputs[1];
    if (heed_expect_dtype(call, 0, HEED_I64) != HEED_OK || heed_expect_float(call, 1) != HEED_OK) {
        return heed_self.error;
    }
    if (weight->ndim != 2 || result->shape.ndim == HEED_MAX_DIMS) {
        return heed_fail(HEED_ERR_SHAPE,
                         "embedding: ids %s in weight %s; weight must have 2 dims, ids at most %d",
                         HEED_TEXT(call->inputs[0]), HEED_TEXT(weight), HEED_MAX_DIMS - 1);
    }
    result->dtype = weight->dtype;
    result->shape.size[result->shape.ndim++] = weight->shape[1];
    return HEED_OK;
}

static heed_status embedding_forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor *ids = call->inputs[0], *weight = heed_contiguous(call->inputs[1]);
    if (weight == NULL) {
        return heed_self.error;
    }
    const int64_t *id = heed_checked_indices("embedding", "id", ids, weight->shape[0]);
    if (id != NULL) {
        heed_copy_table_rows(&(heed_table_rows){id, ids->numel, weight->shape[1], weight->dtype,
                                                weight->data, y->data});
    }
    return heed_self.error;
}

/* Adds row i of g to row ids[i] of `table`. */
static heed_status add_rows(heed_tensor *g, heed_tensor *ids, heed_tensor *table)
{
    const heed_tensor *rows = heed_contiguous(g);
    const int64_t *id =
        heed_checked_indices("embedding_dense_backward", "id", ids, table->shape[0]);
    if (rows != NULL && id != NULL) {
        heed_add_table_rows(&(heed_table_rows){id, ids->numel, table->shape[1], table->dtype,
                                               table->data, rows->data});
    }
    return heed_self.error;
}

static void embedding_backward(const heed_vjp *v)
{
    v->grads[1] = heed_embedding_dense_backward(v->g, v->inputs[0], heed_size(v->inputs[1], 0));
}

HEED_OPERATION(embedding) = {.name = "embedding",
                             .inputs = 2,
                             .names = HEED_NAMES("ids", "weight"),
                             .rule = embedding_rule,
                             .forward = embedding_forward,
                             .backward = embedding_backward,
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
        return heed_fail(
            HEED_ERR_SHAPE,
            "embedding_dense_backward: g %s does not fit ids %s; g must have the shape of ids "
            "plus a last dim",
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
                                            .args = "int64 num_embeddings",
                                            .rule = dense_backward_rule,
                                            .forward = dense_backward_forward,
                                            .backward = dense_backward_backward,
                                            .saves = {HEED_SAVES_INPUT(1)}};

heed_tensor *heed_embedding_dense_backward(heed_tensor *g, heed_tensor *ids, int64_t num_embeddings)
{
    return heed_apply(&op_embedding_dense_backward, (heed_tensor *[]){g, ids}, 2, &num_embeddings,
                      sizeof num_embeddings);
}
