/* Elementwise operations: each line of tensor/kernels/ops.def becomes a heed_op and a public
 * function. `where` is written by hand, because the notation of ops.def cannot express it.
 *
 * A gradient exists in two forms, both from the same text: a compiled kernel, which training runs,
 * and the text itself, which expression.c evaluates with operations if the gradient must itself be
 * differentiated. The arithmetic is in the kernels; this file handles dtypes, shapes and the values
 * saved for gradients. */

#include "elementwise.h"

#include <math.h>
#include <string.h>

#include "../../tensor/create.h"
#include "../../tensor/map.h"
#include "../../tensor/read.h"
#include "../../tensor/reduce.h"
#include "../../tensor/scope_list.h"
#include "../../tensor/shape.h"
#include "../apply.h"
#include "expression.h"
#include "operand_checks.h"

typedef enum kind { FLOAT, NUMBER, ANY, TRUTH } kind; /* TRUTH: the result is bool */

enum { MOST = 3 }; /* operands per line */
enum { FORMULA, G, ZERO };

/* A line of ops.def, in one of its forms: all operands are tensors, or the last ones are
 * numbers. */
typedef struct line {
    heed_op op; /* the first member, so that a call's op points to the line */
    enum heed_elementwise kernel;
    kind kind;
    int numbers;
    const char *gradient[MOST];
    uint8_t is[MOST]; /* FORMULA, G or ZERO, for each gradient */
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

/* Runs `kernel` on the inputs and numbers of a call, converted to `as`. */
static void map_call(heed_kernel *kernel, const heed_call *call, int numbers, heed_dtype as,
                     heed_tensor *y)
{
    const double *number = call->args;
    heed_operand in[MOST];
    for (int i = 0; i < call->count; i++) {
        in[i].tensor = call->inputs[i];
        in[i].as = as;
    }
    for (int i = 0; i < numbers; i++) {
        in[call->count + i] = (heed_operand){NULL, number[i], as};
    }
    heed_map(kernel, in, call->count + numbers, y);
}

static bool has_zero(const heed_tensor *whole)
{
    heed_tensor *all = heed_empty(HEED_SCALAR, HEED_BOOL);
    if (all != NULL) {
        heed_reduce(heed_kernels_for(HEED_I64)->all, NULL, HEED_I64, whole, (1u << whole->ndim) - 1,
                    all);
    }
    return heed_item_i64(all) == 0;
}

/* remainder: i64 cannot be divided by 0. */
static heed_status check_divisor(const heed_call *call, const line *l, const heed_tensor *y)
{
    if (y->dtype != HEED_I64 || y->numel == 0 ||
        !(l->numbers > 0 ? *(const double *)call->args == 0 : has_zero(call->inputs[1]))) {
        return HEED_OK;
    }
    return heed_fail(HEED_ERR_VALUE, "%s: a %s is i64 and is divided by 0; heed_to(a, HEED_F32)",
                     call->op->name, HEED_TEXT(call->inputs[0]));
}

static heed_status line_forward(const heed_call *call, heed_tensor *y)
{
    const line *l = (const line *)call->op;
    if (l->kernel == HEED_OP_remainder && check_divisor(call, l, y) != HEED_OK) {
        return heed_self.error;
    }
    map_call(heed_kernels_for(y->dtype)->elementwise[l->kernel].forward, call, l->numbers, y->dtype,
             y);
    return HEED_OK;
}

/* ---- gradients ---- */

/* dL/dinput i from the compiled kernel, which takes g, the operands of the line, and y. Operands
 * that it does not read may have been freed, so g is passed in their place. */
static heed_tensor *gradient_by_kernel(const line *l, const heed_vjp *v, int i)
{
    const heed_tensor *y = v->y;
    const unsigned saves = l->op.saves[i];
    heed_tensor *result = heed_tensor_like(NULL, y);
    if (result == NULL) {
        return NULL;
    }
    heed_operand in[MOST + 2];
    int count = 0;
    in[count++] = (heed_operand){v->g, 0, y->dtype};
    for (int j = 0; j < l->op.inputs; j++) {
        in[count++] = (heed_operand){saves >> j & 1 ? v->inputs[j] : v->g, 0, y->dtype};
    }
    for (int j = 0; j < l->numbers; j++) {
        in[count++] = (heed_operand){NULL, ((const double *)v->args)[j], y->dtype};
    }
    in[count++] = (heed_operand){saves & HEED_SAVED_OUTPUT ? y : v->g, 0, y->dtype};
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
        if (l->is[i] == G) {
            v->grads[i] = v->g;
        } else if (l->is[i] == ZERO) {
            v->grads[i] = heed_zeros(heed_shape_of_tensor(v->y), v->y->dtype);
        } else if (heed_self.grad_disabled) {
            v->grads[i] = gradient_by_kernel(l, v, i);
        } else {
            v->grads[i] = gradient_by_text(l, v, i);
        }
    }
}

/* ---- comparisons ---- */

static heed_status truth_rule(const heed_call *call, heed_result *result)
{
    heed_status status = meet(call, &result->dtype, &result->shape);
    result->dtype = HEED_BOOL;
    return status;
}

static heed_status truth_forward(const heed_call *call, heed_tensor *y)
{
    const line *l = (const line *)call->op;
    heed_dtype as = call->inputs[0]->dtype;
    heed_shape shape = heed_shape_of_tensor(call->inputs[0]);
    if (meet(call, &as, &shape) != HEED_OK) {
        return heed_self.error;
    }
    if (l->numbers > 0 && !heed_is_float(as)) {
        as = is_whole(*(const double *)call->args) ? HEED_I64 : HEED_F64;
    }
    map_call(heed_kernels_for(as)->elementwise[l->kernel].forward, call, l->numbers, as, y);
    return HEED_OK;
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

/* ---- turning lines into operations and functions ---- */

#define LINE(id, text, count, number, kind, numbers, layout, ...)                                  \
    static line id = {{.name = text,                                                               \
                       .inputs = count,                                                            \
                       .args = layout,                                                             \
                       .rule = line_rule,                                                          \
                       .forward = line_forward,                                                    \
                       .backward = line_backward},                                                 \
                      HEED_OP_##number,                                                            \
                      kind,                                                                        \
                      numbers,                                                                     \
                      {__VA_ARGS__},                                                               \
                      {FORMULA}};
#define TRUTH_LINE(id, text, count, number, numbers, layout)                                       \
    static line id = {{.name = text,                                                               \
                       .inputs = count,                                                            \
                       .args = layout,                                                             \
                       .rule = truth_rule,                                                         \
                       .forward = truth_forward},                                                  \
                      HEED_OP_##number,                                                            \
                      TRUTH,                                                                       \
                      numbers,                                                                     \
                      {NULL},                                                                      \
                      {FORMULA}};

#define FUNCTION1(name)                                                                            \
    heed_tensor *heed_##name(heed_tensor *x)                                                       \
    {                                                                                              \
        return heed_apply(&line_##name.op, &x, 1, NULL, 0);                                        \
    }
#define FUNCTION2(name)                                                                            \
    heed_tensor *heed_##name(heed_tensor *a, heed_tensor *b)                                       \
    {                                                                                              \
        return heed_apply(&line_##name.op, (heed_tensor *[]){a, b}, 2, NULL, 0);                   \
    }
#define FUNCTION_SCALAR(name)                                                                      \
    heed_tensor *heed_##name(heed_tensor *a, double b)                                             \
    {                                                                                              \
        return heed_apply(&line_##name.op, &a, 1, &b, sizeof b);                                   \
    }

#define UNARY(name, kind, f, dx)                                                                   \
    LINE(line_##name, #name, 1, name, kind, 0, NULL, #dx)                                          \
    FUNCTION1(name)
#define BINARY(name, kind, f, da, db)                                                              \
    LINE(line_##name, #name, 2, name, kind, 0, NULL, #da, #db)                                     \
    LINE(line_##name##_scalar, #name "_scalar", 1, name, kind, 1, "double b", #da)                 \
    FUNCTION2(name)                                                                                \
    FUNCTION_SCALAR(name##_scalar)
#define TERNARY(name, kind, f, da, db, dc)                                                         \
    LINE(line_##name, #name, 3, name, kind, 0, NULL, #da, #db, #dc)                                \
    LINE(line_##name##_scalar, #name "_scalar", 2, name, kind, 1, "double c", #da, #db)            \
    heed_tensor *heed_##name(heed_tensor *a, heed_tensor *b, heed_tensor *c)                       \
    {                                                                                              \
        return heed_apply(&line_##name.op, (heed_tensor *[]){a, b, c}, 3, NULL, 0);                \
    }                                                                                              \
    heed_tensor *heed_##name##_scalar(heed_tensor *a, heed_tensor *b, double c)                    \
    {                                                                                              \
        return heed_apply(&line_##name##_scalar.op, (heed_tensor *[]){a, b}, 2, &c, sizeof c);     \
    }
#define BOUNDS(name, kind, f, da)                                                                  \
    LINE(line_##name, #name, 1, name, kind, 2, "double min, double max", #da)                      \
    heed_tensor *heed_##name(heed_tensor *a, double b, double c)                                   \
    {                                                                                              \
        return heed_apply(&line_##name.op, &a, 1, (double[]){b, c}, 2 * sizeof b);                 \
    }
#define COMPARE(name, f)                                                                           \
    TRUTH_LINE(line_##name, #name, 2, name, 0, NULL)                                               \
    TRUTH_LINE(line_##name##_scalar, #name "_scalar", 1, name, 1, "double b")                      \
    FUNCTION2(name)                                                                                \
    FUNCTION_SCALAR(name##_scalar)
#define LOGICAL(name, f)                                                                           \
    TRUTH_LINE(line_##name, #name, 2, name, 0, NULL)                                               \
    FUNCTION2(name)
#define PREDICATE(name, f)                                                                         \
    TRUTH_LINE(line_##name, #name, 1, name, 0, NULL)                                               \
    FUNCTION1(name)
#include "../../tensor/kernels/ops.def"

/* ---- the registry ---- */

static line *const lines[] = {
#define UNARY(name, kind, f, dx)           &line_##name,
#define BINARY(name, kind, f, da, db)      &line_##name, &line_##name##_scalar,
#define TERNARY(name, kind, f, da, db, dc) &line_##name, &line_##name##_scalar,
#define BOUNDS(name, kind, f, da)          &line_##name,
#define COMPARE(name, f)                   &line_##name, &line_##name##_scalar,
#define LOGICAL(name, f)                   &line_##name,
#define PREDICATE(name, f)                 &line_##name,
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

/* Registers all lines before checking any text, because a text may use any operation. */
__attribute__((constructor)) static void register_lines(void)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        heed_register(&lines[i]->op);
    }
    static const char *const operands[] = {"gyx", "gyab", "gyabc"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        line *l = lines[i];
        for (int j = 0; j < l->op.inputs && l->gradient[j] != NULL; j++) {
            const char *text = l->gradient[j];
            l->op.saves[j] = saves_of(l, text);
            l->is[j] = strcmp(text, "g") == 0 ? G : strcmp(text, "0") == 0 ? ZERO : FORMULA;
            heed_require_formula(l->op.name, text, operands[l->op.inputs + l->numbers - 1]);
        }
    }
}
