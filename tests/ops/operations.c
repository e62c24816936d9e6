/* The table of operations itself: no operation is left out, and no case of a fixture. */
#include <stdio.h>
#include <string.h>

#include "tests/common/bytes.h"
#include "tests/common/test_util.h"
#include "tests/ops/parity.h"
#include "tests/ops/table.h"

static bool is_derivative(const operation_row *row)
{
    return row->derivative != NOT_CHECKED && row->derivative != FLAT;
}

static bool is_flat(const operation_row *row)
{
    return row->derivative == FLAT;
}

static bool is_compared(const operation_row *row)
{
    return row->accuracy != NOT_COMPARED;
}

static bool has_row(const char *operation, bool (*filter)(const operation_row *row))
{
    for (int i = 0; i < operation_row_count; i++) {
        const operation_row *row = &operation_rows[i];
        if (strcmp(row->operation, operation) == 0 && filter(row)) {
            return true;
        }
    }
    return false;
}

/* What an operation lacks in the table, or NULL. Operations that are derivatives of others have no
 * public function: second derivatives check them. */
static const char *missing(const char *name, bool (*derivative)(const operation_row *row))
{
    return strstr(name, "_backward") != NULL ? NULL
           : !has_row(name, derivative)
               ? "a row whose derivative is checked (or FLAT, if it has none)"
           : !has_row(name, is_compared) ? "a row that is compared with PyTorch"
           : !has_extremes(name)         ? "an EXTREME row"
           : !is_misused(name)           ? "a MISUSE row"
                                         : NULL;
}

/* The first operation from `op` on that lacks something, or NULL. */
static const heed_op *first_without_rows(const heed_op *op)
{
    while (op != NULL &&
           missing(op->name, op->backward == NULL ? is_flat : is_derivative) == NULL) {
        op = op->next;
    }
    return op;
}

START_TEST(every_operation_has_rows)
{
    for (const heed_op *op = heed_first_operation(); op != NULL; op = op->next) {
        const char *what = missing(op->name, op->backward == NULL ? is_flat : is_derivative);
        ck_assert_msg(what == NULL, "tests/ops: %s has no row: %s", op->name, what);
    }
    for (int i = 0; i < composite_count; i++) {
        const char *what = missing(composites[i], is_derivative);
        ck_assert_msg(what == NULL, "tests/ops: %s has no row: %s", composites[i], what);
    }
}
END_TEST

static void no_backward(const heed_vjp *v)
{
    (void)v;
}

START_TEST(an_operation_without_rows_is_found)
{
    heed_op fake = {.name = "fake", .next = (heed_op *)heed_first_operation()};
    ck_assert_ptr_eq(first_without_rows(&fake), &fake);
    fake.backward = no_backward;
    ck_assert_ptr_eq(first_without_rows(&fake), &fake);
    fake.name = "detach"; /* its rows are FLAT; a derivative needs another kind */
    ck_assert_ptr_eq(first_without_rows(&fake), &fake);
    fake.name = "exp";
    ck_assert_ptr_null(first_without_rows(&fake));
    fake.backward = NULL;
    ck_assert_ptr_eq(first_without_rows(&fake), &fake);
    ck_assert(!is_misused("ad") && !has_extremes("ad"));
}
END_TEST

START_TEST(rows_name_operations)
{
    for (int i = 0; i < operation_row_count; i++) {
        const operation_row *row = &operation_rows[i];
        ck_assert_msg(!is_derivative(row) || heed_find_operation(row->operation) != NULL ||
                          is_composite(row->operation),
                      "%s is not an operation", row->operation);
    }
}
END_TEST

START_TEST(no_two_rows_are_one)
{
    for (int i = 0; i < operation_row_count; i++) {
        const operation_row *row = &operation_rows[i];
        ck_assert_msg(find_row(row->operation, row->form) == row, "%s.%s is there twice",
                      row->operation, row->form);
    }
}
END_TEST

/* ---- signatures, as heed.h states them ---- */

/* The text after the signature that `text` begins with, or NULL. Lines may break at its spaces. */
static const char *skip_signature(const char *text, const char *signature)
{
    for (; *signature != '\0'; signature++) {
        const size_t length = *signature == ' ' ? strspn(text, " \n*") : *text == *signature;
        if (length == 0) {
            return NULL;
        }
        text += length;
    }
    return text;
}

/* True if the comment before heed_NAME has the signature on a line, after "NAME: " or not, and
 * after it nothing or a note. */
static bool is_documented(const char *header, const char *name, const char *signature)
{
    char text[100];
    snprintf(text, sizeof text, " *heed_%s(", name);
    const char *function = strstr(header, text), *comment = function;
    ck_assert_msg(function != NULL, "heed.h does not declare heed_%s", name);
    while (strncmp(comment, "\n/*", 3) != 0) {
        comment--;
    }
    snprintf(text, sizeof text, "%s: ", name);
    for (; comment < function; comment = strchr(comment, '\n')) {
        comment += 1 + strspn(comment + 1, " *");
        const size_t label = strncmp(comment, text, strlen(text)) == 0 ? strlen(text) : 0;
        const char *after = skip_signature(comment + label, signature);
        if (after != NULL && (*after == '\n' || strncmp(after, "  ", 2) == 0)) {
            return true;
        }
    }
    return false;
}

/* heed_cross_entropy makes the last input of its operation itself. */
START_TEST(the_header_states_every_signature)
{
    size_t size;
    char *header = bytes_of("src/heed.h", &size);
    ck_assert_ptr_nonnull(header);
    for (const heed_op *op = heed_first_operation(); op != NULL; op = op->next) {
        if (op->signature != NULL && strstr(op->name, "_backward") == NULL) {
            const bool inner = strcmp(op->name, "cross_entropy") == 0;
            const char *signature = inner ? "logits float, targets i64" : op->signature;
            ck_assert_int_eq(strncmp(op->signature, signature, strlen(signature)), 0);
            ck_assert_msg(is_documented(header, op->name, signature),
                          "the comment of heed_%s has no line \"%s\"", op->name, signature);
        }
    }
    ck_assert(!is_documented(header, "softmax", "x (...) number -> (...)"));
    ck_assert(!is_documented(header, "softmax", "x (...) float"));
    free(header);
}
END_TEST

static bool has_case(const char *subject, const char *name)
{
    char operation[100];
    snprintf(operation, sizeof operation, "%s", name);
    char *dot = strchr(operation, '.');
    ck_assert_ptr_nonnull(dot);
    *dot = '\0';
    const operation_row *row = find_row(operation, dot + 1);
    return row != NULL && is_compared(row) && strcmp(row->subject, subject) == 0;
}

static bool is_case_of_extremes(const char *subject, const char *name)
{
    (void)subject;
    return is_extreme(name);
}

/* Every case that make fixtures made has a row that checks it. */
START_TEST(every_case_has_a_row)
{
    const char *checked = "";
    for (int i = 0; i < operation_row_count; i++) {
        if (is_compared(&operation_rows[i]) && strcmp(operation_rows[i].subject, checked) != 0) {
            checked = operation_rows[i].subject;
            parity_every_case(checked, has_case);
        }
    }
    parity_every_case("extremes", is_case_of_extremes);
}
END_TEST

void add_operations_cases(Suite *suite)
{
    /* the subjects whose rows need no tests by hand */
    static const char *const subjects[] = {"embedding_rows", "loss", "masking", "rearrange"};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        add_operation_rows(suite, subjects[i]);
    }
    TCase *table = heed_case(suite, "table");
    tcase_add_test(table, every_operation_has_rows);
    tcase_add_test(table, an_operation_without_rows_is_found);
    tcase_add_test(table, rows_name_operations);
    tcase_add_test(table, no_two_rows_are_one);
    tcase_add_test(table, every_case_has_a_row);
    tcase_add_test(table, the_header_states_every_signature);
}
