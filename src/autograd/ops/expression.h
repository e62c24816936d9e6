/* Formulas in the notation of ops.def, read at run time (internal). */
#ifndef HEED_AUTOGRAD_EXPRESSION_H
#define HEED_AUTOGRAD_EXPRESSION_H

#include "../../tensor/tensor.h"

/* What a name in the text stands for. */
typedef struct heed_binding {
    char name;
    heed_tensor *tensor;
} heed_binding;

/* heed_evaluate: the value of a text that has passed heed_require_formula, computed with Heed
 * operations; its numbers are of `dtype`. NULL on error. */
heed_tensor *heed_evaluate(const char *text, const heed_binding *bindings, int count,
                           heed_dtype dtype);

/* heed_check_formula: is `text` a formula of operands with these one-letter names, "gxy"? If not,
 * `why` says what is wrong and `at` points into the text; if it is, both are NULL. Computes
 * nothing. */
typedef struct heed_formula_fault {
    const char *why, *at;
} heed_formula_fault;
heed_formula_fault heed_check_formula(const char *text, const char *operands);

/* heed_require_formula: ends the program, with a message that names `operation`, unless it is
 * one. */
void heed_require_formula(const char *operation, const char *text, const char *operands);

/* heed_mentions: does the text read the operand of this one-letter name? */
bool heed_mentions(const char *text, char name);

#endif
