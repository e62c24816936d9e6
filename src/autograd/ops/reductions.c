/* Reductions: shared code for the reduced dims and for expanding gradients to the input's shape;
 * then the operations; then comparisons of whole tensors. */

#include <math.h>

#include "../autograd.h"

/* The arguments of a reduction, or the first member of its argument struct. */
typedef struct reduce_args {
    heed_dims dims; /* empty: all dims */
    bool keepdim;
} reduce_args;

#define ALL_DIMS ((heed_dims){0, {0}})

/* Defines the operation op_name. Arguments: those in addition to the dims, its functions, and the
 * values that its gradient reads. */
#define REDUCTION(id, arguments, rule_of, forward_of, backward_of, saved)                          \
    OPERATION(id) = {.name = #id,                                                                  \
                     .inputs = 1,                                                                  \
                     .args = "dims dims, bool keepdim" arguments,                                  \
                     .rule = rule_of,                                                              \
                     .forward = forward_of,                                                        \
                     .backward = backward_of,                                                      \
                     .saves = {saved}};
enum { SAVES_BOTH = HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT };

/* Defines heed_name, of all dims. */
#define WHOLE_FORM(name)                                                                           \
    heed_tensor *heed_##name(heed_tensor *x)                                                       \
    {                                                                                              \
        const reduce_args args = {ALL_DIMS, false};                                                \
        return heed_apply(&op_##name, &x, 1, &args, sizeof args);                                  \
    }
#define DIM_FORM(name)                                                                             \
    heed_tensor *heed_##name##_dim(heed_tensor *x, int dim, bool keepdim)                          \
    {                                                                                              \
        const reduce_args args = {HEED_DIMS(dim), keepdim};                                        \
        return heed_apply(&op_##name, &x, 1, &args, sizeof args);                                  \
    }
#define ALL_FORMS(name)                                                                            \
    heed_tensor *heed_##name##_dims(heed_tensor *x, heed_dims dims, bool keepdim)                  \
    {                                                                                              \
        const reduce_args args = {dims, keepdim};                                                  \
        return heed_apply(&op_##name, &x, 1, &args, sizeof args);                                  \
    }                                                                                              \
    DIM_FORM(name)                                                                                 \
    WHOLE_FORM(name)

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

/* Forward functions that run the kernel of the same name, without arguments, in the result's dtype,
 * or in x's if the result is no float. */
#define FOLD_FORWARD(kernel)                                                                       \
    static heed_status kernel##_forward(const heed_call *call, heed_tensor *y)                     \
    {                                                                                              \
        const heed_tensor *as = heed_is_float(y->dtype) ? y : call->inputs[0];                     \
        const heed_dtype dtype = as->dtype;                                                        \
        return fold_reduced(call, heed_kernels_for(dtype)->kernel, NULL, dtype, y);                \
    }
FOLD_FORWARD(amax)
FOLD_FORWARD(amin)
FOLD_FORWARD(argmax)
FOLD_FORWARD(argmin)
FOLD_FORWARD(norm)
FOLD_FORWARD(logsumexp)

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

REDUCTION(sum, "", sum_rule, sum_forward, sum_backward, 0)
REDUCTION(mean, "", float_rule, mean_forward, mean_backward, 0)

ALL_FORMS(sum)
ALL_FORMS(mean)

/* ---- amax, amin ---- */

/* Ties share the gradient. If y is NaN, no element equals it, and divide_among gives NaN. */
static void amax_backward(const heed_vjp *v)
{
    v->grads[0] = divide_among(v, heed_eq(v->inputs[0], keep_dims(v, v->y)));
}

REDUCTION(amax, "", nonempty_rule, amax_forward, amax_backward, SAVES_BOTH)
REDUCTION(amin, "", nonempty_rule, amin_forward, amax_backward, SAVES_BOTH)

ALL_FORMS(amax)
ALL_FORMS(amin)

/* ---- max, min over all elements ---- */

/* Among the elements equal to y; if y is NaN, among the NaN elements. */
static void max_backward(const heed_vjp *v)
{
    heed_tensor *x = v->inputs[0];
    heed_tensor *chosen = heed_logical_or(heed_eq(x, v->y), heed_isnan(x));
    heed_tensor *share = heed_div(v->g, heed_sum(chosen));
    v->grads[0] = heed_where(chosen, share, heed_scalar(0, v->g->dtype));
}

REDUCTION(max, "", nonempty_rule, amax_forward, max_backward, SAVES_BOTH)
REDUCTION(min, "", nonempty_rule, amin_forward, max_backward, SAVES_BOTH)

WHOLE_FORM(max)
WHOLE_FORM(min)

/* ---- argmax, argmin ---- */

static heed_status argmax_rule(const heed_call *call, heed_result *result)
{
    const heed_dtype dtype = result->dtype;
    result->dtype = HEED_I64;
    return dtype != HEED_BOOL
               ? nonempty_rule(call, result)
               : heed_fail(HEED_ERR_DTYPE, "%s: bool is not supported; heed_to(x, HEED_I64)",
                           call->op->name);
}

REDUCTION(argmax, "", argmax_rule, argmax_forward, NULL, 0)
REDUCTION(argmin, "", argmax_rule, argmin_forward, NULL, 0)

DIM_FORM(argmax)
WHOLE_FORM(argmax)
DIM_FORM(argmin)
WHOLE_FORM(argmin)

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

REDUCTION(var, ", int correction", float_rule, var_forward, var_backward, HEED_SAVES_INPUT(0))
REDUCTION(std, ", int correction", float_rule, var_forward, std_backward, SAVES_BOTH)

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

/* dx = g x / y, 0 where y is 0. */
static void norm_backward(const heed_vjp *v)
{
    heed_tensor *flat = heed_eq_scalar(v->y, 0);
    heed_tensor *g = keep_dims(v, heed_masked_fill(v->g, flat, 0));
    heed_tensor *y = keep_dims(v, heed_masked_fill(v->y, flat, 1));
    v->grads[0] = heed_mul(g, heed_div(v->inputs[0], y));
}

REDUCTION(norm, "", float_rule, norm_forward, norm_backward, SAVES_BOTH)
ALL_FORMS(norm)

/* ---- logsumexp ---- */

static heed_status logsumexp_rule(const heed_call *call, heed_result *result)
{
    result->dtype = heed_is_float(result->dtype) ? result->dtype : HEED_F32;
    return reduction_rule(call, result);
}

static void logsumexp_backward(const heed_vjp *v)
{
    heed_tensor *softmax = heed_exp(heed_sub(v->inputs[0], keep_dims(v, v->y)));
    v->grads[0] = heed_mul(keep_dims(v, v->g), softmax);
}

REDUCTION(logsumexp, "", logsumexp_rule, logsumexp_forward, logsumexp_backward, SAVES_BOTH)
ALL_FORMS(logsumexp)

/* ---- cumsum ---- */

static heed_status cumsum_rule(const heed_call *call, heed_result *result)
{
    int dim;
    result->dtype = heed_is_float(result->dtype) ? result->dtype : HEED_I64;
    return heed_wrap_dim("cumsum", *(const int *)call->args, result->shape.ndim, &dim);
}

static heed_status cumsum_forward(const heed_call *call, heed_tensor *y)
{
    const int dim = heed_wrapped(*(const int *)call->args, y->ndim);
    return heed_map_rows(heed_kernels_for(y->dtype)->cumsum, call->inputs, 1, dim, y);
}

/* x_i is part of the sums y_i, ..., y_(n-1), so dx is the sum of g from i to the end. */
static void cumsum_backward(const heed_vjp *v)
{
    const int dim = *(const int *)v->args;
    v->grads[0] = heed_flip(heed_cumsum(heed_flip(v->g, HEED_DIMS(dim)), dim), HEED_DIMS(dim));
}

OPERATION(cumsum) = {.name = "cumsum",
                     .inputs = 1,
                     .args = "int dim",
                     .rule = cumsum_rule,
                     .forward = cumsum_forward,
                     .backward = cumsum_backward};

heed_tensor *heed_cumsum(heed_tensor *x, int dim)
{
    return heed_apply(&op_cumsum, &x, 1, &dim, sizeof dim);
}

/* ---- sum_to_size ---- */

heed_tensor *heed_sum_to_size(heed_tensor *x, heed_shape shape)
{
    if (heed_blocked() || heed_check_tensor("sum_to_size", "x", x) != HEED_OK) {
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
        heed_fail(HEED_ERR_SHAPE, "sum_to_size: %s does not broadcast to x %s",
                  heed_shape_text(shape.ndim, shape.size).text, HEED_TEXT(x));
        return NULL;
    }
    return repeated.count > 0 ? heed_reshape(heed_sum_dims(x, repeated, false), shape) : x;
}

/* ---- comparisons of whole tensors ---- */

static bool is_close(double a, double b, double rtol, double atol, bool equal_nan)
{
    if (isnan(a) || isnan(b)) {
        return equal_nan && isnan(a) && isnan(b);
    }
    return a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= atol + rtol * fabs(b));
}

bool heed_allclose(heed_tensor *a, heed_tensor *b, double rtol, double atol, bool equal_nan)
{
    if (heed_blocked() || heed_check_tensor("allclose", "a", a) != HEED_OK ||
        heed_check_tensor("allclose", "b", b) != HEED_OK) {
        return false;
    }
    heed_dtype dtype;
    heed_shape shape_a = heed_shape_of_tensor(a), shape_b = heed_shape_of_tensor(b), shape;
    if (heed_common_dtype("allclose", a->dtype, b->dtype, &dtype) != HEED_OK ||
        heed_broadcast("allclose", &shape_a, &shape_b, &shape) != HEED_OK) {
        return false;
    }
    if (!(rtol >= 0) || !(atol >= 0)) {
        heed_fail(HEED_ERR_VALUE, "allclose: tolerances rtol %g, atol %g; both must be 0 or more",
                  rtol, atol);
        return false;
    }
    const heed_frame frame = heed_frame_begin(true);
    heed_tensor *x = heed_contiguous(heed_expand(heed_to(a, HEED_F64), shape));
    heed_tensor *y = heed_contiguous(heed_expand(heed_to(b, HEED_F64), shape));
    const double *of_a = heed_const_data_f64(x), *of_b = heed_const_data_f64(y);
    bool close = !heed_blocked();
    for (int64_t i = 0; close && i < x->numel; i++) {
        close = is_close(of_a[i], of_b[i], rtol, atol, equal_nan);
    }
    heed_frame_end(frame);
    return close;
}

bool heed_equal(heed_tensor *a, heed_tensor *b)
{
    if (heed_blocked() || heed_check_tensor("equal", "a", a) != HEED_OK ||
        heed_check_tensor("equal", "b", b) != HEED_OK || a->dtype != b->dtype ||
        !heed_same_shape(a, b)) {
        return false;
    }
    const heed_frame frame = heed_frame_begin(true);
    const bool equal = heed_item_i64(heed_sum(heed_ne(a, b))) == 0;
    heed_frame_end(frame);
    return !heed_blocked() && equal;
}
