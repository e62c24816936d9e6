/* Parser for the formulas in ops.def, for gradients that must themselves be differentiated. It
 * evaluates a text while parsing it, by recursive descent, with the operations that the text names.
 *
 *     comparison:  sum [(== | != | < | <= | > | >=) sum]
 *     sum:         product {(+ | -) product}
 *     product:     factor {(* | /) factor}
 *     factor:      - factor | digits | operand | pi | (comparison)
 *                  | real(decimal) | function(comparison, ...)
 *
 * A function is an operation, `where`, or the name of a DEFINE line of ops.def. The kernels compile
 * the texts as C, which accepts more than this grammar. So the same code checks each text once,
 * without evaluating it, when the operation is registered. elementwise.c handles lines, kinds and
 * kernels. */
#include "expression.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tensor/create.h"
#include "../apply.h"

enum { MOST_ARGUMENTS = 3 };

typedef struct reader {
    const char *at;
    const heed_binding *bindings;
    int count;
    heed_dtype dtype; /* dtype of numbers */
    bool checks;      /* parses without evaluating: every value is NULL */
    heed_formula_fault fault;
} reader;

static const struct definition {
    const char *name, *operand, *text;
} definitions[] = {
#define DEFINE(name, x, f) {#name, #x, #f},
#include "../../tensor/kernels/ops.def"
};

static heed_tensor *read_comparison(reader *r);

/* Records the first fault and moves to the end of the text, so that parsing stops. */
static heed_tensor *fail(reader *r, const char *why)
{
    if (r->fault.why == NULL) {
        r->fault = (heed_formula_fault){why, r->at};
    }
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

static void expect(reader *r, const char *token, const char *why)
{
    if (!accept(r, token)) {
        fail(r, why);
    }
}

/* Numbers become 0-dim tensors, which broadcast and need no gradient. */
static heed_tensor *number(const reader *r, double value)
{
    return r->checks ? NULL : heed_scalar(value, r->dtype);
}

static heed_tensor *apply(const reader *r, const char *name, heed_tensor *const *inputs, int count)
{
    return r->checks ? NULL : heed_apply(heed_find_operation(name), inputs, count, NULL, 0);
}

static heed_tensor *binary(const reader *r, const char *name, heed_tensor *a, heed_tensor *b)
{
    return apply(r, name, (heed_tensor *[]){a, b}, 2);
}

static const struct definition *find_definition(const char *name)
{
    for (size_t i = 0; i < sizeof definitions / sizeof *definitions; i++) {
        if (strcmp(definitions[i].name, name) == 0) {
            return &definitions[i];
        }
    }
    return NULL;
}

/* Evaluates the text of a definition with its operand bound to x. */
static heed_tensor *expand(reader *r, const struct definition *d, heed_tensor *x)
{
    const heed_binding binding = {*d->operand, x};
    reader inner = {d->text, &binding, 1, r->dtype, r->checks, {NULL, NULL}};
    heed_tensor *y = read_comparison(&inner);
    return inner.fault.why != NULL || *inner.at != '\0' ? fail(r, "a DEFINE that does not parse")
                                                        : y;
}

static heed_tensor *read_call(reader *r, const char *name)
{
    heed_tensor *arguments[MOST_ARGUMENTS];
    const struct definition *d = find_definition(name);
    int count = 0;
    do {
        arguments[count++] = read_comparison(r);
    } while (count < MOST_ARGUMENTS && accept(r, ","));
    expect(r, ")", "a ) is missing");
    if (d != NULL) {
        return count == 1 ? expand(r, d, arguments[0]) : fail(r, "too many arguments");
    }
    if (r->checks) { /* `where` may not be registered yet */
        const heed_op *op = heed_find_operation(name);
        const int wanted = strcmp(name, "where") == 0 ? 3 : op != NULL ? op->inputs : 0;
        return wanted == count ? NULL : fail(r, "no operation of this name takes these arguments");
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
    expect(r, ")", "a ) is missing");
    return number(r, value);
}

static heed_tensor *read_name(reader *r)
{
    const char *start = r->at;
    char name[32] = "";
    for (size_t i = 0; (isalnum((unsigned char)*r->at) || *r->at == '_') && i < sizeof name - 1;
         i++) {
        name[i] = *r->at++;
    }
    if (accept(r, "(")) {
        return strcmp(name, "real") == 0 ? read_decimal(r) : read_call(r, name);
    }
    if (strcmp(name, "pi") == 0) {
        return number(r, 3.14159265358979323846);
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
        heed_tensor *x = read_comparison(r);
        expect(r, ")", "a ) is missing");
        return x;
    }
    if (!isdigit((unsigned char)*r->at)) {
        return read_name(r);
    }
    double value = 0;
    while (isdigit((unsigned char)*r->at)) {
        value = value * 10 + (*r->at++ - '0');
    }
    return *r->at == '.' ? fail(r, "a number with decimals must be in real()") : number(r, value);
}

static heed_tensor *read_product(reader *r)
{
    heed_tensor *x = read_factor(r);
    for (;;) {
        if (accept(r, "*")) {
            x = binary(r, "mul", x, read_factor(r));
        } else if (accept(r, "/")) {
            x = binary(r, "div", x, read_factor(r));
        } else {
            return x;
        }
    }
}

static heed_tensor *read_sum(reader *r)
{
    heed_tensor *x = read_product(r);
    for (;;) {
        if (accept(r, "+")) {
            x = binary(r, "add", x, read_product(r));
        } else if (accept(r, "-")) {
            x = binary(r, "sub", x, read_product(r));
        } else {
            return x;
        }
    }
}

static heed_tensor *read_comparison(reader *r)
{
    static const char *const tokens[][2] = {{"==", "eq"}, {"!=", "ne"}, {"<=", "le"},
                                            {">=", "ge"}, {"<", "lt"},  {">", "gt"}};
    heed_tensor *x = read_sum(r);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        if (accept(r, tokens[i][0])) {
            return binary(r, tokens[i][1], x, read_sum(r));
        }
    }
    return x;
}

heed_tensor *heed_evaluate(const char *text, const heed_binding *bindings, int count,
                           heed_dtype dtype)
{
    reader r = {text, bindings, count, dtype, false, {NULL, NULL}};
    return read_comparison(&r);
}

heed_formula_fault heed_check_formula(const char *text, const char *operands)
{
    heed_binding bindings[8];
    reader r = {text, bindings, 0, HEED_F32, true, {NULL, NULL}};
    while (operands[r.count] != '\0' && r.count < 8) {
        bindings[r.count] = (heed_binding){operands[r.count], NULL};
        r.count++;
    }
    read_comparison(&r);
    if (!accept(&r, "") || *r.at != '\0') {
        fail(&r, "not in the notation of ops.def");
    }
    return r.fault;
}

void heed_require_formula(const char *operation, const char *text, const char *operands)
{
    const heed_formula_fault fault = heed_check_formula(text, operands);
    if (fault.why != NULL) {
        fprintf(stderr, "heed: ops.def, %s: \"%s\": %s, at \"%s\"\n", operation, text, fault.why,
                fault.at);
        abort();
    }
}

bool heed_mentions(const char *text, char name)
{
    for (const char *at = text; *at != '\0'; at++) {
        const bool starts = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (*at == name && starts && !(isalnum((unsigned char)at[1]) || at[1] == '_')) {
            return true;
        }
    }
    return false;
}
