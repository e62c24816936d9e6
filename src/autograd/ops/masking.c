/* Functions that keep or replace elements according to a mask: masked_fill, tril, triu, dropout. */
#include <string.h>

#include "../autograd.h"

/* ---- masked_fill ---- */

static heed_status masked_fill_rule(const heed_call *call, heed_result *result)
{
    heed_check_value("masked_fill", *(const double *)call->args, result->dtype);
    return HEED_OK;
}

static heed_status masked_fill_forward(const heed_call *call, heed_tensor *y)
{
    const heed_operand in[] = {{.tensor = call->inputs[1], .as = HEED_BOOL},
                               {.number = *(const double *)call->args, .as = y->dtype},
                               {.tensor = call->inputs[0], .as = y->dtype}};
    heed_map(heed_kernels_for(y->dtype)->where, in, 3, y);
    return HEED_OK;
}

static void masked_fill_backward(const heed_vjp *v)
{
    v->grads[0] = heed_masked_fill(v->g, v->inputs[1], 0);
}

OPERATION(masked_fill) = {.name = "masked_fill",
                          .signature = "x (...) any, replace_mask (...) bool -> (...)",
                          .args = "double value",
                          .rule = masked_fill_rule,
                          .forward = masked_fill_forward,
                          .backward = masked_fill_backward,
                          .saves = {HEED_SAVES_INPUT(1)}};

heed_tensor *heed_masked_fill(heed_tensor *x, heed_tensor *replace_mask, double value)
{
    return heed_apply(&op_masked_fill, (heed_tensor *[]){x, replace_mask}, 2, &value, sizeof value);
}

/* ---- tril, triu ---- */

typedef struct triangle_args {
    int64_t diagonal;
    bool upper;
} triangle_args;

static heed_status triangle_rule(const heed_call *call, heed_result *result)
{
    if (result->shape.ndim < 2) {
        heed_raise(HEED_ERR_SHAPE, "%s: x %s must have 2 dims or more", call->op->name,
                   HEED_TEXT(call->inputs[0]));
    }
    return HEED_OK;
}

/* Copies x, then clears the end of each row after the diagonal for tril, or the start before it for
 * triu. */
static heed_status triangle_forward(const heed_call *call, heed_tensor *y)
{
    const triangle_args *args = call->args;
    const int64_t rows = y->shape[y->ndim - 2], columns = y->shape[y->ndim - 1];
    const int64_t diagonal = args->diagonal < -rows     ? -rows
                             : args->diagonal > columns ? columns
                                                        : args->diagonal;
    const size_t size = heed_dtype_size(y->dtype);
    heed_copy_elements(call->inputs[0], y);
    char *row = y->data;
    for (int64_t i = 0; i < y->numel / (columns > 0 ? columns : 1); i++) {
        int64_t edge = i % rows + diagonal + (args->upper ? 0 : 1);
        edge = edge < 0 ? 0 : edge > columns ? columns : edge;
        const int64_t from = args->upper ? 0 : edge, to = args->upper ? edge : columns;
        memset(row + (size_t)from * size, 0, (size_t)(to - from) * size);
        row += (size_t)columns * size;
    }
    return HEED_OK;
}

/* The same operation applied to g. */
static void triangle_backward(const heed_vjp *v)
{
    v->grads[0] = heed_apply(v->y->op, &v->g, 1, v->args, sizeof(triangle_args));
}

#define TRIANGLE(id, is_upper)                                                                     \
    OPERATION(id) = {.name = #id,                                                                  \
                     .inputs = 1,                                                                  \
                     .args = "int64 diagonal",                                                     \
                     .rule = triangle_rule,                                                        \
                     .forward = triangle_forward,                                                  \
                     .backward = triangle_backward};                                               \
    heed_tensor *heed_##id(heed_tensor *x, int64_t diagonal)                                       \
    {                                                                                              \
        const triangle_args args = {diagonal, is_upper};                                           \
        return heed_apply(&op_##id, &x, 1, &args, sizeof args);                                    \
    }
TRIANGLE(tril, false)
TRIANGLE(triu, true)

/* ---- dropout: x times a random mask ----
 *
 * The mask has the memory layout that torch gives it, so that the draws come in torch's order. */

heed_tensor *heed_dropout(heed_tensor *x, double p, bool training)
{
    HEED_DOOR(NULL);
    heed_check_operand("dropout", "x", x);
    heed_check_probability("dropout", "p", p);
    if (!training || p == 0 || x->numel == 0) {
        return x;
    }
    if (!heed_is_float(x->dtype)) {
        heed_raise(HEED_ERR_DTYPE, "dropout: x is %s, not a float; heed_to(x, HEED_F32)",
                   heed_dtype_name(x->dtype));
    }
    if (p == 1) {
        return heed_mul_scalar(x, 0);
    }
    HEED_SCOPE(scope);
    int64_t strides[HEED_MAX_DIMS];
    heed_tensor *mask = heed_tensor_like(x);
    heed_dense_strides(x, strides);
    heed_fill_mask(mask, 1 - p);
    mask = heed_tensor_view("dropout", mask, x->ndim, x->shape, strides, 0);
    return heed_scope_keep(&scope, heed_mul(x, mask));
}
