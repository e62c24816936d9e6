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

/* parity_every_case: each case of an area's file is one of those that the table has. */
void parity_every_case(const char *area, bool (*has_case)(const char *area, const char *name));

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

/* ---- cases ---- */

/* What a file holds of a case: its inputs as stored, and on asking all the rest. */
typedef struct parity_case {
    const heed_safetensors *file;
    char name[100];
    heed_tensor *inputs[PARITY_INPUTS];
    int count;
} parity_case;

/* parity_case_of: fails the test where the file has no such case.
 * parity_case_part: what it holds under that name; NULL: nothing. */
parity_case parity_case_of(const heed_safetensors *file, const char *operation, const char *form);
heed_tensor *parity_case_part(const parity_case *c, const char *part);

/* parity_input: the i-th input, with floats in that dtype, laid out in that way; it requires a
 * gradient if the case holds one. */
heed_tensor *parity_input(const parity_case *c, int i, heed_dtype dtype, enum layout layout);
void parity_inputs(const parity_case *c, heed_dtype dtype, enum layout layout,
                   heed_tensor *inputs[PARITY_INPUTS]);

/* expect_part: y is what the case holds under that name. */
void expect_part(const parity_case *c, const char *part, heed_tensor *y, double error,
                 parity_kind kind);

/* A tensor by which y is differentiated, and how the file calls it: its gradient is "d" and that.
 */
typedef struct parity_leaf {
    const char *name;
    heed_tensor *x;
} parity_leaf;

enum { PARITY_LEAVES = 40 };

/* parity_input_leaves: adds those of the inputs that require a gradient; returns how many.
 * expect_case: y is the result of the case, and its gradients by the leaves are as well. `errors`
 * is of y, and of each leaf in turn. */
int parity_input_leaves(const parity_case *c, heed_tensor *const *inputs, parity_leaf *leaves);
void expect_case(const parity_case *c, heed_tensor *y, parity_kind kind, const parity_leaf *leaves,
                 int count);

/* ---- what test_parity.c takes from the other files of the suite ---- */

void add_parity_module_cases(Suite *suite);
void add_parity_optimiser_cases(Suite *suite);

#endif
