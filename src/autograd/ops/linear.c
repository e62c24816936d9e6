/* x weight^T + bias, as one product over all rows of x, and its gradients, as one product each. */
#include "linear.h"

#include "../../tensor/batch_gemm.h"
#include "../../tensor/create.h"
#include "../../tensor/kernels/kernels.h"
#include "../../tensor/parallel.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "matmul.h"
#include "promote.h"
#include "reduce.h"
#include "shape.h"

/* ---- rule ---- */

static heed_status linear_rule(const heed_call *call, heed_result *result)
{
    if (call->count < 2 || call->count > 3) {
        return heed_fail(HEED_ERR_VALUE, "linear: %d tensors; x, weight and perhaps bias",
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
                         "linear: bias %s must be (%lld), a number for each row of weight %s",
                         HEED_TEXT(bias), (long long)weight->shape[0], HEED_TEXT(weight));
    }
    result->shape.size[x->ndim - 1] = weight->shape[0];
    return HEED_OK;
}

/* ---- matrices ---- */

/* All rows of t as one matrix, for heed_multiply, which only looks at it: no handle of its own. Rows that lie
 * unevenly are copied. False on error, as where t is NULL. */
static bool look_at_rows(heed_tensor *t, heed_tensor *matrix)
{
    int64_t step = 0, rows = 1;
    if (t != NULL && t->ndim > 1 && !heed_is_one_tall_matrix(t, &step)) {
        t = heed_contiguous(t);
        step = t != NULL ? t->strides[t->ndim - 2] : 0;
    }
    if (t == NULL) {
        return false;
    }
    for (int i = 0; i < t->ndim - 1; i++) {
        rows *= t->shape[i];
    }
    *matrix = (heed_tensor){.data = t->data, .numel = t->numel, .dtype = t->dtype, .ndim = 2};
    matrix->shape = matrix->few;
    matrix->strides = matrix->few + 2;
    matrix->shape[0] = rows;
    matrix->shape[1] = t->shape[t->ndim - 1];
    matrix->strides[0] = step;
    matrix->strides[1] = t->strides[t->ndim - 1];
    return true;
}

/* The matrix, transposed. */
static void turn(heed_tensor *matrix)
{
    int64_t *sizes = matrix->shape, *strides = matrix->strides;
    const int64_t rows = sizes[0], step = strides[0];
    sizes[0] = sizes[1];
    strides[0] = strides[1];
    sizes[1] = rows;
    strides[1] = step;
}

static heed_status linear_forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor x, weight, rows;
    heed_tensor *bias = call->count > 2 ? call->inputs[2] : NULL;
    if (bias != NULL && !heed_is_row_major(bias)) {
        bias = heed_contiguous(bias);
    }
    if (!look_at_rows(call->inputs[0], &x) || !look_at_rows(call->inputs[1], &weight) ||
        !look_at_rows(y, &rows) || heed_blocked()) {
        return heed_self.error;
    }
    turn(&weight);
    return heed_multiply(&x, &weight, bias, &rows, false);
}

/* ---- gradients ---- */

/* Columns are shared out among threads in groups of a cache line; elements that are worth a thread. */
enum { GROUP = 16, WORTH_A_THREAD = 1 << 16 };

typedef struct row_sums {
    const heed_tensor *matrix; /* whose columns are adjacent */
    heed_tensor *y;
    bool add;
} row_sums;

/* Each column is summed from the top, whichever thread does it. */
static void sum_groups(void *context, int64_t first, int64_t end)
{
    enum { MOST = 16 * GROUP };
    const row_sums *sums = context;
    const heed_tensor *x = sums->matrix, *y = sums->y;
    const heed_kernels *kernels = heed_kernels_for(y->dtype);
    const int64_t size = (int64_t)heed_dtype_size(y->dtype);
    const int64_t last = end * GROUP < y->numel ? end * GROUP : y->numel;
    for (int64_t j = first * GROUP; j < last; j += MOST) {
        const int64_t columns = last - j < MOST ? last - j : MOST;
        heed_total totals[MOST] = {{0}};
        double rounded[MOST]; /* room for elements of any dtype */
        char *to = (char *)y->data + j * size;
        kernels->sum_columns(x->shape[0], columns, (const char *)x->data + j * size, x->strides[0],
                             totals);
        kernels->from_totals(columns, totals, 1, sums->add ? (void *)rounded : to);
        if (sums->add) {
            kernels->add_into(columns, rounded, to);
        }
    }
}

/* y (columns) = the sum of the rows of a matrix, or += it. */
static void sum_rows(const heed_tensor *matrix, heed_tensor *y, bool add)
{
    row_sums sums = {matrix, y, add};
    const int64_t groups = (y->numel + GROUP - 1) / GROUP;
    heed_parallel_for(groups, 1 + WORTH_A_THREAD / GROUP / (matrix->shape[0] + 1), sum_groups,
                      &sums);
}

/* d = the gradient of input i, or += it; d is contiguous. */
static heed_status find_gradient(const heed_vjp *v, int i, heed_tensor *d, bool add)
{
    heed_tensor g, other, rows;
    const bool adjacent = v->g->strides[v->g->ndim - 1] == 1;
    if (!look_at_rows(i == 2 && !adjacent ? heed_contiguous(v->g) : v->g, &g)) {
        return heed_self.error;
    }
    if (i == 2) {
        sum_rows(&g, d, add);
        return HEED_OK;
    }
    if (!look_at_rows(v->inputs[1 - i], &other) || !look_at_rows(d, &rows)) {
        return heed_self.error;
    }
    if (i == 1) {
        turn(&g);
    }
    return heed_multiply(&g, &other, NULL, &rows, add);
}

/* The gradients once more, in operations that can be differentiated. */
static heed_tensor *differentiable_gradient(const heed_vjp *v, int i)
{
    heed_tensor *x = v->inputs[0], *weight = v->inputs[1], *g = v->g;
    if (i == 0) {
        return heed_matmul(g, weight);
    }
    if (i == 2) {
        return heed_sum_to(g, heed_shape_of_tensor(v->inputs[2]));
    }
    int64_t rows = 1;
    for (int dim = 0; dim < x->ndim - 1; dim++) {
        rows *= x->shape[dim];
    }
    g = heed_reshape(g, HEED_SHAPE(rows, weight->shape[0]));
    return heed_matmul(heed_transpose(g, 0, 1),
                       heed_reshape(x, HEED_SHAPE(rows, weight->shape[1])));
}

static void linear_backward(const heed_vjp *v)
{
    for (int i = 0; i < v->y->input_count; i++) {
        if (!heed_wants_grad(v, i)) {
            continue;
        }
        if (heed_grad_enabled()) {
            v->grads[i] = differentiable_gradient(v, i);
            continue;
        }
        const heed_tensor *input = v->inputs[i];
        heed_tensor *d = heed_empty(heed_shape_of_tensor(input), input->dtype);
        v->grads[i] = d != NULL && find_gradient(v, i, d, false) == HEED_OK ? d : NULL;
    }
}

static bool linear_add_gradient(const heed_vjp *v, int i, heed_tensor *sum)
{
    return find_gradient(v, i, sum, true) == HEED_OK;
}

HEED_OPERATION(linear) = {.name = "linear",
                          .inputs = HEED_ANY_COUNT,
                          .names = HEED_NAMES("x", "weight", "bias"),
                          .rule = linear_rule,
                          .forward = linear_forward,
                          .backward = linear_backward,
                          .add_gradient = linear_add_gradient,
                          .saves = {HEED_SAVES_INPUT(1), HEED_SAVES_INPUT(0)}};

heed_tensor *heed_linear(heed_tensor *x, heed_tensor *weight, heed_tensor *bias)
{
    heed_tensor *inputs[] = {x, weight, bias};
    return heed_apply(&op_linear, inputs, bias != NULL ? 3 : 2, NULL, 0);
}
