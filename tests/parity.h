/* The parity table as data: parity.def, expanded; and what reading fixtures/parity/ takes. */
#ifndef HEED_TESTS_PARITY_H
#define HEED_TESTS_PARITY_H

#include "tests/reference.h"

enum { PARITY_INPUTS = 8 };

typedef enum parity_kind { SCALED, ULP, NEAR, EXACT } parity_kind;

typedef struct parity_row {
    const char *area, *operation, *form;
    parity_kind kind;
    heed_tensor *(*f)(heed_tensor *const *in);
} parity_row;

extern const parity_row parity_rows[];
extern const int parity_row_count;

/* ---- files ---- */

/* parity_open: the file of an area, to be closed; where it is not there, the test fails.
 * parity_held: what it holds under CASE.NAME; NULL: nothing. */
heed_safetensors *parity_open(const char *area);
heed_tensor *parity_held(const heed_safetensors *file, const char *name, const char *part);

/* ---- comparing ---- */

/* What a result is held against: what the file says of it, and how wrong PyTorch is in f32. */
typedef struct parity_goal {
    const char *name, *part; /* "softmax.plain", "da" */
    heed_tensor *y;          /* f64, or i64, bool */
    heed_tensor *places;     /* where NaN and inf stand in f32, if not where y has them; or NULL */
    double error;            /* PyTorch's in f32 */
    parity_kind kind;
} parity_goal;

/* expect_parity: y is what the goal says, as close as the head of parity.def asks for. With
 * HEED_PARITY_REPORT=FILE its largest error goes there as well. */
void expect_parity(heed_tensor *y, const parity_goal *goal);

#endif
