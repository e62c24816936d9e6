/* Reductions: shared code for the reduced dims and for expanding gradients to the input's shape;
 * then the operations sum, mean, prod, cumsum, cumprod, extremes, median, var, std, norm, any, all,
 * logsumexp. */

#include "reductions.h"

#include <math.h>

#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/map.h"
#include "../../tensor/reduce.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../apply.h"
#include "elementwise.h"
#include "index.h"
#include "masking.h"
#include "operand_checks.h"
#include "rearrange.h"
#include "slice.h"
#include "sort.h"
#include "view.h"

/* The arguments of a reduction, or the first member of its argument struct. */
typedef struct reduce_args {
    heed_dims dims; /* empty: all dims */
    bool keepdim;
} reduce_args;
#define REDUCE_ARGS "dims dims, bool keepdim"

#define ALL_DIMS    ((heed_dims){0, {0}})
static const reduce_args everything = {{0, {0}}, false};

/* ---- rules ---- */

/* The reduced dims as a bit set; the rule has checked them. */
static unsigned reduced_dims(const reduce_args *args, int ndim)
{
    return args->dims.count == 0 ? (1u << ndim) - 1 : heed_wrapped_set(&args->dims, ndim);
}

/* The shape of x with each dim in the set reduced to size 1 if keepdim, else removed. */
static heed_shape reduced_shape(const heed_tensor *x, unsigned set, bool keepdim)
{
    heed_shape shape = {0};
    for (int i = 0; i < x->ndim; i++) {
        const bool reduced = set >> i & 1;
        if (!reduced || keepdim) {
            shape.size[shape.ndim++] = reduced ? 1 : x->shape[i];
        }
    }
    return shape;
}

/* Sets the shape of the result; the dtype stays x's. */
static heed_status reduction_rule(const heed_call *call, heed_result *result)
{
    const reduce_args *args = call->args;
    const heed_tensor *x = call->inputs[0];
    unsigned set;
    if (heed_wrap_dims(call->op->name, args->dims, x->ndim, &set) != HEED_OK) {
        return heed_self.error;
    }
    result->shape = reduced_shape(x, reduced_dims(args, x->ndim), args->keepdim);
    return HEED_OK;
}

static heed_status float_rule(const heed_call *call, heed_result *result)
{
    return heed_expect_float(call, 0) == HEED_OK ? reduction_rule(call, result) : heed_self.error;
}

/* For reductions that are undefined without elements. */
static heed_status nonempty_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0];
    if (reduction_rule(call, result) != HEED_OK) {
        return heed_self.error;
    }
    const unsigned set = reduced_dims(call->args, x->ndim);
    for (int i = 0; i < x->ndim; i++) {
        if (set >> i & 1 && x->shape[i] == 0) {
            return heed_fail(HEED_ERR_SHAPE,
                             "%s: dim %d of x %s has no elements; reduce a nonempty dim",
                             call->op->name, i, HEED_TEXT(x));
        }
    }
    return HEED_OK;
}

/* Likewise, and without bool. */
static heed_status number_rule(const heed_call *call, heed_result *result)
{
    if (result->dtype == HEED_BOOL) {
        return heed_fail(HEED_ERR_DTYPE, "%s: bool is not supported; heed_to(x, HEED_I64)",
                         call->op->name);
    }
    return nonempty_rule(call, result);
}

/* Elements of x per element of the result. */
static double count_reduced(const heed_tensor *x, const void *args)
{
    const unsigned set = reduced_dims(args, x->ndim);
    double count = 1;
    for (int i = 0; i < x->ndim; i++) {
        count *= set >> i & 1 ? (double)x->shape[i] : 1;
    }
    return count;
}

/* y = kernel(x) over the reduced dims, with x's elements cast to `as`. */
static heed_status fold_reduced(const heed_call *call, heed_reduce_kernel *kernel, const void *args,
                                heed_dtype as, heed_tensor *y)
{
    const heed_tensor *x = call->inputs[0];
    return heed_reduce(kernel, args, as, x, reduced_dims(call->args, x->ndim), y);
}

/* Forward functions that run the kernel of the same name, without arguments, in x's own dtype. */
#define FOLD_FORWARD(kernel)                                                                       \
    static heed_status kernel##_forward(const heed_call *call, heed_tensor *y)                     \
    {                                                                                              \
        const heed_dtype dtype = call->inputs[0]->dtype;                                           \
        return fold_reduced(call, heed_kernels_for(dtype)->kernel, NULL, dtype, y);                \
    }
FOLD_FORWARD(amax)
FOLD_FORWARD(amin)
FOLD_FORWARD(argmax)
FOLD_FORWARD(argmin)
FOLD_FORWARD(any)
FOLD_FORWARD(all)

/* ---- for derivatives: from the result's shape to the input's ---- */

/* t, which has the result's shape, with the reduced dims restored with size 1, so that it
 * broadcasts with the input. */
static heed_tensor *keep_dims(const heed_vjp *v, heed_tensor *t)
{
    const reduce_args *args = v->args;
    const heed_tensor *x = v->inputs[0];
    return args->keepdim ? t : heed_reshape(t, reduced_shape(x, reduced_dims(args, x->ndim), true));
}

/* t expanded to the input's shape along the reduced dims, without a copy. */
static heed_tensor *spread(const heed_vjp *v, heed_tensor *t)
{
    return heed_expand(keep_dims(v, t), heed_shape_of_tensor(v->inputs[0]));
}

/* Divides g equally among the elements that are true in `chosen`, a bool tensor of the input's
 * shape; the others get 0. If none is true, all get NaN. */
static heed_tensor *divide_among(const heed_vjp *v, heed_tensor *chosen)
{
    const reduce_args *args = v->args;
    heed_tensor *part = heed_div(v->g, heed_sum_dims(chosen, args->dims, args->keepdim));
    return heed_mul(keep_dims(v, part), chosen);
}

/* Defines heed_name_dim and heed_name in terms of heed_name_dims. REDUCTION_FORMS defines all three
 * for the operation op_name, which takes no other arguments. */
#define SHORT_FORMS(name)                                                                          \
    heed_tensor *heed_##name##_dim(heed_tensor *x, int dim, bool keepdim)                          \
    {                                                                                              \
        return heed_##name##_dims(x, HEED_DIMS(dim), keepdim);                                     \
    }                                                                                              \
    heed_tensor *heed_##name(heed_tensor *x)                                                       \
    {                                                                                              \
        return heed_##name##_dims(x, ALL_DIMS, false);                                             \
    }
#define REDUCTION_FORMS(name)                                                                      \
    heed_tensor *heed_##name##_dims(heed_tensor *x, heed_dims dims, bool keepdim)                  \
    {                                                                                              \
        const reduce_args args = {dims, keepdim};                                                  \
        return heed_apply(&op_##name, &x, 1, &args, sizeof args);                                  \
    }                                                                                              \
    SHORT_FORMS(name)

/* ---- sum, mean ---- */

static heed_status sum_rule(const heed_call *call, heed_result *result)
{
    result->dtype = heed_is_float(result->dtype) ? result->dtype : HEED_I64;
    return reduction_rule(call, result);
}

static heed_status sum_forward(const heed_call *call, heed_tensor *y)
{
    const heed_tensor *x = call->inputs[0];
    heed_sum_elements(x, reduced_dims(call->args, x->ndim), 1, y);
    return HEED_OK;
}

static heed_status mean_forward(const heed_call *call, heed_tensor *y)
{
    const heed_tensor *x = call->inputs[0];
    heed_sum_elements(x, reduced_dims(call->args, x->ndim), count_reduced(x, call->args), y);
    return HEED_OK;
}

static void sum_backward(const heed_vjp *v)
{
    v->grads[0] = spread(v, v->g);
}

static void mean_backward(const heed_vjp *v)
{
    v->grads[0] = spread(v, heed_div_scalar(v->g, count_reduced(v->inputs[0], v->args)));
}

HEED_OPERATION(sum) = {.name = "sum",
                       .inputs = 1,
                       .args = REDUCE_ARGS,
                       .rule = sum_rule,
                       .forward = sum_forward,
                       .backward = sum_backward};

HEED_OPERATION(mean) = {.name = "mean",
                        .inputs = 1,
                        .args = REDUCE_ARGS,
                        .rule = float_rule,
                        .forward = mean_forward,
                        .backward = mean_backward};

REDUCTION_FORMS(sum)
REDUCTION_FORMS(mean)

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
    y = heed_reshape(y, reduced_shape(x, set, keepdim));
    const bool is_view = y != NULL && y->storage == x->storage;
    return heed_scope_end_with(&scope, is_view ? heed_clone(y) : y);
}

SHORT_FORMS(prod)

/* ---- cumsum, cumprod ---- */

static heed_status cumulative_rule(const heed_call *call, heed_result *result)
{
    int dim;
    result->dtype = heed_is_float(result->dtype) ? result->dtype : HEED_I64;
    return heed_wrap_dim(call->op->name, *(const int *)call->args, result->shape.ndim, &dim);
}

static heed_status cumsum_forward(const heed_call *call, heed_tensor *y)
{
    const int dim = heed_wrapped(*(const int *)call->args, y->ndim);
    return heed_map_rows(heed_kernels_for(y->dtype)->cumsum, call->inputs, 1, dim, y);
}

static heed_status cumprod_forward(const heed_call *call, heed_tensor *y)
{
    const int dim = heed_wrapped(*(const int *)call->args, y->ndim);
    return heed_map_rows(heed_kernels_for(y->dtype)->cumprod, call->inputs, 1, dim, y);
}

/* x_i is part of the sums y_i, ..., y_(n-1), so dx is the sum of g from i to the end. */
static void cumsum_backward(const heed_vjp *v)
{
    const int dim = *(const int *)v->args;
    v->grads[0] = heed_flip(heed_cumsum(heed_flip(v->g, HEED_DIMS(dim)), dim), HEED_DIMS(dim));
}

HEED_OPERATION(cumsum) = {.name = "cumsum",
                          .inputs = 1,
                          .args = "int dim",
                          .rule = cumulative_rule,
                          .forward = cumsum_forward,
                          .backward = cumsum_backward};

heed_tensor *heed_cumsum(heed_tensor *x, int dim)
{
    return heed_apply(&op_cumsum, &x, 1, &dim, sizeof dim);
}

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

HEED_OPERATION(cumprod) = {.name = "cumprod",
                           .inputs = 1,
                           .args = "int dim",
                           .rule = cumulative_rule,
                           .forward = cumprod_forward,
                           .backward = cumprod_backward,
                           .saves = {HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT}};

heed_tensor *heed_cumprod(heed_tensor *x, int dim)
{
    return heed_apply(&op_cumprod, &x, 1, &dim, sizeof dim);
}

/* ---- amax, amin ---- */

/* Ties share the gradient. If y is NaN, no element equals it, and divide_among gives NaN. */
static void amax_backward(const heed_vjp *v)
{
    v->grads[0] = divide_among(v, heed_eq(v->inputs[0], keep_dims(v, v->y)));
}

#define EXTREME(id, fold, gradient)                                                                \
    HEED_OPERATION(id) = {.name = #id,                                                             \
                          .inputs = 1,                                                             \
                          .args = REDUCE_ARGS,                                                     \
                          .rule = nonempty_rule,                                                   \
                          .forward = fold##_forward,                                               \
                          .backward = gradient,                                                    \
                          .saves = {HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT}};
EXTREME(amax, amax, amax_backward)
EXTREME(amin, amin, amax_backward)

REDUCTION_FORMS(amax)
REDUCTION_FORMS(amin)

/* ---- max, min over all elements ---- */

/* As for amax, but if y is NaN the NaN elements share the gradient. */
static void max_backward(const heed_vjp *v)
{
    heed_tensor *x = v->inputs[0];
    heed_tensor *chosen = heed_logical_or(heed_eq(x, v->y), heed_isnan(x));
    heed_tensor *share = heed_div(v->g, heed_sum(chosen));
    v->grads[0] = heed_where(chosen, share, heed_scalar(0, v->g->dtype));
}

EXTREME(max, amax, max_backward)
EXTREME(min, amin, max_backward)

heed_tensor *heed_max(heed_tensor *x)
{
    return heed_apply(&op_max, &x, 1, &everything, sizeof everything);
}

heed_tensor *heed_min(heed_tensor *x)
{
    return heed_apply(&op_min, &x, 1, &everything, sizeof everything);
}

/* ---- argmax, argmin ---- */

static heed_status argmax_rule(const heed_call *call, heed_result *result)
{
    const heed_status status = number_rule(call, result);
    result->dtype = HEED_I64;
    return status;
}

HEED_OPERATION(argmax) = {.name = "argmax",
                          .inputs = 1,
                          .args = REDUCE_ARGS,
                          .rule = argmax_rule,
                          .forward = argmax_forward};

HEED_OPERATION(argmin) = {.name = "argmin",
                          .inputs = 1,
                          .args = REDUCE_ARGS,
                          .rule = argmax_rule,
                          .forward = argmin_forward};

heed_tensor *heed_argmax_dim(heed_tensor *x, int dim, bool keepdim)
{
    const reduce_args args = {HEED_DIMS(dim), keepdim};
    return heed_apply(&op_argmax, &x, 1, &args, sizeof args);
}

heed_tensor *heed_argmin_dim(heed_tensor *x, int dim, bool keepdim)
{
    const reduce_args args = {HEED_DIMS(dim), keepdim};
    return heed_apply(&op_argmin, &x, 1, &args, sizeof args);
}

heed_tensor *heed_argmax(heed_tensor *x)
{
    return heed_apply(&op_argmax, &x, 1, &everything, sizeof everything);
}

heed_tensor *heed_argmin(heed_tensor *x)
{
    return heed_apply(&op_argmin, &x, 1, &everything, sizeof everything);
}

/* ---- max, min, median along a dim: gathered at their indices ---- */

typedef heed_tensor *index_function(heed_tensor *x, int dim, bool keepdim);

/* The rule of `op` checks x and dim, so that errors name max, min or median. */
static heed_tensor *take_at(const heed_op *op, index_function *index, heed_tensor *x, int dim,
                            bool keepdim, heed_tensor **indices)
{
    heed_scope scope;
    if (indices != NULL) {
        *indices = NULL;
    }
    if (heed_check_operand(op->name, "x", x) != HEED_OK) {
        return NULL;
    }
    heed_scope_begin(&scope);
    const reduce_args args = {HEED_DIMS(dim), true};
    const heed_call call = {op, &x, 1, &args};
    heed_tensor *y = NULL, *places = NULL;
    if (op->rule(&call, &(heed_result){.dtype = x->dtype}) == HEED_OK) {
        places = index(x->dtype == HEED_BOOL ? heed_to(x, HEED_I64) : x, dim, true);
        y = heed_gather(x, dim, places);
    }
    if (!keepdim && x->ndim > 0) {
        y = heed_squeeze(y, dim);
        places = heed_squeeze(places, dim);
    }
    if (indices != NULL) {
        *indices = heed_scope_keep(&scope, places);
    }
    return heed_scope_end_with(&scope, y);
}

heed_tensor *heed_max_dim(heed_tensor *x, int dim, bool keepdim, heed_tensor **indices)
{
    return take_at(&op_max, heed_argmax_dim, x, dim, keepdim, indices);
}

heed_tensor *heed_min_dim(heed_tensor *x, int dim, bool keepdim, heed_tensor **indices)
{
    return take_at(&op_min, heed_argmin_dim, x, dim, keepdim, indices);
}

/* The lower of two medians, at the index where a stable sort finds it, as in torch; the first NaN
 * if there is one. */
static heed_tensor *argmedian_dim(heed_tensor *x, int dim, bool keepdim)
{
    heed_tensor *places = heed_argsort(x, dim, false);
    if (x->ndim > 0) {
        places = heed_contiguous(heed_narrow(places, dim, (heed_size(x, dim) - 1) / 2, 1));
    }
    if (heed_is_float(x->dtype)) {
        heed_tensor *broken = heed_any_dim(heed_isnan(x), dim, true);
        places = heed_where(broken, heed_argmax_dim(x, dim, true), places);
    }
    return keepdim || x->ndim == 0 ? places : heed_squeeze(places, dim);
}

static heed_status median_forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor *flat = heed_flatten(call->inputs[0], 0, -1);
    heed_tensor *value = heed_median_dim(flat, 0, false, NULL);
    if (value != NULL) {
        heed_copy_elements(value, y);
    }
    return heed_self.error;
}

HEED_OPERATION(median) = {.name = "median",
                          .inputs = 1,
                          .args = REDUCE_ARGS,
                          .rule = number_rule,
                          .forward = median_forward,
                          .backward = max_backward,
                          .saves = {HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT}};

heed_tensor *heed_median(heed_tensor *x)
{
    return heed_apply(&op_median, &x, 1, &everything, sizeof everything);
}

heed_tensor *heed_median_dim(heed_tensor *x, int dim, bool keepdim, heed_tensor **indices)
{
    return take_at(&op_median, argmedian_dim, x, dim, keepdim, indices);
}

/* ---- var, std ---- */

typedef struct var_args {
    reduce_args reduction;
    int correction;
    bool root; /* take the square root: std */
} var_args;

/* If correction >= count, divides by 0 instead of a negative number, like torch. Without elements,
 * the variance is NaN, whatever the correction. */
static heed_status var_forward(const heed_call *call, heed_tensor *y)
{
    const var_args *args = call->args;
    const double count = count_reduced(call->inputs[0], args), left = count - args->correction;
    const heed_var_args given = {count > 0 && left > 0 ? left : 0, args->root};
    return fold_reduced(call, heed_kernels_for(y->dtype)->var, &given, y->dtype, y);
}

/* dL/dx, given g = dL/dvar. The dependence of the mean on x cancels. */
static heed_tensor *gradient_of_var(const heed_vjp *v, heed_tensor *g)
{
    const var_args *args = v->args;
    heed_tensor *x = v->inputs[0];
    const double count = count_reduced(x, args);
    heed_tensor *scaled = heed_mul_scalar(g, 2 / (count - args->correction));
    heed_tensor *mean = heed_mean_dims(x, args->reduction.dims, true);
    return heed_mul(keep_dims(v, scaled), heed_sub(x, mean));
}

static void var_backward(const heed_vjp *v)
{
    v->grads[0] = gradient_of_var(v, v->g);
}

/* dvar = g / (2 std), but 0 where std is 0, as in torch. */
static void std_backward(const heed_vjp *v)
{
    heed_tensor *flat = heed_eq_scalar(v->y, 0);
    heed_tensor *slope = heed_div(v->g, heed_mul_scalar(heed_masked_fill(v->y, flat, 1), 2));
    v->grads[0] = gradient_of_var(v, heed_masked_fill(slope, flat, 0));
}

HEED_OPERATION(var) = {.name = "var",
                       .inputs = 1,
                       .args = REDUCE_ARGS ", int correction",
                       .rule = float_rule,
                       .forward = var_forward,
                       .backward = var_backward,
                       .saves = {HEED_SAVES_INPUT(0)}};

HEED_OPERATION(std) = {.name = "std",
                       .inputs = 1,
                       .args = REDUCE_ARGS ", int correction",
                       .rule = float_rule,
                       .forward = var_forward,
                       .backward = std_backward,
                       .saves = {HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT}};

#define SPREAD_FORMS(name, root)                                                                   \
    heed_tensor *heed_##name##_dims(heed_tensor *x, heed_dims dims, int correction, bool keepdim)  \
    {                                                                                              \
        const var_args args = {{dims, keepdim}, correction, root};                                 \
        return heed_apply(&op_##name, &x, 1, &args, sizeof args);                                  \
    }                                                                                              \
    heed_tensor *heed_##name##_dim(heed_tensor *x, int dim, int correction, bool keepdim)          \
    {                                                                                              \
        return heed_##name##_dims(x, HEED_DIMS(dim), correction, keepdim);                         \
    }                                                                                              \
    heed_tensor *heed_##name(heed_tensor *x)                                                       \
    {                                                                                              \
        return heed_##name##_dims(x, ALL_DIMS, 1, false);                                          \
    }
SPREAD_FORMS(var, false)
SPREAD_FORMS(std, true)

/* ---- norm ---- */

typedef struct norm_args {
    reduce_args reduction;
    double p;
} norm_args;

/* Without elements, the norm is 0, or undefined if p is infinite or negative. */
static heed_status norm_rule(const heed_call *call, heed_result *result)
{
    const double p = ((const norm_args *)call->args)->p;
    if (heed_expect_float(call, 0) != HEED_OK) {
        return heed_self.error;
    }
    return p < 0 || isinf(p) ? nonempty_rule(call, result) : reduction_rule(call, result);
}

static heed_status norm_forward(const heed_call *call, heed_tensor *y)
{
    const heed_norm_args args = {((const norm_args *)call->args)->p};
    return fold_reduced(call, heed_kernels_for(y->dtype)->norm, &args, y->dtype, y);
}

/* p = inf, -inf: elements with |x| equal to the norm, and NaN elements, share the gradient. */
static heed_tensor *gradient_of_extreme(const heed_vjp *v)
{
    heed_tensor *x = v->inputs[0];
    heed_tensor *extreme = heed_eq(heed_abs(x), keep_dims(v, v->y));
    return heed_mul(heed_sign(x), divide_among(v, heed_logical_or(extreme, heed_isnan(x))));
}

/* (|x| / y)^(p - 1). For p between 0 and 2, |x| and y are raised to the power before the division,
 * because |x| / y may leave the range of floats, but these powers do not. */
static heed_tensor *power_of_ratio(heed_tensor *size, heed_tensor *y, double p)
{
    if (p > 0 && p < 2) {
        return heed_mul(heed_pow_scalar(size, p - 1), heed_pow_scalar(y, 1 - p));
    }
    return heed_pow_scalar(heed_div(size, y), p - 1);
}

/* dx = g sign(x) (|x| / y)^(p - 1), 0 where x or y is 0. Zeros are replaced before the power;
 * otherwise the second derivative would contain 0 * inf. Their replacement is at most y, so that
 * its ratio to y is finite. */
static heed_tensor *gradient_of_power(const heed_vjp *v, double p)
{
    heed_tensor *x = v->inputs[0];
    heed_tensor *flat = heed_eq_scalar(v->y, 0);
    heed_tensor *g = keep_dims(v, heed_masked_fill(v->g, flat, 0));
    heed_tensor *y = keep_dims(v, heed_masked_fill(v->y, flat, 1));
    if (p == 2) {
        return heed_mul(g, heed_div(x, y));
    }
    heed_tensor *size = heed_where(heed_eq_scalar(x, 0), heed_minimum_scalar(y, 1), heed_abs(x));
    return heed_mul(g, heed_mul(heed_sign(x), power_of_ratio(size, y, p)));
}

static void norm_backward(const heed_vjp *v)
{
    const double p = ((const norm_args *)v->args)->p;
    if (p == 1) {
        v->grads[0] = heed_mul(keep_dims(v, v->g), heed_sign(v->inputs[0]));
    } else if (isinf(p)) {
        v->grads[0] = gradient_of_extreme(v);
    } else if (p != 0) { /* a count has no gradient, as in torch */
        v->grads[0] = gradient_of_power(v, p);
    }
}

HEED_OPERATION(norm) = {.name = "norm",
                        .inputs = 1,
                        .args = REDUCE_ARGS ", double p",
                        .rule = norm_rule,
                        .forward = norm_forward,
                        .backward = norm_backward,
                        .saves = {HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT}};

heed_tensor *heed_norm_dims(heed_tensor *x, double p, heed_dims dims, bool keepdim)
{
    const norm_args args = {{dims, keepdim}, p};
    return heed_apply(&op_norm, &x, 1, &args, sizeof args);
}

heed_tensor *heed_norm_dim(heed_tensor *x, double p, int dim, bool keepdim)
{
    return heed_norm_dims(x, p, HEED_DIMS(dim), keepdim);
}

heed_tensor *heed_norm(heed_tensor *x, double p)
{
    return heed_norm_dims(x, p, ALL_DIMS, false);
}

/* ---- any, all ---- */

static heed_status truth_rule(const heed_call *call, heed_result *result)
{
    result->dtype = HEED_BOOL;
    return reduction_rule(call, result);
}

HEED_OPERATION(any) = {
    .name = "any", .inputs = 1, .args = REDUCE_ARGS, .rule = truth_rule, .forward = any_forward};
HEED_OPERATION(all) = {
    .name = "all", .inputs = 1, .args = REDUCE_ARGS, .rule = truth_rule, .forward = all_forward};

REDUCTION_FORMS(any)
REDUCTION_FORMS(all)

/* ---- logsumexp ---- */

static heed_status logsumexp_rule(const heed_call *call, heed_result *result)
{
    result->dtype = heed_is_float(result->dtype) ? result->dtype : HEED_F32;
    return reduction_rule(call, result);
}

static heed_status logsumexp_forward(const heed_call *call, heed_tensor *y)
{
    return fold_reduced(call, heed_kernels_for(y->dtype)->logsumexp, NULL, y->dtype, y);
}

static void logsumexp_backward(const heed_vjp *v)
{
    heed_tensor *softmax = heed_exp(heed_sub(v->inputs[0], keep_dims(v, v->y)));
    v->grads[0] = heed_mul(keep_dims(v, v->g), softmax);
}

HEED_OPERATION(logsumexp) = {.name = "logsumexp",
                             .inputs = 1,
                             .args = REDUCE_ARGS,
                             .rule = logsumexp_rule,
                             .forward = logsumexp_forward,
                             .backward = logsumexp_backward,
                             .saves = {HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT}};

REDUCTION_FORMS(logsumexp)

/* ---- sum_to ---- */

heed_tensor *heed_sum_to(heed_tensor *x, heed_shape shape)
{
    if (heed_blocked() || heed_check_tensor("sum_to", "x", x) != HEED_OK) {
        return NULL;
    }
    heed_dims repeated = {0, {0}};
    const int added = x->ndim - shape.ndim;
    bool fits = added >= 0 && shape.ndim >= 0;
    for (int i = 0; fits && i < x->ndim; i++) {
        bool repeats = i < added || (shape.size[i - added] == 1 && x->shape[i] != 1);
        fits = repeats || shape.size[i - added] == x->shape[i];
        if (repeats) {
            repeated.dim[repeated.count++] = i;
        }
    }
    if (!fits) {
        heed_fail(HEED_ERR_SHAPE, "sum_to: %s does not broadcast to x %s",
                  heed_shape_text(shape.ndim, shape.size).text, HEED_TEXT(x));
        return NULL;
    }
    return repeated.count > 0 ? heed_reshape(heed_sum_dims(x, repeated, false), shape) : x;
}
