/* Selecting and adding by index: whole rows (index_select), single elements (gather, scatter_add);
 * rows of a table (embedding). Every index is checked before memory is accessed. */

#include <string.h>

#include "../autograd.h"

/* ---- checks of indices ---- */

void heed_check_index(const char *function, const char *what, int64_t index, int64_t place,
                      int64_t count)
{
    if (index < 0 || index >= count) {
        heed_raise(HEED_ERR_INDEX, "%s: %s %lld at position %lld is outside [0, %lld)", function,
                   what, (long long)index, (long long)place, (long long)count);
    }
}

const int64_t *heed_checked_indices(const char *function, const char *what, heed_tensor *indices,
                                    int64_t count)
{
    const int64_t *index = heed_const_data_i64(heed_contiguous(indices));
    for (int64_t i = 0; i < indices->numel; i++) {
        heed_check_index(function, what, index[i], i, count);
    }
    return index;
}

/* ---- index_select, gather, scatter_add ---- */

/* A 0-dim tensor counts as one dim of size 1. */
static int dims_of(const heed_tensor *t)
{
    return t->ndim > 0 ? t->ndim : 1;
}

static int64_t size_in(const heed_tensor *t, int dim)
{
    return t->ndim > 0 ? t->shape[dim] : 1;
}

/* The position in t, which has x's shape, for each element of a tensor shaped like `as`. */
static heed_indexed find_places(const heed_call *call, const heed_tensor *t, const heed_tensor *as)
{
    heed_tensor *index = call->inputs[1];
    const int dim = heed_wrapped(*(const int *)call->args, t->ndim);
    heed_indexed places = {.shape = heed_shape_of_tensor(as)};
    places.index = heed_checked_indices(call->op->name, "index", index, size_in(t, dim));
    for (int i = 0; i < t->ndim; i++) {
        places.strides[i] = i == dim ? 0 : t->strides[i];
    }
    places.step = t->ndim > 0 ? t->strides[dim] : 0;
    if (t->ndim > 1 && index->ndim <= 1 && index->numel > 0) { /* whole rows */
        places.index_strides[dim] = 1;
    } else { /* single elements: the index has as many dims as x, unless it is empty */
        heed_row_major(index->ndim, index->shape, places.index_strides);
    }
    return places;
}

static heed_status look_up_forward(const heed_call *call, heed_tensor *y)
{
    const heed_indexed places = find_places(call, call->inputs[0], y);
    heed_look_up(&places, call->inputs[0], y);
    return HEED_OK;
}

/* Adds g at the index to zeros of x's shape. */
static heed_tensor *add_to_zeros(const heed_vjp *v, heed_tensor *index)
{
    const heed_shape shape = heed_shape_of_tensor(v->inputs[0]);
    heed_tensor *zeros = heed_expand(heed_scalar(0, v->g->dtype), shape);
    return heed_scatter_add(zeros, *(const int *)v->args, index, v->g);
}

static heed_status index_select_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0], *index = call->inputs[1];
    const int dim = heed_wrap_dim("index_select", *(const int *)call->args, x->ndim);
    if (index->ndim > 1) {
        heed_raise(HEED_ERR_SHAPE, "index_select: index %s has %d dims; it must have one",
                   HEED_TEXT(index), index->ndim);
    }
    if (x->ndim == 0 && index->numel != 1) {
        heed_raise(HEED_ERR_SHAPE, "index_select: index %s for a 0-dim x must have one element",
                   HEED_TEXT(index));
    }
    if (x->ndim > 0) {
        result->shape.size[dim] = index->numel;
    }
    return HEED_OK;
}

/* The index with a dim of size 1 for each other dim of x, expanded to g's shape. */
static void index_select_backward(const heed_vjp *v)
{
    const heed_shape shape = heed_shape_of_tensor(v->g);
    heed_shape column = shape;
    for (int i = 0; i < shape.ndim; i++) {
        column.size[i] = i == heed_wrapped(*(const int *)v->args, shape.ndim) ? shape.size[i] : 1;
    }
    v->grads[0] = add_to_zeros(v, heed_expand(heed_reshape(v->inputs[1], column), shape));
}

/* Inputs: x, index, and src for scatter_add. The index must have as many dims as x and no larger
 * size in dims other than `dim`; without elements, it may have any shape. */
static void check_index(const heed_call *call)
{
    const heed_tensor *x = call->inputs[0], *index = call->inputs[1];
    const int dim = heed_wrap_dim(call->op->name, *(const int *)call->args, x->ndim);
    bool fits = dims_of(index) == dims_of(x);
    for (int i = 0; fits && i < dims_of(x); i++) {
        fits = i == dim || size_in(index, i) <= size_in(x, i);
    }
    if (!fits && index->numel > 0) {
        heed_raise(HEED_ERR_SHAPE,
                   "%s: index %s does not fit x %s in dim %d: it must have as many dims as x, and "
                   "no other size larger than x's",
                   call->op->name, HEED_TEXT(index), HEED_TEXT(x), dim);
    }
}

static heed_status gather_rule(const heed_call *call, heed_result *result)
{
    result->shape = heed_shape_of_tensor(call->inputs[1]);
    check_index(call);
    return HEED_OK;
}

static void gather_backward(const heed_vjp *v)
{
    v->grads[0] = add_to_zeros(v, v->inputs[1]);
}

static heed_status scatter_add_rule(const heed_call *call, heed_result *result)
{
    (void)result;
    const heed_tensor *index = call->inputs[1], *src = call->inputs[2];
    check_index(call);
    if (!heed_same_shape(index, src)) {
        heed_raise(HEED_ERR_SHAPE, "scatter_add: index %s and src %s; their shapes must be equal",
                   HEED_TEXT(index), HEED_TEXT(src));
    }
    return HEED_OK;
}

static heed_status scatter_add_forward(const heed_call *call, heed_tensor *y)
{
    const heed_indexed places = find_places(call, y, call->inputs[1]);
    heed_copy_elements(call->inputs[0], y);
    heed_add_at(&places, call->inputs[2], y);
    return HEED_OK;
}

static void scatter_add_backward(const heed_vjp *v)
{
    v->grads[0] = v->g;
    if (heed_wants_grad(v, 2)) {
        v->grads[2] = heed_gather(v->g, *(const int *)v->args, v->inputs[1]);
    }
}

OPERATION(index_select) = {.name = "index_select",
                           .signature = "x any, index i64",
                           .args = "int dim",
                           .rule = index_select_rule,
                           .forward = look_up_forward,
                           .backward = index_select_backward,
                           .saves = {HEED_SAVES_INPUT(1)}};
OPERATION(gather) = {.name = "gather",
                     .signature = "x any, index i64",
                     .args = "int dim",
                     .rule = gather_rule,
                     .forward = look_up_forward,
                     .backward = gather_backward,
                     .saves = {HEED_SAVES_INPUT(1)}};
OPERATION(scatter_add) = {.name = "scatter_add",
                          .signature = "x any, index i64, src",
                          .args = "int dim",
                          .rule = scatter_add_rule,
                          .forward = scatter_add_forward,
                          .backward = scatter_add_backward,
                          .saves = {0, 0, HEED_SAVES_INPUT(1)}};

heed_tensor *heed_index_select(heed_tensor *x, int dim, heed_tensor *index)
{
    return heed_apply(&op_index_select, (heed_tensor *[]){x, index}, 2, &dim, sizeof dim);
}

heed_tensor *heed_gather(heed_tensor *x, int dim, heed_tensor *index)
{
    return heed_apply(&op_gather, (heed_tensor *[]){x, index}, 2, &dim, sizeof dim);
}

heed_tensor *heed_scatter_add(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *src)
{
    return heed_apply(&op_scatter_add, (heed_tensor *[]){x, index, src}, 3, &dim, sizeof dim);
}

/* ---- embedding, and its derivative embedding_dense_backward: inputs are ids, weight; g, ids ----
 */

static heed_status embedding_forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor *ids = call->inputs[0], *weight = heed_contiguous(call->inputs[1]);
    const int64_t *id = heed_checked_indices("embedding", "id", ids, call->inputs[1]->shape[0]);
    const size_t row = (size_t)weight->shape[1] * heed_dtype_size(y->dtype);
    for (int64_t i = 0; i < ids->numel; i++) {
        memcpy((char *)y->data + (size_t)i * row, (char *)weight->data + (size_t)id[i] * row, row);
    }
    return HEED_OK;
}

static heed_status dense_backward_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *g = call->inputs[0];
    result->shape = HEED_SHAPE(*(const int64_t *)call->args, g->shape[g->ndim - 1]);
    return HEED_OK;
}

/* Adds row i of g to row ids[i] of zeros. */
static heed_status dense_backward_forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor *g = heed_contiguous(call->inputs[0]), *ids = call->inputs[1];
    const int64_t *id = heed_checked_indices("embedding", "id", ids, y->shape[0]);
    heed_fill_elements(y, 0);
    const int64_t n = y->shape[1], row = n * (int64_t)heed_dtype_size(y->dtype);
    for (int64_t i = 0; i < ids->numel; i++) {
        heed_kernels_for(y->dtype)->add_into(n, (char *)g->data + i * row,
                                             (char *)y->data + id[i] * row);
    }
    return HEED_OK;
}

static void dense_backward_backward(const heed_vjp *v)
{
    v->grads[0] = heed_embedding(v->inputs[1], v->g);
}

OPERATION(embedding_dense_backward) = {.name = "embedding_dense_backward",
                                       .signature = "g (..., d) float, ids (...) i64",
                                       .args = "int64 num_embeddings",
                                       .rule = dense_backward_rule,
                                       .forward = dense_backward_forward,
                                       .backward = dense_backward_backward,
                                       .saves = {HEED_SAVES_INPUT(1)}};

static void embedding_backward(const heed_vjp *v)
{
    heed_tensor *inputs[] = {v->g, v->inputs[0]};
    const int64_t rows = v->inputs[1]->shape[0];
    v->grads[1] = heed_apply(&op_embedding_dense_backward, inputs, 2, &rows, sizeof rows);
}

OPERATION(embedding) = {.name = "embedding",
                        .signature = "ids (...) i64, weight (V, d) float -> (..., d) float",
                        .forward = embedding_forward,
                        .backward = embedding_backward,
                        .saves = {0, HEED_SAVES_INPUT(0)}};

heed_tensor *heed_embedding(heed_tensor *ids, heed_tensor *weight)
{
    return heed_apply(&op_embedding, (heed_tensor *[]){ids, weight}, 2, NULL, 0);
}
