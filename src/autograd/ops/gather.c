/* gather and scatter_add: single elements looked up along a dim, and added up into. */
#include "../../tensor/create.h"
#include "../../tensor/indexed.h"
#include "../../tensor/read.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "ids.h"
#include "index.h"
#include "shape.h"

/* A tensor without dims is taken as one of a single element in one dim. */
static int dims_of(const heed_tensor *t)
{
    return t->ndim > 0 ? t->ndim : 1;
}

static int64_t size_in(const heed_tensor *t, int dim)
{
    return t->ndim > 0 ? t->shape[dim] : 1;
}

/* Is index at most as large as t, but for dim (-1: in all dims)? */
static bool fits(const heed_tensor *index, const heed_tensor *t, int dim)
{
    bool is = dims_of(index) == dims_of(t);
    for (int i = 0; is && i < dims_of(t); i++) {
        is = i == dim || size_in(index, i) <= size_in(t, i);
    }
    return is;
}

/* An index without elements fits everything. */
static heed_status check_index(const heed_call *call, int *dim)
{
    const heed_tensor *x = call->inputs[0], *index = call->inputs[1];
    if (heed_expect_dtype(call, 1, HEED_I64) != HEED_OK ||
        heed_wrap_dim(call->op->name, *(const int *)call->args, x->ndim, dim) != HEED_OK) {
        return heed_self.error;
    }
    if (index->numel > 0 && !fits(index, x, *dim)) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: index %s does not fit x %s in dim %d: as many dims, and none of the "
                         "others larger than x's",
                         call->op->name, HEED_TEXT(index), HEED_TEXT(x), *dim);
    }
    return HEED_OK;
}

/* The places of t, which has x's shape, that the index names. The index is NULL on error. */
static heed_places named_places(const heed_call *call, const heed_tensor *t)
{
    heed_tensor *index = call->inputs[1];
    int dim = 0;
    heed_places places = {.index = NULL};
    if (check_index(call, &dim) != HEED_OK) {
        return places;
    }
    places.index = heed_checked_ids(call->op->name, "index", index, size_in(t, dim));
    places.shape = heed_shape_of_tensor(index);
    heed_row_major(index->ndim, index->shape, places.index_strides);
    for (int i = 0; i < t->ndim; i++) {
        places.strides[i] = i == dim ? 0 : t->strides[i];
    }
    places.step = t->ndim > 0 ? t->strides[dim] : 0;
    return places;
}

/* ---- gather: inputs are x, index ---- */

static heed_status gather_rule(const heed_call *call, heed_result *result)
{
    int dim;
    result->shape = heed_shape_of_tensor(call->inputs[1]);
    return check_index(call, &dim);
}

static heed_status gather_forward(const heed_call *call, heed_tensor *y)
{
    const heed_places places = named_places(call, call->inputs[0]);
    if (places.index != NULL) {
        heed_look_up(&places, call->inputs[0], y);
    }
    return heed_self.error;
}

static void gather_backward(const heed_vjp *v)
{
    heed_tensor *zero = heed_scalar(0, v->g->dtype);
    heed_tensor *zeros = heed_expand(zero, heed_shape_of_tensor(v->inputs[0]));
    v->grads[0] = heed_scatter_add(zeros, *(const int *)v->args, v->inputs[1], v->g);
}

HEED_OPERATION(gather) = {.name = "gather",
                          .inputs = 2,
                          .names = HEED_NAMES("x", "index"),
                          .rule = gather_rule,
                          .forward = gather_forward,
                          .backward = gather_backward,
                          .saves = {HEED_SAVES_INPUT(1)}};

heed_tensor *heed_gather(heed_tensor *x, int dim, heed_tensor *index)
{
    return heed_apply(&op_gather, (heed_tensor *[]){x, index}, 2, &dim, sizeof dim);
}

/* ---- scatter_add: inputs are x, index, src ---- */

static heed_status scatter_add_rule(const heed_call *call, heed_result *result)
{
    (void)result;
    const heed_tensor *x = call->inputs[0], *index = call->inputs[1], *src = call->inputs[2];
    int dim;
    if (check_index(call, &dim) != HEED_OK || heed_expect_dtype(call, 2, x->dtype) != HEED_OK) {
        return heed_self.error;
    }
    if (index->numel > 0 && !fits(index, src, -1)) {
        return heed_fail(HEED_ERR_SHAPE,
                         "scatter_add: index %s does not fit src %s: as many dims, and none larger "
                         "than src's",
                         HEED_TEXT(index), HEED_TEXT(src));
    }
    return HEED_OK;
}

static heed_status scatter_add_forward(const heed_call *call, heed_tensor *y)
{
    const heed_tensor *src = call->inputs[2];
    const heed_places places = named_places(call, y);
    if (places.index != NULL) {
        heed_operand from = heed_operand_of(src, src->ndim, src->shape, y->dtype);
        heed_copy_elements(call->inputs[0], y);
        heed_add_at(&places, &from, y);
    }
    return heed_self.error;
}

/* The gradient of src: what the index reads of g; zeros behind it in each dim where src is larger. */
static heed_tensor *read_back(const heed_vjp *v)
{
    const heed_tensor *index = v->inputs[1];
    const heed_shape whole = heed_shape_of_tensor(v->inputs[2]);
    if (index->numel == 0) {
        return heed_zeros(whole, v->g->dtype);
    }
    heed_tensor *part = heed_gather(v->g, *(const int *)v->args, v->inputs[1]);
    heed_shape shape = heed_shape_of_tensor(index);
    if (shape.ndim != whole.ndim) { /* () and (1) */
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
        v->grads[2] = read_back(v);
    }
}

HEED_OPERATION(scatter_add) = {.name = "scatter_add",
                               .inputs = 3,
                               .names = HEED_NAMES("x", "index", "src"),
                               .rule = scatter_add_rule,
                               .forward = scatter_add_forward,
                               .backward = scatter_add_backward,
                               .saves = {0, 0, HEED_SAVES_INPUT(1)}};

heed_tensor *heed_scatter_add(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *src)
{
    return heed_apply(&op_scatter_add, (heed_tensor *[]){x, index, src}, 3, &dim, sizeof dim);
}
