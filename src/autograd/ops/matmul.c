/* Matrix products: batched matmul for any strides, and linear. tensor/batch_gemm.c passes matrices
 * to the kernels. */

#include "../autograd.h"

static heed_status matmul_forward(const heed_call *call, heed_tensor *y)
{
    heed_multiply(call->inputs[0], false, call->inputs[1], false, y);
    return HEED_OK;
}

/* All rows of x (..., n) as one tall matrix. */
static heed_tensor *tall(heed_tensor *x)
{
    return x->ndim == 1 ? heed_unsqueeze(x, 0) : heed_flatten(x, 0, -2);
}

/* If b is a single matrix and a is a batch, a^T g is one product over all rows instead of a sum of
 * products. */
static bool is_one_product(const heed_vjp *v)
{
    const heed_tensor *a = v->inputs[0], *b = v->inputs[1];
    return heed_is_one_matrix(b) && a->ndim > 2;
}

/* The gradient of input i if no graph is recorded, computed directly instead of by operations. If
 * the input is a batch of transposed matrices, its gradient gets the same layout, so that
 * transposing it back gives contiguous memory. */
static heed_tensor *multiply_factors(const heed_vjp *v, int i)
{
    const heed_tensor *input = v->inputs[i], *other = v->inputs[1 - i], *g = v->g;
    const int row = input->ndim - 2, column = input->ndim - 1;
    const bool is_transposed = row > 0 && input->strides[row] == 1 && input->strides[column] > 1;
    const heed_tensor *plain = is_transposed ? other : g, *turned = is_transposed ? g : other;
    heed_shape shape;
    heed_get_shape(g, &shape);
    shape.size[g->ndim - 2] = input->shape[is_transposed ? column : row];
    shape.size[g->ndim - 1] = input->shape[is_transposed ? row : column];
    heed_tensor *d = heed_tensor_new("matmul", &shape, g->dtype);
    heed_multiply(i == 0 ? plain : turned, i == 1, i == 0 ? turned : plain, i == 0, d);
    return is_transposed ? heed_transpose(d, -2, -1) : d;
}

/* The gradient of input i as operations, which a graph can record. */
static heed_tensor *composed_gradient(const heed_vjp *v, int i)
{
    heed_tensor *a = v->inputs[0], *b = v->inputs[1], *g = v->g;
    if (i == 0) {
        return heed_matmul(g, heed_transpose(b, -2, -1));
    }
    const bool once = is_one_product(v);
    heed_tensor *d = heed_matmul(heed_transpose(once ? tall(a) : a, -2, -1), once ? tall(g) : g);
    return d->ndim < v->inputs[i]->ndim ? heed_reshape(d, heed_shape_of_tensor(v->inputs[i])) : d;
}

static void matmul_backward(const heed_vjp *v)
{
    for (int i = 1; i >= 0; i--) {
        if (heed_wants_grad(v, i)) {
            const bool composed = heed_is_grad_enabled() || is_one_product(v);
            v->grads[i] = composed ? composed_gradient(v, i) : multiply_factors(v, i);
        }
    }
}

OPERATION(matmul) = {.name = "matmul",
                     .signature = "a (..., m, k) number, b (..., k, n) -> (..., m, n)",
                     .forward = matmul_forward,
                     .backward = matmul_backward,
                     .saves = {HEED_SAVES_INPUT(1), HEED_SAVES_INPUT(0)}};

/* Products with a vector, for their checks: that of the vector's own shape. */
OPERATION(vector_matmul) = {.name = "matmul", .signature = "a (k) number, b (..., k, n)"};
OPERATION(matmul_vector) = {.name = "matmul", .signature = "a (..., m, k) number, b (k)"};
OPERATION(dot) = {.name = "matmul", .signature = "a (k) number, b (k)"};

heed_tensor *heed_matmul(heed_tensor *a, heed_tensor *b)
{
    const bool row = a != NULL && a->ndim <= 1, column = b != NULL && b->ndim <= 1;
    heed_tensor *inputs[] = {a, b};
    if (!row && !column) {
        return heed_apply(&op_matmul, inputs, 2, NULL, 0);
    }
    HEED_DOOR(NULL);
    if (a != NULL && b != NULL && (a->ndim == 0 || b->ndim == 0)) {
        heed_raise(HEED_ERR_SHAPE,
                   "matmul: %s x %s: a tensor without dims; use heed_mul to multiply by a scalar",
                   HEED_TEXT(a), HEED_TEXT(b));
    }
    heed_result result;
    const heed_op *op = !row ? &op_matmul_vector : !column ? &op_vector_matmul : &op_dot;
    heed_describe(&(heed_call){op, inputs, 2, NULL, 0}, &result);
    inputs[0] = row ? heed_unsqueeze(a, 0) : a;
    inputs[1] = column ? heed_unsqueeze(b, 1) : b;
    heed_tensor *y = heed_apply(&op_matmul, inputs, 2, NULL, 0);
    y = row ? heed_squeeze(y, -2) : y;
    return column ? heed_squeeze(y, -1) : y;
}

/* ---- linear: x weight^T + bias as one product over all rows of x; likewise each gradient ---- */

static heed_status linear_forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor *bias = call->count > 2 ? call->inputs[2] : NULL;
    if (bias != NULL && !heed_is_row_major(bias)) {
        bias = heed_contiguous(bias);
    }
    heed_multiply_rows(call->inputs[0], false, call->inputs[1], true, bias, y);
    return HEED_OK;
}

/* The gradient of input i if no graph is recorded. */
static heed_tensor *find_gradient(const heed_vjp *v, int i)
{
    heed_tensor *d = heed_tensor_like(v->inputs[i]);
    if (i == 2) {
        heed_sum_elements(v->g, (1u << (v->g->ndim - 1)) - 1, 1, d);
        return d;
    }
    heed_multiply_rows(v->g, i == 1, v->inputs[1 - i], false, NULL, d);
    return d;
}

static heed_tensor *differentiable_gradient(const heed_vjp *v, int i)
{
    heed_tensor *g = v->g;
    return i == 0   ? heed_matmul(g, v->inputs[1])
           : i == 1 ? heed_matmul(heed_transpose(tall(g), 0, 1), tall(v->inputs[0]))
                    : heed_sum_to_size(g, heed_shape_of_tensor(v->inputs[2]));
}

static void linear_backward(const heed_vjp *v)
{
    for (int i = v->y->input_count - 1; i >= 0; i--) {
        if (heed_wants_grad(v, i)) {
            /* Cast since the forward: the engine reports it. */
            const bool is_cast = v->inputs[i]->dtype != v->g->dtype;
            v->grads[i] = heed_is_grad_enabled() || is_cast ? differentiable_gradient(v, i)
                                                            : find_gradient(v, i);
        }
    }
}

OPERATION(linear) = {.name = "linear",
                     .signature = "x (..., in) number, weight (out, in), bias? (out) -> (..., out)",
                     .forward = linear_forward,
                     .backward = linear_backward,
                     .saves = {HEED_SAVES_INPUT(1), HEED_SAVES_INPUT(0)}};

heed_tensor *heed_linear(heed_tensor *x, heed_tensor *weight, heed_tensor *bias)
{
    heed_tensor *inputs[] = {x, weight, bias};
    return heed_apply(&op_linear, inputs, bias != NULL ? 3 : 2, NULL, 0);
}
