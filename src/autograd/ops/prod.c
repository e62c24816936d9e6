/* prod: products along dims, as a tree of products of halves. So its derivatives are those of mul,
 * which are right where elements are 0, and log2(n) steps deep. */
#include "../../tensor/check.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "elementwise.h"
#include "reduce.h"
#include "reduction.h"
#include "shape.h"

/* x (..., n, ...) -> (..., 1, ...) */
static heed_tensor *multiply_along(heed_tensor *x, int dim)
{
    if (heed_size(x, dim) == 0) { /* 1; by way of a sum of nothing, so that the graph goes on */
        return heed_add_scalar(heed_sum_dim(x, dim, true), 1);
    }
    heed_tensor *odd = NULL; /* the product of what was left over by halving */
    for (int64_t n = heed_size(x, dim); n > 1; n /= 2) {
        const int64_t half = n / 2;
        if (n % 2 != 0) {
            heed_tensor *last = heed_slice(x, dim, n - 1, n, 1);
            odd = odd != NULL ? heed_mul(odd, last) : last;
        }
        x = heed_mul(heed_slice(x, dim, 0, half, 1), heed_slice(x, dim, half, 2 * half, 1));
    }
    return odd != NULL ? heed_mul(x, odd) : x;
}

static heed_tensor *product(heed_tensor *x, unsigned set, const heed_shape *shape)
{
    const heed_tensor *given = x;
    if (x->dtype == HEED_BOOL) {
        x = heed_to(x, HEED_I64);
    }
    for (int i = 0; x != NULL && i < x->ndim; i++) {
        x = set >> i & 1 ? multiply_along(x, i) : x;
    }
    x = heed_reshape(x, *shape);
    return x != NULL && x->storage == given->storage ? heed_clone(x) : x;
}

heed_tensor *heed_prod_dims(heed_tensor *x, heed_dims dims, bool keepdim)
{
    heed_scope scope;
    if (heed_check_operand("prod", "x", x) != HEED_OK) {
        return NULL;
    }
    heed_scope_begin(&scope);
    static const heed_op named = {.name = "prod", .inputs = 1};
    const heed_reduce_args args = {dims, keepdim};
    const heed_call call = {&named, &x, 1, &args};
    heed_result result;
    unsigned set;
    heed_tensor *y = NULL;
    if (heed_reduced_dims(&call, &set) == HEED_OK &&
        heed_reduction_rule(&call, &result) == HEED_OK) {
        y = product(x, set, &result.shape);
    }
    return heed_scope_end_with(&scope, y);
}

heed_tensor *heed_prod_dim(heed_tensor *x, int dim, bool keepdim)
{
    return heed_prod_dims(x, HEED_DIMS(dim), keepdim);
}

heed_tensor *heed_prod(heed_tensor *x)
{
    return heed_prod_dims(x, HEED_ALL_DIMS, false);
}
