/* Every differentiable operation compared with finite differences: the rows ROW and GRADIENT of
 * operations.def. */
#include "tests/common/test_util.h"
#include "tests/ops/table.h"

#include <string.h>

static void expect_checked(const operation_row *row, heed_status status)
{
    ck_assert_msg(status == HEED_OK && !heed_error_pending(), "%s, %s: %s", row->operation,
                  row->form, heed_error_message());
}

/* Its graph contains the operation that it is named after. */
static void expect_operation(const operation_row *row, const heed_tensor *y)
{
    ck_assert_msg(row->derivative == FLAT || is_composite(row->operation) ||
                      graph_holds(y, row->operation),
                  "%s, %s: its graph contains no %s", row->operation, row->form, row->operation);
}

START_TEST(first_derivative)
{
    const operation_row *row = &operation_rows[_i];
    heed_tensor *inputs[ROW_INPUTS];
    int count = row_inputs(row, inputs);
    heed_tensor *y = row->f(inputs, NULL);
    expect_checked(row, heed_error());
    expect_operation(row, y);
    if (row->derivative == FLAT) {
        ck_assert_msg(!y->requires_grad && y->op == NULL, "%s has a graph", row->operation);
        return;
    }
    expect_checked(row, heed_gradcheck(row->f, NULL, inputs, count,
                                       .unused = row->derivative == ZERO ? HEED_ALL_INPUTS : 0,
                                       .eps = row->derivative == COARSE ? 0.25 : 0));
}
END_TEST

START_TEST(second_derivative)
{
    const operation_row *row = &operation_rows[_i];
    heed_tensor *inputs[ROW_INPUTS];
    int count = row_inputs(row, inputs);
    if (row->derivative != FLAT) {
        expect_checked(row,
                       heed_gradgradcheck(row->f, NULL, inputs, count,
                                          .unused = row->derivative == ZERO ? HEED_ALL_INPUTS : 0,
                                          .linear = row->derivative != CURVED ? HEED_ALL_INPUTS : 0,
                                          .eps = row->derivative == COARSE ? 0.25 : 0));
    }
}
END_TEST

/* Also where the gradient does not depend on the inputs: then its derivative is 0. */
START_TEST(gradients_have_a_graph)
{
    const operation_row *row = &operation_rows[_i];
    heed_tensor *inputs[ROW_INPUTS], *xs[ROW_INPUTS], *first[ROW_INPUTS], *second[ROW_INPUTS];
    const int all = row_inputs(row, inputs);
    int count = 0;
    for (int i = 0; i < all; i++) {
        if (inputs[i]->requires_grad) {
            xs[count++] = inputs[i];
        }
    }
    if (row->derivative != FLAT) {
        heed_grad(heed_sum(row->f(inputs, NULL)), xs, count, first, true);
        expect_checked(row, heed_error());
        for (int i = 0; i < count; i++) {
            ck_assert_msg(first[i]->requires_grad, "%s, %s: gradient %d has no graph",
                          row->operation, row->form, i);
            heed_grad(heed_sum(heed_square(first[i])), xs, count, second, true);
            expect_checked(row, heed_error());
        }
    }
}
END_TEST

static bool is_checked(const operation_row *row)
{
    return row->derivative != NOT_CHECKED;
}

void add_gradient_rows(Suite *suite, const char *subject)
{
    add_table_rows(suite, "gradients", first_derivative, subject, is_checked);
    add_table_rows(suite, "gradients", second_derivative, subject, is_checked);
    add_table_rows(suite, "gradients", gradients_have_a_graph, subject, is_checked);
}
