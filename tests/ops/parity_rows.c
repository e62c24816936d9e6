/* Every operation compared with PyTorch, by the table in parity.def. */
#include <stdio.h>
#include <string.h>

#include "tests/gradients_table.h"
#include "tests/parity.h"

Suite *parity_suite(void);

/* ---- a test for each row ---- */

/* Float inputs give results of their dtype, which decides the tolerance; casts are an exception. */
static void expect_dtype(const parity_row *row, heed_tensor *const *inputs, int count,
                         const heed_tensor *y)
{
    for (int i = 0; i < count; i++) {
        EXPECT(!heed_is_float(inputs[i]->dtype) || y->dtype == inputs[i]->dtype ||
                   !heed_is_float(y->dtype) || strcmp(row->operation, "to") == 0,
               "%s.%s: %s of %s", row->operation, row->form, heed_dtype_name(y->dtype),
               heed_dtype_name(inputs[i]->dtype));
    }
}

static void check_case(const parity_row *row, const parity_case *c, heed_dtype dtype,
                       enum layout layout)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *inputs[PARITY_INPUTS];
    parity_leaf leaves[PARITY_INPUTS];
    parity_inputs(c, dtype, layout, inputs);
    const int count = parity_input_leaves(c, inputs, leaves);
    heed_tensor *y = row->f(inputs);
    expect_case(c, y, row->kind, leaves, count);
    expect_dtype(row, inputs, c->count, y);
    heed_scope_end(&scope);
}

START_TEST(row_is_torchs)
{
    const parity_row *row = &parity_rows[_i];
    heed_safetensors *file = parity_open(row->area);
    const parity_case c = parity_case_of(file, row->operation, row->form);
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        check_case(row, &c, HEED_F32, layout);
        check_case(row, &c, HEED_F64, layout);
    }
    heed_safetensors_close(file);
}
END_TEST

/* ---- the table itself ---- */

static bool has_row(const char *operation)
{
    for (int i = 0; i < parity_row_count; i++) {
        if (strcmp(parity_rows[i].operation, operation) == 0) {
            return true;
        }
    }
    return false;
}

/* The first operation from `op` on without a row, or NULL. */
static const heed_op *first_without_row(const heed_op *op)
{
    while (op != NULL && has_row(op->name)) {
        op = op->next;
    }
    return op;
}

START_TEST(every_operation_has_a_row)
{
    const heed_op *op = first_without_row(heed_first_operation());
    EXPECT(op == NULL, "%s has no row in tests/parity.def", op != NULL ? op->name : "");
    for (int i = 0; i < composite_count; i++) {
        EXPECT(has_row(composites[i]), "%s has no row in tests/parity.def", composites[i]);
    }
}
END_TEST

START_TEST(an_operation_without_a_row_is_found)
{
    heed_op fake = {.name = "fake", .next = (heed_op *)heed_first_operation()};
    ck_assert_ptr_eq(first_without_row(&fake), &fake);
    fake.name = "exp";
    ck_assert_ptr_null(first_without_row(&fake));
}
END_TEST

static bool has_case(const char *area, const char *name)
{
    char row[100];
    for (int i = 0; i < parity_row_count; i++) {
        snprintf(row, sizeof row, "%s.%s", parity_rows[i].operation, parity_rows[i].form);
        if (strcmp(row, name) == 0 && strcmp(parity_rows[i].area, area) == 0) {
            return true;
        }
    }
    return false;
}

/* Every case that generate.py makes has a row that checks it. */
START_TEST(every_case_has_a_row)
{
    const char *checked = "";
    for (int i = 0; i < parity_row_count; i++) {
        if (strcmp(parity_rows[i].area, checked) != 0) {
            checked = parity_rows[i].area;
            parity_every_case(checked, has_case);
        }
    }
}
END_TEST

Suite *parity_suite(void)
{
    Suite *suite = suite_create("parity");
    TCase *rows = heed_case(suite, "rows");
    tcase_add_loop_test(rows, row_is_torchs, 0, parity_row_count);
    TCase *table = heed_case(suite, "table");
    tcase_add_test(table, every_operation_has_a_row);
    tcase_add_test(table, an_operation_without_a_row_is_found);
    tcase_add_test(table, every_case_has_a_row);
    add_parity_extreme_cases(suite);
    add_parity_module_cases(suite);
    add_parity_optimiser_cases(suite);
    return suite;
}
