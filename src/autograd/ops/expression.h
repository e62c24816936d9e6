/* Formulas in the notation of ops.def, evaluated at run time (internal). */
#ifndef HEED_AUTOGRAD_EXPRESSION_H
#define HEED_AUTOGRAD_EXPRESSION_H

#include "../../tensor/tensor.h"

/* The operand that a name in the text refers to. */
typedef struct heed_binding {
    char name;
    heed_tensor *tensor;
} heed_binding;

/* heed_evaluate: evaluates a formula with Heed operations. Numbers in the text have dtype `dtype`.
 * HEED_ERR_VALUE: the text is not in the notation of ops.def. */
heed_tensor *heed_evaluate(const char *text, const heed_binding *bindings, int count,
                           heed_dtype dtype);

/* heed_mentions: true if the text reads the operand with this one-letter name. */
bool heed_mentions(const char *text, char name);

#endif
