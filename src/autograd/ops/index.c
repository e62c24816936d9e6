/* Rows looked up by their index, and added up into: index_select, index_add; masked_select, which
 * finds the indices itself; one_hot. */
#include "index.h"

#include <string.h>

#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/frame.h"
#include "../../tensor/indexed.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../op.h"
#include "ids.h"
#include "shape.h"

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
                                .names = HEED_NAMES("x", "index"),
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
    if (!heed_has_shape(source, &shape)) {
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
                             .names = HEED_NAMES("x", "index", "source"),
                             .rule = index_add_rule,
                             .forward = index_add_forward,
                             .backward = index_add_backward,
                             .saves = {0, 0, HEED_SAVES_INPUT(1)}};

heed_tensor *heed_index_add(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *source)
{
    return heed_apply(&op_index_add, (heed_tensor *[]){x, index, source}, 3, &dim, sizeof dim);
}

/* ---- masked_select: index_select of what lies under the mask ---- */

/* The places of the true elements, row by row: i64 (n). */
static heed_tensor *true_places(heed_tensor *mask)
{
    const bool *is_true = heed_const_data_bool(heed_contiguous(mask));
    int64_t count = 0;
    for (int64_t i = 0; is_true != NULL && i < mask->numel; i++) {
        count += is_true[i];
    }
    heed_tensor *places = heed_empty(HEED_SHAPE(count), HEED_I64);
    int64_t *place = heed_data_i64(places);
    for (int64_t i = 0; place != NULL && i < mask->numel; i++) {
        if (is_true[i]) {
            *place++ = i;
        }
    }
    return places;
}

/* The shape in which x and the mask meet. */
static heed_status meet(heed_tensor *x, heed_tensor *mask, heed_shape *shape, int64_t *numel)
{
    if (heed_check_operand("masked_select", "x", x) != HEED_OK ||
        heed_check_tensor("masked_select", "keep_mask", mask) != HEED_OK) {
        return heed_self.error;
    }
    if (mask->dtype != HEED_BOOL) {
        return heed_fail(HEED_ERR_DTYPE,
                         "masked_select: keep_mask is %s, not bool; a comparison gives one",
                         heed_dtype_name(mask->dtype));
    }
    const heed_shape a = heed_shape_of_tensor(x), b = heed_shape_of_tensor(mask);
    if (heed_broadcast("masked_select", &a, &b, shape) != HEED_OK) {
        return heed_self.error;
    }
    return heed_count_elements("masked_select", shape->ndim, shape->size, x->dtype, numel);
}

heed_tensor *heed_masked_select(heed_tensor *x, heed_tensor *keep_mask)
{
    heed_shape shape;
    int64_t numel;
    if (meet(x, keep_mask, &shape, &numel) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *places = true_places(heed_expand(keep_mask, shape));
    heed_tensor *flat = heed_reshape(heed_expand(x, shape), HEED_SHAPE(numel));
    return heed_scope_end_with(&scope, heed_index_select(flat, 0, places));
}

/* ---- one_hot ---- */

/* The ids, all inside [0, *num_classes), which becomes the largest id + 1 if it is -1. NULL on
 * error. */
static const int64_t *check_classes(heed_tensor *ids, int64_t *num_classes)
{
    const bool finds = *num_classes == -1;
    if (*num_classes < -1 || (*num_classes <= 0 && ids->numel == 0)) {
        heed_fail(HEED_ERR_VALUE,
                  "one_hot: %lld classes for ids %s; 1 or more, or -1 for the largest id + 1",
                  (long long)*num_classes, HEED_TEXT(ids));
        return NULL;
    }
    const int64_t *id = heed_checked_ids("one_hot", "id", ids, finds ? INT64_MAX : *num_classes);
    for (int64_t i = 0; id != NULL && finds && i < ids->numel; i++) {
        *num_classes = id[i] >= *num_classes ? id[i] + 1 : *num_classes;
    }
    return id;
}

static heed_tensor *make_one_hot(heed_tensor *ids, int64_t num_classes)
{
    heed_shape shape = heed_shape_of_tensor(ids);
    const int64_t *id = check_classes(ids, &num_classes);
    if (id == NULL) {
        return NULL;
    }
    if (shape.ndim == HEED_MAX_DIMS) {
        heed_fail(HEED_ERR_SHAPE, "one_hot: ids %s have %d dims already, the most there are",
                  HEED_TEXT(ids), HEED_MAX_DIMS);
        return NULL;
    }
    shape.size[shape.ndim++] = num_classes;
    heed_tensor *y = heed_tensor_new("one_hot", shape.ndim, shape.size, HEED_I64);
    if (y != NULL) {
        heed_fill_elements(y, 0);
        for (int64_t i = 0; i < ids->numel; i++) {
            ((int64_t *)y->data)[i * num_classes + id[i]] = 1;
        }
        y = heed_join_scope("one_hot", y);
    }
    return y;
}

heed_tensor *heed_one_hot(heed_tensor *ids, int64_t num_classes)
{
    if (heed_check_operand("one_hot", "ids", ids) != HEED_OK) {
        return NULL;
    }
    if (ids->dtype != HEED_I64) {
        heed_fail(HEED_ERR_DTYPE, "one_hot: ids are %s, not i64; heed_to casts",
                  heed_dtype_name(ids->dtype));
        return NULL;
    }
    heed_scope scope; /* for a copy of ids that do not lie row by row */
    heed_scope_begin(&scope);
    return heed_scope_end_with(&scope, make_one_hot(ids, num_classes));
}
