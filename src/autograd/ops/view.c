/* The same elements with a different shape, layout or dtype: views (transpose, permute, expand,
 * reshape and its variants, detach) and copies (clone, contiguous, to). The rule of a view computes
 * its strides; reshape copies if no strides exist for the new shape. For parts of a tensor see
 * slice.c. */

#include "operations.h"

#include <stdio.h>
#include <string.h>

#include "../../tensor/check.h"
#include "../../tensor/elements.h"
#include "../../tensor/handle.h"
#include "../../tensor/read.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"

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

HEED_OPERATION(transpose) = {.name = "transpose",
                             .inputs = 1,
                             .args = "int dim0, int dim1",
                             .rule = transpose_rule,
                             .backward = transpose_backward};

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
        return heed_fail(HEED_ERR_DIM, "permute: %d dims for a tensor %s; list each of its %d once",
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

/* Permutes each dim back. */
static void permute_backward(const heed_vjp *v)
{
    const heed_dims *dims = v->args;
    heed_dims back = {.count = dims->count};
    for (int i = 0; i < dims->count; i++) {
        back.dim[dims->dim[i] < 0 ? dims->dim[i] + dims->count : dims->dim[i]] = i;
    }
    v->grads[0] = heed_permute(v->g, back);
}

HEED_OPERATION(permute) = {.name = "permute",
                           .inputs = 1,
                           .args = "dims dims",
                           .rule = permute_rule,
                           .backward = permute_backward};

heed_tensor *heed_permute(heed_tensor *x, heed_dims dims)
{
    return heed_apply(&op_permute, &x, 1, &dims, sizeof dims);
}

/* ---- expand ---- */

/* Each -1 stands for x's size. */
static heed_status expand_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0];
    const heed_shape *asked = call->args;
    const int added = asked->ndim - x->ndim;
    heed_shape *shape = &result->shape;
    int64_t numel;
    if (asked->ndim > HEED_MAX_DIMS || added < 0) {
        return heed_fail(HEED_ERR_SHAPE,
                         "expand: %s to %d dims; it needs at least its own, and at most %d",
                         HEED_TEXT(x), asked->ndim, HEED_MAX_DIMS);
    }
    *shape = *asked;
    for (int i = 0; i < asked->ndim; i++) {
        int64_t *size = &shape->size[i];
        if (*size == -1 && i >= added) {
            *size = x->shape[i - added];
        }
        if (*size < 0 || (i >= added && x->shape[i - added] != 1 && x->shape[i - added] != *size)) {
            return heed_fail(HEED_ERR_SHAPE,
                             "expand: %s does not expand to %s: only dims of size 1 expand",
                             HEED_TEXT(x), heed_shape_text(asked->ndim, asked->size).text);
        }
    }
    if (heed_count_elements("expand", shape->ndim, shape->size, x->dtype, &numel) != HEED_OK) {
        return heed_self.error;
    }
    result->is_view = true;
    heed_broadcast_strides(x, shape->ndim, shape->size, result->strides);
    return HEED_OK;
}

/* For expand, the engine sums g over the repeated dims. */
static void same_backward(const heed_vjp *v)
{
    v->grads[0] = v->g;
}

HEED_OPERATION(expand) = {.name = "expand",
                          .inputs = 1,
                          .args = "shape shape",
                          .rule = expand_rule,
                          .backward = same_backward};

heed_tensor *heed_expand(heed_tensor *x, heed_shape shape)
{
    return heed_apply(&op_expand, &x, 1, &shape, sizeof shape);
}

/* ---- reshape ---- */

/* Infers the size that is -1. False if the sizes do not multiply to `numel`, more than one is -1,
 * or one is less than -1. */
static bool find_sizes(int64_t numel, const heed_shape *asked, heed_shape *shape)
{
    int unknown = -1;
    int64_t known = 1;
    bool overflow = false;
    *shape = *asked;
    for (int i = 0; i < asked->ndim; i++) {
        if (asked->size[i] == -1 && unknown < 0) {
            unknown = i;
        } else if (asked->size[i] < 0) {
            return false;
        } else {
            overflow = __builtin_mul_overflow(known, asked->size[i], &known) || overflow;
        }
    }
    if (overflow || unknown < 0) {
        return !overflow && known == numel;
    }
    if (known == 0 || numel % known != 0) {
        return false;
    }
    shape->size[unknown] = numel / known;
    return true;
}

/* Reports why the sizes do not fit `what`. */
static heed_status refuse_sizes(const char *function, const char *what, int64_t numel,
                                const heed_shape *asked)
{
    const heed_text sizes = heed_shape_text(asked->ndim, asked->size);
    int unknown = 0;
    bool less = false;
    for (int i = 0; i < asked->ndim; i++) {
        unknown += asked->size[i] == -1;
        less = less || asked->size[i] < -1;
    }
    if (unknown > 1 || less) {
        return heed_fail(HEED_ERR_SHAPE, "%s: sizes %s: only one may be -1, and none less",
                         function, sizes.text);
    }
    return heed_fail(HEED_ERR_SHAPE, "%s: %s has %lld elements, which do not fill %s", function,
                     what, (long long)numel, sizes.text);
}

/* Strides of a view of x with a different shape. Each group of adjacent dims that are contiguous in
 * memory can be divided differently. False if a copy is needed. */
static bool view_strides(const heed_tensor *x, const heed_shape *shape, int64_t *strides)
{
    if (x->numel == 0) {
        heed_row_major(shape->ndim, shape->size, strides);
        return true;
    }
    int to = shape->ndim - 1;
    int64_t group = 1, cut = 1; /* elements of the group in x's dims and in the new dims */
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
    for (; to >= 0; to--) { /* of a tensor without dims */
        strides[to] = 1;
    }
    return true;
}

static heed_status reshape_rule(const heed_call *call, heed_result *result)
{
    const heed_shape *asked = call->args;
    const heed_tensor *x = call->inputs[0];
    int64_t numel = 0;
    if (asked->ndim < 0 || asked->ndim > HEED_MAX_DIMS) {
        return heed_count_elements("reshape", asked->ndim, asked->size, HEED_F32, &numel);
    }
    if (!find_sizes(x->numel, asked, &result->shape)) {
        return refuse_sizes("reshape", HEED_TEXT(x), x->numel, asked);
    }
    result->is_view = view_strides(x, &result->shape, result->strides);
    return HEED_OK;
}

/* Copies x into a view of y with x's shape. */
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

/* Also used by squeeze and unsqueeze. */
static void reshape_backward(const heed_vjp *v)
{
    v->grads[0] = heed_reshape(v->g, heed_shape_of_tensor(v->inputs[0]));
}

HEED_OPERATION(reshape) = {.name = "reshape",
                           .kind = HEED_KIND_RESHAPE,
                           .inputs = 1,
                           .args = "shape shape",
                           .rule = reshape_rule,
                           .forward = reshape_forward,
                           .backward = reshape_backward};

heed_tensor *heed_reshape(heed_tensor *x, heed_shape shape)
{
    return heed_apply(&op_reshape, &x, 1, &shape, sizeof shape);
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

HEED_OPERATION(squeeze) = {.name = "squeeze",
                           .inputs = 1,
                           .args = "int dim",
                           .rule = squeeze_rule,
                           .backward = reshape_backward};

heed_tensor *heed_squeeze(heed_tensor *x, int dim)
{
    return heed_apply(&op_squeeze, &x, 1, &dim, sizeof dim);
}

static heed_status unsqueeze_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0];
    int dim;
    if (x->ndim == HEED_MAX_DIMS) {
        return heed_fail(HEED_ERR_SHAPE, "unsqueeze: %s already has %d dims, the maximum",
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

HEED_OPERATION(unsqueeze) = {.name = "unsqueeze",
                             .inputs = 1,
                             .args = "int dim",
                             .rule = unsqueeze_rule,
                             .backward = reshape_backward};

heed_tensor *heed_unsqueeze(heed_tensor *x, int dim)
{
    return heed_apply(&op_unsqueeze, &x, 1, &dim, sizeof dim);
}

/* ---- flatten, unflatten ---- */

heed_tensor *heed_flatten(heed_tensor *x, int start_dim, int end_dim)
{
    int start, end;
    if (heed_check_operand("flatten", "x", x) != HEED_OK ||
        heed_wrap_dim("flatten", start_dim, x->ndim, &start) != HEED_OK ||
        heed_wrap_dim("flatten", end_dim, x->ndim, &end) != HEED_OK) {
        return NULL;
    }
    if (start > end) {
        heed_fail(HEED_ERR_DIM, "flatten: start_dim %d comes after end_dim %d in a tensor %s",
                  start_dim, end_dim, HEED_TEXT(x));
        return NULL;
    }
    if (start == end && x->ndim > 0) {
        return x;
    }
    heed_shape flat = {.ndim = start + 1};
    for (int i = 0; i < start; i++) {
        flat.size[i] = x->shape[i];
    }
    flat.size[start] = 1;
    for (int i = start; i <= end && i < x->ndim; i++) {
        flat.size[start] *= x->shape[i];
    }
    for (int i = end + 1; i < x->ndim; i++) {
        flat.size[flat.ndim++] = x->shape[i];
    }
    return heed_reshape(x, flat);
}

heed_tensor *heed_unflatten(heed_tensor *x, int dim, heed_shape sizes)
{
    int place;
    int64_t numel;
    heed_shape found, shape = {0};
    if (heed_check_operand("unflatten", "x", x) != HEED_OK ||
        heed_wrap_dim("unflatten", dim, x->ndim, &place) != HEED_OK) {
        return NULL;
    }
    if (x->ndim == 0) {
        heed_fail(HEED_ERR_DIM, "unflatten: a tensor without dims has no dim to unflatten");
        return NULL;
    }
    if (sizes.ndim < 1 || sizes.ndim > HEED_MAX_DIMS + 1 - x->ndim) {
        heed_fail(
            HEED_ERR_SHAPE,
            "unflatten: %d sizes for dim %d of %s; pass at least one, for at most %d dims in total",
            sizes.ndim, dim, HEED_TEXT(x), HEED_MAX_DIMS);
        return NULL;
    }
    if (!find_sizes(x->shape[place], &sizes, &found)) {
        char what[192];
        snprintf(what, sizeof what, "dim %d of %s", dim, HEED_TEXT(x));
        refuse_sizes("unflatten", what, x->shape[place], &sizes);
        return NULL;
    }
    for (int i = 0; i < x->ndim; i++) {
        for (int j = 0; j < (i == place ? found.ndim : 1); j++) {
            shape.size[shape.ndim++] = i == place ? found.size[j] : x->shape[i];
        }
    }
    if (heed_count_elements("unflatten", shape.ndim, shape.size, x->dtype, &numel) != HEED_OK) {
        return NULL;
    }
    return heed_reshape(x, shape);
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

/* ---- clone, contiguous ---- */

static heed_status copy_forward(const heed_call *call, heed_tensor *y)
{
    heed_copy_elements(call->inputs[0], y);
    return HEED_OK;
}

HEED_OPERATION(clone) = {
    .name = "clone", .inputs = 1, .forward = copy_forward, .backward = same_backward};

heed_tensor *heed_clone(heed_tensor *x)
{
    return heed_apply(&op_clone, &x, 1, NULL, 0);
}

heed_tensor *heed_contiguous(heed_tensor *x)
{
    if (heed_blocked() || heed_check_tensor("contiguous", "x", x) != HEED_OK) {
        return NULL;
    }
    return heed_is_row_major(x) ? x : heed_clone(x);
}

/* ---- to ---- */

static heed_status to_rule(const heed_call *call, heed_result *result)
{
    result->dtype = *(const heed_dtype *)call->args;
    return HEED_OK;
}

static void to_backward(const heed_vjp *v)
{
    v->grads[0] = heed_to(v->g, v->inputs[0]->dtype);
}

HEED_OPERATION(to) = {.name = "to",
                      .inputs = 1,
                      .args = "dtype dtype",
                      .rule = to_rule,
                      .forward = copy_forward,
                      .backward = to_backward};

heed_tensor *heed_to(heed_tensor *x, heed_dtype dtype)
{
    if (x != NULL && x->dtype == dtype && x->storage != NULL && !heed_blocked()) {
        return x;
    }
    return heed_apply(&op_to, &x, 1, &dtype, sizeof dtype);
}
