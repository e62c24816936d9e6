/* The matrix product of batches of matrices on any strides. */
#include "matmul.h"

#include <string.h>

#include "../../tensor/batch_gemm.h"
#include "../../tensor/check.h"
#include "../../tensor/read.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "../op.h"
#include "promote.h"
#include "shape.h"

/* The dims of t in front of its matrix. */
static heed_shape batch_of(const heed_tensor *t)
{
    heed_shape batch = heed_shape_of_tensor(t);
    batch.ndim -= 2;
    return batch;
}

/* The inner size of b: its rows, or the elements of a vector. */
static int64_t rows_of(const heed_tensor *b)
{
    return b->shape[b->ndim > 1 ? b->ndim - 2 : 0];
}

static heed_status inner_sizes_differ(const heed_tensor *a, const heed_tensor *b)
{
    const char *hint = b->ndim > 1 ? "a's last must be b's last but one" : "a's last must be b's";
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
    heed_shape batch_a = batch_of(a), batch_b = batch_of(b);
    if (!heed_shapes_broadcast(&batch_a, &batch_b)) {
        return heed_fail(HEED_ERR_SHAPE,
                         "matmul: the batches %s and %s of %s x %s do not broadcast; make sizes "
                         "equal, or one of them 1",
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
    return heed_multiply(call->inputs[0], call->inputs[1], NULL, y, false);
}

/* x (..., m, n) as one tall matrix. */
static heed_tensor *tall(heed_tensor *x)
{
    return heed_reshape(x, HEED_SHAPE(-1, heed_size(x, -1)));
}

/* What the gradient of input i is the product of: g b^T, or a^T g. For one matrix b and a whole batch
 * that is one product over all rows, not one to sum for each matrix. */
static void find_factors(const heed_vjp *v, int i, heed_tensor *factors[2])
{
    heed_tensor *a = v->inputs[0], *b = v->inputs[1], *g = v->g;
    const bool once = heed_is_one_matrix(b) && a->ndim > 2 && a->numel > 0 && g->numel > 0;
    if (i == 0) {
        factors[0] = g;
        factors[1] = heed_transpose(b, -2, -1);
    } else {
        factors[0] = heed_transpose(once ? tall(a) : a, -2, -1);
        factors[1] = once ? tall(g) : g;
    }
}

static void matmul_backward(const heed_vjp *v)
{
    for (int i = 0; i < 2; i++) {
        if (heed_wants_grad(v, i)) {
            heed_tensor *input = v->inputs[i], *factors[2];
            find_factors(v, i, factors);
            heed_tensor *d = heed_matmul(factors[0], factors[1]);
            const bool lacks_dims = d != NULL && d->ndim < input->ndim;
            v->grads[i] = lacks_dims ? heed_reshape(d, heed_shape_of_tensor(input)) : d;
        }
    }
}

/* Not where the product has more matrices than the input, which the engine sums. */
static bool matmul_add_gradient(const heed_vjp *v, int i, heed_tensor *sum)
{
    heed_tensor *factors[2];
    find_factors(v, i, factors);
    const heed_tensor *g = factors[i];
    if (heed_error_pending() != HEED_OK || g->ndim != sum->ndim ||
        memcmp(g->shape, sum->shape, sizeof *g->shape * (size_t)(g->ndim - 2)) != 0) {
        return false;
    }
    return heed_multiply(factors[0], factors[1], NULL, sum, true) == HEED_OK;
}

HEED_OPERATION(matmul) = {.name = "matmul",
                          .inputs = 2,
                          .rule = matmul_rule,
                          .forward = matmul_forward,
                          .backward = matmul_backward,
                          .add_gradient = matmul_add_gradient,
                          .saves = {HEED_SAVES_INPUT(1), HEED_SAVES_INPUT(0)}};

heed_tensor *heed_matmul(heed_tensor *a, heed_tensor *b)
{
    if (heed_check_operand("matmul", "a", a) != HEED_OK ||
        heed_check_operand("matmul", "b", b) != HEED_OK) {
        return NULL;
    }
    if (a->ndim == 0 || b->ndim == 0) {
        heed_fail(HEED_ERR_SHAPE, "matmul: %s x %s: a tensor without dims; heed_mul scales",
                  HEED_TEXT(a), HEED_TEXT(b));
        return NULL;
    }
    const bool row = a->ndim == 1, column = b->ndim == 1;
    if ((row || column) && a->shape[a->ndim - 1] != rows_of(b)) {
        inner_sizes_differ(a, b); /* before they become matrices, whose shapes nobody asked for */
        return NULL;
    }
    heed_tensor *matrices[] = {row ? heed_unsqueeze(a, 0) : a, column ? heed_unsqueeze(b, 1) : b};
    heed_tensor *y = heed_apply(&op_matmul, matrices, 2, NULL, 0);
    y = row ? heed_squeeze(y, -2) : y;
    return column ? heed_squeeze(y, -1) : y;
}
