/* The gradcheck table as data: gradients.def, expanded. */
#ifndef HEED_TESTS_GRADIENTS_TABLE_H
#define HEED_TESTS_GRADIENTS_TABLE_H

#include "heed.h"

enum { ROW_INPUTS = 3 };

typedef enum row_kind { CURVED, LINEAR, ZERO, COARSE, FLAT } row_kind;

typedef struct row_input {
    enum values { NONE, ANY, POS, NEG, STRIDED, SPOS, HOLED, CONST, ZEROS, MASK, IDS, GAPS } values;
    int ndim;
    int64_t size[1 + HEED_MAX_DIMS]; /* [0] is unused */
} row_input;

typedef struct gradient_row {
    const char *operation, *form;
    row_kind kind;
    heed_function *f;
    row_input inputs[ROW_INPUTS + 1]; /* up to the first NONE */
} gradient_row;

extern const gradient_row gradient_rows[];
extern const int gradient_row_count;

/* row_inputs: creates the inputs of a row; returns their number. */
int row_inputs(const gradient_row *row, heed_tensor **inputs);

/* Rows named after a function that combines several operations, not after one in the registry. */
extern const char *const composites[];
extern const int composite_count;
bool is_composite(const char *name);

/* graph_holds: true if the graph of y contains a node of this operation; for small graphs. */
bool graph_holds(const heed_tensor *y, const char *operation);

#endif
