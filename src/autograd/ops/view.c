/* Views that move or repeat dims: transpose, permute, expand, broadcast_to; and detach. */
#include <string.h>

#include "../../tensor/check.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "shape.h"

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

/* ---- permute ---- */

static heed_status permute_rule(const heed_call *call, heed_result *result)
{
    const heed_dims *dims = call->args;
    const heed_tensor *x = call->inputs[0];
    unsigned set;
    if (dims->count != x->ndim) {
        return heed_fail(HEED_ERR_DIM, "permute: %d dims for a tensor %s; name each of its %d once",
                         dims->count, HEED_TEXT(x), x->ndim);
    }
    if (heed_wrap_dims("permute", *dims, x->ndim, &set) != HEED_OK) {
        return heed_self.error;
    }
    result->is_view = true;
    for (int i = 0; i < x->ndim; i++) {
        const int from = dims->dim[i] < 0 ? dims->dim[i] + x->ndim : dims->dim[i];
        result->shape.size[i] = x->shape[from];
        result->strides[i] = x->strides[from];
    }
    return HEED_OK;
}

/* Each dim goes back to where it came from. */
static void permute_backward(const heed_vjp *v)
{
    const heed_dims *dims = v->args;
    heed_dims back = {.count = dims->count};
    for (int i = 0; i < dims->count; i++) {
        back.dim[dims->dim[i] < 0 ? dims->dim[i] + dims->count : dims->dim[i]] = i;
    }
    v->grads[0] = heed_permute(v->g, back);
}

HEED_OPERATION(permute) = {
    .name = "permute", .inputs = 1, .rule = permute_rule, .backward = permute_backward};

heed_tensor *heed_permute(heed_tensor *x, heed_dims dims)
{
    return heed_apply(&op_permute, &x, 1, &dims, sizeof dims);
}

/* ---- expand, broadcast_to ---- */

/* The shape that x is asked to expand to: -1 keeps a size. */
static heed_status expanded_shape(const char *function, const heed_tensor *x,
                                  const heed_shape *asked, heed_shape *shape)
{
    const int added = asked->ndim - x->ndim;
    int64_t numel;
    if (asked->ndim > HEED_MAX_DIMS || added < 0) {
        return heed_fail(HEED_ERR_SHAPE, "%s: %s to %d dims; at least its own, at most %d",
                         function, HEED_TEXT(x), asked->ndim, HEED_MAX_DIMS);
    }
    *shape = *asked;
    for (int i = 0; i < asked->ndim; i++) {
        int64_t *size = &shape->size[i];
        if (*size == -1 && i >= added) {
            *size = x->shape[i - added];
        }
        if (*size < 0 || (i >= added && x->shape[i - added] != 1 && x->shape[i - added] != *size)) {
            return heed_fail(HEED_ERR_SHAPE,
                             "%s: %s does not expand to %s: only dims of size 1 repeat", function,
                             HEED_TEXT(x), heed_shape_text(asked->ndim, asked->size).text);
        }
    }
    return heed_count_elements(function, shape->ndim, shape->size, x->dtype, &numel);
}

static heed_status expand_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0];
    if (expanded_shape("expand", x, call->args, &result->shape) != HEED_OK) {
        return heed_self.error;
    }
    result->is_view = true;
    heed_broadcast_strides(x, result->shape.ndim, result->shape.size, result->strides);
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

heed_tensor *heed_broadcast_to(heed_tensor *x, heed_shape shape)
{
    heed_shape found;
    if (heed_check_operand("broadcast_to", "x", x) != HEED_OK ||
        expanded_shape("broadcast_to", x, &shape, &found) != HEED_OK) {
        return NULL;
    }
    return heed_expand(x, found);
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
