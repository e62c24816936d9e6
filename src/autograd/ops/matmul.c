/* Matrix products: batched matmul for any strides, and linear. tensor/batch_gemm.c passes matrices
 * to the kernels. */

#include "../autograd.h"

/* The inner size of b: its number of rows, or its length if it is a vector. */
static int64_t rows_of(const heed_tensor *b)
{
    return b->shape[b->ndim > 1 ? b->ndim - 2 : 0];
}

static heed_status inner_sizes_differ(const heed_tensor *a, const heed_tensor *b)
{
    const char *hint = b->ndim > 1 ? "a's last size must equal b's second-to-last"
                                   : "a's last size must equal b's";
    if (b->ndim > 1 && a->shape[a->ndim - 1] == b->shape[b->ndim - 1]) {
        hint = "did you mean heed_transpose(b, -2, -1)?";
    } else if (a->ndim > 1 && a->shape[a->ndim - 2] == rows_of(b)) {
        hint = "did you mean heed_transpose(a, -2, -1)?";
    }
    return heed_fail(HEED_ERR_SHAPE, "matmul: inner sizes differ: %s x %s; %s", HEED_TEXT(a),
                     HEED_TEXT(b), hint);
}

static heed_status matmul_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *a = call->inputs[0], *b = call->inputs[1];
    if (heed_check_factors("matmul", a->dtype, b->dtype) != HEED_OK) {
        return heed_self.error;
    }
    if (a->shape[a->ndim - 1] != rows_of(b)) {
        return inner_sizes_differ(a, b);
    }
    const heed_shape batch_a = heed_batch_of(a), batch_b = heed_batch_of(b);
    if (!heed_shapes_broadcast(&batch_a, &batch_b)) {
        return heed_fail(HEED_ERR_SHAPE,
                         "matmul: the batch dims %s and %s of %s x %s do not broadcast; make the "
                         "sizes equal or one of them 1",
                         heed_shape_text(batch_a.ndim, batch_a.size).text,
                         heed_shape_text(batch_b.ndim, batch_b.size).text, HEED_TEXT(a),
                         HEED_TEXT(b));
    }
    if (heed_broadcast("matmul", &batch_a, &batch_b, &result->shape) != HEED_OK) {
        return heed_self.error;
    }
    result->shape.size[result->shape.ndim++] = a->shape[a->ndim - 2];
    result->shape.size[result->shape.ndim++] = b->shape[b->ndim - 1];
    return HEED_OK;
}

static heed_status matmul_forward(const heed_call *call, heed_tensor *y)
{
    return heed_multiply(call->inputs[0], call->inputs[1], y);
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

/* t with its last two dims swapped, for heed_multiply. */
typedef struct swapped_view {
    heed_tensor t;
    int64_t shape[HEED_MAX_DIMS], strides[HEED_MAX_DIMS];
} swapped_view;

static const heed_tensor *swap_last(const heed_tensor *t, swapped_view *to)
{
    const int last = t->ndim - 1;
    for (int dim = 0; dim <= last; dim++) {
        const int from = dim < last - 1 ? dim : 2 * last - 1 - dim;
        to->shape[dim] = t->shape[from];
        to->strides[dim] = t->strides[from];
    }
    to->t.data = t->data;
    to->t.ndim = t->ndim;
    to->t.numel = t->numel;
    to->t.shape = to->shape;
    to->t.strides = to->strides;
    return &to->t;
}

/* The gradient of input i if no graph is recorded, computed directly instead of by operations. If
 * the input is a batch of transposed matrices, its gradient gets the same layout, so that
 * transposing it back gives contiguous memory. */
static heed_tensor *multiply_factors(const heed_vjp *v, int i)
{
    const heed_tensor *input = v->inputs[i], *other = v->inputs[1 - i], *g = v->g;
    const int row = input->ndim - 2, column = input->ndim - 1;
    const bool is_transposed = row > 0 && input->strides[row] == 1 && input->strides[column] > 1;
    swapped_view view;
    const heed_tensor *plain = is_transposed ? other : g;
    const heed_tensor *swapped = swap_last(is_transposed ? g : other, &view);
    heed_shape shape = heed_shape_of_tensor(g);
    shape.size[g->ndim - 2] = input->shape[is_transposed ? column : row];
    shape.size[g->ndim - 1] = input->shape[is_transposed ? row : column];
    heed_tensor *d = heed_empty(shape, g->dtype);
    if (d == NULL ||
        heed_multiply(i == 0 ? plain : swapped, i == 0 ? swapped : plain, d) != HEED_OK) {
        return NULL;
    }
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
    const bool lacks_dims = d != NULL && d->ndim < v->inputs[i]->ndim;
    return lacks_dims ? heed_reshape(d, heed_shape_of_tensor(v->inputs[i])) : d;
}

static void matmul_backward(const heed_vjp *v)
{
    for (int i = 0; i < 2; i++) {
        if (heed_wants_grad(v, i)) {
            const bool composed = heed_is_grad_enabled() || is_one_product(v);
            v->grads[i] = composed ? composed_gradient(v, i) : multiply_factors(v, i);
        }
    }
}

OPERATION(matmul) = {.name = "matmul",
                     .inputs = 2,
                     .rule = matmul_rule,
                     .forward = matmul_forward,
                     .backward = matmul_backward,
                     .saves = {HEED_SAVES_INPUT(1), HEED_SAVES_INPUT(0)}};

heed_tensor *heed_matmul(heed_tensor *a, heed_tensor *b)
{
    if (heed_check_operand("matmul", "a", a) != HEED_OK ||
        heed_check_operand("matmul", "b", b) != HEED_OK) {
        return NULL;
    }
    if (a->ndim == 0 || b->ndim == 0) {
        heed_fail(HEED_ERR_SHAPE,
                  "matmul: %s x %s: a tensor without dims; use heed_mul to multiply by a scalar",
                  HEED_TEXT(a), HEED_TEXT(b));
        return NULL;
    }
    const bool row = a->ndim == 1, column = b->ndim == 1;
    if ((row || column) && a->shape[a->ndim - 1] != rows_of(b)) {
        inner_sizes_differ(a, b); /* reports the original shapes, not those of the matrices below */
        return NULL;
    }
    heed_tensor *matrices[] = {row ? heed_unsqueeze(a, 0) : a, column ? heed_unsqueeze(b, 1) : b};
    heed_tensor *y = heed_apply(&op_matmul, matrices, 2, NULL, 0);
    y = row ? heed_squeeze(y, -2) : y;
    return column ? heed_squeeze(y, -1) : y;
}

/* ---- linear: x weight^T + bias as one product over all rows of x; likewise each gradient ---- */

static heed_status linear_rule(const heed_call *call, heed_result *result)
{
    if (call->count < 2 || call->count > 3) {
        return heed_fail(HEED_ERR_VALUE,
                         "linear: got %d tensors; it takes x, weight and optionally bias",
                         call->count);
    }
    const heed_tensor *x = call->inputs[0], *weight = call->inputs[1];
    const heed_tensor *bias = call->count > 2 ? call->inputs[2] : NULL;
    if (heed_check_factors("linear", x->dtype, weight->dtype) != HEED_OK ||
        (bias != NULL && heed_check_factors("linear", x->dtype, bias->dtype) != HEED_OK)) {
        return heed_self.error;
    }
    if (weight->ndim != 2) {
        return heed_fail(HEED_ERR_SHAPE, "linear: weight %s must be (out, in)", HEED_TEXT(weight));
    }
    if (x->ndim == 0 || x->shape[x->ndim - 1] != weight->shape[1]) {
        const bool turned = x->ndim > 0 && x->shape[x->ndim - 1] == weight->shape[0];
        return heed_fail(HEED_ERR_SHAPE, "linear: x %s must end in %lld, as weight %s does%s",
                         HEED_TEXT(x), (long long)weight->shape[1], HEED_TEXT(weight),
                         turned ? "; did you mean heed_transpose(weight, 0, 1)?" : "");
    }
    if (bias != NULL && (bias->ndim != 1 || bias->shape[0] != weight->shape[0])) {
        return heed_fail(HEED_ERR_SHAPE,
                         "linear: bias %s must be (%lld), one number per row of weight %s",
                         HEED_TEXT(bias), (long long)weight->shape[0], HEED_TEXT(weight));
    }
    result->shape.size[x->ndim - 1] = weight->shape[0];
    return HEED_OK;
}

/* All rows of t as one matrix; copies rows that are unevenly spaced. False on error. */
static inline bool view_rows(heed_tensor *t, heed_matrix_view *rows)
{
    if (t != NULL && heed_view_rows(t, rows)) {
        return true;
    }
    t = heed_contiguous(t);
    return t != NULL && heed_view_rows(t, rows);
}

static heed_status linear_forward(const heed_call *call, heed_tensor *y)
{
    heed_matrix_view x, weight, rows;
    heed_tensor *bias = call->count > 2 ? call->inputs[2] : NULL;
    if (bias != NULL && !heed_is_row_major(bias)) {
        bias = heed_contiguous(bias);
    }
    if (!view_rows(call->inputs[0], &x) || !view_rows(call->inputs[1], &weight) ||
        !view_rows(y, &rows) || heed_blocked()) {
        return heed_self.error;
    }
    weight = heed_transposed(weight);
    return heed_multiply_matrices(y->dtype, &x, &weight, bias, &rows);
}

/* Stores the gradient of input i in d, which is contiguous. */
static heed_status find_gradient(const heed_vjp *v, int i, heed_tensor *d)
{
    heed_matrix_view g, other, rows;
    if (i == 2) {
        heed_sum_elements(v->g, (1u << (v->g->ndim - 1)) - 1, 1, d);
        return HEED_OK;
    }
    if (!view_rows(v->g, &g) || !view_rows(v->inputs[1 - i], &other) || !view_rows(d, &rows)) {
        return heed_self.error;
    }
    if (i == 1) {
        g = heed_transposed(g);
    }
    return heed_multiply_matrices(d->dtype, &g, &other, NULL, &rows);
}

/* The same gradients, computed with differentiable operations. */
static heed_tensor *differentiable_gradient(const heed_vjp *v, int i)
{
    heed_tensor *g = v->g;
    return i == 0   ? heed_matmul(g, v->inputs[1])
           : i == 1 ? heed_matmul(heed_transpose(tall(g), 0, 1), tall(v->inputs[0]))
                    : heed_sum_to_size(g, heed_shape_of_tensor(v->inputs[2]));
}

static void linear_backward(const heed_vjp *v)
{
    for (int i = 0; i < v->y->input_count; i++) {
        if (!heed_wants_grad(v, i)) {
            continue;
        }
        if (heed_is_grad_enabled()) {
            v->grads[i] = differentiable_gradient(v, i);
            continue;
        }
        const heed_tensor *input = v->inputs[i];
        heed_tensor *d = heed_empty(heed_shape_of_tensor(input), input->dtype);
        v->grads[i] = d != NULL && find_gradient(v, i, d) == HEED_OK ? d : NULL;
    }
}

OPERATION(linear) = {.name = "linear",
                     .inputs = HEED_ANY_COUNT,
                     .names = HEED_NAMES("x", "weight", "bias"),
                     .rule = linear_rule,
                     .forward = linear_forward,
                     .backward = linear_backward,
                     .saves = {HEED_SAVES_INPUT(1), HEED_SAVES_INPUT(0)}};

heed_tensor *heed_linear(heed_tensor *x, heed_tensor *weight, heed_tensor *bias)
{
    heed_tensor *inputs[] = {x, weight, bias};
    return heed_apply(&op_linear, inputs, bias != NULL ? 3 : 2, NULL, 0);
}
