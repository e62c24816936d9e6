/* A reader of the formulas in ops.def, for gradients that must themselves be differentiated: it
 * computes the text as it reads it, by recursive descent, with the operations that it names.
 *
 *     comparison:  sum [(== | != | < | <= | > | >=) sum]
 *     sum:         product {(+ | -) product}
 *     product:     factor {(* | /) factor}
 *     factor:      - factor | number | name | function(comparison, ...) | (comparison)
 *
 * The same text is compiled into the kernels, so what is read here is known to be C. */
#include "expression.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../tensor/create.h"
#include "../op.h"
#include "elementwise.h"
#include "masking.h"

/* Numbers become tensors without dims: they broadcast, and need no gradient. */
typedef struct reader {
    const char *at;
    const heed_binding *bindings;
    int count;
    heed_dtype dtype; /* of numbers */
} reader;

static heed_tensor *read_comparison(reader *r);

static bool accept(reader *r, const char *token)
{
    while (*r->at == ' ') {
        r->at++;
    }
    size_t length = strlen(token);
    if (strncmp(r->at, token, length) != 0) {
        return false;
    }
    r->at += length;
    return true;
}

static heed_tensor *apply(const char *name, heed_tensor *const *inputs, int count)
{
    return heed_apply(heed_find_operation(name), inputs, count, NULL, 0);
}

static heed_tensor *binary(const char *name, heed_tensor *a, heed_tensor *b)
{
    return apply(name, (heed_tensor *[]){a, b}, 2);
}

static heed_tensor *read_name(reader *r)
{
    char name[32] = "";
    for (size_t i = 0; isalnum((unsigned char)*r->at) && i < sizeof name - 1; i++) {
        name[i] = *r->at++;
    }
    if (accept(r, "(")) {
        heed_tensor *arguments[3];
        int count = 0;
        do {
            arguments[count++] = read_comparison(r);
        } while (count < 3 && accept(r, ","));
        accept(r, ")");
        if (strcmp(name, "where") == 0) { /* the one that is no line of ops.def itself */
            return heed_where(arguments[0], arguments[1], arguments[2]);
        }
        return apply(name, arguments, count);
    }
    if (strcmp(name, "pi") == 0) {
        return heed_scalar(3.14159265358979323846, r->dtype);
    }
    for (int i = 0; i < r->count; i++) {
        if (r->bindings[i].name == name[0]) {
            return r->bindings[i].tensor;
        }
    }
    return NULL; /* not reached: the line would not compile */
}

static heed_tensor *read_factor(reader *r)
{
    if (accept(r, "-")) {
        heed_tensor *x = read_factor(r);
        return apply("neg", &x, 1);
    }
    if (accept(r, "(")) {
        heed_tensor *x = read_comparison(r);
        accept(r, ")");
        return x;
    }
    if (isdigit((unsigned char)*r->at)) {
        char *end;
        double number = strtod(r->at, &end);
        r->at = end;
        return heed_scalar(number, r->dtype);
    }
    return read_name(r);
}

static heed_tensor *read_product(reader *r)
{
    heed_tensor *x = read_factor(r);
    for (;;) {
        if (accept(r, "*")) {
            x = binary("mul", x, read_factor(r));
        } else if (accept(r, "/")) {
            x = binary("div", x, read_factor(r));
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
            x = binary("add", x, read_product(r));
        } else if (accept(r, "-")) {
            x = binary("sub", x, read_product(r));
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
            return binary(tokens[i][1], x, read_sum(r));
        }
    }
    return x;
}

heed_tensor *heed_evaluate(const char *text, const heed_binding *bindings, int count,
                           heed_dtype dtype)
{
    reader r = {text, bindings, count, dtype};
    return read_comparison(&r);
}

bool heed_mentions(const char *text, char name)
{
    for (const char *at = text; *at != '\0'; at++) {
        bool starts = at == text || !isalnum((unsigned char)at[-1]);
        if (*at == name && starts && !isalnum((unsigned char)at[1])) {
            return true;
        }
    }
    return false;
}
