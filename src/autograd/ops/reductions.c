/* Reductions: shared code for the reduced dims and for expanding gradients to the input's shape;
 * then the operations; then comparisons of whole tensors. */

#include <math.h>

#include "../autograd.h"

typedef struct reduce_args {
    heed_dims dims; /* empty: all dims */
    bool keepdim;
} reduce_args;

#define ALL_DIMS ((heed_dims){0, {0}})

/* Defines the operation op_name from its signature, its functions, and the values that its gradient
 * reads. */
#define REDUCTION(id, dtypes, rule_of, forward_of, backward_of, saved)                             \
    OPERATION(id) = {.name = #id,                                                                  \
                     .signature = dtypes,                                                          \
                     .args = "dims dims, bool keepdim",                                            \
                     .rule = rule_of,                                                              \
                     .forward = forward_of,                                                        \
                     .backward = backward_of,                                                      \
                     .saves = {saved}};
enum { SAVES_BOTH = HEED_SAVES_INPUT(0) | HEED_SAVES_OUTPUT };

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
    return args->dims.count == 0 ? (1u << ndim) - 1 : heed_wrap_dims("", args->dims, ndim);
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
    heed_wrap_dims(call->op->name, args->dims, x->ndim);
    result->shape = reduced_shape(x, reduced_dims(args, x->ndim), args->keepdim);
    return HEED_OK;
}

static heed_status nonempty_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0];
    reduction_rule(call, result);
    const unsigned set = reduced_dims(call->args, x->ndim);
    for (int i = 0; i < x->ndim; i++) {
        if (set >> i & 1 && x->shape[i] == 0) {
            heed_raise(HEED_ERR_SHAPE, "%s: dim %d of x %s has no elements; reduce a nonempty dim",
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

/* Forward functions that run the kernel of the same name over the reduced dims. */
#define FOLD_FORWARD(kernel)                                                                       \
    static heed_status kernel##_forward(const heed_call *call, heed_tensor *y)                     \
    {                                                                                              \
        const heed_tensor *x = call->inputs[0];                                                    \
        heed_reduce(heed_kernels_for(x->dtype)->kernel, x, reduced_dims(call->args, x->ndim), y);  \
        return HEED_OK;                                                                            \
    }
FOLD_FORWARD(amax)
FOLD_FORWARD(amin)
FOLD_FORWARD(argmax)

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
static heed_tensor *expand_to_input(const heed_vjp *v, heed_tensor *t)
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
    v->grads[0] = expand_to_input(v, v->g);
}

static void mean_backward(const heed_vjp *v)
{
    v->grads[0] = expand_to_input(v, heed_div_scalar(v->g, count_reduced(v->inputs[0], v->args)));
}

REDUCTION(sum, "x any -> number", reduction_rule, sum_forward, sum_backward, 0)
REDUCTION(mean, "x float", reduction_rule, mean_forward, mean_backward, 0)

ALL_FORMS(sum)
ALL_FORMS(mean)

/* ---- amax, amin ---- */

/* Ties share the gradient. If y is NaN, no element equals it, and divide_among gives NaN. */
static void amax_backward(const heed_vjp *v)
{
    v->grads[0] = divide_among(v, heed_eq(v->inputs[0], keep_dims(v, v->y)));
}

REDUCTION(amax, "x any", nonempty_rule, amax_forward, amax_backward, SAVES_BOTH)
REDUCTION(amin, "x any", nonempty_rule, amin_forward, amax_backward, SAVES_BOTH)

DIM_FORM(amax)
WHOLE_FORM(amax)
WHOLE_FORM(amin)

/* ---- argmax ---- */

REDUCTION(argmax, "x number -> i64", nonempty_rule, argmax_forward, NULL, 0)

DIM_FORM(argmax)
WHOLE_FORM(argmax)

/* ---- sum_to_size ---- */

heed_tensor *heed_sum_to_size(heed_tensor *x, heed_shape shape)
{
    HEED_DOOR(NULL);
    heed_check_tensor("sum_to_size", "x", x);
    heed_dims repeated = {0, {0}};
    const int added = shape.ndim < 0 ? -1 : x->ndim - shape.ndim; /* any int may be given */
    bool fits = added >= 0;
    for (int i = 0; fits && i < x->ndim; i++) {
        bool repeats = i < added || (shape.size[i - added] == 1 && x->shape[i] != 1);
        fits = repeats || shape.size[i - added] == x->shape[i];
        if (repeats) {
            repeated.dim[repeated.count++] = i;
        }
    }
    if (!fits) {
        heed_raise(HEED_ERR_SHAPE, "sum_to_size: %s does not broadcast to x %s",
                   heed_shape_text(shape.ndim, shape.size).text, HEED_TEXT(x));
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
    HEED_DOOR(false);
    heed_check_tensor("allclose", "a", a);
    heed_check_tensor("allclose", "b", b);
    heed_shape shape_a = heed_shape_of_tensor(a), shape_b = heed_shape_of_tensor(b), shape;
    heed_common_dtype("allclose", a->dtype, b->dtype);
    heed_broadcast("allclose", &shape_a, &shape_b, &shape);
    if (!(rtol >= 0) || !(atol >= 0)) {
        heed_raise(HEED_ERR_VALUE, "allclose: tolerances rtol %g, atol %g; both must be 0 or more",
                   rtol, atol);
    }
    const heed_frame frame = heed_frame_begin(true);
    heed_tensor *x = heed_contiguous(heed_expand(heed_to(a, HEED_F64), shape));
    heed_tensor *y = heed_contiguous(heed_expand(heed_to(b, HEED_F64), shape));
    const double *of_a = heed_const_data_f64(x), *of_b = heed_const_data_f64(y);
    bool close = true;
    for (int64_t i = 0; close && i < x->numel; i++) {
        close = is_close(of_a[i], of_b[i], rtol, atol, equal_nan);
    }
    heed_frame_end(frame);
    return close;
}

bool heed_equal(heed_tensor *a, heed_tensor *b)
{
    HEED_DOOR(false);
    heed_check_tensor("equal", "a", a);
    heed_check_tensor("equal", "b", b);
    if (a->dtype != b->dtype || !heed_same_shape(a, b)) {
        return false;
    }
    const heed_frame frame = heed_frame_begin(true);
    const bool equal = heed_item_i64(heed_sum(heed_ne(a, b))) == 0;
    heed_frame_end(frame);
    return equal;
}
