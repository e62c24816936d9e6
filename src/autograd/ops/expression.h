/* Formulas in the notation of ops.def, evaluated at run time (internal). */
#ifndef HEED_AUTOGRAD_EXPRESSION_H
#define HEED_AUTOGRAD_EXPRESSION_H

#include "../../tensor/tensor.h"

/* The operand that a name in the text refers to. */
typedef struct heed_binding {
    char name;
    heed_tensor *tensor;
} heed_binding;

/* heed_evaluate: evaluates a text that has passed heed_require_formula, using Heed operations.
 * Numbers in the text have dtype `dtype`. NULL on error. */
heed_tensor *heed_evaluate(const char *text, const heed_binding *bindings, int count,
                           heed_dtype dtype);

/* heed_check_formula: checks that `text` is a formula whose operands have these one-letter names,
 * such as "gxy", without evaluating it. On a fault, `why` describes it and `at` points into the
 * text; otherwise both are NULL. */
typedef struct heed_formula_fault {
    const char *why, *at;
} heed_formula_fault;
heed_formula_fault heed_check_formula(const char *text, const char *operands);

/* heed_require_formula: aborts with a message that names `operation` if heed_check_formula finds a
 * fault. */
void heed_require_formula(const char *operation, const char *text, const char *operands);

/* heed_mentions: true if the text reads the operand with this one-letter name. */
bool heed_mentions(const char *text, char name);

#endif
