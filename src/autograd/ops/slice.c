/* Parts of a tensor, as views: slice and diagonal, each with a backward that writes g into a tensor
 * of zeros; and select, narrow, split, chunk and unbind, composed of slices. */

#include "slice.h"

#include <string.h>

#include "../../tensor/check.h"
#include "../../tensor/map.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../apply.h"
#include "view.h"

/* ---- shared by slice_backward and diagonal_backward ---- */

/* Sets the shape of the result to `whole`, checking that it is valid. */
static heed_status set_whole(const heed_call *call, const heed_shape *whole, heed_result *result)
{
    int64_t numel;
    result->shape = *whole;
    return heed_count_elements(call->op->name, whole->ndim, whole->size, result->dtype, &numel);
}

/* Checks that g has the shape of the part it is written to. */
static heed_status check_part(const heed_call *call, const char *part, const heed_shape *shape)
{
    if (!heed_has_shape(call->inputs[0], shape)) {
        return heed_fail(HEED_ERR_SHAPE, "%s: g %s does not have the %s's shape %s", call->op->name,
                         HEED_TEXT(call->inputs[0]), part,
                         heed_shape_text(shape->ndim, shape->size).text);
    }
    return HEED_OK;
}

/* Fills y with zeros, then copies g into `part`, a view of y that is NULL after an error. */
static heed_status put_into_zeros(const heed_tensor *g, heed_tensor *y, heed_tensor *part)
{
    if (part == NULL) {
        return heed_self.error;
    }
    heed_fill_elements(y, 0);
    heed_copy_elements(g, part);
    return HEED_OK;
}

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

/* All parts of a tensor accumulate into one gradient, so no part has to allocate zeros for the
 * others. */
static bool slice_add_gradient(const heed_vjp *v, int i, heed_tensor *sum)
{
    const slice_args *args = v->args;
    heed_tensor *part = heed_slice(sum, args->dim, args->start, args->end, args->step);
    if (part != NULL) {
        heed_add_elements(v->g, part);
    }
    (void)i;
    return part != NULL;
}

HEED_OPERATION(slice) = {.name = "slice",
                         .inputs = 1,
                         .args = "shape _whole, int dim, int64 start, int64 end, int64 step",
                         .rule = slice_rule,
                         .backward = slice_backward,
                         .add_gradient = slice_add_gradient};

heed_tensor *heed_slice(heed_tensor *x, int dim, int64_t start, int64_t end, int64_t step)
{
    const slice_args args = {.dim = dim, .start = start, .end = end, .step = step};
    return heed_apply(&op_slice, &x, 1, &args, sizeof args);
}

/* ---- slice_backward ---- */

static heed_status slice_backward_rule(const heed_call *call, heed_result *result)
{
    const slice_args *args = call->args;
    heed_shape part;
    int dim;
    int64_t start;
    if (set_whole(call, &args->whole, result) != HEED_OK ||
        cut_slice("slice_backward", args, &args->whole, &part, &dim, &start) != HEED_OK) {
        return heed_self.error;
    }
    return check_part(call, "slice", &part);
}

static heed_status slice_backward_forward(const heed_call *call, heed_tensor *y)
{
    const slice_args *args = call->args;
    return put_into_zeros(call->inputs[0], y,
                          heed_slice(y, args->dim, args->start, args->end, args->step));
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

typedef struct diagonal_args {
    heed_shape whole; /* of diagonal_backward's result */
    int64_t offset;
    int dim1, dim2;
} diagonal_args;

/* ---- diagonal ---- */

/* Length of a diagonal of an m x n matrix. With a positive `offset` it lies to the right of
 * the main diagonal, with a negative one below it. */
static int64_t count_diagonal(int64_t m, int64_t n, int64_t offset)
{
    if (offset >= n || offset <= -m) {
        return 0;
    }
    m += offset < 0 ? offset : 0;
    n -= offset > 0 ? offset : 0;
    return m < n ? m : n;
}

/* Sets `shape` to `of` without the two dims, but with the diagonal as the last dim. */
static heed_status find_diagonal(const char *function, const diagonal_args *args,
                                 const heed_shape *of, heed_shape *shape, int *dim1, int *dim2)
{
    if (heed_wrap_dim(function, args->dim1, of->ndim, dim1) != HEED_OK ||
        heed_wrap_dim(function, args->dim2, of->ndim, dim2) != HEED_OK) {
        return heed_self.error;
    }
    if (*dim1 == *dim2) {
        return heed_fail(HEED_ERR_DIM, "%s: dim1 %d and dim2 %d of %s are the same", function,
                         args->dim1, args->dim2, heed_shape_text(of->ndim, of->size).text);
    }
    shape->ndim = 0;
    for (int i = 0; i < of->ndim; i++) {
        if (i != *dim1 && i != *dim2) {
            shape->size[shape->ndim++] = of->size[i];
        }
    }
    shape->size[shape->ndim++] = count_diagonal(of->size[*dim1], of->size[*dim2], args->offset);
    return HEED_OK;
}

static heed_status diagonal_rule(const heed_call *call, heed_result *result)
{
    const diagonal_args *args = call->args;
    const heed_tensor *x = call->inputs[0];
    const heed_shape of = result->shape;
    int dim1, dim2, kept = 0;
    if (find_diagonal("diagonal", args, &of, &result->shape, &dim1, &dim2) != HEED_OK) {
        return heed_self.error;
    }
    result->is_view = true;
    for (int i = 0; i < x->ndim; i++) {
        if (i != dim1 && i != dim2) {
            result->strides[kept++] = x->strides[i];
        }
    }
    result->strides[kept] = x->strides[dim1] + x->strides[dim2];
    if (result->shape.size[kept] > 0) {
        result->offset =
            args->offset > 0 ? args->offset * x->strides[dim2] : -args->offset * x->strides[dim1];
    }
    return HEED_OK;
}

static void diagonal_backward(const heed_vjp *v)
{
    const diagonal_args *args = v->args;
    v->grads[0] = heed_diagonal_backward(v->g, heed_shape_of_tensor(v->inputs[0]), args->offset,
                                         args->dim1, args->dim2);
}

HEED_OPERATION(diagonal) = {.name = "diagonal",
                            .inputs = 1,
                            .args = "shape _whole, int64 offset, int dim1, int dim2",
                            .rule = diagonal_rule,
                            .backward = diagonal_backward};

heed_tensor *heed_diagonal(heed_tensor *x, int64_t offset, int dim1, int dim2)
{
    const diagonal_args args = {.offset = offset, .dim1 = dim1, .dim2 = dim2};
    return heed_apply(&op_diagonal, &x, 1, &args, sizeof args);
}

/* ---- diagonal_backward ---- */

static heed_status diagonal_backward_rule(const heed_call *call, heed_result *result)
{
    const diagonal_args *args = call->args;
    heed_shape part;
    int dim1, dim2;
    if (set_whole(call, &args->whole, result) != HEED_OK ||
        find_diagonal("diagonal_backward", args, &args->whole, &part, &dim1, &dim2) != HEED_OK) {
        return heed_self.error;
    }
    return check_part(call, "diagonal", &part);
}

static heed_status diagonal_backward_forward(const heed_call *call, heed_tensor *y)
{
    const diagonal_args *args = call->args;
    return put_into_zeros(call->inputs[0], y,
                          heed_diagonal(y, args->offset, args->dim1, args->dim2));
}

static void diagonal_backward_backward(const heed_vjp *v)
{
    const diagonal_args *args = v->args;
    v->grads[0] = heed_diagonal(v->g, args->offset, args->dim1, args->dim2);
}

HEED_OPERATION(diagonal_backward) = {.name = "diagonal_backward",
                                     .inputs = 1,
                                     .args = "shape shape, int64 offset, int dim1, int dim2",
                                     .rule = diagonal_backward_rule,
                                     .forward = diagonal_backward_forward,
                                     .backward = diagonal_backward_backward};

heed_tensor *heed_diagonal_backward(heed_tensor *g, heed_shape shape, int64_t offset, int dim1,
                                    int dim2)
{
    const diagonal_args args = {shape, offset, dim1, dim2};
    return heed_apply(&op_diagonal_backward, &g, 1, &args, sizeof args);
}

/* ---- select, narrow ---- */

/* Wraps dim and gets its size. */
static heed_status find_size(const char *function, const heed_tensor *x, int *dim, int64_t *size)
{
    if (heed_check_operand(function, "x", x) != HEED_OK ||
        heed_wrap_dim(function, *dim, x->ndim, dim) != HEED_OK) {
        return heed_self.error;
    }
    if (x->ndim == 0) {
        return heed_fail(HEED_ERR_DIM, "%s: a tensor without dims cannot be sliced", function);
    }
    *size = x->shape[*dim];
    return HEED_OK;
}

heed_tensor *heed_select(heed_tensor *x, int dim, int64_t index)
{
    int64_t size;
    if (find_size("select", x, &dim, &size) != HEED_OK) {
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
    if (find_size("narrow", x, &dim, &size) != HEED_OK) {
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

/* ---- split, chunk, unbind ---- */

/* Cuts a dim into parts of the given sizes, or of `size` each if `sizes` is NULL; slicing clips the
 * last one. */
static int cut(heed_tensor *x, int dim, const int64_t *sizes, int64_t size, int count,
               heed_tensor **parts)
{
    int64_t start = 0;
    for (int i = 0; i < count; i++) {
        const int64_t end = start + (sizes != NULL ? sizes[i] : size);
        parts[i] = heed_slice(x, dim, start, end, 1);
        if (parts[i] == NULL) {
            memset(parts, 0, (size_t)i * sizeof *parts);
            return 0;
        }
        start = end;
    }
    return count;
}

/* Wraps dim, gets its size and sets all parts to NULL. */
static heed_status begin_parts(const char *function, const heed_tensor *x, int *dim, int64_t *size,
                               heed_tensor **parts, int count)
{
    if (parts == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: parts is NULL", function);
    }
    for (int i = 0; i < count; i++) {
        parts[i] = NULL;
    }
    return find_size(function, x, dim, size);
}

int heed_split(heed_tensor *x, int64_t split_size, int dim, heed_tensor **parts, int most)
{
    int64_t size;
    if (begin_parts("split", x, &dim, &size, parts, most) != HEED_OK) {
        return 0;
    }
    if (split_size < 0 || (split_size == 0 && size > 0)) {
        heed_fail(HEED_ERR_VALUE,
                  "split: split_size is %lld for dim %d of %s; it must be 1 or more",
                  (long long)split_size, dim, HEED_TEXT(x));
        return 0;
    }
    const int64_t count = size == 0 ? 1 : (size - 1) / split_size + 1;
    if (count > most) {
        heed_fail(HEED_ERR_VALUE,
                  "split: dim %d of %s gives %lld parts of size %lld, but the array `parts` has "
                  "room for only %d",
                  dim, HEED_TEXT(x), (long long)count, (long long)split_size, most);
        return 0;
    }
    return cut(x, dim, NULL, split_size, (int)count, parts);
}

int heed_split_sizes(heed_tensor *x, const int64_t *sizes, int count, int dim, heed_tensor **parts)
{
    int64_t size, sum = 0;
    if (begin_parts("split_sizes", x, &dim, &size, parts, count) != HEED_OK) {
        return 0;
    }
    if (sizes == NULL && count > 0) {
        heed_fail(HEED_ERR_NULL, "split_sizes: sizes is NULL");
        return 0;
    }
    bool fits = count >= 0;
    for (int i = 0; fits && i < count; i++) {
        fits = sizes[i] >= 0 && sizes[i] <= size - sum;
        sum += fits ? sizes[i] : 0;
    }
    if (!fits || sum != size) {
        heed_fail(HEED_ERR_VALUE,
                  "split_sizes: %d sizes do not sum to %lld, the size of dim %d of %s, or one is "
                  "negative",
                  count, (long long)size, dim, HEED_TEXT(x));
        return 0;
    }
    return cut(x, dim, sizes, 0, count, parts);
}

int heed_chunk(heed_tensor *x, int chunks, int dim, heed_tensor **parts)
{
    int64_t size;
    if (begin_parts("chunk", x, &dim, &size, parts, chunks) != HEED_OK) {
        return 0;
    }
    if (chunks < 1) {
        heed_fail(HEED_ERR_VALUE, "chunk: chunks is %d; it must be 1 or more", chunks);
        return 0;
    }
    const int64_t each = size == 0 ? 0 : (size - 1) / chunks + 1;
    const int count = size == 0 ? chunks : (int)((size - 1) / each + 1);
    return cut(x, dim, NULL, each, count, parts);
}

int heed_unbind(heed_tensor *x, int dim, heed_tensor **parts, int most)
{
    int64_t size;
    if (begin_parts("unbind", x, &dim, &size, parts, most) != HEED_OK) {
        return 0;
    }
    if (size > most) {
        heed_fail(HEED_ERR_VALUE,
                  "unbind: dim %d of %s gives %lld parts, but the array `parts` has room for only "
                  "%d",
                  dim, HEED_TEXT(x), (long long)size, most);
        return 0;
    }
    for (int i = 0; i < (int)size; i++) {
        parts[i] = heed_select(x, dim, i);
        if (parts[i] == NULL) {
            memset(parts, 0, (size_t)i * sizeof *parts);
            return 0;
        }
    }
    return (int)size;
}
