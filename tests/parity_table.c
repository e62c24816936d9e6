/* Expands the rows of parity.def into functions. */
#include <math.h>

#include "tests/parity.h"
#include "tests/parity/rows.h"

#include "tests/gradients/attention.h"
#include "tests/gradients/loss.h"

#define A in[0]
#define B in[1]
#define C in[2]
#define D in[3]
#define E in[4]
#define F in[5]
#define ROW(operation, form, kind, expression)                                                     \
    static heed_tensor *operation##__##form(heed_tensor *const *in)                                \
    {                                                                                              \
        return expression;                                                                         \
    }
#include "tests/parity.def"

#define ROW(operation, form, kind, expression) {AREA, #operation, #form, kind, operation##__##form},

const parity_row parity_rows[] = {
#include "tests/parity.def"
};
const int parity_row_count = (int)(sizeof parity_rows / sizeof *parity_rows);
