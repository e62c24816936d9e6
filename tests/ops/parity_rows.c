/* Every operation compared with PyTorch: the rows ROW and PARITY of operations.def. */
#include <stdio.h>
#include <string.h>

#include "tests/ops/parity.h"

/* ---- a test for each row ---- */

/* Float inputs give results of their dtype, which decides the tolerance; casts are an exception. */
static void expect_dtype(const operation_row *row, heed_tensor *const *inputs, int count,
                         const heed_tensor *y)
{
    for (int i = 0; i < count; i++) {
        EXPECT(!heed_is_float(inputs[i]->dtype) || y->dtype == inputs[i]->dtype ||
                   !heed_is_float(y->dtype) || strcmp(row->operation, "to") == 0,
               "%s.%s: %s of %s", row->operation, row->form, heed_dtype_name(y->dtype),
               heed_dtype_name(inputs[i]->dtype));
    }
}

static void check_case(const operation_row *row, const parity_case *c, heed_dtype dtype,
                       enum layout layout)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *inputs[PARITY_INPUTS];
    parity_leaf leaves[PARITY_INPUTS];
    parity_inputs(c, dtype, layout, inputs);
    const int count = parity_input_leaves(c, inputs, leaves);
    heed_tensor *y = row->f(inputs, NULL);
    expect_case(c, y, row->accuracy, leaves, count);
    expect_dtype(row, inputs, c->count, y);
    heed_scope_end(&scope);
}

START_TEST(row_is_torchs)
{
    const operation_row *row = &operation_rows[_i];
    heed_safetensors *file = parity_open(row->subject);
    const parity_case c = parity_case_of(file, row->operation, row->form);
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        check_case(row, &c, HEED_F32, layout);
        check_case(row, &c, HEED_F64, layout);
    }
    heed_safetensors_close(file);
}
END_TEST

static bool is_compared(const operation_row *row)
{
    return row->accuracy != NOT_COMPARED;
}

void add_parity_rows(Suite *suite, const char *subject)
{
    add_table_rows(suite, "parity", row_is_torchs, subject, is_compared);
}
