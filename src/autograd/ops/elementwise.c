/* Elementwise operations: each line of tensor/kernels/ops.def becomes a heed_op and a public
 * function. `where` is written by hand, because the notation of ops.def cannot express it.
 *
 * A gradient exists in two forms, both from the same text: a compiled kernel, which training runs,
 * and the text itself, which expression.c evaluates with operations if the gradient must itself be
 * differentiated. The arithmetic is in the kernels; this file handles dtypes, shapes and the values
 * saved for gradients. */

#include "operations.h"

#include <math.h>
#include <string.h>

#include "../../tensor/create.h"
#include "../../tensor/elements.h"
#include "../../tensor/handle.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../op.h"
#include "expression.h"
#include "operand_checks.h"

typedef enum kind { FLOAT, NUMBER, ANY, TRUTH } kind; /* TRUTH: the result is bool */

enum { MOST = 3 }; /* operands per line */

/* A line of ops.def, in one of its forms: all operands are tensors, or the last ones are
 * numbers. */
typedef struct line {
    heed_op op; /* the first member, so that a call's op points to the line */
    enum heed_elementwise kernel;
    kind kind;
    int numbers;
    const char *gradient[MOST];
} line;

/* ---- rules ---- */

/* True if i64 can represent the number. */
static bool is_whole(double number)
{
    return number == floor(number) && fabs(number) < 0x1p63;
}

static heed_status check_numbers(const heed_call *call, const line *l, heed_dtype dtype)
{
    const double *number = call->args;
    if (l->kernel == HEED_OP_clamp && (isnan(number[0]) || isnan(number[1]))) {
        return heed_fail(HEED_ERR_VALUE,
                         "clamp: bounds %g and %g; for no bound use -INFINITY or INFINITY",
                         number[0], number[1]);
    }
    if (dtype != HEED_I64) {
        return HEED_OK;
    }
    if (l->kernel == HEED_OP_pow && l->numbers > 0 && *number < 0) {
        return heed_fail(HEED_ERR_VALUE, "%s: i64 to a negative power %g; heed_to(x, HEED_F32)",
                         call->op->name, *number);
    }
    for (int i = 0; i < l->numbers; i++) {
        const bool unbounded = l->kernel == HEED_OP_clamp && isinf(number[i]);
        if (!unbounded && !is_whole(number[i])) {
            return heed_fail(HEED_ERR_VALUE,
                             "%s: an i64 tensor %s takes an integer, not %g; heed_to(x, HEED_F32)",
                             call->op->name, HEED_TEXT(call->inputs[0]), number[i]);
        }
    }
    return HEED_OK;
}

/* Computes the common dtype and the broadcast shape of the inputs. On entry, *dtype and *shape are
 * the dtype and shape of input 0. */
static heed_status meet(const heed_call *call, heed_dtype *dtype, heed_shape *shape)
{
    for (int i = 1; i < call->count; i++) {
        const heed_tensor *input = call->inputs[i];
        if (input->dtype == *dtype && heed_has_sizes(input, shape->ndim, shape->size)) {
            continue;
        }
        const heed_shape before = *shape, other = heed_shape_of_tensor(input);
        if (heed_common_dtype(call->op->name, *dtype, input->dtype, dtype) != HEED_OK ||
            heed_broadcast(call->op->name, &before, &other, shape) != HEED_OK) {
            return heed_self.error;
        }
    }
    return HEED_OK;
}

static heed_status line_rule(const heed_call *call, heed_result *result)
{
    const line *l = (const line *)call->op;
    if (meet(call, &result->dtype, &result->shape) != HEED_OK) {
        return heed_self.error;
    }
    if (l->kind == TRUTH) {
        result->dtype = HEED_BOOL;
        return HEED_OK;
    }
    if (!heed_is_float(result->dtype) && l->kind == FLOAT) {
        result->dtype = HEED_F32;
    }
    if (l->numbers > 0 && result->dtype == HEED_BOOL) {
        result->dtype = HEED_I64;
    }
    if (result->dtype == HEED_BOOL && l->kind == NUMBER) {
        return heed_fail(HEED_ERR_DTYPE, "%s: bool is not supported; heed_to(x, HEED_I64)",
                         call->op->name);
    }
    return check_numbers(call, l, result->dtype);
}

/* ---- computing ---- */

/* Sets the operands of a kernel: the inputs, then the numbers. Returns their count. Inline, because
 * gcc would call it otherwise, which costs small operations 4% of their time. */
static inline int set_operands(heed_operand *in, const line *l, heed_tensor *const *inputs,
                               const double *numbers, heed_dtype as)
{
    const int tensors = l->op.inputs;
    for (int i = 0; i < tensors; i++) {
        in[i].tensor = inputs[i];
        in[i].as = as;
    }
    for (int i = 0; i < l->numbers; i++) {
        in[tensors + i] = (heed_operand){NULL, numbers[i], as};
    }
    return tensors + l->numbers;
}

/* The dtype in which a comparison reads its operands. */
static heed_status compared_dtype(const heed_call *call, const line *l, heed_dtype *as)
{
    heed_shape shape = heed_shape_of_tensor(call->inputs[0]);
    *as = call->inputs[0]->dtype;
    if (meet(call, as, &shape) == HEED_OK && l->numbers > 0 && !heed_is_float(*as)) {
        *as = is_whole(*(const double *)call->args) ? HEED_I64 : HEED_F64;
    }
    return heed_self.error;
}

static heed_status line_forward(const heed_call *call, heed_tensor *y)
{
    const line *l = (const line *)call->op;
    heed_operand in[MOST];
    heed_dtype as = y->dtype;
    if (l->kind == TRUTH && compared_dtype(call, l, &as) != HEED_OK) {
        return heed_self.error;
    }
    const int count = set_operands(in, l, call->inputs, call->args, as);
    heed_map(heed_kernels_for(as)->elementwise[l->kernel].forward, in, count, y);
    return HEED_OK;
}

/* ---- gradients ---- */

/* dL/dinput i from the compiled kernel, which takes g, the operands of the line, and y. Operands
 * that it does not read may have been freed, so g is passed in their place. */
static heed_tensor *gradient_by_kernel(const line *l, const heed_vjp *v, int i)
{
    const heed_tensor *y = v->y;
    const unsigned saves = l->op.saves[i];
    heed_tensor *result = heed_tensor_like(y);
    if (result == NULL) {
        return NULL;
    }
    const heed_operand g = {v->g, 0, y->dtype};
    heed_operand in[MOST + 2];
    in[0] = g;
    int count = 1 + set_operands(in + 1, l, v->inputs, v->args, y->dtype);
    for (int j = 0; j < l->op.inputs; j++) {
        if (!(saves >> j & 1)) {
            in[1 + j] = g;
        }
    }
    in[count++] = saves & HEED_SAVED_OUTPUT ? (heed_operand){y, 0, y->dtype} : g;
    heed_map(heed_kernels_for(y->dtype)->elementwise[l->kernel].gradient[i], in, count, result);
    return heed_join_scope(l->op.name, result);
}

/* The name of operand i in the text of a line. */
static char operand_name(const line *l, int i)
{
    return l->op.inputs + l->numbers == 1 ? 'x' : (char)('a' + i);
}

/* dL/dinput i evaluated from the text with operations that record a graph. */
static heed_tensor *gradient_by_text(const line *l, const heed_vjp *v, int i)
{
    heed_binding bindings[2 + MOST] = {{'g', v->g}, {'y', v->y}};
    int count = 2;
    for (int j = 0; j < l->op.inputs + l->numbers; j++) {
        heed_tensor *operand =
            j < l->op.inputs
                ? v->inputs[j]
                : heed_scalar(((const double *)v->args)[j - l->op.inputs], v->y->dtype);
        bindings[count++] = (heed_binding){operand_name(l, j), operand};
    }
    return heed_evaluate(l->gradient[i], bindings, count, v->y->dtype);
}

static void line_backward(const heed_vjp *v)
{
    const line *l = (const line *)v->y->op;
    for (int i = 0; i < l->op.inputs; i++) {
        if (!v->wanted[i]) {
            continue;
        }
        if (strcmp(l->gradient[i], "g") == 0) {
            v->grads[i] = v->g;
        } else if (strcmp(l->gradient[i], "0") == 0) { /* even if g is NaN */
            v->grads[i] = heed_zeros(heed_shape_of_tensor(v->y), v->y->dtype);
        } else if (heed_self.grad_disabled) {
            v->grads[i] = gradient_by_kernel(l, v, i);
        } else {
            v->grads[i] = gradient_by_text(l, v, i);
        }
    }
}

/* ---- where ---- */

static heed_status where_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *a = call->inputs[1], *b = call->inputs[2];
    heed_shape c = result->shape, shape_a = heed_shape_of_tensor(a);
    heed_shape shape_b = heed_shape_of_tensor(b), both;
    if (heed_expect_dtype(call, 0, HEED_BOOL) != HEED_OK ||
        heed_common_dtype("where", a->dtype, b->dtype, &result->dtype) != HEED_OK ||
        heed_broadcast("where", &shape_a, &shape_b, &both) != HEED_OK) {
        return heed_self.error;
    }
    return heed_broadcast("where", &c, &both, &result->shape);
}

static heed_status where_forward(const heed_call *call, heed_tensor *y)
{
    const heed_operand in[] = {{.tensor = call->inputs[0], .as = HEED_BOOL},
                               {.tensor = call->inputs[1], .as = y->dtype},
                               {.tensor = call->inputs[2], .as = y->dtype}};
    heed_map(heed_kernels_for(y->dtype)->where, in, 3, y);
    return HEED_OK;
}

static void where_backward(const heed_vjp *v)
{
    heed_tensor *condition = v->inputs[0], *zero = heed_scalar(0, v->g->dtype);
    if (heed_wants_grad(v, 1)) {
        v->grads[1] = heed_where(condition, v->g, zero);
    }
    if (heed_wants_grad(v, 2)) {
        v->grads[2] = heed_where(condition, zero, v->g);
    }
}

HEED_OPERATION(where) = {.name = "where",
                         .inputs = 3,
                         .names = HEED_NAMES("condition", "a", "b"),
                         .rule = where_rule,
                         .forward = where_forward,
                         .backward = where_backward,
                         .saves = {0, HEED_SAVES_INPUT(0), HEED_SAVES_INPUT(0)}};

heed_tensor *heed_where(heed_tensor *condition, heed_tensor *a, heed_tensor *b)
{
    return heed_apply(&op_where, (heed_tensor *[]){condition, a, b}, 3, NULL, 0);
}

heed_tensor *heed_where_scalars(heed_tensor *condition, double a, double b, heed_dtype dtype)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *y = heed_where(condition, heed_scalar(a, dtype), heed_scalar(b, dtype));
    return heed_scope_end_with(&scope, y);
}

/* ---- turning lines into operations and functions ---- */

/* An operation with the kernel of the line `of`, and the gradients of its inputs. */
#define LINE(id, of, tensors, takes, scalars, layout, ...)                                         \
    static line line_##id = {.op = {.name = #id,                                                   \
                                    .torch = (scalars) == 1 ? #of : NULL,                          \
                                    .inputs = tensors,                                             \
                                    .args = layout,                                                \
                                    .rule = line_rule,                                             \
                                    .forward = line_forward,                                       \
                                    .backward = (takes) == TRUTH ? NULL : line_backward},          \
                             .kernel = HEED_OP_##of,                                               \
                             .kind = takes,                                                        \
                             .numbers = scalars,                                                   \
                             .gradient = {__VA_ARGS__}};

/* Its public function, which passes on these inputs. */
#define FUNCTION(id, parameters, numbers, size, ...)                                               \
    heed_tensor *heed_##id parameters                                                              \
    {                                                                                              \
        heed_tensor *inputs[] = {__VA_ARGS__};                                                     \
        return heed_apply(&line_##id.op, inputs, sizeof inputs / sizeof *inputs, numbers, size);   \
    }

#define UNARY(name, kind, f, dx)                                                                   \
    LINE(name, name, 1, kind, 0, NULL, #dx)                                                        \
    FUNCTION(name, (heed_tensor * x), NULL, 0, x)
#define PAIR(name, kind, da, db)                                                                   \
    LINE(name, name, 2, kind, 0, NULL, da, db)                                                     \
    FUNCTION(name, (heed_tensor * a, heed_tensor * b), NULL, 0, a, b)
#define BINARY(name, kind, f, da, db)                                                              \
    PAIR(name, kind, #da, #db)                                                                     \
    LINE(name##_scalar, name, 1, kind, 1, "double b", #da)                                         \
    FUNCTION(name##_scalar, (heed_tensor * a, double b), &b, sizeof b, a)
#define BOUNDS(name, kind, f, da)                                                                  \
    LINE(name, name, 1, kind, 2, "double min, double max", #da)                                    \
    FUNCTION(name, (heed_tensor * a, double b, double c), ((double[]){b, c}), 2 * sizeof b, a)
#define COMPARE(name, f)   BINARY(name, TRUTH, f, 0, 0)
#define LOGICAL(name, f)   PAIR(name, TRUTH, "0", "0")
#define PREDICATE(name, f) UNARY(name, TRUTH, f, 0)
#include "../../tensor/kernels/ops.def"

/* ---- the registry ---- */

static line *const lines[] = {
#define UNARY(name, kind, f, dx)      &line_##name,
#define BINARY(name, kind, f, da, db) &line_##name, &line_##name##_scalar,
#define BOUNDS(name, kind, f, da)     &line_##name,
#define COMPARE(name, f)              &line_##name, &line_##name##_scalar,
#define LOGICAL(name, f)              &line_##name,
#define PREDICATE(name, f)            &line_##name,
#include "../../tensor/kernels/ops.def"
};

/* The values that a gradient's text reads. */
static uint8_t saves_of(const line *l, const char *text)
{
    unsigned saves = heed_mentions(text, 'y') ? HEED_SAVED_OUTPUT : 0;
    for (int i = 0; i < l->op.inputs; i++) {
        saves |= heed_mentions(text, operand_name(l, i)) ? HEED_SAVES_INPUT(i) : 0;
    }
    return (uint8_t)saves;
}

__attribute__((constructor)) static void register_lines(void)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        line *l = lines[i];
        heed_register(&l->op);
        for (int j = 0; j < l->op.inputs; j++) {
            l->op.saves[j] = saves_of(l, l->gradient[j]);
        }
    }
}
