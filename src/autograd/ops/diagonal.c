/* The diagonal of two dims, as a view. */

#include "../../tensor/check.h"
#include "../../tensor/read.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "slice.h"
#include "view.h"

typedef struct diagonal_args {
    int64_t offset;
    int dim1, dim2;
} diagonal_args;

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

/* Index of the diagonal's first element, in elements of a matrix with these strides. */
static int64_t start_of(int64_t offset, int64_t stride1, int64_t stride2)
{
    return offset > 0 ? offset * stride2 : -offset * stride1;
}

/* The other dims, in order, then the diagonal. */
static heed_status diagonal_rule(const heed_call *call, heed_result *result)
{
    const diagonal_args *args = call->args;
    const heed_tensor *x = call->inputs[0];
    int dim1, dim2, kept = 0;
    if (heed_wrap_dim("diagonal", args->dim1, x->ndim, &dim1) != HEED_OK ||
        heed_wrap_dim("diagonal", args->dim2, x->ndim, &dim2) != HEED_OK) {
        return heed_self.error;
    }
    if (dim1 == dim2) {
        return heed_fail(HEED_ERR_DIM, "diagonal: dim1 %d and dim2 %d of %s are the same",
                         args->dim1, args->dim2, HEED_TEXT(x));
    }
    for (int i = 0; i < x->ndim; i++) {
        if (i != dim1 && i != dim2) {
            result->shape.size[kept] = x->shape[i];
            result->strides[kept++] = x->strides[i];
        }
    }
    const int64_t count = count_diagonal(x->shape[dim1], x->shape[dim2], args->offset);
    result->is_view = true;
    result->shape.ndim = x->ndim - 1;
    result->shape.size[kept] = count;
    result->strides[kept] = x->strides[dim1] + x->strides[dim2];
    result->offset = count > 0 ? start_of(args->offset, x->strides[dim1], x->strides[dim2]) : 0;
    return HEED_OK;
}

/* In a row-major m x n matrix, the elements of a diagonal are n + 1 apart: g is written to such a
 * slice of the flattened matrices. */
static void diagonal_backward(const heed_vjp *v)
{
    const diagonal_args *args = v->args;
    const heed_tensor *x = v->inputs[0];
    const int dim1 = heed_wrapped(args->dim1, x->ndim), dim2 = heed_wrapped(args->dim2, x->ndim);
    const int last = x->ndim - 2;
    const int64_t m = x->shape[dim1], n = x->shape[dim2];
    const int64_t count = count_diagonal(m, n, args->offset);
    const int64_t start = count > 0 ? start_of(args->offset, n, 1) : 0;
    const int64_t end = count > 0 ? start + (count - 1) * (n + 1) + 1 : 0;
    heed_shape shape = heed_shape_of_tensor(v->y), whole = shape;
    shape.size[last] = m * n;
    whole.size[last] = m;
    whole.size[whole.ndim++] = n;
    heed_dims order = {.count = x->ndim};
    for (int i = 0, kept = 0; i < x->ndim; i++) {
        order.dim[i] = i == dim1 ? last : i == dim2 ? last + 1 : kept++;
    }
    heed_tensor *flat = heed_slice_backward(v->g, shape, last, start, end, n + 1);
    v->grads[0] = heed_permute(heed_reshape(flat, whole), order);
}

HEED_OPERATION(diagonal) = {.name = "diagonal",
                            .inputs = 1,
                            .args = "int64 offset, int dim1, int dim2",
                            .rule = diagonal_rule,
                            .backward = diagonal_backward};

heed_tensor *heed_diagonal(heed_tensor *x, int64_t offset, int dim1, int dim2)
{
    const diagonal_args args = {offset, dim1, dim2};
    return heed_apply(&op_diagonal, &x, 1, &args, sizeof args);
}
