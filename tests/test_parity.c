/* Every operation against PyTorch, by the table in parity.def. */
#include <stdio.h>
#include <string.h>

#include "tests/gradients_table.h"
#include "tests/parity.h"

Suite *parity_suite(void);

/* ---- one row, one test ---- */

static const char letters[] = "abcdefgh";

/* A row's case, as the file holds it. */
typedef struct parity_case {
    const parity_row *row;
    const heed_safetensors *file;
    char name[100];
    heed_tensor *inputs[PARITY_INPUTS]; /* as stored */
    int count;
} parity_case;

static heed_tensor *held(const parity_case *c, const char *part)
{
    return parity_held(c->file, c->name, part);
}

static parity_case case_of(const parity_row *row, const heed_safetensors *file)
{
    parity_case c = {.row = row, .file = file};
    snprintf(c.name, sizeof c.name, "%s.%s", row->operation, row->form);
    while (c.count < PARITY_INPUTS) {
        const char letter[] = {letters[c.count], '\0'};
        heed_tensor *x = held(&c, letter);
        if (x == NULL) {
            break;
        }
        c.inputs[c.count++] = x;
    }
    return c;
}

/* The same elements, laid out in another way; floats in that dtype. */
static heed_tensor *laid_out(heed_tensor *x, heed_dtype dtype, enum layout layout)
{
    heed_tensor *wide = heed_to(x, HEED_F64);
    heed_shape shape = {.ndim = x->ndim};
    for (int i = 0; i < x->ndim; i++) {
        shape.size[i] = x->shape[i];
    }
    return lay_out(heed_const_data_f64(wide), shape, heed_is_float(x->dtype) ? dtype : x->dtype,
                   layout);
}

/* The gradient by input i: its goal, or no name where it has none. */
static parity_goal gradient_goal(const parity_case *c, int i, char part[8])
{
    parity_goal goal = {.name = c->name, .part = part, .kind = SCALED};
    snprintf(part, 8, "d%c", letters[i]);
    goal.y = held(c, part);
    snprintf(part, 8, "d%c.f32", letters[i]);
    goal.places = held(c, part);
    part[2] = '\0';
    return goal;
}

static void check_gradients(const parity_case *c, heed_tensor *y, heed_tensor **inputs,
                            const double *errors)
{
    heed_tensor *wanted[PARITY_INPUTS], *grads[PARITY_INPUTS] = {NULL}, *g = held(c, "g");
    int count = 0;
    for (int i = 0; i < c->count; i++) {
        if (inputs[i]->requires_grad) {
            wanted[count++] = inputs[i];
        }
    }
    if (g == NULL || count == 0) {
        EXPECT(!y->requires_grad, "%s has a gradient", c->name);
        return;
    }
    EXPECT(y->requires_grad, "%s has no gradient", c->name);
    heed_tensor *loss = heed_sum(heed_mul(y, heed_to(g, y->dtype)));
    /* With a graph of their own they are computed another way, in operations. */
    for (int create_graph = 1; create_graph >= 0; create_graph--) {
        heed_grad(loss, wanted, count, grads, create_graph);
        for (int i = 0, found = 0; i < c->count; i++) {
            if (inputs[i]->requires_grad) {
                char part[8];
                parity_goal goal = gradient_goal(c, i, part);
                goal.error = errors[1 + found];
                expect_parity(grads[found++], &goal);
            }
        }
    }
}

static void check_case(const parity_case *c, heed_dtype dtype, enum layout layout)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *inputs[PARITY_INPUTS];
    for (int i = 0; i < c->count; i++) {
        char part[8];
        inputs[i] = laid_out(c->inputs[i], dtype, layout);
        if (gradient_goal(c, i, part).y != NULL) {
            heed_set_requires_grad(inputs[i], true);
        }
    }
    heed_tensor *error = held(c, "error");
    const double *errors = heed_const_data_f64(error);
    heed_tensor *y = c->row->f(inputs);
    parity_goal goal = {.name = c->name,
                        .part = "y",
                        .kind = c->row->kind,
                        .error = errors[0],
                        .y = held(c, "y"),
                        .places = held(c, "y.f32")};
    expect_parity(y, &goal);
    check_gradients(c, y, inputs, errors);
    heed_scope_end(&scope);
}

START_TEST(row_is_torchs)
{
    heed_safetensors *file = parity_open(parity_rows[_i].area);
    parity_case c = case_of(&parity_rows[_i], file);
    EXPECT(held(&c, "y") != NULL, "%s: generate.py has no such case", c.name);
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        check_case(&c, HEED_F32, layout);
        check_case(&c, HEED_F64, layout);
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

/* The first operation from `op` on without a row; NULL: all have one. */
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

static void check_area(const char *area)
{
    heed_safetensors *file = parity_open(area);
    for (const heed_metadata *m = heed_safetensors_all_metadata(file); m->key != NULL; m++) {
        EXPECT(strcmp(m->key, "made by") == 0 || has_case(area, m->key),
               "%s of %s.safetensors has no row in tests/parity/", m->key, area);
    }
    heed_safetensors_close(file);
}

/* What generate.py makes is compared. */
START_TEST(every_case_has_a_row)
{
    const char *checked = "";
    for (int i = 0; i < parity_row_count; i++) {
        if (strcmp(parity_rows[i].area, checked) != 0) {
            checked = parity_rows[i].area;
            check_area(checked);
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
    return suite;
}
