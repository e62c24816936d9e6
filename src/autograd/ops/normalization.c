/* layer_norm, with row kernels that tensor/reduce.c distributes over threads. The gradients
 * are also implemented with other operations, for second derivatives. */
#include <string.h>

#include "../autograd.h"

typedef struct norm_args {
    double eps;
    int ndim; /* number of normalized dims, which are the last dims of x */
} norm_args;

/* The shape of the normalized dims of x. */
static heed_shape normalized(const heed_tensor *x, const norm_args *args)
{
    heed_shape shape = {.ndim = args->ndim};
    memcpy(shape.size, x->shape + x->ndim - args->ndim, sizeof *shape.size * (size_t)args->ndim);
    return shape;
}

/* Inputs: x, weight and bias; the last ones may be missing. */
static heed_status norm_rule(const heed_call *call, heed_result *result)
{
    (void)result;
    const heed_tensor *x = call->inputs[0];
    if (call->count > 3) {
        return heed_fail(HEED_ERR_VALUE,
                         "layer_norm: %d tensors; it takes x and at most 2 parameters",
                         call->count);
    }
    if (heed_expect_float(call, 0) != HEED_OK) {
        return heed_self.error;
    }
    const heed_shape shape = normalized(x, call->args);
    for (int i = 1; i < call->count; i++) {
        const heed_tensor *parameter = call->inputs[i];
        if (!heed_has_shape(parameter, &shape)) {
            return heed_fail(HEED_ERR_SHAPE,
                             "layer_norm: %s %s; it must have the normalized shape, %s",
                             call->op->names[i], HEED_TEXT(parameter),
                             heed_shape_text(shape.ndim, shape.size).text);
        }
        if (parameter->dtype != x->dtype) {
            return heed_fail(
                HEED_ERR_DTYPE, "layer_norm: x is %s and %s %s; cast one of them with heed_to",
                heed_dtype_name(x->dtype), call->op->names[i], heed_dtype_name(parameter->dtype));
        }
    }
    return HEED_OK;
}

/* ---- with kernels ---- */

/* Sets the fields that the kernels read. A missing parameter is replaced by ones or zeros. */
static heed_status find_rows(heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                             const norm_args *args, heed_normalization *rows)
{
    const heed_shape shape = normalized(x, args);
    weight = weight != NULL ? heed_contiguous(weight) : heed_ones(shape, x->dtype);
    bias = bias != NULL ? heed_contiguous(bias) : heed_zeros(shape, x->dtype);
    x = heed_contiguous(x);
    if (heed_blocked()) {
        return heed_self.error;
    }
    rows->n = weight->numel;
    rows->rows = x->numel > 0 ? x->numel / rows->n : 0;
    rows->x = x->data;
    rows->weight = weight->data;
    rows->bias = bias->data;
    rows->eps = args->eps;
    return HEED_OK;
}

static heed_status normalize_forward(const heed_call *call, heed_tensor *y)
{
    heed_normalization rows = {.y = y->data};
    heed_tensor *weight = call->count > 1 ? call->inputs[1] : NULL;
    heed_tensor *bias = call->count > 2 ? call->inputs[2] : NULL;
    if (find_rows(call->inputs[0], weight, bias, call->args, &rows) == HEED_OK) {
        heed_normalize_rows(&rows, y->dtype);
    }
    return heed_self.error;
}

/* All gradients in one pass. `weight` is NULL if x needs no gradient, because the weight's value
 * may then have been freed. */
static void gradients_by_kernel(const heed_vjp *v, heed_tensor *weight)
{
    heed_tensor *x = v->inputs[0], *g = heed_contiguous(v->g),
                *dx = heed_empty(heed_shape_of_tensor(x), x->dtype);
    heed_normalization rows = {0};
    if (find_rows(x, weight, NULL, v->args, &rows) != HEED_OK) {
        return;
    }
    const heed_shape shape = HEED_SHAPE(heed_chunks_of_rows(&rows), 2, rows.n);
    heed_tensor *totals = heed_zeros(shape, HEED_F64); /* dweight and dbias per chunk */
    if (totals == NULL) {
        return;
    }
    rows.g = g->data;
    rows.dx = dx->data;
    rows.totals = totals->data;
    heed_normalize_rows_gradient(&rows, x->dtype);
    totals = heed_sum_dim(totals, 0, false);
    v->grads[0] = dx;
    for (int i = 1; i < v->y->input_count; i++) {
        heed_tensor *sums = heed_to(heed_select(totals, 0, i - 1), x->dtype);
        v->grads[i] = heed_reshape(sums, heed_shape_of_tensor(v->inputs[i]));
    }
}

/* ---- with other operations ---- */

/* The gradient of a parameter, summed over the rows. */
static heed_tensor *to_parameter(const heed_vjp *v, int i, heed_tensor *dx)
{
    const heed_tensor *parameter = v->inputs[i];
    return heed_to(heed_sum_to_size(dx, heed_shape_of_tensor(parameter)), parameter->dtype);
}

/* The gradients of y = weight z + bias with z = c scale, c = x - mean(x) and scale = 1 /
 * sqrt(mean(c^2) + eps). Computed in f64, as in the kernels. A mean far from 0 has a large rounding
 * error, so x is first shifted by the rounded mean, taken as a constant. The shift is exact or
 * nearly so and does not affect derivatives, and the remaining mean is small. */
static void gradients_by_operations(const heed_vjp *v, heed_tensor *weight)
{
    const norm_args *args = v->args;
    heed_dims dims = {.count = args->ndim};
    for (int i = 0; i < args->ndim; i++) {
        dims.dim[i] = i - args->ndim;
    }
    heed_tensor *g = heed_to(v->g, HEED_F64), *x = heed_to(v->inputs[0], HEED_F64);
    heed_tensor *near_0 = heed_sub(x, heed_mean_dims(heed_detach(x), dims, true));
    heed_tensor *c = heed_sub(near_0, heed_mean_dims(near_0, dims, true));
    heed_tensor *squares = heed_mean_dims(heed_square(c), dims, true);
    heed_tensor *scale = heed_rsqrt(heed_add_scalar(squares, args->eps));
    heed_tensor *z = heed_mul(c, scale);
    if (heed_wants_grad(v, 0)) {
        heed_tensor *h = weight != NULL ? heed_mul(g, heed_to(weight, HEED_F64)) : g;
        heed_tensor *along_z = heed_mul(z, heed_mean_dims(heed_mul(h, z), dims, true));
        h = heed_sub(h, heed_mean_dims(h, dims, true));
        v->grads[0] = heed_to(heed_mul(heed_sub(h, along_z), scale), v->y->dtype);
    }
    if (v->y->input_count > 1) {
        v->grads[1] = to_parameter(v, 1, heed_mul(g, z));
    }
    if (v->y->input_count > 2) {
        v->grads[2] = to_parameter(v, 2, g);
    }
}

static void norm_backward(const heed_vjp *v)
{
    if (!heed_wants_grad(v, 0) && !heed_wants_grad(v, 1)) { /* bias only: x may have been freed */
        v->grads[2] = to_parameter(v, 2, v->g);
        return;
    }
    heed_tensor *weight = v->y->input_count > 1 && heed_wants_grad(v, 0) ? v->inputs[1] : NULL;
    if (heed_is_grad_enabled()) {
        gradients_by_operations(v, weight);
    } else {
        gradients_by_kernel(v, weight);
    }
}

OPERATION(layer_norm) = {.name = "layer_norm",
                         .inputs = HEED_ANY_COUNT,
                         .names = HEED_NAMES("x", "weight", "bias"),
                         .args = "double eps",
                         .rule = norm_rule,
                         .forward = normalize_forward,
                         .backward = norm_backward,
                         .saves = {HEED_SAVES_INPUT(0) | HEED_SAVES_INPUT(1), HEED_SAVES_INPUT(0)}};

heed_tensor *heed_layer_norm(heed_tensor *x, heed_shape shape, heed_tensor *weight,
                             heed_tensor *bias, double eps)
{
    const norm_args args = {eps != 0 ? eps : 1e-5, shape.ndim};
    if (heed_check_operand("layer_norm", "x", x) != HEED_OK) {
        return NULL;
    }
    if (shape.ndim < 1 || shape.ndim > x->ndim ||
        memcmp(x->shape + x->ndim - shape.ndim, shape.size,
               sizeof *shape.size * (size_t)shape.ndim) != 0) {
        heed_fail(HEED_ERR_SHAPE,
                  "layer_norm: x %s does not end with the normalized shape %s; use HEED_SHAPE(n) "
                  "for a last dim of size n",
                  HEED_TEXT(x), heed_shape_text(shape.ndim, shape.size).text);
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    if (weight == NULL && bias != NULL) {
        weight = heed_ones(shape, x->dtype);
    }
    heed_tensor *inputs[] = {x, weight, bias};
    const int count = bias != NULL ? 3 : weight != NULL ? 2 : 1;
    return heed_scope_end_with(&scope,
                               heed_apply(&op_layer_norm, inputs, count, &args, sizeof args));
}
