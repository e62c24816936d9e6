/* Views: transpose, reshape, expand, squeeze, unsqueeze, detach. Where a view cannot be had,
 * reshape copies. */
#include <string.h>

#include "autograd/op.h"
#include "autograd/shape.h"
#include "tensor/iterate.h"

/* Several views have the same gradient: g in the shape of the input. */
static void reshape_backward(const heed_vjp *v)
{
    v->grads[0] = heed_reshape(v->g, heed_shape_of_tensor(v->inputs[0]));
}

/* ---- transpose ---- */

typedef struct transpose_args {
    int dim0, dim1;
} transpose_args;

static heed_status transpose_rule(const heed_call *call, heed_result *result)
{
    const transpose_args *args = call->args;
    const heed_tensor *x = call->inputs[0];
    int i, j;
    if (heed_wrap_dim("transpose", args->dim0, x->ndim, &i) != HEED_OK ||
        heed_wrap_dim("transpose", args->dim1, x->ndim, &j) != HEED_OK) {
        return heed_self.error;
    }
    result->is_view = true;
    if (x->ndim > 0) {
        memcpy(result->strides, x->strides, sizeof *x->strides * x->ndim);
        result->shape.size[i] = x->shape[j];
        result->shape.size[j] = x->shape[i];
        result->strides[i] = x->strides[j];
        result->strides[j] = x->strides[i];
    }
    return HEED_OK;
}

static void transpose_backward(const heed_vjp *v)
{
    const transpose_args *args = v->args;
    v->grads[0] = heed_transpose(v->g, args->dim0, args->dim1);
}

HEED_OPERATION(transpose) = {
    .name = "transpose", .inputs = 1, .rule = transpose_rule, .backward = transpose_backward};

heed_tensor *heed_transpose(heed_tensor *x, int dim0, int dim1)
{
    const transpose_args args = {dim0, dim1};
    return heed_apply(&op_transpose, &x, 1, &args, sizeof args);
}

/* ---- reshape ---- */

/* Fills in the size that is -1, and checks the number of elements. */
static heed_status find_sizes(const heed_tensor *x, const heed_shape *asked, heed_shape *shape)
{
    int unknown = -1;
    int64_t known = 1;
    bool overflow = false;
    *shape = *asked;
    for (int i = 0; i < asked->ndim; i++) {
        if (asked->size[i] == -1 && unknown < 0) {
            unknown = i;
        } else if (asked->size[i] < 0) {
            return heed_fail(HEED_ERR_SHAPE, "reshape: sizes %s: one may be -1, none less",
                             heed_shape_text(asked->ndim, asked->size).text);
        } else {
            overflow = __builtin_mul_overflow(known, asked->size[i], &known) || overflow;
        }
    }
    if (unknown >= 0 && known > 0 && x->numel % known == 0) {
        shape->size[unknown] = x->numel / known;
        known = x->numel;
    } else if (unknown >= 0) {
        known = -1;
    }
    if (overflow || known != x->numel) {
        return heed_fail(HEED_ERR_SHAPE, "reshape: %s has %lld elements, which do not fill %s",
                         HEED_TEXT(x), (long long)x->numel,
                         heed_shape_text(asked->ndim, asked->size).text);
    }
    return HEED_OK;
}

/* The strides with which x is seen in another shape, dim by dim: each group of x's dims that lie
 * one behind the other may be cut anew. False where a copy is needed. */
static bool view_strides(const heed_tensor *x, const heed_shape *shape, int64_t *strides)
{
    if (x->numel == 0) {
        heed_row_major(shape->ndim, shape->size, strides);
        return true;
    }
    int to = shape->ndim - 1;
    int64_t group = 1, cut = 1; /* elements of the group so far, in x and in the new shape */
    int64_t step = x->ndim > 0 ? x->strides[x->ndim - 1] : 1;
    for (int from = x->ndim - 1; from >= 0; from--) {
        group *= x->shape[from];
        bool ends = from == 0 || (x->shape[from - 1] != 1 && x->strides[from - 1] != group * step);
        if (!ends) {
            continue;
        }
        while (to >= 0 && (cut < group || shape->size[to] == 1)) {
            strides[to] = cut * step;
            cut *= shape->size[to--];
        }
        if (cut != group) {
            return false;
        }
        if (from > 0) {
            step = x->strides[from - 1];
            group = cut = 1;
        }
    }
    for (; to >= 0; to--) {
        strides[to] = cut * step;
    }
    return true;
}

static heed_status reshape_rule(const heed_call *call, heed_result *result)
{
    const heed_shape *asked = call->args;
    int64_t numel = 0;
    if (asked->ndim < 0 || asked->ndim > HEED_MAX_DIMS) {
        return heed_count_elements("reshape", asked->ndim, asked->size, HEED_F32, &numel);
    }
    if (find_sizes(call->inputs[0], asked, &result->shape) != HEED_OK) {
        return heed_self.error;
    }
    result->is_view = view_strides(call->inputs[0], &result->shape, result->strides);
    return HEED_OK;
}

/* Copies into y seen in x's shape. */
static heed_status reshape_forward(const heed_call *call, heed_tensor *y)
{
    const heed_tensor *x = call->inputs[0];
    int64_t strides[HEED_MAX_DIMS];
    heed_row_major(x->ndim, x->shape, strides);
    heed_tensor *as_x = heed_tensor_view("reshape", y, x->ndim, x->shape, strides, 0);
    if (as_x == NULL) {
        return heed_self.error;
    }
    heed_copy_elements(x, as_x);
    heed_unref(as_x);
    return HEED_OK;
}

HEED_OPERATION(reshape) = {.name = "reshape",
                           .inputs = 1,
                           .rule = reshape_rule,
                           .forward = reshape_forward,
                           .backward = reshape_backward};

heed_tensor *heed_reshape(heed_tensor *x, heed_shape shape)
{
    return heed_apply(&op_reshape, &x, 1, &shape, sizeof shape);
}

/* ---- expand ---- */

static heed_status expand_rule(const heed_call *call, heed_result *result)
{
    const heed_shape *asked = call->args;
    const heed_tensor *x = call->inputs[0];
    const int added = asked->ndim - x->ndim;
    if (asked->ndim > HEED_MAX_DIMS || added < 0) {
        return heed_fail(HEED_ERR_SHAPE, "expand: %s to %d dims; at least its own, at most %d",
                         HEED_TEXT(x), asked->ndim, HEED_MAX_DIMS);
    }
    result->shape = *asked;
    for (int i = 0; i < asked->ndim; i++) {
        int64_t *size = &result->shape.size[i];
        if (*size == -1 && i >= added) {
            *size = x->shape[i - added];
        }
        if (*size < 0 || (i >= added && x->shape[i - added] != 1 && x->shape[i - added] != *size)) {
            return heed_fail(HEED_ERR_SHAPE,
                             "expand: %s does not expand to %s: only dims of size 1 repeat",
                             HEED_TEXT(x), heed_shape_text(asked->ndim, asked->size).text);
        }
    }
    result->is_view = true;
    heed_broadcast_strides(x, asked->ndim, result->shape.size, result->strides);
    return HEED_OK;
}

/* g has the expanded shape; the engine sums what was repeated. */
static void expand_backward(const heed_vjp *v)
{
    v->grads[0] = v->g;
}

HEED_OPERATION(expand) = {
    .name = "expand", .inputs = 1, .rule = expand_rule, .backward = expand_backward};

heed_tensor *heed_expand(heed_tensor *x, heed_shape shape)
{
    return heed_apply(&op_expand, &x, 1, &shape, sizeof shape);
}

/* ---- squeeze, unsqueeze ---- */

static heed_status squeeze_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0];
    int dim;
    if (heed_wrap_dim("squeeze", *(const int *)call->args, x->ndim, &dim) != HEED_OK) {
        return heed_self.error;
    }
    result->is_view = true;
    result->shape.ndim = 0;
    for (int i = 0; i < x->ndim; i++) {
        if (i != dim || x->shape[i] != 1) {
            result->shape.size[result->shape.ndim] = x->shape[i];
            result->strides[result->shape.ndim++] = x->strides[i];
        }
    }
    return HEED_OK;
}

HEED_OPERATION(squeeze) = {
    .name = "squeeze", .inputs = 1, .rule = squeeze_rule, .backward = reshape_backward};

heed_tensor *heed_squeeze(heed_tensor *x, int dim)
{
    return heed_apply(&op_squeeze, &x, 1, &dim, sizeof dim);
}

static heed_status unsqueeze_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0];
    int dim;
    if (x->ndim == HEED_MAX_DIMS) {
        return heed_fail(HEED_ERR_SHAPE, "unsqueeze: %s has %d dims already, the most there are",
                         HEED_TEXT(x), HEED_MAX_DIMS);
    }
    if (heed_wrap_dim("unsqueeze", *(const int *)call->args, x->ndim + 1, &dim) != HEED_OK) {
        return heed_self.error;
    }
    result->is_view = true;
    result->shape.ndim = x->ndim + 1;
    for (int i = 0, from = 0; i <= x->ndim; i++) {
        result->shape.size[i] = i == dim ? 1 : x->shape[from];
        result->strides[i] = i == dim ? 1 : x->strides[from];
        from += i != dim;
    }
    return HEED_OK;
}

HEED_OPERATION(unsqueeze) = {
    .name = "unsqueeze", .inputs = 1, .rule = unsqueeze_rule, .backward = reshape_backward};

heed_tensor *heed_unsqueeze(heed_tensor *x, int dim)
{
    return heed_apply(&op_unsqueeze, &x, 1, &dim, sizeof dim);
}

/* ---- detach ---- */

static heed_status detach_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0];
    result->is_view = true;
    memcpy(result->strides, x->strides, sizeof *x->strides * x->ndim);
    return HEED_OK;
}

HEED_OPERATION(detach) = {.name = "detach", .inputs = 1, .rule = detach_rule};

heed_tensor *heed_detach(heed_tensor *x)
{
    return heed_apply(&op_detach, &x, 1, NULL, 0);
}
