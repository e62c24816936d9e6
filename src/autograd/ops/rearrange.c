/* Copies that reorder and repeat elements: flip; repeat and repeat_interleave, which are composed
 * of other operations. cat and stack are in cat.c. */

#include "operations.h"

#include "../../tensor/check.h"
#include "../../tensor/elements.h"
#include "../../tensor/handle.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "operand_checks.h"

/* ---- flip ---- */

static heed_status flip_rule(const heed_call *call, heed_result *result)
{
    unsigned set;
    return heed_wrap_dims("flip", *(const heed_dims *)call->args, result->shape.ndim, &set);
}

/* Copies from a view of x with negated strides. */
static heed_status flip_forward(const heed_call *call, heed_tensor *y)
{
    const heed_tensor *x = call->inputs[0];
    const unsigned set = heed_wrapped_set(call->args, x->ndim);
    int64_t strides[HEED_MAX_DIMS], first = 0;
    for (int i = 0; i < x->ndim; i++) {
        const bool turns = (set >> i & 1) && x->numel > 0;
        strides[i] = turns ? -x->strides[i] : x->strides[i];
        first += turns ? (x->shape[i] - 1) * x->strides[i] : 0;
    }
    heed_tensor *flipped = heed_tensor_view("flip", x, x->ndim, x->shape, strides, first);
    if (flipped == NULL) {
        return heed_self.error;
    }
    heed_copy_elements(flipped, y);
    heed_unref(flipped);
    return HEED_OK;
}

static void flip_backward(const heed_vjp *v)
{
    v->grads[0] = heed_flip(v->g, *(const heed_dims *)v->args);
}

HEED_OPERATION(flip) = {.name = "flip",
                        .inputs = 1,
                        .args = "dims dims",
                        .rule = flip_rule,
                        .forward = flip_forward,
                        .backward = flip_backward};

heed_tensor *heed_flip(heed_tensor *x, heed_dims dims)
{
    return heed_apply(&op_flip, &x, 1, &dims, sizeof dims);
}

/* ---- repeat, repeat_interleave: blocks of elements, expanded ---- */

static int64_t product(int count, const int64_t *sizes)
{
    int64_t n = 1;
    for (int i = 0; i < count; i++) {
        n *= sizes[i];
    }
    return n;
}

/* y itself, or a contiguous copy if it is a view of x or has overlapping elements. */
static heed_tensor *own(heed_tensor *y, const heed_tensor *x)
{
    return y != NULL && y->storage == x->storage ? heed_clone(y) : heed_contiguous(y);
}

/* Repeats each slice of the dims from `dim` on `times` times. `shape`: of the result. */
static heed_tensor *repeat_from(heed_tensor *x, int dim, int64_t times, heed_shape shape)
{
    if (x == NULL) {
        return NULL;
    }
    const int64_t rows = product(dim, x->shape), block = product(x->ndim - dim, x->shape + dim);
    heed_tensor *blocks = heed_reshape(x, HEED_SHAPE(rows, 1, block));
    return heed_reshape(heed_expand(blocks, HEED_SHAPE(rows, times, block)), shape);
}

/* *size *= times. Fails on overflow. */
static heed_status multiply(const char *function, int64_t times, int64_t *size)
{
    if (times < 0) {
        return heed_fail(HEED_ERR_VALUE, "%s: %lld times; the number of repeats must be 0 or more",
                         function, (long long)times);
    }
    if (__builtin_mul_overflow(*size, times, size)) {
        return heed_fail(HEED_ERR_OVERFLOW, "%s: %lld times; the size overflows", function,
                         (long long)times);
    }
    return HEED_OK;
}

heed_tensor *heed_repeat(heed_tensor *x, heed_shape sizes)
{
    if (heed_check_operand("repeat", "x", x) != HEED_OK) {
        return NULL;
    }
    if (sizes.ndim < x->ndim || sizes.ndim > HEED_MAX_DIMS) {
        heed_fail(HEED_ERR_SHAPE,
                  "repeat: %d sizes for x %s; pass at least one per dim, and at most %d",
                  sizes.ndim, HEED_TEXT(x), HEED_MAX_DIMS);
        return NULL;
    }
    const int added = sizes.ndim - x->ndim;
    heed_shape shape = sizes, goal = sizes; /* goal: the result's; shape: x's with dims added */
    int64_t numel = 0;
    for (int i = 0; i < sizes.ndim; i++) {
        goal.size[i] = shape.size[i] = i < added ? 1 : x->shape[i - added];
        if (multiply("repeat", sizes.size[i], &goal.size[i]) != HEED_OK) {
            return NULL;
        }
    }
    if (heed_count_elements("repeat", goal.ndim, goal.size, x->dtype, &numel) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *y = heed_reshape(x, shape);
    for (int i = sizes.ndim - 1; i >= 0; i--) {
        if (sizes.size[i] != 1) {
            shape.size[i] = goal.size[i];
            y = repeat_from(y, i, sizes.size[i], shape);
        }
    }
    return heed_scope_end_with(&scope, own(y, x));
}

heed_tensor *heed_repeat_interleave_dim(heed_tensor *x, int64_t repeats, int dim)
{
    int64_t size;
    if (heed_find_size("repeat_interleave", x, &dim, &size) != HEED_OK) {
        return NULL;
    }
    heed_shape shape = heed_shape_of_tensor(x);
    int64_t numel = 0;
    if (multiply("repeat_interleave", repeats, &shape.size[dim]) != HEED_OK ||
        heed_count_elements("repeat_interleave", shape.ndim, shape.size, x->dtype, &numel) !=
            HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    return heed_scope_end_with(&scope, own(repeat_from(x, dim + 1, repeats, shape), x));
}
