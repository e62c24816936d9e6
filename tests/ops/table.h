/* The table of operations as data: the cases of operations.def, expanded. */
#ifndef HEED_TESTS_OPS_TABLE_H
#define HEED_TESTS_OPS_TABLE_H

#include <check.h>

#include "heed.h"

enum { ROW_INPUTS = 8 };

typedef enum row_derivative { CURVED, LINEAR, ZERO, COARSE, FLAT, NOT_CHECKED } row_derivative;
typedef enum row_accuracy { SCALED, ULP, NEAR, EXACT, NOT_COMPARED } row_accuracy;

typedef struct row_input {
    enum values {
        NONE,
        ANY,
        POS,
        NEG,
        ANY_STRIDED,
        POS_STRIDED,
        HOLED,
        CONST,
        ZEROS,
        MASK,
        IDS,
        GAPS
    } values;
    int ndim;
    int64_t size[1 + HEED_MAX_DIMS]; /* [0]: the limit of BELOW, otherwise 0 */
} row_input;

typedef struct operation_row {
    const char *subject, *operation, *form;
    row_derivative derivative;
    row_accuracy accuracy;
    heed_function *f;
    row_input inputs[ROW_INPUTS + 1]; /* up to the first NONE; in a PARITY row, none */
} operation_row;

extern const operation_row operation_rows[];
extern const int operation_row_count;

/* row_inputs: creates the inputs of a row for gradient checks; returns their number. */
int row_inputs(const operation_row *row, heed_tensor **inputs);

/* find_row: the row, or NULL. */
const operation_row *find_row(const char *operation, const char *form);

/* row_name: "softmax.last" */
const char *row_name(int i);

/* Rows named after a function that combines several operations, not after one in the registry. */
extern const char *const composites[];
extern const int composite_count;
bool is_composite(const char *name);

/* graph_holds: true if the graph of y contains a node of this operation; for small graphs. */
bool graph_holds(const heed_tensor *y, const char *operation);

/* add_table_rows: a case of `suite` with the test for each row of this subject that the filter
 * takes. */
void add_table_rows(Suite *suite, const char *name, const TTest *test, const char *subject,
                    bool (*filter)(const operation_row *row));

/* add_operation_rows: adds the cases gradients, parity, extremes and misuse with the rows of a
 * subject; none if no subject has this name. */
void add_operation_rows(Suite *suite, const char *name);
void add_gradient_rows(Suite *suite, const char *subject);
void add_parity_rows(Suite *suite, const char *subject);
void add_extreme_rows(Suite *suite, const char *subject);
void add_misuse_rows(Suite *suite, const char *subject);

/* Has the operation such a row? is_extreme: the case of that name, such as "softmax.last". */
bool has_extremes(const char *operation);
bool is_extreme(const char *name);
bool is_misused(const char *operation);

#endif
