/* Cumulative sums and products, and prod. */

#include "../../tensor/check.h"
#include "../../tensor/elements.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "elementwise.h"
#include "reduction_rules.h"
#include "reductions.h"
#include "slice.h"
#include "view.h"

/* ---- prod: a tree of products ---- */

/* The derivatives come from mul, in a graph log2(n) deep, and are correct even for zeros. */

/* x (..., n, ...) -> (..., 1, ...) */
static heed_tensor *multiply_along(heed_tensor *x, int dim)
{
    if (heed_size(x, dim) == 0) { /* ones, computed from an empty sum to keep the graph */
        return heed_add_scalar(heed_sum_dim(x, dim, true), 1);
    }
    heed_tensor *odd = NULL; /* product of the elements left over by halving */
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

heed_tensor *heed_prod_dims(heed_tensor *x, heed_dims dims, bool keepdim)
{
    unsigned set;
    if (heed_check_operand("prod", "x", x) != HEED_OK ||
        heed_wrap_dims("prod", dims, x->ndim, &set) != HEED_OK) {
        return NULL;
    }
    set = dims.count == 0 ? (1u << x->ndim) - 1 : set;
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *y = x->dtype == HEED_BOOL ? heed_to(x, HEED_I64) : x;
    for (int i = 0; y != NULL && i < x->ndim; i++) {
        y = set >> i & 1 ? multiply_along(y, i) : y;
    }
    y = heed_reshape(y, heed_reduced_shape(x, set, keepdim));
    const bool is_view = y != NULL && y->storage == x->storage;
    return heed_scope_end_with(&scope, is_view ? heed_clone(y) : y);
}

HEED_SHORT_FORMS(prod)

/* ---- cumsum, cumprod ---- */

static heed_status cumulative_rule(const heed_call *call, heed_result *result)
{
    int dim;
    result->dtype = heed_is_float(result->dtype) ? result->dtype : HEED_I64;
    return heed_wrap_dim(call->op->name, *(const int *)call->args, result->shape.ndim, &dim);
}

/* Defines the operation and heed_id. `saved`: the values that its gradient reads. */
#define CUMULATIVE(id, saved)                                                                      \
    static heed_status id##_forward(const heed_call *call, heed_tensor *y)                         \
    {                                                                                              \
        const int dim = heed_wrapped(*(const int *)call->args, y->ndim);                           \
        return heed_map_rows(heed_kernels_for(y->dtype)->id, call->inputs, 1, dim, y);             \
    }                                                                                              \
    HEED_OPERATION(id) = {.name = #id,                                                             \
                          .inputs = 1,                                                             \
                          .args = "int dim",                                                       \
                          .rule = cumulative_rule,                                                 \
                          .forward = id##_forward,                                                 \
                          .backward = id##_backward,                                               \
                          .saves = {saved}};                                                       \
    heed_tensor *heed_##id(heed_tensor *x, int dim)                                                \
    {                                                                                              \
        return heed_apply(&op_##id, &x, 1, &dim, sizeof dim);                                      \
    }

/* x_i is part of the sums y_i, ..., y_(n-1), so dx is the sum of g from i to the end. */
static void cumsum_backward(const heed_vjp *v)
{
    const int dim = *(const int *)v->args;
    v->grads[0] = heed_flip(heed_cumsum(heed_flip(v->g, HEED_DIMS(dim)), dim), HEED_DIMS(dim));
}

CUMULATIVE(cumsum, 0)

/* r_i = g_i + x_(i+1) r_(i+1): the sum of g_j x_(i+1) ... x_j over j >= i, for n > 0. Each round
 * doubles the number of terms: r_i += w_i r_(i + terms), with w_i = x_(i+1) ... x_(i + terms). */
static heed_tensor *sum_of_tails(heed_tensor *g, heed_tensor *x, int dim)
{
    const int64_t n = heed_size(x, dim);
    heed_tensor *r = g, *w = heed_narrow(x, dim, 1, n - 1);
    for (int64_t terms = 1; terms < n; terms *= 2) {
        const int64_t changed = n - terms, next = changed - terms;
        heed_tensor *more = heed_mul(w, heed_narrow(r, dim, terms, changed));
        heed_tensor *parts[] = {heed_add(heed_narrow(r, dim, 0, changed), more),
                                heed_narrow(r, dim, changed, terms)};
        r = heed_cat(parts, 2, dim);
        if (next > 0) {
            w = heed_mul(heed_narrow(w, dim, 0, next), heed_narrow(w, dim, terms, next));
        }
    }
    return r;
}

/* dx_i = y_(i-1) r_i: without a division by x_i, which may be 0. */
static void cumprod_backward(const heed_vjp *v)
{
    const int dim = *(const int *)v->args;
    const int64_t n = v->y->ndim > 0 ? heed_size(v->y, dim) : 1;
    if (n < 2) {
        v->grads[0] = v->g;
        return;
    }
    heed_tensor *r = sum_of_tails(v->g, v->inputs[0], dim);
    heed_tensor *rest = heed_mul(heed_narrow(v->y, dim, 0, n - 1), heed_narrow(r, dim, 1, n - 1));
    v->grads[0] = heed_cat((heed_tensor *[]){heed_narrow(r, dim, 0, 1), rest}, 2, dim);
}

CUMULATIVE(cumprod, HEED_SAVES_BOTH)
