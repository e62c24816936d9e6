/* Reads a gradient of ops.def and computes it with Heed operations (internal). */
#ifndef HEED_AUTOGRAD_EXPRESSION_H
#define HEED_AUTOGRAD_EXPRESSION_H

#include "../../tensor/tensor.h"

/* What a name in the text stands for. */
typedef struct heed_binding {
    char name;
    heed_tensor *tensor;
} heed_binding;

/* heed_evaluate: the value of `text`, whose numbers are of `dtype`. NULL on error. */
heed_tensor *heed_evaluate(const char *text, const heed_binding *bindings, int count,
                           heed_dtype dtype);

/* heed_mentions: does the text read the operand of this one-letter name? */
bool heed_mentions(const char *text, char name);

#endif
