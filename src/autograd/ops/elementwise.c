/* Elementwise operations: each line of tensor/kernels/ops.def becomes a heed_op and a public
 * function. `where` is written by hand, because the notation of ops.def cannot express it. The
 * arithmetic is in the kernels; this file handles dtypes, shapes and the values saved for
 * gradients.
 *
 * A gradient exists in two forms, both from the same text: a compiled kernel, which training runs,
 * and the text itself, which the first part of this file evaluates with operations if the gradient
 * must itself be differentiated. */

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../autograd.h"

/* ---- formulas ----
 *
 * Evaluated while they are read, by recursive descent, with the operations that they name:
 *
 *     comparison:  sum {(== | != | < | <= | > | >=) sum}
 *     sum:         product {(+ | -) product}
 *     product:     factor {(* | /) factor}
 *     factor:      - factor | digits | operand | pi | (comparison)
 *                  | real(decimal) | function(comparison, ...)
 *
 * A function is an operation, or the name of a DEFINE line of ops.def. The kernels compile the
 * texts as C, which accepts more than this grammar; tests/ops/expression.c evaluates each of them.
 */

enum { MOST_ARGUMENTS = 3 };

typedef struct reader {
    const char *text, *at;
    const heed_binding *bindings;
    int count;
    heed_dtype dtype; /* dtype of numbers */
} reader;

static const struct definition {
    const char *name, *operand, *text;
} definitions[] = {
#define DEFINE(name, x, f) {#name, #x, #f},
#include "../../tensor/kernels/ops.def"
};

typedef enum level { COMPARISON, SUM, PRODUCT, FACTOR } level;

/* "<=" comes before "<", with which it begins. */
static const struct infix {
    level level;
    const char *token, *operation;
} operators[] = {{COMPARISON, "==", "eq"}, {COMPARISON, "!=", "ne"}, {COMPARISON, "<=", "le"},
                 {COMPARISON, ">=", "ge"}, {COMPARISON, "<", "lt"},  {COMPARISON, ">", "gt"},
                 {SUM, "+", "add"},        {SUM, "-", "sub"},        {PRODUCT, "*", "mul"},
                 {PRODUCT, "/", "div"}};

static heed_tensor *read_from(reader *r, level least);

/* Reports a fault and moves to the end of the text, so that parsing stops. */
static heed_tensor *fail(reader *r, const char *why)
{
    heed_fail(HEED_ERR_VALUE, "ops.def: \"%s\": %s, at \"%s\"", r->text, why, r->at);
    r->at += strlen(r->at);
    return NULL;
}

static bool accept(reader *r, const char *token)
{
    while (*r->at == ' ') {
        r->at++;
    }
    const size_t length = strlen(token);
    if (strncmp(r->at, token, length) != 0) {
        return false;
    }
    r->at += length;
    return true;
}

static heed_tensor *take_closing(reader *r, heed_tensor *x)
{
    return accept(r, ")") ? x : fail(r, "a ) is missing");
}

static heed_tensor *apply(reader *r, const char *name, heed_tensor *const *inputs, int count)
{
    const heed_op *op = heed_find_operation(name);
    return op != NULL && op->inputs == count
               ? heed_apply(op, inputs, count, NULL, 0)
               : fail(r, "no operation of this name takes these arguments");
}

/* Reads the arguments of an operation or a DEFINE line, up to the ). */
static heed_tensor *read_call(reader *r, const char *name)
{
    heed_tensor *arguments[MOST_ARGUMENTS];
    int count = 0;
    do {
        arguments[count++] = read_from(r, COMPARISON);
    } while (count < MOST_ARGUMENTS && accept(r, ","));
    take_closing(r, NULL);
    for (size_t i = 0; i < sizeof definitions / sizeof *definitions; i++) {
        const struct definition *d = &definitions[i];
        if (strcmp(d->name, name) == 0) {
            const heed_binding x = {*d->operand, arguments[0]};
            return count == 1 ? heed_evaluate(d->text, &x, 1, r->dtype)
                              : fail(r, "too many arguments");
        }
    }
    return apply(r, name, arguments, count);
}

static heed_tensor *read_decimal(reader *r)
{
    char *end;
    const double value = strtod(r->at, &end);
    if (end == r->at) {
        return fail(r, "real() takes a number");
    }
    r->at = end;
    return take_closing(r, heed_scalar(value, r->dtype));
}

static heed_tensor *read_name(reader *r)
{
    const char *start = r->at;
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)heed_word_length(start), start);
    r->at += strlen(name);
    if (accept(r, "(")) {
        return strcmp(name, "real") == 0 ? read_decimal(r) : read_call(r, name);
    }
    if (strcmp(name, "pi") == 0) {
        return heed_scalar(3.14159265358979323846, r->dtype);
    }
    for (int i = 0; i < r->count; i++) {
        if (r->bindings[i].name == name[0] && name[1] == '\0') {
            return r->bindings[i].tensor;
        }
    }
    r->at = start;
    return fail(r, "an operand is missing or unknown");
}

static heed_tensor *read_factor(reader *r)
{
    if (accept(r, "-")) {
        heed_tensor *x = read_factor(r);
        return apply(r, "neg", &x, 1);
    }
    if (accept(r, "(")) {
        return take_closing(r, read_from(r, COMPARISON));
    }
    if (!isdigit((unsigned char)*r->at)) {
        return read_name(r);
    }
    char *end;
    const long value = strtol(r->at, &end, 10);
    r->at = end;
    return *end == '.' ? fail(r, "a number with decimals must be in real()")
                       : heed_scalar((double)value, r->dtype);
}

/* Reads operands joined by operators of this level or later ones, from left to right. */
static heed_tensor *read_from(reader *r, level least)
{
    if (least == FACTOR) {
        return read_factor(r);
    }
    heed_tensor *x = read_from(r, least + 1);
    for (size_t i = 0; i < sizeof operators / sizeof *operators;) {
        const struct infix *o = &operators[i++];
        if (o->level == least && accept(r, o->token)) {
            x = apply(r, o->operation, (heed_tensor *[]){x, read_from(r, least + 1)}, 2);
            i = 0;
        }
    }
    return x;
}

heed_tensor *heed_evaluate(const char *text, const heed_binding *bindings, int count,
                           heed_dtype dtype)
{
    reader r = {text, text, bindings, count, dtype};
    heed_tensor *y = read_from(&r, COMPARISON);
    accept(&r, ""); /* skips spaces */
    return *r.at == '\0' ? y : fail(&r, "not in the notation of ops.def");
}

bool heed_mentions(const char *text, char name)
{
    for (size_t length = 0; *text != '\0'; text += length > 0 ? length : 1) {
        length = heed_word_length(text);
        if (length == 1 && *text == name) {
            return true;
        }
    }
    return false;
}

/* ---- lines of ops.def ---- */

typedef enum kind { FLOAT, NUMBER, ANY, TRUTH } kind; /* TRUTH: the result is bool */

enum { MOST = 2 }; /* operands per line */

/* A line of ops.def, in one of its forms: all operands are tensors, or the last one is a number. */
typedef struct line {
    heed_op op; /* the first member, so that a call's op points to the line */
    enum heed_elementwise kernel;
    kind kind;
    bool has_number;
    const char *gradient[MOST];
} line;

/* ---- rules ---- */

/* True if i64 can represent the number. */
static bool is_whole(double number)
{
    return number == floor(number) && fabs(number) < 0x1p63;
}

static void check_number(const heed_call *call, const line *l)
{
    const double number = *(const double *)call->args;
    if (l->kernel == HEED_OP_pow && number < 0) {
        heed_raise(HEED_ERR_VALUE, "%s: i64 to a negative power %g; heed_to(x, HEED_F32)",
                   call->op->name, number);
    }
    if (!is_whole(number)) {
        heed_raise(HEED_ERR_VALUE,
                   "%s: an i64 tensor %s takes an integer, not %g; heed_to(x, HEED_F32)",
                   call->op->name, HEED_TEXT(call->inputs[0]), number);
    }
}

/* Computes the common dtype and the broadcast shape of the inputs. On entry, *dtype and *shape are
 * the dtype and shape of input 0. */
static void combine(const heed_call *call, heed_dtype *dtype, heed_shape *shape)
{
    for (int i = 1; i < call->count; i++) {
        const heed_tensor *input = call->inputs[i];
        if (input->dtype == *dtype && heed_has_sizes(input, shape->ndim, shape->size)) {
            continue;
        }
        const heed_shape before = *shape, other = heed_shape_of_tensor(input);
        *dtype = heed_common_dtype(call->op->name, *dtype, input->dtype);
        heed_broadcast(call->op->name, &before, &other, shape);
    }
}

static heed_status line_rule(const heed_call *call, heed_result *result)
{
    const line *l = (const line *)call->op;
    combine(call, &result->dtype, &result->shape);
    if (l->kind == TRUTH) {
        result->dtype = HEED_BOOL;
        return HEED_OK;
    }
    if (!heed_is_float(result->dtype) && l->kind == FLOAT) {
        result->dtype = HEED_F32;
    }
    if (l->has_number && result->dtype == HEED_BOOL) {
        result->dtype = HEED_I64;
    }
    if (result->dtype == HEED_BOOL && l->kind == NUMBER) {
        heed_raise(HEED_ERR_DTYPE, "%s: bool is not supported; heed_to(x, HEED_I64)",
                   call->op->name);
    }
    if (l->has_number && result->dtype == HEED_I64) {
        check_number(call, l);
    }
    return HEED_OK;
}

/* ---- computing ---- */

/* Sets the operands of a kernel: the inputs, then the number. Returns their count. Inline, because
 * gcc would call it otherwise, which costs small operations 4% of their time. */
static inline int set_operands(heed_operand *in, const line *l, heed_tensor *const *inputs,
                               const double *number, heed_dtype as)
{
    const int tensors = l->op.inputs;
    for (int i = 0; i < tensors; i++) {
        in[i].tensor = inputs[i];
        in[i].as = as;
    }
    if (l->has_number) {
        in[tensors] = (heed_operand){NULL, *number, as};
    }
    return tensors + l->has_number;
}

/* The dtype in which a comparison reads its operands. */
static heed_dtype compared_dtype(const heed_call *call, const line *l)
{
    heed_dtype as = call->inputs[0]->dtype;
    if (call->count > 1) {
        as = heed_common_dtype(call->op->name, as, call->inputs[1]->dtype);
    }
    return !l->has_number || heed_is_float(as)     ? as
           : is_whole(*(const double *)call->args) ? HEED_I64
                                                   : HEED_F64;
}

static heed_status line_forward(const heed_call *call, heed_tensor *y)
{
    const line *l = (const line *)call->op;
    heed_operand in[MOST];
    const heed_dtype as = l->kind == TRUTH ? compared_dtype(call, l) : y->dtype;
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
    const heed_operand g = {v->g, 0, y->dtype};
    heed_operand in[MOST + 2];
    in[0] = g;
    int count = 1 + set_operands(in + 1, l, v->inputs, v->args, y->dtype);
    for (int j = 0; j < l->op.inputs; j++) {
        if (!(saves >> j & 1)) {
            in[1 + j] = g;
        }
    }
    in[count++] = saves & HEED_SAVES_OUTPUT ? (heed_operand){y, 0, y->dtype} : g;
    heed_map(heed_kernels_for(y->dtype)->elementwise[l->kernel].gradient[i], in, count, result);
    return result;
}

static char operand_name(const line *l, int i)
{
    return l->op.inputs + l->has_number == 1 ? 'x' : (char)('a' + i);
}

/* dL/dinput i evaluated from the text with operations that record a graph. */
static heed_tensor *gradient_by_text(const line *l, const heed_vjp *v, int i)
{
    heed_binding bindings[2 + MOST] = {{'g', v->g}, {'y', v->y}};
    int count = 2;
    for (int j = 0; j < l->op.inputs + l->has_number; j++) {
        heed_tensor *operand =
            j < l->op.inputs ? v->inputs[j] : heed_scalar(*(const double *)v->args, v->y->dtype);
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
        const char *text = l->gradient[i], letter = text[1] == '\0' ? text[0] : 0;
        if (letter == 'g') {
            v->grads[i] = v->g;
        } else if (letter == '0') { /* even if g is NaN */
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
    result->dtype = heed_common_dtype("where", call->inputs[1]->dtype, call->inputs[2]->dtype);
    return HEED_OK;
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

OPERATION(where) = {.name = "where",
                    .signature = "condition (...) bool, a (...) any, b (...) any -> (...)",
                    .rule = where_rule,
                    .forward = where_forward,
                    .backward = where_backward,
                    .saves = {0, HEED_SAVES_INPUT(0), HEED_SAVES_INPUT(0)}};

heed_tensor *heed_where(heed_tensor *condition, heed_tensor *a, heed_tensor *b)
{
    return heed_apply(&op_where, (heed_tensor *[]){condition, a, b}, 3, NULL, 0);
}

/* ---- turning lines into operations and functions ---- */

/* An operation with the kernel of the line `of`, and the gradients of its inputs. */
#define LINE(id, of, tensors, takes, is_scalar, layout, ...)                                       \
    static line line_##id = {.op = {.name = #id,                                                   \
                                    .torch = #of,                                                  \
                                    .inputs = tensors,                                             \
                                    .args = layout,                                                \
                                    .rule = line_rule,                                             \
                                    .forward = line_forward,                                       \
                                    .backward = (takes) == TRUTH ? NULL : line_backward},          \
                             .kernel = HEED_OP_##of,                                               \
                             .kind = takes,                                                        \
                             .has_number = is_scalar,                                              \
                             .gradient = {__VA_ARGS__}};

/* Its public function, which passes on these inputs. */
#define FUNCTION(id, parameters, number, size, ...)                                                \
    heed_tensor *heed_##id parameters                                                              \
    {                                                                                              \
        heed_tensor *inputs[] = {__VA_ARGS__};                                                     \
        return heed_apply(&line_##id.op, inputs, sizeof inputs / sizeof *inputs, number, size);    \
    }

#define UNARY(name, kind, f, dx)                                                                   \
    LINE(name, name, 1, kind, false, NULL, #dx)                                                    \
    FUNCTION(name, (heed_tensor * x), NULL, 0, x)
#define PAIR(name, kind, da, db)                                                                   \
    LINE(name, name, 2, kind, false, NULL, da, db)                                                 \
    FUNCTION(name, (heed_tensor * a, heed_tensor * b), NULL, 0, a, b)
#define BINARY(name, kind, f, da, db)                                                              \
    PAIR(name, kind, #da, #db)                                                                     \
    LINE(name##_scalar, name, 1, kind, true, "double b", #da)                                      \
    FUNCTION(name##_scalar, (heed_tensor * a, double b), &b, sizeof b, a)
#define COMPARE(name, f)   BINARY(name, TRUTH, f, 0, 0)
#define LOGICAL(name, f)   PAIR(name, TRUTH, "0", "0")
#define PREDICATE(name, f) UNARY(name, TRUTH, f, 0)
#include "../../tensor/kernels/ops.def"

/* ---- the registry ---- */

static line *const lines[] = {
#define UNARY(name, kind, f, dx)      &line_##name,
#define BINARY(name, kind, f, da, db) &line_##name, &line_##name##_scalar,
#define COMPARE(name, f)              &line_##name, &line_##name##_scalar,
#define LOGICAL(name, f)              &line_##name,
#define PREDICATE(name, f)            &line_##name,
#include "../../tensor/kernels/ops.def"
};

static uint8_t saves_of(const line *l, const char *text)
{
    unsigned saves = heed_mentions(text, 'y') ? HEED_SAVES_OUTPUT : 0;
    for (int i = 0; i < l->op.inputs; i++) {
        saves |= heed_mentions(text, operand_name(l, i)) ? HEED_SAVES_INPUT(i) : 0;
    }
    return (uint8_t)saves;
}

__attribute__((constructor)) static void register_lines(void)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        line *l = lines[i];
        l->op.is_inner = true;
        heed_register(&l->op);
        for (int j = 0; j < l->op.inputs; j++) {
            l->op.saves[j] = saves_of(l, l->gradient[j]);
        }
    }
}
