/* layer_norm, with row kernels that tensor/reduce.c distributes over threads. The gradients
 * are also implemented with other operations, for second derivatives. */
#include "../autograd.h"

/* ---- with kernels ---- */

/* The fields that the kernels read. A missing parameter is replaced by ones or zeros. */
static heed_normalisation find_rows(heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                                    double eps)
{
    const heed_shape shape = HEED_SHAPE(x->shape[x->ndim - 1]);
    weight = weight != NULL ? heed_contiguous(weight) : heed_ones(shape, x->dtype);
    bias = bias != NULL ? heed_contiguous(bias) : heed_zeros(shape, x->dtype);
    x = heed_contiguous(x);
    return (heed_normalisation){.n = weight->numel,
                                .rows = x->numel > 0 ? x->numel / weight->numel : 0,
                                .x = x->data,
                                .weight = weight->data,
                                .bias = bias->data,
                                .eps = eps};
}

static heed_status normalise_forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor *weight = call->count > 1 ? call->inputs[1] : NULL;
    heed_tensor *bias = call->count > 2 ? call->inputs[2] : NULL;
    heed_normalisation rows = find_rows(call->inputs[0], weight, bias, *(const double *)call->args);
    rows.y = y->data;
    heed_normalise_rows(&rows, y->dtype);
    return HEED_OK;
}

/* All gradients in one pass. `weight` is NULL if x needs no gradient, because the weight's value
 * may then have been freed. */
static void gradients_by_kernel(const heed_vjp *v, heed_tensor *weight)
{
    heed_tensor *x = v->inputs[0], *g = heed_contiguous(v->g), *dx = heed_tensor_like(x);
    heed_normalisation rows = find_rows(x, weight, NULL, *(const double *)v->args);
    const heed_shape shape = HEED_SHAPE(heed_chunks_of_rows(&rows), 2, rows.n);
    heed_tensor *totals = heed_zeros(shape, HEED_F64); /* dweight and dbias per chunk */
    rows.g = g->data;
    rows.dx = dx->data;
    rows.totals = totals->data;
    heed_normalise_rows_gradient(&rows, x->dtype);
    totals = heed_sum_dim(totals, 0, false);
    v->grads[0] = dx;
    for (int i = 1; i < v->y->input_count; i++) {
        v->grads[i] = heed_to(heed_select(totals, 0, i - 1), x->dtype);
    }
}

/* ---- with other operations ---- */

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
    heed_tensor *g = heed_to(v->g, HEED_F64), *x = heed_to(v->inputs[0], HEED_F64);
    heed_tensor *near_0 = heed_sub(x, heed_mean_dim(heed_detach(x), -1, true));
    heed_tensor *c = heed_sub(near_0, heed_mean_dim(near_0, -1, true));
    heed_tensor *squares = heed_mean_dim(heed_square(c), -1, true);
    heed_tensor *scale = heed_rsqrt(heed_add_scalar(squares, *(const double *)v->args));
    heed_tensor *z = heed_mul(c, scale);
    if (heed_wants_grad(v, 0)) {
        heed_tensor *h = weight != NULL ? heed_mul(g, heed_to(weight, HEED_F64)) : g;
        heed_tensor *along_z = heed_mul(z, heed_mean_dim(heed_mul(h, z), -1, true));
        h = heed_sub(h, heed_mean_dim(h, -1, true));
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
                         .signature = "x (..., n) float, weight? (n), bias? (n) -> (..., n)",
                         .args = "double eps",
                         .forward = normalise_forward,
                         .backward = norm_backward,
                         .saves = {HEED_SAVES_INPUT(0) | HEED_SAVES_INPUT(1), HEED_SAVES_INPUT(0)}};

heed_tensor *heed_layer_norm(heed_tensor *x, heed_shape shape, heed_tensor *weight,
                             heed_tensor *bias, double eps)
{
    HEED_DOOR(NULL);
    heed_check_operand("layer_norm", "x", x);
    eps = eps != 0 ? eps : 1e-5;
    if (shape.ndim != 1 || x->ndim < 1 || shape.size[0] != x->shape[x->ndim - 1]) {
        heed_raise(HEED_ERR_SHAPE,
                   "layer_norm: x %s does not end with the normalized shape %s; use HEED_SHAPE(n) "
                   "for a last dim of size n",
                   HEED_TEXT(x), heed_shape_text(shape.ndim, shape.size).text);
    }
    HEED_SCOPE(scope);
    if (weight == NULL && bias != NULL) {
        weight = heed_ones(shape, x->dtype);
    }
    heed_tensor *inputs[] = {x, weight, bias};
    const int count = bias != NULL ? 3 : weight != NULL ? 2 : 1;
    return heed_scope_keep(&scope, heed_apply(&op_layer_norm, inputs, count, &eps, sizeof eps));
}
