/* Parts and wholes: slice, its backward, and cat. */
#include <string.h>

#include "autograd/op.h"
#include "autograd/promote.h"
#include "autograd/shape.h"
#include "tensor/iterate.h"

/* ---- slice ---- */

typedef struct slice_args {
    heed_shape whole; /* of slice_backward's result */
    int dim;
    int64_t start, end, step;
} slice_args;

/* Where a slice begins and how many places it has, cut to the size of its dim as Python does. */
static heed_status cut_slice(const char *function, const slice_args *args, int ndim,
                             const int64_t *shape, int *dim, int64_t *start, int64_t *count)
{
    if (heed_wrap_dim(function, args->dim, ndim, dim) != HEED_OK) {
        return heed_self.error;
    }
    if (ndim == 0) {
        return heed_fail(HEED_ERR_DIM, "%s: a tensor without dims has nothing to slice", function);
    }
    if (args->step < 1) {
        return heed_fail(HEED_ERR_VALUE, "%s: step %lld; it must be 1 or more", function,
                         (long long)args->step);
    }
    const int64_t size = shape[*dim];
    int64_t first = args->start < 0 ? args->start + size : args->start;
    int64_t end = args->end < 0 ? args->end + size : args->end;
    first = first < 0 ? 0 : first > size ? size : first;
    end = end < first ? first : end > size ? size : end;
    *start = first;
    *count = end == first ? 0 : (end - first - 1) / args->step + 1;
    return HEED_OK;
}

static heed_status slice_rule(const heed_call *call, heed_result *result)
{
    const slice_args *args = call->args;
    const heed_tensor *x = call->inputs[0];
    int dim;
    int64_t start, count;
    if (cut_slice("slice", args, x->ndim, x->shape, &dim, &start, &count) != HEED_OK) {
        return heed_self.error;
    }
    result->is_view = true;
    memcpy(result->strides, x->strides, sizeof *x->strides * x->ndim);
    result->shape.size[dim] = count;
    if (count > 1) {
        result->strides[dim] *= args->step; /* cannot overflow: the last place is inside x */
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

HEED_OPERATION(slice) = {
    .name = "slice", .inputs = 1, .rule = slice_rule, .backward = slice_backward};

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
    int dim;
    int64_t start, count, numel;
    if (heed_count_elements("slice_backward", args->whole.ndim, args->whole.size, g->dtype,
                            &numel) != HEED_OK ||
        cut_slice("slice_backward", args, args->whole.ndim, args->whole.size, &dim, &start,
                  &count) != HEED_OK) {
        return heed_self.error;
    }
    heed_shape part = args->whole;
    part.size[dim] = count;
    if (part.ndim != g->ndim || memcmp(part.size, g->shape, sizeof *g->shape * g->ndim) != 0) {
        return heed_fail(HEED_ERR_SHAPE, "slice_backward: g %s is not of the slice's shape %s",
                         HEED_TEXT(g), heed_shape_text(part.ndim, part.size).text);
    }
    result->shape = args->whole;
    return HEED_OK;
}

/* The part of y that a slice takes, filled from x; the rest of y is left as it is. */
static heed_status fill_slice(const slice_args *args, const heed_tensor *x, heed_tensor *y)
{
    heed_tensor *part = heed_slice(y, args->dim, args->start, args->end, args->step);
    if (part == NULL) {
        return heed_self.error;
    }
    heed_copy_elements(x, part);
    return HEED_OK;
}

static heed_status slice_backward_forward(const heed_call *call, heed_tensor *y)
{
    heed_fill_elements(y, 0);
    return fill_slice(call->args, call->inputs[0], y);
}

static void slice_backward_backward(const heed_vjp *v)
{
    const slice_args *args = v->args;
    v->grads[0] = heed_slice(v->g, args->dim, args->start, args->end, args->step);
}

HEED_OPERATION(slice_backward) = {.name = "slice_backward",
                                  .inputs = 1,
                                  .rule = slice_backward_rule,
                                  .forward = slice_backward_forward,
                                  .backward = slice_backward_backward};

heed_tensor *heed_slice_backward(heed_tensor *g, heed_shape shape, int dim, int64_t start,
                                 int64_t end, int64_t step)
{
    const slice_args args = {shape, dim, start, end, step};
    return heed_apply(&op_slice_backward, &g, 1, &args, sizeof args);
}

/* ---- cat ---- */

static heed_status cat_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *first = call->inputs[0];
    int dim;
    if (heed_wrap_dim("cat", *(const int *)call->args, first->ndim, &dim) != HEED_OK) {
        return heed_self.error;
    }
    for (int i = 0; i < call->count; i++) {
        const heed_tensor *x = call->inputs[i];
        bool fits = x->ndim == first->ndim && x->ndim > 0;
        for (int j = 0; fits && j < x->ndim; j++) {
            fits = j == dim || x->shape[j] == first->shape[j];
        }
        if (!fits) {
            return heed_fail(HEED_ERR_SHAPE,
                             "cat: tensor %d %s does not join %s in dim %d; all other sizes must "
                             "be equal",
                             i, HEED_TEXT(x), HEED_TEXT(first), dim);
        }
        if (heed_promote("cat", x->dtype, result->dtype, &result->dtype) != HEED_OK) {
            return heed_self.error;
        }
        if (i > 0 && __builtin_add_overflow(result->shape.size[dim], x->shape[dim],
                                            &result->shape.size[dim])) {
            return heed_fail(HEED_ERR_OVERFLOW, "cat: sizes in dim %d overflow", dim);
        }
    }
    return HEED_OK;
}

static heed_status cat_forward(const heed_call *call, heed_tensor *y)
{
    slice_args args = {.dim = *(const int *)call->args, .step = 1};
    for (int i = 0; i < call->count; i++) {
        const int64_t size = heed_size(call->inputs[i], args.dim);
        args.end = args.start + size;
        if (fill_slice(&args, call->inputs[i], y) != HEED_OK) {
            return heed_self.error;
        }
        args.start += size;
    }
    return HEED_OK;
}

static void cat_backward(const heed_vjp *v)
{
    const int dim = *(const int *)v->args;
    int64_t start = 0;
    for (int i = 0; i < v->y->input_count; i++) {
        const int64_t size = heed_size(v->inputs[i], dim);
        if (heed_wants_grad(v, i)) {
            v->grads[i] = heed_slice(v->g, dim, start, start + size, 1);
        }
        start += size;
    }
}

HEED_OPERATION(cat) = {.name = "cat",
                       .inputs = HEED_ANY_COUNT,
                       .rule = cat_rule,
                       .forward = cat_forward,
                       .backward = cat_backward};

heed_tensor *heed_cat(heed_tensor *const *tensors, int count, int dim)
{
    return heed_apply(&op_cat, tensors, count, &dim, sizeof dim);
}
