/* index_select and index_add: rows looked up by their index, and added up into. */
#include "autograd/index.h"

#include <string.h>

#include "autograd/ids.h"
#include "autograd/op.h"
#include "autograd/shape.h"
#include "tensor/create.h"
#include "tensor/iterate.h"

/* x and an index that chooses along dim: wraps the dim; gives x's shape with one place for each
 * index. */
static heed_status chosen_shape(const heed_call *call, int *dim, heed_shape *shape)
{
    const heed_tensor *x = call->inputs[0], *index = call->inputs[1];
    if (heed_expect_dtype(call, 1, HEED_I64) != HEED_OK ||
        heed_wrap_dim(call->op->name, *(const int *)call->args, x->ndim, dim) != HEED_OK) {
        return heed_self.error;
    }
    if (index->ndim > 1) {
        return heed_fail(HEED_ERR_SHAPE, "%s: index %s has %d dims; it is a list, with one",
                         call->op->name, HEED_TEXT(index), index->ndim);
    }
    if (x->ndim == 0 && index->numel != 1) {
        return heed_fail(HEED_ERR_SHAPE, "%s: index %s for x without dims, which takes just one",
                         call->op->name, HEED_TEXT(index));
    }
    *shape = heed_shape_of_tensor(x);
    if (x->ndim > 0) {
        shape->size[*dim] = index->numel;
    }
    return HEED_OK;
}

/* Those places of t, which has x's shape. The index is NULL on error. */
static heed_places chosen_places(const heed_call *call, const heed_tensor *t)
{
    int dim = 0;
    heed_places places = {.index = NULL};
    if (chosen_shape(call, &dim, &places.shape) != HEED_OK) {
        return places;
    }
    const int64_t count = t->ndim > 0 ? t->shape[dim] : 1;
    places.index = heed_checked_ids(call->op->name, "index", call->inputs[1], count);
    if (t->ndim > 0) {
        memcpy(places.strides, t->strides, sizeof *t->strides * t->ndim);
        places.step = t->strides[dim];
    }
    places.strides[dim] = 0;
    places.index_strides[dim] = 1;
    return places;
}

/* ---- index_select: inputs are x, index ---- */

static heed_status index_select_rule(const heed_call *call, heed_result *result)
{
    int dim;
    return chosen_shape(call, &dim, &result->shape);
}

static heed_status index_select_forward(const heed_call *call, heed_tensor *y)
{
    const heed_places places = chosen_places(call, call->inputs[0]);
    if (places.index != NULL) {
        heed_look_up(&places, call->inputs[0], y);
    }
    return heed_self.error;
}

static void index_select_backward(const heed_vjp *v)
{
    heed_tensor *zero = heed_scalar(0, v->g->dtype);
    heed_tensor *zeros = heed_expand(zero, heed_shape_of_tensor(v->inputs[0]));
    v->grads[0] = heed_index_add(zeros, *(const int *)v->args, v->inputs[1], v->g);
}

HEED_OPERATION(index_select) = {.name = "index_select",
                                .inputs = 2,
                                .rule = index_select_rule,
                                .forward = index_select_forward,
                                .backward = index_select_backward,
                                .saves = {HEED_SAVES_INPUT(1)}};

heed_tensor *heed_index_select(heed_tensor *x, int dim, heed_tensor *index)
{
    return heed_apply(&op_index_select, (heed_tensor *[]){x, index}, 2, &dim, sizeof dim);
}

/* ---- index_add: inputs are x, index, source ---- */

static heed_status index_add_rule(const heed_call *call, heed_result *result)
{
    (void)result;
    const heed_tensor *x = call->inputs[0], *source = call->inputs[2];
    heed_shape shape;
    int dim;
    if (chosen_shape(call, &dim, &shape) != HEED_OK ||
        heed_expect_dtype(call, 2, x->dtype) != HEED_OK) {
        return heed_self.error;
    }
    if (source->ndim != x->ndim ||
        memcmp(source->shape, shape.size, sizeof *source->shape * x->ndim) != 0) {
        return heed_fail(HEED_ERR_SHAPE,
                         "index_add: source %s for x %s and index %s in dim %d; it must be %s",
                         HEED_TEXT(source), HEED_TEXT(x), HEED_TEXT(call->inputs[1]), dim,
                         heed_shape_text(shape.ndim, shape.size).text);
    }
    return HEED_OK;
}

static heed_status index_add_forward(const heed_call *call, heed_tensor *y)
{
    const heed_tensor *source = call->inputs[2];
    const heed_places places = chosen_places(call, y);
    if (places.index != NULL) {
        heed_operand from = heed_operand_of(source, source->ndim, source->shape, y->dtype);
        heed_copy_elements(call->inputs[0], y);
        heed_add_at(&places, &from, y);
    }
    return heed_self.error;
}

static void index_add_backward(const heed_vjp *v)
{
    v->grads[0] = v->g;
    if (heed_wants_grad(v, 2)) {
        v->grads[2] = heed_index_select(v->g, *(const int *)v->args, v->inputs[1]);
    }
}

HEED_OPERATION(index_add) = {.name = "index_add",
                             .inputs = 3,
                             .rule = index_add_rule,
                             .forward = index_add_forward,
                             .backward = index_add_backward,
                             .saves = {0, 0, HEED_SAVES_INPUT(1)}};

heed_tensor *heed_index_add(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *source)
{
    return heed_apply(&op_index_add, (heed_tensor *[]){x, index, source}, 3, &dim, sizeof dim);
}
