/* Parts of a tensor, as views: slice, with a derivative that writes g into a tensor of zeros; and
 * select and narrow, composed of slices. See also split.c and subscript.c. */

#include "operations.h"

#include <string.h>

#include "../../tensor/check.h"
#include "../../tensor/elements.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "operand_checks.h"

/* ---- slice ---- */

typedef struct slice_args {
    heed_shape whole; /* of slice_backward's result */
    int dim;
    int64_t start, end, step;
} slice_args;

/* Computes the start and shape of a slice, clipped to the size of its dim as in Python. */
static heed_status cut_slice(const char *function, const slice_args *args, const heed_shape *of,
                             heed_shape *shape, int *dim, int64_t *start)
{
    if (heed_wrap_dim(function, args->dim, of->ndim, dim) != HEED_OK) {
        return heed_self.error;
    }
    if (of->ndim == 0) {
        return heed_fail(HEED_ERR_DIM, "%s: a tensor without dims cannot be sliced", function);
    }
    if (args->step < 1) {
        return heed_fail(HEED_ERR_VALUE, "%s: step is %lld; it must be 1 or more", function,
                         (long long)args->step);
    }
    const int64_t size = of->size[*dim];
    int64_t first = args->start < 0 ? args->start + size : args->start;
    int64_t end = args->end < 0 ? args->end + size : args->end;
    first = first < 0 ? 0 : first > size ? size : first;
    end = end < first ? first : end > size ? size : end;
    *start = first;
    *shape = *of;
    shape->size[*dim] = end == first ? 0 : (end - first - 1) / args->step + 1;
    return HEED_OK;
}

static heed_status slice_rule(const heed_call *call, heed_result *result)
{
    const slice_args *args = call->args;
    const heed_tensor *x = call->inputs[0];
    const heed_shape of = result->shape;
    int dim;
    int64_t start;
    if (cut_slice("slice", args, &of, &result->shape, &dim, &start) != HEED_OK) {
        return heed_self.error;
    }
    result->is_view = true;
    memcpy(result->strides, x->strides, sizeof *x->strides * x->ndim);
    if (result->shape.size[dim] > 1) {
        result->strides[dim] *= args->step; /* cannot overflow: the last index is inside x */
    }
    result->offset = start * x->strides[dim];
    return HEED_OK;
}

static void slice_backward(const heed_vjp *v)
{
    const slice_args *args = v->args;
    v->grads[0] = heed_slice_backward(v->g, heed_shape_of_tensor(v->inputs[0]), args->dim,
                                      args->start, args->end, args->step);
}

HEED_OPERATION(slice) = {.name = "slice",
                         .inputs = 1,
                         .args = "shape _whole, int dim, int64 start, int64 end, int64 step",
                         .rule = slice_rule,
                         .backward = slice_backward};

heed_tensor *heed_slice(heed_tensor *x, int dim, int64_t start, int64_t end, int64_t step)
{
    const slice_args args = {.dim = dim, .start = start, .end = end, .step = step};
    return heed_apply(&op_slice, &x, 1, &args, sizeof args);
}

/* ---- slice_backward ---- */

static heed_status slice_backward_rule(const heed_call *call, heed_result *result)
{
    const slice_args *args = call->args;
    const heed_tensor *g = call->inputs[0];
    heed_shape part;
    int dim;
    int64_t start, numel;
    result->shape = args->whole;
    if (heed_count_elements("slice_backward", args->whole.ndim, args->whole.size, g->dtype,
                            &numel) != HEED_OK ||
        cut_slice("slice_backward", args, &args->whole, &part, &dim, &start) != HEED_OK) {
        return heed_self.error;
    }
    if (!heed_has_shape(g, &part)) {
        return heed_fail(HEED_ERR_SHAPE, "slice_backward: g %s does not have the slice's shape %s",
                         HEED_TEXT(g), heed_shape_text(part.ndim, part.size).text);
    }
    return HEED_OK;
}

static heed_status slice_backward_forward(const heed_call *call, heed_tensor *y)
{
    const slice_args *args = call->args;
    heed_tensor *part = heed_slice(y, args->dim, args->start, args->end, args->step);
    if (part == NULL) {
        return heed_self.error;
    }
    heed_fill_elements(y, 0);
    heed_copy_elements(call->inputs[0], part);
    return HEED_OK;
}

static void slice_backward_backward(const heed_vjp *v)
{
    const slice_args *args = v->args;
    v->grads[0] = heed_slice(v->g, args->dim, args->start, args->end, args->step);
}

HEED_OPERATION(slice_backward) = {
    .name = "slice_backward",
    .inputs = 1,
    .args = "shape shape, int dim, int64 start, int64 end, int64 step",
    .rule = slice_backward_rule,
    .forward = slice_backward_forward,
    .backward = slice_backward_backward};

heed_tensor *heed_slice_backward(heed_tensor *g, heed_shape shape, int dim, int64_t start,
                                 int64_t end, int64_t step)
{
    const slice_args args = {shape, dim, start, end, step};
    return heed_apply(&op_slice_backward, &g, 1, &args, sizeof args);
}

/* ---- select, narrow ---- */

heed_tensor *heed_select(heed_tensor *x, int dim, int64_t index)
{
    int64_t size;
    if (heed_find_size("select", x, &dim, &size) != HEED_OK) {
        return NULL;
    }
    if (index < -size || index >= size) {
        heed_fail(HEED_ERR_INDEX, "select: index %lld is outside dim %d of %s", (long long)index,
                  dim, HEED_TEXT(x));
        return NULL;
    }
    const int64_t at = index < 0 ? index + size : index;
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *y = heed_squeeze(heed_slice(x, dim, at, at + 1, 1), dim);
    return heed_scope_end_with(&scope, y);
}

heed_tensor *heed_narrow(heed_tensor *x, int dim, int64_t start, int64_t length)
{
    int64_t size;
    if (heed_find_size("narrow", x, &dim, &size) != HEED_OK) {
        return NULL;
    }
    if (length < 0) {
        heed_fail(HEED_ERR_VALUE, "narrow: length is %lld; it must be 0 or more",
                  (long long)length);
        return NULL;
    }
    const int64_t first = start < 0 ? start + size : start;
    if (first < 0 || first > size || length > size - first) {
        heed_fail(HEED_ERR_INDEX,
                  "narrow: %lld elements starting at index %lld do not fit in dim %d of %s; "
                  "heed_slice would clip the range",
                  (long long)length, (long long)start, dim, HEED_TEXT(x));
        return NULL;
    }
    return heed_slice(x, dim, first, first + length, 1);
}
