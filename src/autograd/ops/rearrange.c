/* Copies that join and reverse elements: cat, and stack, which is composed of it; flip. */
#include "../autograd.h"

/* ---- cat ---- */

static heed_status cat_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *first = call->inputs[0];
    const int dim = heed_wrap_dim("cat", *(const int *)call->args, first->ndim);
    result->shape.size[dim] = 0; /* without dims, the first input is refused below */
    for (int i = 0; i < call->count; i++) {
        const heed_tensor *x = call->inputs[i];
        bool fits = x->ndim == first->ndim && x->ndim > 0;
        for (int j = 0; fits && j < x->ndim; j++) {
            fits = j == dim || x->shape[j] == first->shape[j];
        }
        if (!fits) {
            heed_raise(HEED_ERR_SHAPE,
                       "cat: tensor %d %s cannot be joined to %s along dim %d; all other "
                       "sizes must be equal",
                       i, HEED_TEXT(x), HEED_TEXT(first), dim);
        }
        result->dtype = heed_common_dtype("cat", x->dtype, result->dtype);
        if (__builtin_add_overflow(result->shape.size[dim], x->shape[dim],
                                   &result->shape.size[dim])) {
            heed_raise(HEED_ERR_OVERFLOW, "cat: sizes in dim %d overflow", dim);
        }
    }
    return HEED_OK;
}

static heed_status cat_forward(const heed_call *call, heed_tensor *y)
{
    const int dim = *(const int *)call->args;
    int64_t start = 0;
    for (int i = 0; i < call->count; i++) {
        const int64_t end = start + heed_size(call->inputs[i], dim);
        heed_copy_elements(call->inputs[i], heed_slice(y, dim, start, end, 1));
        start = end;
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

OPERATION(cat) = {.name = "cat",
                  .inputs = HEED_ANY_COUNT,
                  .args = "int dim",
                  .rule = cat_rule,
                  .forward = cat_forward,
                  .backward = cat_backward};

heed_tensor *heed_cat(heed_tensor *const *tensors, int count, int dim)
{
    return heed_apply(&op_cat, tensors, count, &dim, sizeof dim);
}

/* ---- stack ---- */

/* Checks what unsqueeze and cat would refuse in their own names. */
static void check_stack(heed_tensor *const *tensors, int count, int dim)
{
    const heed_op op = {.name = "stack", .inputs = HEED_ANY_COUNT, .is_inner = true};
    heed_result result;
    heed_describe(&(heed_call){&op, tensors, count, NULL, 0}, &result);
    heed_shape shape = heed_shape_of_tensor(tensors[0]);
    heed_dtype common = HEED_BOOL; /* promotes to every other dtype */
    for (int i = 0; i < count; i++) {
        if (!heed_has_shape(tensors[i], &shape)) {
            heed_raise(
                HEED_ERR_SHAPE,
                "stack: tensor %d %s does not have the shape of tensor 0, %s; heed_cat joins "
                "along an existing dim",
                i, HEED_TEXT(tensors[i]), HEED_TEXT(tensors[0]));
        }
        common = heed_common_dtype("stack", tensors[i]->dtype, common);
    }
    if (shape.ndim == HEED_MAX_DIMS) {
        heed_raise(HEED_ERR_SHAPE, "stack: %s already has %d dims, the maximum",
                   HEED_TEXT(tensors[0]), HEED_MAX_DIMS);
    }
    shape.size[shape.ndim++] = count;
    heed_wrap_dim("stack", dim, shape.ndim);
    heed_count_elements("stack", shape.ndim, shape.size, common);
}

heed_tensor *heed_stack(heed_tensor *const *tensors, int count, int dim)
{
    HEED_DOOR(NULL);
    check_stack(tensors, count, dim);
    HEED_SCOPE(scope);
    heed_tensor **rows = heed_scratch((size_t)count * sizeof *rows);
    for (int i = 0; i < count; i++) {
        rows[i] = heed_unsqueeze(tensors[i], dim);
    }
    return heed_scope_keep(&scope, heed_cat(rows, count, dim));
}

/* ---- flip ---- */

static heed_status flip_rule(const heed_call *call, heed_result *result)
{
    heed_wrap_dims("flip", *(const heed_dims *)call->args, result->shape.ndim);
    return HEED_OK;
}

/* Copies from a view of x with negated strides. */
static heed_status flip_forward(const heed_call *call, heed_tensor *y)
{
    const heed_tensor *x = call->inputs[0];
    const unsigned set = heed_wrap_dims("flip", *(const heed_dims *)call->args, x->ndim);
    int64_t strides[HEED_MAX_DIMS], first = 0;
    for (int i = 0; i < x->ndim; i++) {
        const bool turns = (set >> i & 1) && x->numel > 0;
        strides[i] = turns ? -x->strides[i] : x->strides[i];
        first += turns ? (x->shape[i] - 1) * x->strides[i] : 0;
    }
    heed_copy_elements(heed_tensor_view("flip", x, x->ndim, x->shape, strides, first), y);
    return HEED_OK;
}

static void flip_backward(const heed_vjp *v)
{
    v->grads[0] = heed_flip(v->g, *(const heed_dims *)v->args);
}

OPERATION(flip) = {.name = "flip",
                   .inputs = 1,
                   .args = "dims dims",
                   .rule = flip_rule,
                   .forward = flip_forward,
                   .backward = flip_backward};

heed_tensor *heed_flip(heed_tensor *x, heed_dims dims)
{
    return heed_apply(&op_flip, &x, 1, &dims, sizeof dims);
}
