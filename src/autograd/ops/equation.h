/* The equation of an einsum: what its letters mean for two operands (internal).
 *
 * Every dim of an operand or of the result has a label. Labels below HEED_LETTERS are letters, A to
 * Z and then a to z, which is also the order of the dims of a result that is not spelt out; those
 * from there on are the dims of the ellipsis, counted from its end, as broadcasting counts.
 */
#ifndef HEED_AUTOGRAD_EQUATION_H
#define HEED_AUTOGRAD_EQUATION_H

#include "../../tensor/tensor.h"

enum { HEED_LETTERS = 52, HEED_LABELS = HEED_LETTERS + HEED_MAX_DIMS };

/* Labels in some order: those of a tensor's dims; a list joined from several has room too. */
typedef struct heed_labels {
    int count;
    unsigned char at[2 * HEED_MAX_DIMS];
} heed_labels;

typedef struct heed_equation {
    heed_labels a, b, y;
    int64_t size[HEED_LABELS]; /* of each label that occurs, broadcast */
} heed_equation;

/* heed_read_equation: reads the text and fits it to the shapes of a and b. Each error shows the
 * text, both shapes, and what is wrong. */
heed_status heed_read_equation(const char *text, const heed_tensor *a, const heed_tensor *b,
                               heed_equation *equation);

#endif
