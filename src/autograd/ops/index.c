/* Selecting and changing by index: whole rows (index_select, index_add), single elements (gather,
 * scatter_add, scatter); masked_select and nonzero, which compute the indices from a mask; where
 * with numbers; and one_hot. Indices are checked in operand_checks.c before any memory is accessed.
 * For rows of a table see embedding_rows.c. */

#include "index.h"

#include <math.h>
#include <string.h>

#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/dispatch.h"
#include "../../tensor/elements.h"
#include "../../tensor/handle.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../op.h"
#include "elementwise.h"
#include "masking.h"
#include "operand_checks.h"
#include "slice.h"
#include "view.h"

/* ---- shared: positions given by an index ---- */

/* A 0-dim tensor counts as one dim of size 1. */
static int dims_of(const heed_tensor *t)
{
    return t->ndim > 0 ? t->ndim : 1;
}

static int64_t size_in(const heed_tensor *t, int dim)
{
    return t->ndim > 0 ? t->shape[dim] : 1;
}

/* True if the index, with one dim, selects whole rows of x, which has more. Else it selects single
 * elements, and has as many dims as x unless it is empty. */
static bool selects_rows(const heed_call *call)
{
    const heed_tensor *index = call->inputs[1];
    return call->inputs[0]->ndim > 1 && index->ndim <= 1 && index->numel > 0;
}

/* The position in t, which has x's shape, for each element of a tensor shaped like `as`. The
 * result's `index` is NULL on error. */
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
    if (selects_rows(call)) {
        places.index_strides[dim] = 1;
    } else {
        heed_row_major(index->ndim, index->shape, places.index_strides);
    }
    return places;
}

/* y = x at the positions. */
static heed_status look_up_forward(const heed_call *call, heed_tensor *y)
{
    const heed_indexed places = find_places(call, call->inputs[0], y);
    if (places.index != NULL) {
        heed_look_up(&places, call->inputs[0], y);
    }
    return heed_self.error;
}

typedef void change_function(const heed_indexed *places, const heed_tensor *x, heed_tensor *out);

/* y = x with the third input added or put at the positions. */
static heed_status change_x(const heed_call *call, change_function *change, heed_tensor *y)
{
    const heed_indexed places = find_places(call, y, call->inputs[selects_rows(call) ? 2 : 1]);
    if (places.index != NULL) {
        heed_copy_elements(call->inputs[0], y);
        change(&places, call->inputs[2], y);
    }
    return heed_self.error;
}

static heed_status add_forward(const heed_call *call, heed_tensor *y)
{
    return change_x(call, heed_add_at, y);
}

static heed_status put_forward(const heed_call *call, heed_tensor *y)
{
    return change_x(call, heed_put_at, y);
}

/* Zeros of x's shape, to add a gradient to. */
static heed_tensor *zeros_of_x(const heed_vjp *v)
{
    return heed_expand(heed_scalar(0, v->g->dtype), heed_shape_of_tensor(v->inputs[0]));
}

/* ---- index_select, index_add: whole rows ---- */

/* Checks x and an index that selects along dim. Wraps dim; sets `shape` to x's shape with the
 * number of indices as the size of dim. */
static heed_status chosen_shape(const heed_call *call, int *dim, heed_shape *shape)
{
    const heed_tensor *x = call->inputs[0], *index = call->inputs[1];
    if (heed_expect_dtype(call, 1, HEED_I64) != HEED_OK ||
        heed_wrap_dim(call->op->name, *(const int *)call->args, x->ndim, dim) != HEED_OK) {
        return heed_self.error;
    }
    if (index->ndim > 1) {
        return heed_fail(HEED_ERR_SHAPE, "%s: index %s has %d dims; it must have one",
                         call->op->name, HEED_TEXT(index), index->ndim);
    }
    if (x->ndim == 0 && index->numel != 1) {
        return heed_fail(HEED_ERR_SHAPE, "%s: index %s for a 0-dim x must have one element",
                         call->op->name, HEED_TEXT(index));
    }
    *shape = heed_shape_of_tensor(x);
    if (x->ndim > 0) {
        shape->size[*dim] = index->numel;
    }
    return HEED_OK;
}

/* ---- index_select: inputs are x, index ---- */

static heed_status index_select_rule(const heed_call *call, heed_result *result)
{
    int dim;
    return chosen_shape(call, &dim, &result->shape);
}

static void index_select_backward(const heed_vjp *v)
{
    v->grads[0] = heed_index_add(zeros_of_x(v), *(const int *)v->args, v->inputs[1], v->g);
}

HEED_OPERATION(index_select) = {.name = "index_select",
                                .inputs = 2,
                                .names = HEED_NAMES("x", "index"),
                                .args = "int dim",
                                .rule = index_select_rule,
                                .forward = look_up_forward,
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
        return heed_fail(
            HEED_ERR_SHAPE,
            "index_add: source %s does not fit x %s and index %s in dim %d; it must be %s",
            HEED_TEXT(source), HEED_TEXT(x), HEED_TEXT(call->inputs[1]), dim,
            heed_shape_text(shape.ndim, shape.size).text);
    }
    return HEED_OK;
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
                             .args = "int dim",
                             .rule = index_add_rule,
                             .forward = add_forward,
                             .backward = index_add_backward,
                             .saves = {0, 0, HEED_SAVES_INPUT(1)}};

heed_tensor *heed_index_add(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *source)
{
    return heed_apply(&op_index_add, (heed_tensor *[]){x, index, source}, 3, &dim, sizeof dim);
}

/* ---- gather, scatter_add, scatter: single elements along a dim ---- */

/* True if the index has as many dims as t and no larger size. The size of `dim` is not compared
 * (-1: all are). */
static bool fits(const heed_tensor *index, const heed_tensor *t, int dim)
{
    bool is = dims_of(index) == dims_of(t);
    for (int i = 0; is && i < dims_of(t); i++) {
        is = i == dim || size_in(index, i) <= size_in(t, i);
    }
    return is;
}

/* An empty index matches any shape. */
static heed_status check_index(const heed_call *call, int *dim)
{
    const heed_tensor *x = call->inputs[0], *index = call->inputs[1];
    if (heed_expect_dtype(call, 1, HEED_I64) != HEED_OK ||
        heed_wrap_dim(call->op->name, *(const int *)call->args, x->ndim, dim) != HEED_OK) {
        return heed_self.error;
    }
    if (index->numel > 0 && !fits(index, x, *dim)) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: index %s does not fit x %s in dim %d: it must have as many dims as "
                         "x, and no other size larger than x's",
                         call->op->name, HEED_TEXT(index), HEED_TEXT(x), *dim);
    }
    return HEED_OK;
}

/* ---- gather: inputs are x, index ---- */

static heed_status gather_rule(const heed_call *call, heed_result *result)
{
    int dim;
    result->shape = heed_shape_of_tensor(call->inputs[1]);
    return check_index(call, &dim);
}

static void gather_backward(const heed_vjp *v)
{
    v->grads[0] = heed_scatter_add(zeros_of_x(v), *(const int *)v->args, v->inputs[1], v->g);
}

HEED_OPERATION(gather) = {.name = "gather",
                          .inputs = 2,
                          .names = HEED_NAMES("x", "index"),
                          .args = "int dim",
                          .rule = gather_rule,
                          .forward = look_up_forward,
                          .backward = gather_backward,
                          .saves = {HEED_SAVES_INPUT(1)}};

heed_tensor *heed_gather(heed_tensor *x, int dim, heed_tensor *index)
{
    return heed_apply(&op_gather, (heed_tensor *[]){x, index}, 2, &dim, sizeof dim);
}

/* ---- scatter_add, scatter: inputs are x, index, src ---- */

static heed_status scatter_rule(const heed_call *call, heed_result *result)
{
    (void)result;
    const heed_tensor *x = call->inputs[0], *index = call->inputs[1], *src = call->inputs[2];
    int dim;
    if (check_index(call, &dim) != HEED_OK || heed_expect_dtype(call, 2, x->dtype) != HEED_OK) {
        return heed_self.error;
    }
    if (index->numel > 0 && !fits(index, src, -1)) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: index %s does not fit src %s: it must have as many dims, and no size "
                         "larger than src's",
                         call->op->name, HEED_TEXT(index), HEED_TEXT(src));
    }
    return HEED_OK;
}

/* The gradient of src: `part`, which has the index's shape, with zeros where src is larger. */
static heed_tensor *padded_to_src(const heed_vjp *v, heed_tensor *part)
{
    const heed_tensor *index = v->inputs[1];
    const heed_shape whole = heed_shape_of_tensor(v->inputs[2]);
    if (index->numel == 0) {
        return heed_zeros(whole, v->g->dtype);
    }
    heed_shape shape = heed_shape_of_tensor(index);
    if (shape.ndim != whole.ndim) { /* one is (), the other (1) */
        shape = whole.ndim == 0 ? HEED_SCALAR : HEED_SHAPE(1);
        part = heed_reshape(part, shape);
    }
    for (int i = 0; i < whole.ndim; i++) {
        const int64_t reached = shape.size[i];
        shape.size[i] = whole.size[i];
        if (reached < whole.size[i]) {
            part = heed_slice_backward(part, shape, i, 0, reached, 1);
        }
    }
    return part;
}

static void scatter_add_backward(const heed_vjp *v)
{
    v->grads[0] = v->g;
    if (heed_wants_grad(v, 2)) {
        v->grads[2] = padded_to_src(v, heed_gather(v->g, *(const int *)v->args, v->inputs[1]));
    }
}

HEED_OPERATION(scatter_add) = {.name = "scatter_add",
                               .inputs = 3,
                               .names = HEED_NAMES("x", "index", "src"),
                               .args = "int dim",
                               .rule = scatter_rule,
                               .forward = add_forward,
                               .backward = scatter_add_backward,
                               .saves = {0, 0, HEED_SAVES_INPUT(1)}};

heed_tensor *heed_scatter_add(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *src)
{
    return heed_apply(&op_scatter_add, (heed_tensor *[]){x, index, src}, 3, &dim, sizeof dim);
}

/* True for elements of src that a later one overwrites. */
static heed_tensor *overwritten(const heed_vjp *v)
{
    heed_tensor *index = v->inputs[1];
    const int dim = *(const int *)v->args;
    heed_tensor *order = heed_reshape(heed_arange(0, (double)index->numel, 1, HEED_I64),
                                      heed_shape_of_tensor(index));
    heed_tensor *last = heed_zeros(heed_shape_of_tensor(v->g), HEED_I64);
    return heed_ne(heed_gather(heed_scatter(last, dim, index, order), dim, index), order);
}

static void scatter_backward(const heed_vjp *v)
{
    const int dim = *(const int *)v->args;
    if (heed_wants_grad(v, 0)) {
        v->grads[0] = heed_scatter_scalar(v->g, dim, v->inputs[1], 0);
    }
    if (heed_wants_grad(v, 2)) {
        heed_tensor *part = heed_gather(v->g, dim, v->inputs[1]);
        v->grads[2] = padded_to_src(v, heed_masked_fill(part, overwritten(v), 0));
    }
}

HEED_OPERATION(scatter) = {.name = "scatter",
                           .inputs = 3,
                           .names = HEED_NAMES("x", "index", "src"),
                           .args = "int dim",
                           .rule = scatter_rule,
                           .forward = put_forward,
                           .backward = scatter_backward,
                           .saves = {HEED_SAVES_INPUT(1), 0, HEED_SAVES_INPUT(1)}};

heed_tensor *heed_scatter(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *src)
{
    return heed_apply(&op_scatter, (heed_tensor *[]){x, index, src}, 3, &dim, sizeof dim);
}

heed_tensor *heed_scatter_scalar(heed_tensor *x, int dim, heed_tensor *index, double value)
{
    if (heed_check_operand("scatter_scalar", "x", x) != HEED_OK ||
        heed_check_tensor("scatter_scalar", "index", index) != HEED_OK ||
        heed_check_value("scatter_scalar", value, x->dtype) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *src = heed_expand(heed_scalar(value, x->dtype), heed_shape_of_tensor(index));
    return heed_scope_end_with(&scope, heed_scatter(x, dim, index, src));
}

/* ---- where, with numbers ---- */

static heed_status check_number(const char *function, double number, heed_dtype dtype)
{
    return dtype == HEED_I64 && isfinite(number) && number != floor(number)
               ? heed_fail(HEED_ERR_VALUE,
                           "%s: an i64 tensor takes an integer, not %g; heed_to(a, HEED_F32)",
                           function, number)
               : heed_check_value(function, number, dtype);
}

heed_tensor *heed_where_scalar(heed_tensor *condition, heed_tensor *a, double b)
{
    if (heed_check_operand("where_scalar", "a", a) != HEED_OK) {
        return NULL;
    }
    const heed_dtype dtype = a->dtype == HEED_BOOL ? HEED_I64 : a->dtype;
    if (check_number("where_scalar", b, dtype) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    return heed_scope_end_with(&scope, heed_where(condition, a, heed_scalar(b, dtype)));
}

heed_tensor *heed_where_scalars(heed_tensor *condition, double a, double b, heed_dtype dtype)
{
    if (check_number("where_scalars", a, dtype) != HEED_OK ||
        check_number("where_scalars", b, dtype) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    return heed_scope_end_with(&scope,
                               heed_where(condition, heed_scalar(a, dtype), heed_scalar(b, dtype)));
}

/* ---- masked_select: index_select at the true elements of the mask; nonzero ---- */

/* The positions of the true elements in row-major order, i64 (n). */
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

heed_tensor *heed_masked_select(heed_tensor *x, heed_tensor *keep_mask)
{
    if (heed_check_operand("masked_select", "x", x) != HEED_OK ||
        heed_check_tensor("masked_select", "keep_mask", keep_mask) != HEED_OK) {
        return NULL;
    }
    if (keep_mask->dtype != HEED_BOOL) {
        heed_fail(
            HEED_ERR_DTYPE,
            "masked_select: keep_mask is %s, not bool; comparisons such as heed_gt return bool",
            heed_dtype_name(keep_mask->dtype));
        return NULL;
    }
    const heed_shape a = heed_shape_of_tensor(x), b = heed_shape_of_tensor(keep_mask);
    heed_shape shape;
    int64_t numel;
    if (heed_broadcast("masked_select", &a, &b, &shape) != HEED_OK ||
        heed_count_elements("masked_select", shape.ndim, shape.size, x->dtype, &numel) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *places = true_places(heed_expand(keep_mask, shape));
    heed_tensor *flat = heed_reshape(heed_expand(x, shape), HEED_SHAPE(numel));
    return heed_scope_end_with(&scope, heed_index_select(flat, 0, places));
}

heed_tensor *heed_nonzero(heed_tensor *x)
{
    if (heed_check_operand("nonzero", "x", x) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *places = true_places(heed_ne_scalar(x, 0)), *y = NULL;
    const int64_t *place = heed_const_data_i64(places);
    if (place != NULL) {
        y = heed_tensor_create("nonzero", HEED_SHAPE(places->numel, x->ndim), HEED_I64);
    }
    for (int64_t i = 0; y != NULL && i < places->numel; i++) {
        int64_t rest = place[i];
        for (int dim = x->ndim - 1; dim >= 0; dim--) {
            ((int64_t *)y->data)[i * x->ndim + dim] = rest % x->shape[dim];
            rest /= x->shape[dim];
        }
    }
    return heed_scope_end_with(&scope, y);
}

/* ---- one_hot ---- */

heed_tensor *heed_one_hot(heed_tensor *ids, int64_t num_classes)
{
    if (heed_check_operand("one_hot", "ids", ids) != HEED_OK) {
        return NULL;
    }
    if (ids->dtype != HEED_I64) {
        heed_fail(HEED_ERR_DTYPE, "one_hot: ids are %s, not i64; cast them with heed_to",
                  heed_dtype_name(ids->dtype));
        return NULL;
    }
    const bool finds = num_classes == -1;
    if (num_classes < -1 || (num_classes <= 0 && ids->numel == 0)) {
        heed_fail(HEED_ERR_VALUE,
                  "one_hot: num_classes is %lld for ids %s; it must be 1 or more, or, if ids is "
                  "not empty, -1 for the largest id + 1",
                  (long long)num_classes, HEED_TEXT(ids));
        return NULL;
    }
    heed_scope scope; /* for a contiguous copy of ids */
    heed_scope_begin(&scope);
    const int64_t *id = heed_checked_indices("one_hot", "id", ids, finds ? INT64_MAX : num_classes);
    for (int64_t i = 0; id != NULL && finds && i < ids->numel; i++) {
        num_classes = id[i] >= num_classes ? id[i] + 1 : num_classes;
    }
    heed_shape shape = heed_shape_of_tensor(ids);
    heed_tensor *y = NULL;
    if (id != NULL && shape.ndim == HEED_MAX_DIMS) {
        heed_fail(HEED_ERR_SHAPE, "one_hot: ids %s already have %d dims, the maximum",
                  HEED_TEXT(ids), HEED_MAX_DIMS);
    } else if (id != NULL) {
        shape.size[shape.ndim++] = num_classes;
        y = heed_tensor_create("one_hot", shape, HEED_I64);
    }
    if (y != NULL) {
        heed_fill_elements(y, 0);
        for (int64_t i = 0; i < ids->numel; i++) {
            ((int64_t *)y->data)[i * num_classes + id[i]] = 1;
        }
    }
    return heed_scope_end_with(&scope, y);
}
