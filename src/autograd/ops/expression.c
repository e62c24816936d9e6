/* Parser for the formulas in ops.def, for gradients that must themselves be differentiated. It
 * evaluates a text while parsing it, by recursive descent, with the operations that the text names.
 *
 *     comparison:  sum {(== | != | < | <= | > | >=) sum}
 *     sum:         product {(+ | -) product}
 *     product:     factor {(* | /) factor}
 *     factor:      - factor | digits | operand | pi | (comparison)
 *                  | real(decimal) | function(comparison, ...)
 *
 * A function is an operation, or the name of a DEFINE line of ops.def. The kernels compile the
 * texts as C, which accepts more than this grammar; tests/ops/expression.c evaluates each of them.
 * elementwise.c handles lines, kinds and kernels. */
#include "expression.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tensor/create.h"
#include "../op.h"

enum { MOST_ARGUMENTS = 3 };

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

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

/* x, followed by a closing parenthesis. */
static heed_tensor *closed(reader *r, heed_tensor *x)
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
    closed(r, NULL);
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
    return closed(r, heed_scalar(value, r->dtype));
}

static heed_tensor *read_name(reader *r)
{
    const char *start = r->at;
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strspn(start, WORD), start);
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
        return closed(r, read_from(r, COMPARISON));
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
        length = strspn(text, WORD);
        if (length == 1 && *text == name) {
            return true;
        }
    }
    return false;
}
