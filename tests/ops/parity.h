/* Comparing with the results of PyTorch that fixtures/parity/ holds. */
#ifndef HEED_TESTS_OPS_PARITY_H
#define HEED_TESTS_OPS_PARITY_H

#include "tests/common/reference.h"
#include "tests/ops/table.h"

enum { PARITY_INPUTS = ROW_INPUTS };

/* ---- files ---- */

/* parity_open: opens an area's file, which the caller closes; the test fails if it is missing.
 * parity_held: the tensor CASE.NAME, or NULL. */
heed_safetensors *parity_open(const char *area);
heed_tensor *parity_held(const heed_safetensors *file, const char *name, const char *part);

/* parity_every_case: checks that each case in an area's file has a row in the table. */
void parity_every_case(const char *area, bool (*has_case)(const char *area, const char *name));

/* ---- comparing ---- */

/* The expected result, as stored in the file, and PyTorch's own error in f32. */
typedef struct parity_goal {
    const char *name, *part; /* "softmax.plain", "da" */
    heed_tensor *y;          /* f64, or i64, bool */
    heed_tensor *places;     /* where f32 has NaN or inf; NULL: in the same places as y */
    double error;            /* PyTorch's in f32 */
    row_accuracy accuracy;
} parity_goal;

/* expect_parity: y matches the goal, within the tolerance that operations.def defines. */
void expect_parity(heed_tensor *y, const parity_goal *goal);

/* parity_ulp: the distance between neighbouring floats at x, in that dtype. */
double parity_ulp(double x, heed_dtype dtype);

/* ---- cases ---- */

/* A case in a file: its inputs as stored; the rest is read on request. */
typedef struct parity_case {
    const heed_safetensors *file;
    char name[100];
    heed_tensor *inputs[PARITY_INPUTS];
    int count;
} parity_case;

/* parity_case_of: fails the test if the file has no such case.
 * parity_case_part: the case's tensor of that name, or NULL. */
parity_case parity_case_of(const heed_safetensors *file, const char *operation, const char *form);
heed_tensor *parity_case_part(const parity_case *c, const char *part);

/* parity_case_requires_grad: true if the file has a gradient for the i-th input. */
bool parity_case_requires_grad(const parity_case *c, int i);

/* parity_input: the i-th input in that layout, floats cast to that dtype; it requires a gradient if
 * the file has one for it. */
heed_tensor *parity_input(const parity_case *c, int i, heed_dtype dtype, enum layout layout);
void parity_inputs(const parity_case *c, heed_dtype dtype, enum layout layout,
                   heed_tensor *inputs[PARITY_INPUTS]);

/* expect_part: y matches the case's tensor of that name. */
void expect_part(const parity_case *c, const char *part, heed_tensor *y, double error,
                 row_accuracy accuracy);

/* A tensor that y is differentiated with respect to; the file names its gradient "d" + name. */
typedef struct parity_leaf {
    const char *name;
    heed_tensor *x;
} parity_leaf;

enum { PARITY_LEAVES = 40 };

/* parity_input_leaves: adds the inputs that require a gradient; returns their number.
 * expect_case: y and the gradients of the leaves match the case. */
int parity_input_leaves(const parity_case *c, heed_tensor *const *inputs, parity_leaf *leaves);
void expect_case(const parity_case *c, heed_tensor *y, row_accuracy accuracy,
                 const parity_leaf *leaves, int count);

#endif
