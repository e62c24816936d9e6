/* diagonal, a view, and its backward. */
#include "../../tensor/iterate.h"
#include "../../tensor/read.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "shape.h"

typedef struct diagonal_args {
    heed_shape whole; /* of diagonal_backward's result */
    int64_t offset;
    int dim1, dim2;
} diagonal_args;

/* ---- diagonal ---- */

/* How many elements the diagonal of m rows and n columns has: `offset` > 0 lies right of the main
 * one, < 0 below it. */
static int64_t count_diagonal(int64_t m, int64_t n, int64_t offset)
{
    if (offset >= n || offset <= -m) {
        return 0;
    }
    m += offset < 0 ? offset : 0;
    n -= offset > 0 ? offset : 0;
    return m < n ? m : n;
}

/* The two dims go, and the diagonal becomes the last one. */
static heed_status find_diagonal(const char *function, const diagonal_args *args,
                                 const heed_shape *of, heed_shape *shape, int *dim1, int *dim2)
{
    if (heed_wrap_dim(function, args->dim1, of->ndim, dim1) != HEED_OK ||
        heed_wrap_dim(function, args->dim2, of->ndim, dim2) != HEED_OK) {
        return heed_self.error;
    }
    if (*dim1 == *dim2) {
        return heed_fail(HEED_ERR_DIM, "%s: dim1 %d and dim2 %d of %s are the same one", function,
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

HEED_OPERATION(diagonal) = {
    .name = "diagonal", .inputs = 1, .rule = diagonal_rule, .backward = diagonal_backward};

heed_tensor *heed_diagonal(heed_tensor *x, int64_t offset, int dim1, int dim2)
{
    const diagonal_args args = {.offset = offset, .dim1 = dim1, .dim2 = dim2};
    return heed_apply(&op_diagonal, &x, 1, &args, sizeof args);
}

/* ---- diagonal_backward ---- */

static heed_status diagonal_backward_rule(const heed_call *call, heed_result *result)
{
    const diagonal_args *args = call->args;
    const heed_tensor *g = call->inputs[0];
    heed_shape part;
    int dim1, dim2;
    int64_t numel;
    if (heed_count_elements("diagonal_backward", args->whole.ndim, args->whole.size, g->dtype,
                            &numel) != HEED_OK ||
        find_diagonal("diagonal_backward", args, &args->whole, &part, &dim1, &dim2) != HEED_OK) {
        return heed_self.error;
    }
    if (!heed_has_shape(g, &part)) {
        return heed_fail(HEED_ERR_SHAPE,
                         "diagonal_backward: g %s is not of the diagonal's shape %s", HEED_TEXT(g),
                         heed_shape_text(part.ndim, part.size).text);
    }
    result->shape = args->whole;
    return HEED_OK;
}

static heed_status diagonal_backward_forward(const heed_call *call, heed_tensor *y)
{
    const diagonal_args *args = call->args;
    heed_fill_elements(y, 0);
    heed_tensor *diagonal = heed_diagonal(y, args->offset, args->dim1, args->dim2);
    if (diagonal == NULL) {
        return heed_self.error;
    }
    heed_copy_elements(call->inputs[0], diagonal);
    return HEED_OK;
}

static void diagonal_backward_backward(const heed_vjp *v)
{
    const diagonal_args *args = v->args;
    v->grads[0] = heed_diagonal(v->g, args->offset, args->dim1, args->dim2);
}

HEED_OPERATION(diagonal_backward) = {.name = "diagonal_backward",
                                     .inputs = 1,
                                     .rule = diagonal_backward_rule,
                                     .forward = diagonal_backward_forward,
                                     .backward = diagonal_backward_backward};

heed_tensor *heed_diagonal_backward(heed_tensor *g, heed_shape shape, int64_t offset, int dim1,
                                    int dim2)
{
    const diagonal_args args = {shape, offset, dim1, dim2};
    return heed_apply(&op_diagonal_backward, &g, 1, &args, sizeof args);
}
