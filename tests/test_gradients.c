/* Every differentiable operation compared with finite differences, by the table in
 * gradients.def. */
#include "tests/common/test_util.h"
#include "tests/gradients_table.h"

#include <string.h>

/* ---- a test for each row ---- */

static void expect_checked(const gradient_row *row, heed_status status)
{
    ck_assert_msg(status == HEED_OK && !heed_error_pending(), "%s, %s: %s", row->operation,
                  row->form, heed_error_message());
}

START_TEST(first_derivative)
{
    const gradient_row *row = &gradient_rows[_i];
    heed_tensor *inputs[ROW_INPUTS];
    int count = row_inputs(row, inputs);
    if (row->kind == FLAT) {
        heed_tensor *y = row->f(inputs, NULL);
        expect_checked(row, heed_error());
        ck_assert_msg(!y->requires_grad && y->op == NULL, "%s has a graph", row->operation);
        return;
    }
    const heed_gradcheck_options options = {.unused = row->kind == ZERO ? HEED_ALL_INPUTS : 0,
                                            .eps = row->kind == COARSE ? 0.25 : 0};
    expect_checked(row, heed_gradcheck_with(row->f, NULL, inputs, count, options));
}
END_TEST

START_TEST(second_derivative)
{
    const gradient_row *row = &gradient_rows[_i];
    heed_tensor *inputs[ROW_INPUTS];
    int count = row_inputs(row, inputs);
    if (row->kind != FLAT) {
        const heed_gradcheck_options options = {.unused = row->kind == ZERO ? HEED_ALL_INPUTS : 0,
                                                .linear = row->kind != CURVED ? HEED_ALL_INPUTS : 0,
                                                .eps = row->kind == COARSE ? 0.25 : 0};
        expect_checked(row, heed_gradgradcheck_with(row->f, NULL, inputs, count, options));
    }
}
END_TEST

/* ---- the table itself ---- */

static bool has_row(const char *operation, bool flat)
{
    for (int i = 0; i < gradient_row_count; i++) {
        const gradient_row *row = &gradient_rows[i];
        if ((row->kind == FLAT) == flat && strcmp(row->operation, operation) == 0) {
            return true;
        }
    }
    return false;
}

/* The first operation from `op` on without a row of its kind, or NULL. */
static const heed_op *first_without_row(const heed_op *op)
{
    while (op != NULL && has_row(op->name, op->backward == NULL)) {
        op = op->next;
    }
    return op;
}

START_TEST(every_operation_has_a_row)
{
    const heed_op *op = first_without_row(heed_first_operation());
    ck_assert_msg(op == NULL, "%s has no row in tests/gradients.def", op != NULL ? op->name : "");
}
END_TEST

static void no_backward(const heed_vjp *v)
{
    (void)v;
}

START_TEST(an_operation_without_a_row_is_found)
{
    heed_op fake = {.name = "fake", .next = (heed_op *)heed_first_operation()};
    ck_assert_ptr_eq(first_without_row(&fake), &fake);
    fake.backward = no_backward;
    ck_assert_ptr_eq(first_without_row(&fake), &fake);
    fake.name = "detach"; /* its rows are FLAT; a derivative needs another kind */
    ck_assert_ptr_eq(first_without_row(&fake), &fake);
    fake.name = "exp";
    ck_assert_ptr_null(first_without_row(&fake));
    fake.backward = NULL;
    ck_assert_ptr_eq(first_without_row(&fake), &fake);
}
END_TEST

START_TEST(every_row_checks_what_it_says)
{
    for (int i = 0; i < gradient_row_count; i++) {
        const gradient_row *row = &gradient_rows[i];
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_tensor *inputs[ROW_INPUTS];
        row_inputs(row, inputs);
        heed_tensor *y = row->f(inputs, NULL);
        expect_checked(row, heed_error());
        ck_assert_msg(heed_find_operation(row->operation) != NULL || is_composite(row->operation),
                      "%s is not an operation", row->operation);
        ck_assert_msg(
            row->kind == FLAT || is_composite(row->operation) || graph_holds(y, row->operation),
            "%s, %s: its graph contains no %s", row->operation, row->form, row->operation);
        heed_scope_end(&scope);
    }
}
END_TEST

START_TEST(no_two_rows_are_one)
{
    for (int i = 0; i < gradient_row_count; i++) {
        for (int j = 0; j < i; j++) {
            const gradient_row *a = &gradient_rows[i], *b = &gradient_rows[j];
            ck_assert(strcmp(a->operation, b->operation) != 0 || strcmp(a->form, b->form) != 0);
        }
    }
}
END_TEST

void add_gradients_cases(Suite *suite)
{
    TCase *rows = heed_case(suite, "rows");
    tcase_add_loop_test(rows, first_derivative, 0, gradient_row_count);
    tcase_add_loop_test(rows, second_derivative, 0, gradient_row_count);
    TCase *table = heed_case(suite, "table");
    tcase_add_test(table, every_operation_has_a_row);
    tcase_add_test(table, an_operation_without_a_row_is_found);
    tcase_add_test(table, every_row_checks_what_it_says);
    tcase_add_test(table, no_two_rows_are_one);
}
