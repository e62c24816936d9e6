/* The element-wise operations: every line of tensor/kernels/ops.def becomes an operation, a public function
 * and its gradient.
 *
 * A gradient has two forms of the same text: the compiled loop, which training runs, and the text
 * itself, read and computed with operations where the gradient must be differentiated again. */
#include "elementwise.h"

#include <math.h>
#include <string.h>

#include "../../tensor/create.h"
#include "../../tensor/frame.h"
#include "../../tensor/kernels/kernels.h"
#include "../../tensor/operands.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../op.h"
#include "expression.h"
#include "promote.h"

typedef enum kind { FLOAT, NUMBER, ANY } kind;

enum { MOST = 3 }; /* operands of a line */
enum { FORMULA, G, ZERO };

/* A line of ops.def, in its form with tensors for all operands or numbers for the last ones. */
typedef struct line {
    heed_op op; /* first, so that a call's op leads back here */
    enum heed_elementwise kernel;
    kind kind;
    int numbers;
    const char *gradient[MOST];
    uint8_t is[MOST]; /* FORMULA, or what the text plainly is */
} line;

typedef struct comparison {
    heed_op op;
    enum heed_comparison kernel;
    int numbers;
} comparison;

/* ---- rules ---- */

/* Can i64 be this number? */
static bool is_whole(double number)
{
    return number == floor(number) && fabs(number) < 0x1p63;
}

static heed_status check_whole(const heed_call *call, double number)
{
    if (!is_whole(number)) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: an i64 tensor %s takes a whole number, not %g; heed_to(x, HEED_F32)",
                         call->op->name, HEED_TEXT(call->inputs[0]), number);
    }
    return HEED_OK;
}

static heed_status check_numbers(const heed_call *call, const line *l, heed_dtype dtype)
{
    const double *number = call->args;
    if (l->kernel == HEED_clamp && (isnan(number[0]) || isnan(number[1]))) {
        return heed_fail(HEED_ERR_VALUE,
                         "clamp: bounds %g and %g; for none take -INFINITY, INFINITY", number[0],
                         number[1]);
    }
    if (dtype != HEED_I64) {
        return HEED_OK;
    }
    if (l->kernel == HEED_pow && l->numbers > 0 && *number < 0) {
        return heed_fail(HEED_ERR_VALUE, "%s: i64 to a negative power %g; heed_to(x, HEED_F32)",
                         call->op->name, *number);
    }
    for (int i = 0; i < l->numbers; i++) {
        bool unbounded = l->kernel == HEED_clamp && isinf(number[i]);
        if (!unbounded && check_whole(call, number[i]) != HEED_OK) {
            return heed_self.error;
        }
    }
    return HEED_OK;
}

/* The dtype that inputs compute in, and their broadcast shape: at first those of input 0. */
static heed_status meet(const heed_call *call, heed_dtype *dtype, heed_shape *shape)
{
    for (int i = 1; i < call->count; i++) {
        const heed_tensor *input = call->inputs[i];
        if (input->dtype == *dtype && heed_has_sizes(input, shape->ndim, shape->size)) {
            continue;
        }
        const heed_shape before = *shape, other = heed_shape_of_tensor(input);
        if (heed_promote(call->op->name, *dtype, input->dtype, dtype) != HEED_OK ||
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
        return heed_fail(HEED_ERR_DTYPE, "%s: bool has no such operation; heed_to(x, HEED_I64)",
                         call->op->name);
    }
    return check_numbers(call, l, result->dtype);
}

/* ---- computing ---- */

/* Runs `kernel` on the inputs and the numbers of a call, as elements of `as`. */
static void map_call(heed_kernel *kernel, const heed_call *call, int numbers, heed_dtype as,
                     heed_tensor *y)
{
    const double *number = call->args;
    heed_input in[MOST];
    for (int i = 0; i < call->count; i++) {
        in[i].tensor = call->inputs[i];
    }
    for (int i = 0; i < numbers; i++) {
        in[call->count + i] = (heed_input){NULL, number[i]};
    }
    heed_map_inputs(kernel, in, call->count + numbers, as, y);
}

static heed_status line_forward(const heed_call *call, heed_tensor *y)
{
    const line *l = (const line *)call->op;
    map_call(heed_kernels_for(y->dtype)->elementwise[l->kernel].forward, call, l->numbers, y->dtype,
             y);
    return HEED_OK;
}

/* ---- gradients ---- */

/* dL/dinput i by the compiled loop. Its operands are g, those of the line, and y; what it does not read
 * may be gone, and g stands in for it. */
static heed_tensor *gradient_by_kernel(const line *l, const heed_vjp *v, int i)
{
    const heed_tensor *y = v->y;
    const double *number = v->args;
    const unsigned saves = l->op.saves[i];
    heed_input in[MOST + 2];
    int count = 0;
    in[count++].tensor = v->g;
    for (int j = 0; j < l->op.inputs; j++) {
        in[count++].tensor = saves >> j & 1 ? v->inputs[j] : v->g;
    }
    for (int j = 0; j < l->numbers; j++) {
        in[count++] = (heed_input){NULL, number[j]};
    }
    in[count++].tensor = saves & HEED_SAVED_OUTPUT ? y : v->g;
    heed_tensor *result = heed_tensor_like(y);
    if (result == NULL) {
        return NULL;
    }
    heed_map_inputs(heed_kernels_for(y->dtype)->elementwise[l->kernel].gradient[i], in, count,
                    y->dtype, result);
    return heed_join_scope(l->op.name, result);
}

/* The name of an operand of a line in its text. */
static char operand_name(const line *l, int i)
{
    return l->op.inputs + l->numbers == 1 ? 'x' : (char)('a' + i);
}

/* dL/dinput i by the text, in operations that record their own graph. */
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

/* ---- what is true ---- */

static heed_status comparison_rule(const heed_call *call, heed_result *result)
{
    heed_status status = meet(call, &result->dtype, &result->shape);
    result->dtype = HEED_BOOL;
    return status;
}

static heed_status comparison_forward(const heed_call *call, heed_tensor *y)
{
    const comparison *c = (const comparison *)call->op;
    heed_dtype as = call->inputs[0]->dtype;
    heed_shape shape = heed_shape_of_tensor(call->inputs[0]);
    if (meet(call, &as, &shape) != HEED_OK) {
        return heed_self.error;
    }
    if (c->numbers > 0 && !heed_is_float(as)) {
        as = is_whole(*(const double *)call->args) ? HEED_I64 : HEED_F64;
    }
    map_call(heed_kernels_for(as)->compare[c->kernel], call, c->numbers, as, y);
    return HEED_OK;
}

/* ---- the tables ---- */

#define LINE(text, count, id, kind, numbers, ...)                                                  \
    {{.name = text,                                                                                \
      .inputs = count,                                                                             \
      .rule = line_rule,                                                                           \
      .forward = line_forward,                                                                     \
      .backward = line_backward},                                                                  \
     HEED_##id,                                                                                    \
     kind,                                                                                         \
     numbers,                                                                                      \
     {__VA_ARGS__},                                                                                \
     {FORMULA}},
static line lines[] = {
#define UNARY(name, kind, f, dx) LINE(#name, 1, name, kind, 0, #dx)
#define BINARY(name, kind, f, da, db)                                                              \
    LINE(#name, 2, name, kind, 0, #da, #db)                                                        \
    LINE(#name "_scalar", 1, name, kind, 1, #da)
#define TERNARY(name, kind, f, da, db, dc)                                                         \
    LINE(#name, 3, name, kind, 0, #da, #db, #dc)                                                   \
    LINE(#name "_scalar", 2, name, kind, 1, #da, #db)
#define BOUNDS(name, kind, f, da) LINE(#name, 1, name, kind, 2, #da)
#include "../../tensor/kernels/ops.def"
};

#define COMPARISON(text, count, id, numbers)                                                       \
    {{.name = text, .inputs = count, .rule = comparison_rule, .forward = comparison_forward},      \
     HEED_##id,                                                                                    \
     numbers},
static comparison comparisons[] = {
#define COMPARE(name, f)                                                                           \
    COMPARISON(#name, 2, name, 0)                                                                  \
    COMPARISON(#name "_scalar", 1, name, 1)
#define LOGICAL(name, f)   COMPARISON(#name, 2, name, 0)
#define PREDICATE(name, f) COMPARISON(#name, 1, name, 0)
#include "../../tensor/kernels/ops.def"
};

/* The places of the lines in the tables. */
enum {
#define UNARY(name, kind, f, dx)           LINE_##name,
#define BINARY(name, kind, f, da, db)      LINE_##name, LINE_##name##_scalar,
#define TERNARY(name, kind, f, da, db, dc) LINE_##name, LINE_##name##_scalar,
#define BOUNDS(name, kind, f, da)          LINE_##name,
#include "../../tensor/kernels/ops.def"
};
enum {
#define COMPARE(name, f)   COMPARISON_##name, COMPARISON_##name##_scalar,
#define LOGICAL(name, f)   COMPARISON_##name,
#define PREDICATE(name, f) COMPARISON_##name,
#include "../../tensor/kernels/ops.def"
};

/* What a gradient must keep is read off its line. */
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
        for (int j = 0; j < lines[i].op.inputs; j++) {
            lines[i].op.saves[j] = saves_of(&lines[i], lines[i].gradient[j]);
            lines[i].is[j] = strcmp(lines[i].gradient[j], "g") == 0   ? G
                             : strcmp(lines[i].gradient[j], "0") == 0 ? ZERO
                                                                      : FORMULA;
        }
        heed_register(&lines[i].op);
    }
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
        heed_register(&comparisons[i].op);
    }
}

/* ---- the public functions ---- */

#define FUNCTION1(name, op)                                                                        \
    heed_tensor *heed_##name(heed_tensor *x)                                                       \
    {                                                                                              \
        return heed_apply(op, &x, 1, NULL, 0);                                                     \
    }
#define FUNCTION2(name, op)                                                                        \
    heed_tensor *heed_##name(heed_tensor *a, heed_tensor *b)                                       \
    {                                                                                              \
        return heed_apply(op, (heed_tensor *[]){a, b}, 2, NULL, 0);                                \
    }
#define FUNCTION_SCALAR(name, op)                                                                  \
    heed_tensor *heed_##name(heed_tensor *a, double b)                                             \
    {                                                                                              \
        return heed_apply(op, &a, 1, &b, sizeof b);                                                \
    }
#define UNARY(name, kind, f, dx) FUNCTION1(name, &lines[LINE_##name].op)
#define BINARY(name, kind, f, da, db)                                                              \
    FUNCTION2(name, &lines[LINE_##name].op)                                                        \
    FUNCTION_SCALAR(name##_scalar, &lines[LINE_##name##_scalar].op)
#define TERNARY(name, kind, f, da, db, dc)                                                         \
    heed_tensor *heed_##name(heed_tensor *a, heed_tensor *b, heed_tensor *c)                       \
    {                                                                                              \
        return heed_apply(&lines[LINE_##name].op, (heed_tensor *[]){a, b, c}, 3, NULL, 0);         \
    }                                                                                              \
    heed_tensor *heed_##name##_scalar(heed_tensor *a, heed_tensor *b, double c)                    \
    {                                                                                              \
        return heed_apply(&lines[LINE_##name##_scalar].op, (heed_tensor *[]){a, b}, 2, &c,         \
                          sizeof c);                                                               \
    }
#define BOUNDS(name, kind, f, da)                                                                  \
    heed_tensor *heed_##name(heed_tensor *a, double b, double c)                                   \
    {                                                                                              \
        return heed_apply(&lines[LINE_##name].op, &a, 1, (double[]){b, c}, 2 * sizeof b);          \
    }
#define COMPARE(name, f)                                                                           \
    FUNCTION2(name, &comparisons[COMPARISON_##name].op)                                            \
    FUNCTION_SCALAR(name##_scalar, &comparisons[COMPARISON_##name##_scalar].op)
#define LOGICAL(name, f)   FUNCTION2(name, &comparisons[COMPARISON_##name].op)
#define PREDICATE(name, f) FUNCTION1(name, &comparisons[COMPARISON_##name].op)
#include "../../tensor/kernels/ops.def"
