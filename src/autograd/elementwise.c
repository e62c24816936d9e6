/* The element-wise operations: every line of tensor/ops.def becomes an operation, a public function
 * and its gradient.
 *
 * A gradient has two forms of the same text: the compiled loop, which training runs, and the text
 * itself, read and computed with operations where the gradient must be differentiated again. */
#include "autograd/elementwise.h"

#include <math.h>
#include <string.h>

#include "autograd/expression.h"
#include "autograd/op.h"
#include "autograd/promote.h"
#include "tensor/create.h"
#include "tensor/iterate.h"
#include "tensor/scope.h"

typedef enum kind { FLOAT, NUMBER, ANY } kind;

/* A line of ops.def; with `scalar` its form with a number for b. */
typedef struct line {
    heed_op op; /* first, so that a call's op leads back here */
    enum heed_elementwise kernel;
    kind kind;
    bool scalar;
    const char *gradient[2];
} line;

typedef struct comparison {
    heed_op op;
    enum heed_comparison kernel;
    bool scalar;
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

/* The dtype that inputs compute in, and their broadcast shape. */
static heed_status meet(const heed_call *call, heed_dtype *dtype, heed_shape *shape)
{
    const heed_tensor *a = call->inputs[0];
    *dtype = a->dtype;
    *shape = heed_shape_of_tensor(a);
    if (call->count == 1) {
        return HEED_OK;
    }
    const heed_tensor *b = call->inputs[1];
    heed_shape shape_a = *shape, shape_b = heed_shape_of_tensor(b);
    if (heed_promote(call->op->name, a->dtype, b->dtype, dtype) != HEED_OK) {
        return heed_self.error;
    }
    return heed_broadcast(call->op->name, &shape_a, &shape_b, shape);
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
    if (l->scalar && result->dtype == HEED_BOOL) {
        result->dtype = HEED_I64;
    }
    if (result->dtype == HEED_BOOL && l->kind == NUMBER) {
        return heed_fail(HEED_ERR_DTYPE, "%s: bool has no such operation; heed_to(x, HEED_I64)",
                         call->op->name);
    }
    if (l->scalar && result->dtype == HEED_I64) {
        const double number = *(const double *)call->args;
        if (l->kernel == HEED_pow && number < 0) {
            return heed_fail(HEED_ERR_VALUE, "%s: i64 to a negative power %g; heed_to(x, HEED_F32)",
                             call->op->name, number);
        }
        return check_whole(call, number);
    }
    return HEED_OK;
}

/* ---- computing ---- */

/* The number of a scalar operation, as an element of `dtype`. */
typedef union element {
    float f32;
    double f64;
    int64_t i64;
} element;

static element element_of(double number, heed_dtype dtype)
{
    element e = {.f64 = number};
    if (dtype == HEED_F32) {
        e.f32 = (float)number;
    } else if (dtype == HEED_I64) {
        e.i64 = (int64_t)number;
    }
    return e;
}

/* Runs `kernel` on the inputs (and the number) of a call, as elements of `as`. */
static void map_inputs(heed_kernel *kernel, const heed_call *call, bool scalar, heed_dtype as,
                       heed_tensor *y)
{
    heed_operand in[2];
    element number;
    for (int i = 0; i < call->count; i++) {
        in[i] = heed_operand_of(call->inputs[i], y->ndim, y->shape, as);
    }
    if (scalar) {
        number = element_of(*(const double *)call->args, as);
        in[1] = heed_constant_operand(&number, as);
    }
    heed_map(kernel, in, call->count + scalar, y);
}

static heed_status line_forward(const heed_call *call, heed_tensor *y)
{
    const line *l = (const line *)call->op;
    map_inputs(heed_kernels_for(y->dtype)->elementwise[l->kernel].forward, call, l->scalar,
               y->dtype, y);
    return HEED_OK;
}

/* ---- gradients ---- */

/* dL/dinput i by the compiled loop. Operands that the line does not read may be gone by now: g
 * stands in for them. */
static heed_tensor *gradient_by_kernel(const line *l, const heed_vjp *v, int i)
{
    const heed_tensor *y = v->y;
    heed_tensor *result = heed_empty(heed_shape_of_tensor(y), y->dtype);
    if (result == NULL) {
        return NULL;
    }
    heed_operand in[HEED_MAX_OPERANDS];
    const heed_operand g = heed_operand_of(v->g, y->ndim, y->shape, y->dtype);
    element number;
    int count = 0;
    in[count++] = g;
    for (int j = 0; j < l->op.inputs; j++) {
        bool read = l->op.saves[i] & HEED_SAVES_INPUT(j);
        in[count++] = read ? heed_operand_of(v->inputs[j], y->ndim, y->shape, y->dtype) : g;
    }
    if (l->scalar) {
        number = element_of(*(const double *)v->args, y->dtype);
        in[count++] = heed_constant_operand(&number, y->dtype);
    }
    bool read = l->op.saves[i] & HEED_SAVED_OUTPUT;
    in[count++] = read ? heed_operand_of(y, y->ndim, y->shape, y->dtype) : g;
    heed_map(heed_kernels_for(y->dtype)->elementwise[l->kernel].gradient[i], in, count, result);
    return result;
}

/* dL/dinput i by the text, in operations that record their own graph. */
static heed_tensor *gradient_by_text(const line *l, const heed_vjp *v, int i)
{
    const bool unary = l->op.inputs == 1 && !l->scalar;
    heed_tensor *b = unary       ? NULL
                     : l->scalar ? heed_scalar(*(const double *)v->args, v->y->dtype)
                                 : v->inputs[1];
    const heed_binding bindings[] = {
        {'g', v->g}, {'y', v->y}, {unary ? 'x' : 'a', v->inputs[0]}, {'b', b}};
    return heed_evaluate(l->gradient[i], bindings, 4, v->y->dtype);
}

static void line_backward(const heed_vjp *v)
{
    const line *l = (const line *)v->y->op;
    for (int i = 0; i < l->op.inputs; i++) {
        if (!heed_wants_grad(v, i)) {
            continue;
        }
        if (strcmp(l->gradient[i], "g") == 0) {
            v->grads[i] = v->g;
        } else if (heed_grad_enabled()) {
            v->grads[i] = gradient_by_text(l, v, i);
        } else {
            v->grads[i] = gradient_by_kernel(l, v, i);
        }
    }
}

/* ---- comparisons ---- */

static heed_status comparison_rule(const heed_call *call, heed_result *result)
{
    heed_status status = meet(call, &result->dtype, &result->shape);
    result->dtype = HEED_BOOL;
    return status;
}

static heed_status comparison_forward(const heed_call *call, heed_tensor *y)
{
    const comparison *c = (const comparison *)call->op;
    heed_dtype as;
    heed_shape shape;
    if (meet(call, &as, &shape) != HEED_OK) {
        return heed_self.error;
    }
    if (c->scalar && !heed_is_float(as)) {
        as = is_whole(*(const double *)call->args) ? HEED_I64 : HEED_F64;
    }
    map_inputs(heed_kernels_for(as)->compare[c->kernel], call, c->scalar, as, y);
    return HEED_OK;
}

/* ---- the table ---- */

#define LINE(text, count, id, kind, is_scalar, da, db)                                             \
    {{.name = text,                                                                                \
      .inputs = count,                                                                             \
      .rule = line_rule,                                                                           \
      .forward = line_forward,                                                                     \
      .backward = line_backward},                                                                  \
     HEED_##id,                                                                                    \
     kind,                                                                                         \
     is_scalar,                                                                                    \
     {da, db}},
static line lines[] = {
#define UNARY(name, kind, f, dx) LINE(#name, 1, name, kind, false, #dx, NULL)
#define BINARY(name, kind, f, da, db)                                                              \
    LINE(#name, 2, name, kind, false, #da, #db)                                                    \
    LINE(#name "_scalar", 1, name, kind, true, #da, NULL)
#define COMPARE(name, f)
#include "tensor/ops.def"
};

#define COMPARISON(text, count, id, is_scalar)                                                     \
    {{.name = text, .inputs = count, .rule = comparison_rule, .forward = comparison_forward},      \
     HEED_##id,                                                                                    \
     is_scalar},
static comparison comparisons[] = {
#define UNARY(name, kind, f, dx)
#define BINARY(name, kind, f, da, db)
#define COMPARE(name, f)                                                                           \
    COMPARISON(#name, 2, name, false)                                                              \
    COMPARISON(#name "_scalar", 1, name, true)
#include "tensor/ops.def"
};

/* The places of the lines in the tables. */
enum {
#define UNARY(name, kind, f, dx)      LINE_##name,
#define BINARY(name, kind, f, da, db) LINE_##name, LINE_##name##_scalar,
#define COMPARE(name, f)
#include "tensor/ops.def"
};
enum {
#define UNARY(name, kind, f, dx)
#define BINARY(name, kind, f, da, db)
#define COMPARE(name, f) COMPARISON_##name, COMPARISON_##name##_scalar,
#include "tensor/ops.def"
};

/* What a gradient must keep is read off its line. */
static uint8_t saves_of(const line *l, const char *text)
{
    bool first = heed_mentions(text, 'x') || heed_mentions(text, 'a');
    bool second = heed_mentions(text, 'b') && !l->scalar;
    return (uint8_t)((first ? HEED_SAVES_INPUT(0) : 0) | (second ? HEED_SAVES_INPUT(1) : 0) |
                     (heed_mentions(text, 'y') ? HEED_SAVED_OUTPUT : 0));
}

__attribute__((constructor)) static void register_lines(void)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        for (int j = 0; j < lines[i].op.inputs; j++) {
            lines[i].op.saves[j] = saves_of(&lines[i], lines[i].gradient[j]);
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
#define COMPARE(name, f)                                                                           \
    FUNCTION2(name, &comparisons[COMPARISON_##name].op)                                            \
    FUNCTION_SCALAR(name##_scalar, &comparisons[COMPARISON_##name##_scalar].op)
#include "tensor/ops.def"
