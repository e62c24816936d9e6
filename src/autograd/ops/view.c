/* The same elements, or a part of them, with a different shape, layout or dtype. The rule of a view
 * computes its sizes and strides. reshape copies if no strides exist for the new shape; clone,
 * contiguous and to always copy. */
#include <string.h>

#include "../autograd.h"

/* ---- what views share ---- */

#define VIEW(id, fields, derivative)                                                               \
    OPERATION(id) = {                                                                              \
        .name = #id, .inputs = 1, .args = fields, .rule = id##_rule, .backward = derivative}

/* Makes the result a view with x's sizes and strides. */
static inline void keep_layout(heed_result *result, const heed_tensor *x)
{
    result->is_view = true;
    for (int i = 0; i < x->ndim; i++) {
        result->strides[i] = x->strides[i];
    }
}

/* The same for an operation on one dim. Returns its first argument, wrapped. */
static inline int begin_dim(const heed_call *call, heed_result *result, int ndim)
{
    keep_layout(result, call->inputs[0]);
    return heed_wrap_dim(call->op->name, *(const int *)call->args, ndim);
}

/* Dim i of the result is dim `from` of x. */
static inline void take_dim(heed_result *result, int i, const heed_tensor *x, int from)
{
    result->shape.size[i] = x->shape[from];
    result->strides[i] = x->strides[from];
}

static void same_backward(const heed_vjp *v)
{
    v->grads[0] = v->g;
}

static void reshape_backward(const heed_vjp *v)
{
    v->grads[0] = heed_reshape(v->g, heed_shape_of_tensor(v->inputs[0]));
}

/* ---- transpose, permute ---- */

static heed_status transpose_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0];
    const int i = begin_dim(call, result, x->ndim);
    const int j = heed_wrap_dim("transpose", ((const int *)call->args)[1], x->ndim);
    if (x->ndim > 0) {
        take_dim(result, i, x, j);
        take_dim(result, j, x, i);
    }
    return HEED_OK;
}

static void transpose_backward(const heed_vjp *v)
{
    const int *dims = v->args;
    v->grads[0] = heed_transpose(v->g, dims[0], dims[1]);
}

VIEW(transpose, "int dim0, int dim1", transpose_backward);

heed_tensor *heed_transpose(heed_tensor *x, int dim0, int dim1)
{
    return heed_apply(&op_transpose, &x, 1, (const int[]){dim0, dim1}, 2 * sizeof dim0);
}

static heed_status permute_rule(const heed_call *call, heed_result *result)
{
    const heed_dims *dims = call->args;
    const heed_tensor *x = call->inputs[0];
    if (dims->count != x->ndim) {
        heed_raise(HEED_ERR_DIM, "permute: %d dims for a tensor %s; list each of its %d once",
                   dims->count, HEED_TEXT(x), x->ndim);
    }
    heed_wrap_dims("permute", *dims, x->ndim);
    result->is_view = true;
    for (int i = 0; i < x->ndim; i++) {
        take_dim(result, i, x, heed_wrapped(dims->dim[i], x->ndim));
    }
    return HEED_OK;
}

static void permute_backward(const heed_vjp *v)
{
    const heed_dims *dims = v->args;
    heed_dims back = {.count = dims->count};
    for (int i = 0; i < dims->count; i++) {
        back.dim[heed_wrapped(dims->dim[i], dims->count)] = i;
    }
    v->grads[0] = heed_permute(v->g, back);
}

VIEW(permute, "dims dims", permute_backward);

heed_tensor *heed_permute(heed_tensor *x, heed_dims dims)
{
    return heed_apply(&op_permute, &x, 1, &dims, sizeof dims);
}

/* ---- expand, squeeze, unsqueeze ---- */

/* Each -1 stands for x's size. The engine sums the gradient over the repeated dims. */
static heed_status expand_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0];
    const heed_shape *asked = call->args;
    const int added = asked->ndim < 0 ? -1 : asked->ndim - x->ndim; /* any int may be given */
    if (asked->ndim > HEED_MAX_DIMS || added < 0) {
        heed_raise(HEED_ERR_SHAPE,
                   "expand: %s to %d dims; it needs at least its own, and at most %d", HEED_TEXT(x),
                   asked->ndim, HEED_MAX_DIMS);
    }
    result->is_view = true;
    result->shape.ndim = asked->ndim;
    for (int i = 0; i < asked->ndim; i++) {
        const int64_t old = i >= added ? x->shape[i - added] : 1;
        const int64_t size = i >= added && asked->size[i] == -1 ? old : asked->size[i];
        if (size < 0 || (old != 1 && old != size)) {
            heed_raise(HEED_ERR_SHAPE,
                       "expand: %s does not expand to %s: only dims of size 1 expand", HEED_TEXT(x),
                       heed_shape_text(asked->ndim, asked->size).text);
        }
        result->shape.size[i] = size;
        result->strides[i] = i < added || size != old ? 0 : x->strides[i - added];
    }
    return HEED_OK;
}

static heed_status squeeze_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0];
    const int dim = begin_dim(call, result, x->ndim);
    if (x->ndim > 0 && x->shape[dim] == 1) {
        result->shape.ndim--;
        for (int i = dim; i < result->shape.ndim; i++) {
            take_dim(result, i, x, i + 1);
        }
    }
    return HEED_OK;
}

static heed_status unsqueeze_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0];
    if (x->ndim == HEED_MAX_DIMS) {
        heed_raise(HEED_ERR_SHAPE, "unsqueeze: %s already has %d dims, the maximum", HEED_TEXT(x),
                   HEED_MAX_DIMS);
    }
    const int dim = begin_dim(call, result, x->ndim + 1);
    result->shape.size[dim] = result->strides[dim] = 1;
    for (int i = dim; i < x->ndim; i++) {
        take_dim(result, i + 1, x, i);
    }
    result->shape.ndim++;
    return HEED_OK;
}

VIEW(expand, "shape shape", same_backward);
VIEW(squeeze, "int dim", reshape_backward);
VIEW(unsqueeze, "int dim", reshape_backward);

heed_tensor *heed_expand(heed_tensor *x, heed_shape shape)
{
    return heed_apply(&op_expand, &x, 1, &shape, sizeof shape);
}

heed_tensor *heed_squeeze(heed_tensor *x, int dim)
{
    return heed_apply(&op_squeeze, &x, 1, &dim, sizeof dim);
}

heed_tensor *heed_unsqueeze(heed_tensor *x, int dim)
{
    return heed_apply(&op_unsqueeze, &x, 1, &dim, sizeof dim);
}

/* ---- slice, and its derivative slice_backward: zeros with g in the slice ---- */

#define SLICE_ARGS "int dim, int64 start, int64 end, int64 step"
typedef struct slice_args {
    int dim;
    int64_t start, end, step;
    heed_shape whole; /* for slice_backward: of the sliced tensor */
} slice_args;

/* Clips the start and the end to the size, as in Python. */
static heed_status slice_rule(const heed_call *call, heed_result *result)
{
    const slice_args *args = call->args;
    const heed_tensor *x = call->inputs[0];
    const int dim = begin_dim(call, result, x->ndim);
    if (x->ndim == 0) {
        heed_raise(HEED_ERR_DIM, "slice: a tensor without dims cannot be sliced");
    }
    const int64_t size = x->shape[dim];
    if (args->step < 1) {
        heed_raise(HEED_ERR_VALUE, "slice: step is %lld; it must be 1 or more",
                   (long long)args->step);
    }
    int64_t start = args->start < 0 ? args->start + size : args->start;
    int64_t end = args->end < 0 ? args->end + size : args->end;
    start = start < 0 ? 0 : start > size ? size : start;
    end = end > size ? size : end;
    result->shape.size[dim] = end > start ? (end - start - 1) / args->step + 1 : 0;
    result->offset = start * x->strides[dim];
    if (result->shape.size[dim] > 1) {
        result->strides[dim] *= args->step; /* cannot overflow: the last index is inside x */
    }
    return HEED_OK;
}

static heed_status slice_backward_rule(const heed_call *call, heed_result *result)
{
    result->shape = ((const slice_args *)call->args)->whole;
    return HEED_OK;
}

static heed_status slice_backward_forward(const heed_call *call, heed_tensor *y)
{
    const slice_args *args = call->args;
    heed_fill_elements(y, 0);
    heed_copy_elements(call->inputs[0],
                       heed_slice(y, args->dim, args->start, args->end, args->step));
    return HEED_OK;
}

static void slice_backward_backward(const heed_vjp *v)
{
    const slice_args *args = v->args;
    v->grads[0] = heed_slice(v->g, args->dim, args->start, args->end, args->step);
}

OPERATION(slice_backward) = {.name = "slice_backward",
                             .inputs = 1,
                             .args = SLICE_ARGS ", shape shape",
                             .rule = slice_backward_rule,
                             .forward = slice_backward_forward,
                             .backward = slice_backward_backward};

static void slice_backward(const heed_vjp *v)
{
    slice_args args;
    memcpy(&args, v->args, offsetof(slice_args, whole));
    args.whole = heed_shape_of_tensor(v->inputs[0]);
    v->grads[0] = heed_apply(&op_slice_backward, &v->g, 1, &args, sizeof args);
}

VIEW(slice, SLICE_ARGS, slice_backward);

heed_tensor *heed_slice(heed_tensor *x, int dim, int64_t start, int64_t end, int64_t step)
{
    const slice_args args = {.dim = dim, .start = start, .end = end, .step = step};
    return heed_apply(&op_slice, &x, 1, &args, offsetof(slice_args, whole));
}

/* ---- select, narrow, chunk: slices ---- */

/* Checks x, wraps *dim and returns its size. */
static int64_t find_size(const char *function, const heed_tensor *x, int *dim)
{
    heed_check_operand(function, "x", x);
    *dim = heed_wrap_dim(function, *dim, x->ndim);
    if (x->ndim == 0) {
        heed_raise(HEED_ERR_DIM, "%s: a tensor without dims has no dim %d", function, *dim);
    }
    return x->shape[*dim];
}

heed_tensor *heed_select(heed_tensor *x, int dim, int64_t index)
{
    HEED_DOOR(NULL);
    const int64_t size = find_size("select", x, &dim);
    const int64_t at = index < 0 ? index + size : index;
    if (at < 0 || at >= size) {
        heed_raise(HEED_ERR_INDEX, "select: index %lld is outside dim %d of %s", (long long)index,
                   dim, HEED_TEXT(x));
    }
    HEED_SCOPE(scope);
    return heed_scope_keep(&scope, heed_squeeze(heed_slice(x, dim, at, at + 1, 1), dim));
}

heed_tensor *heed_narrow(heed_tensor *x, int dim, int64_t start, int64_t length)
{
    HEED_DOOR(NULL);
    const int64_t size = find_size("narrow", x, &dim);
    const int64_t first = start < 0 ? start + size : start;
    if (first < 0 || first > size || length < 0 || length > size - first) {
        heed_raise(HEED_ERR_INDEX,
                   "narrow: %lld elements starting at index %lld do not fit in dim %d of %s; "
                   "heed_slice would clip the range",
                   (long long)length, (long long)start, dim, HEED_TEXT(x));
    }
    return heed_slice(x, dim, first, first + length, 1);
}

/* The number of chunks, and the size of all but the last. 0 after an error. */
static int count_chunks(const heed_tensor *x, int chunks, int dim, int64_t *each)
{
    HEED_DOOR(0);
    const int64_t size = find_size("chunk", x, &dim);
    if (chunks < 1) {
        heed_raise(HEED_ERR_VALUE, "chunk: chunks is %d for dim %d of %s; it must be 1 or more",
                   chunks, dim, HEED_TEXT(x));
    }
    *each = size > 0 ? (size - 1) / chunks + 1 : 0;
    return size > 0 ? (int)((size - 1) / *each + 1) : chunks;
}

/* Opens no door around the loop: a jump would free tensors to which parts points. */
int heed_chunk(heed_tensor *x, int chunks, int dim, heed_tensor **parts)
{
    if (parts == NULL) {
        heed_fail(HEED_ERR_NULL, "chunk: parts is NULL");
        return 0;
    }
    for (int i = 0; i < chunks; i++) {
        parts[i] = NULL;
    }
    int64_t each = 0;
    const int count = count_chunks(x, chunks, dim, &each);
    for (int i = 0; i < count; i++) {
        parts[i] = heed_slice(x, dim, i * each, (i + 1) * each, 1); /* clips the last */
    }
    if (heed_self.error != HEED_OK) {
        memset(parts, 0, (size_t)count * sizeof *parts);
        return 0;
    }
    return count;
}

/* ---- reshape, flatten, unflatten ---- */

/* Infers the size that is -1. Fails if the sizes do not multiply to the `numel` elements of x or,
 * unless it is -1, of its dim `dim`; if more than one is -1, or one is less. */
static heed_shape find_sizes(const char *function, const heed_tensor *x, int dim, int64_t numel,
                             const heed_shape *asked)
{
    int64_t known = 1, *unknown = NULL;
    bool fits = true;
    heed_shape shape = *asked;
    for (int i = 0; i < asked->ndim; i++) {
        if (asked->size[i] == -1 && unknown == NULL) {
            unknown = &shape.size[i];
        } else if (asked->size[i] < 0 || __builtin_mul_overflow(known, asked->size[i], &known)) {
            fits = false;
        }
    }
    if (unknown != NULL && known > 0) {
        *unknown = numel / known;
        known *= *unknown;
    }
    if (!fits || known != numel || (unknown != NULL && *unknown < 0)) {
        char of[32] = "";
        if (dim >= 0) {
            snprintf(of, sizeof of, "dim %d of ", dim);
        }
        heed_raise(
            HEED_ERR_SHAPE,
            "%s: %s%s has %lld elements, which do not fill %s; one size may be -1, none less",
            function, of, HEED_TEXT(x), (long long)numel,
            heed_shape_text(asked->ndim, asked->size).text);
    }
    return shape;
}

/* Strides of a view of x with a different shape, from the last dim to the first. Each new dim is
 * cut from a group of dims of x that are contiguous in memory. False if a copy is needed. */
static bool view_strides(const heed_tensor *x, const heed_shape *shape, int64_t *strides)
{
    if (x->numel == 0) {
        heed_row_major(shape->ndim, shape->size, strides);
        return true;
    }
    int from = x->ndim;
    int64_t step = 1, left = 1; /* the stride of the next dim of the group, and its elements */
    for (int to = shape->ndim - 1; to >= 0; to--) {
        const int64_t size = shape->size[to];
        while (left % size != 0) { /* the group needs another dim of x */
            from--;
            if (left == 1) {
                step = x->strides[from];
            } else if (x->shape[from] != 1 && x->strides[from] != step * left) {
                return false;
            }
            left *= x->shape[from];
        }
        strides[to] = step;
        step *= size;
        left /= size;
    }
    return true;
}

static heed_status reshape_rule(const heed_call *call, heed_result *result)
{
    const heed_shape *asked = call->args;
    const heed_tensor *x = call->inputs[0];
    if (asked->ndim < 0 || asked->ndim > HEED_MAX_DIMS) {
        heed_count_elements("reshape", asked->ndim, asked->size, HEED_F32); /* raises */
    }
    result->shape = find_sizes("reshape", x, -1, x->numel, asked);
    result->is_view = view_strides(x, &result->shape, result->strides);
    return HEED_OK;
}

/* Copies x into a view of y with x's shape. */
static heed_status reshape_forward(const heed_call *call, heed_tensor *y)
{
    const heed_tensor *x = call->inputs[0];
    int64_t strides[HEED_MAX_DIMS];
    heed_row_major(x->ndim, x->shape, strides);
    heed_copy_elements(x, heed_tensor_view("reshape", y, x->ndim, x->shape, strides, 0));
    return HEED_OK;
}

OPERATION(reshape) = {.name = "reshape",
                      .inputs = 1,
                      .args = "shape shape",
                      .rule = reshape_rule,
                      .forward = reshape_forward,
                      .backward = reshape_backward};

heed_tensor *heed_reshape(heed_tensor *x, heed_shape shape)
{
    return heed_apply(&op_reshape, &x, 1, &shape, sizeof shape);
}

/* x with dims start ... end replaced by dims of these sizes. */
static heed_tensor *replace_dims(const char *function, heed_tensor *x, int start, int end,
                                 heed_shape sizes)
{
    heed_shape shape = {0};
    for (int i = 0; i < x->ndim; i++) {
        const int64_t *part = i == start ? sizes.size : &x->shape[i];
        const int count = i == start ? sizes.ndim : i < start || i > end;
        for (int j = 0; j < count; j++) {
            shape.size[shape.ndim++] = part[j];
        }
    }
    heed_count_elements(function, shape.ndim, shape.size, x->dtype);
    return heed_reshape(x, shape);
}

heed_tensor *heed_flatten(heed_tensor *x, int start_dim, int end_dim)
{
    HEED_DOOR(NULL);
    int64_t numel = 1;
    heed_check_operand("flatten", "x", x);
    const int start = heed_wrap_dim("flatten", start_dim, x->ndim);
    const int end = heed_wrap_dim("flatten", end_dim, x->ndim);
    if (start > end) {
        heed_raise(HEED_ERR_DIM, "flatten: start_dim %d comes after end_dim %d in a tensor %s",
                   start_dim, end_dim, HEED_TEXT(x));
    }
    if (x->ndim == 0) {
        return heed_reshape(x, HEED_SHAPE(1));
    }
    for (int i = start; i <= end; i++) {
        numel *= x->shape[i];
    }
    return start == end ? x : replace_dims("flatten", x, start, end, HEED_SHAPE(numel));
}

heed_tensor *heed_unflatten(heed_tensor *x, int dim, heed_shape sizes)
{
    HEED_DOOR(NULL);
    const int64_t size = find_size("unflatten", x, &dim);
    if (sizes.ndim < 1 || sizes.ndim > HEED_MAX_DIMS + 1 - x->ndim) {
        heed_raise(
            HEED_ERR_SHAPE,
            "unflatten: %d sizes for dim %d of %s; pass at least one, for at most %d dims in total",
            sizes.ndim, dim, HEED_TEXT(x), HEED_MAX_DIMS);
    }
    return replace_dims("unflatten", x, dim, dim, find_sizes("unflatten", x, dim, size, &sizes));
}

/* ---- detach, clone, contiguous, to ---- */

static heed_status detach_rule(const heed_call *call, heed_result *result)
{
    keep_layout(result, call->inputs[0]);
    return HEED_OK;
}

static heed_status copy_forward(const heed_call *call, heed_tensor *y)
{
    heed_copy_elements(call->inputs[0], y);
    return HEED_OK;
}

OPERATION(detach) = {.name = "detach", .inputs = 1, .rule = detach_rule};
OPERATION(clone) = {
    .name = "clone", .inputs = 1, .forward = copy_forward, .backward = same_backward};

heed_tensor *heed_detach(heed_tensor *x)
{
    return heed_apply(&op_detach, &x, 1, NULL, 0);
}

heed_tensor *heed_clone(heed_tensor *x)
{
    return heed_apply(&op_clone, &x, 1, NULL, 0);
}

heed_tensor *heed_contiguous(heed_tensor *x)
{
    if (heed_check_tensor("contiguous", "x", x) != HEED_OK) {
        return NULL;
    }
    return heed_is_row_major(x) ? x : heed_clone(x);
}

static heed_status to_rule(const heed_call *call, heed_result *result)
{
    result->dtype = *(const heed_dtype *)call->args;
    return HEED_OK;
}

static void to_backward(const heed_vjp *v)
{
    v->grads[0] = heed_to(v->g, v->inputs[0]->dtype);
}

OPERATION(to) = {.name = "to",
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
