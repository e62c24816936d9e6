/* Every operation on inputs at both extremes of the float range, compared with PyTorch: the rows
 * EXTREME of operations.def. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/ops/parity.h"

typedef struct extreme_row {
    const char *subject, *operation, *form;
    enum { EVERYWHERE, IF_SOUND } where;
} extreme_row;

#define EXTREME(operation, form, where) {SUBJECT, #operation, #form, where},
static const extreme_row rows[] = {
#include "tests/ops/operations.def"
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

static const char *extreme_name(int i)
{
    static char name[100];
    snprintf(name, sizeof name, "%s.%s", rows[i].operation, rows[i].form);
    return name;
}

/* ---- the variants of a case's inputs, as ExtremeCase of fixtures/case.py lists them ---- */

typedef struct variant {
    double even, odd, g; /* factors of the float inputs, which alternate, and of g */
    int special;         /* the float input that gets special values, or -1 */
    double first, second;
} variant;

enum { MOST_VARIANTS = 8 + 4 * PARITY_INPUTS };

static int list_variants(int floats, bool has_gradient, heed_dtype dtype, variant *list)
{
    const bool f32 = dtype == HEED_F32;
    const double scales[] = {f32 ? 0x1p-126 : 0x1p-1000, f32 ? 0x1p-64 : 0x1p-530,
                             f32 ? 0x1p60 : 0x1p530, f32 ? 0x1p125 : 0x1p1000};
    const double smallest = scales[0], largest = scales[3];
    const double max = f32 ? (double)FLT_MAX : DBL_MAX, min = f32 ? 0x1p-149 : 0x1p-1074;
    const double pairs[][2] = {{HUGE_VAL, -HUGE_VAL}, {(double)NAN, 0}, {min, -0.0}, {max, -max}};
    int count = 0;
    for (int i = 0; i < 4; i++) {
        list[count++] = (variant){scales[i], scales[i], 1, -1, 0, 0};
    }
    if (floats > 1) {
        list[count++] = (variant){largest, smallest, 1, -1, 0, 0};
        list[count++] = (variant){smallest, largest, 1, -1, 0, 0};
    }
    if (has_gradient) {
        list[count++] = (variant){1, 1, smallest, -1, 0, 0};
        list[count++] = (variant){1, 1, largest, -1, 0, 0};
    }
    for (int i = 0; i < 4 * floats; i++) {
        list[count++] = (variant){1, 1, 1, i / 4, pairs[i % 4][0], pairs[i % 4][1]};
    }
    return count;
}

static heed_tensor *scaled(heed_tensor *x, double factor, heed_dtype dtype)
{
    return heed_to(heed_mul_scalar(heed_to(x, HEED_F64), factor), dtype);
}

/* x with special values as its second and its second last element. */
static heed_tensor *with_specials(heed_tensor *x, const variant *v, heed_dtype dtype)
{
    heed_tensor *y = heed_clone(heed_to(x, HEED_F64));
    const int64_t n = y->numel;
    double *values = heed_data_f64(y);
    values[n > 1 ? n - 2 : 0] = v->second;
    values[n > 1 ? 1 : 0] = v->first;
    return heed_to(y, dtype);
}

/* `place`: the number of float inputs before this one. */
static heed_tensor *changed(heed_tensor *x, int place, const variant *v, heed_dtype dtype)
{
    if (!heed_is_float(x->dtype)) {
        return x;
    }
    return v->special == place ? with_specials(x, v, dtype)
                               : scaled(x, place % 2 == 0 ? v->even : v->odd, dtype);
}

/* ---- comparing ---- */

/* The expected results y, da, db ... of all variants, joined. */
typedef struct goals {
    const extreme_row *row;
    row_accuracy accuracy;
    heed_dtype dtype;
    const double *torch, *exact; /* exact: NULL if it is the same */
    int64_t at, count;
    int variant;
    bool overflows; /* y, within rounding: its gradients follow from an infinite y */
} goals;

/* Infinity also counts as near if the goal is within `room` of overflow. */
static bool is_near(double found, double goal, double room)
{
    return isnan(goal)    ? isnan(found)
           : isinf(goal)  ? found == goal
           : isinf(found) ? isinf(goal + copysign(room, found))
                          : fabs(found - goal) <= room;
}

static double largest_finite(const double *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        most = isfinite(x[i]) ? fmax(most, fabs(x[i])) : most;
    }
    return most;
}

/* True if PyTorch's results are all finite and close to the exact ones. */
static bool is_sound(const double *torch, const double *exact, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(torch[i]) || !is_near(torch[i], exact[i], 1e-4 * fabs(exact[i]))) {
            return false;
        }
    }
    return true;
}

/* The tolerance of an element, given the largest one. */
static double room_of(const goals *goal, bool is_gradient, double value, double most)
{
    const double ulp = parity_ulp(value, goal->dtype);
    if (goal->accuracy == SCALED) {
        return fmax(goal->dtype == HEED_F64 ? 1e-12 * most : 0, 16 * parity_ulp(most, goal->dtype));
    }
    return is_gradient ? 16 * ulp : goal->accuracy == EXACT ? 0 : 4 * ulp;
}

/* Compares y with the next goals. */
static void expect_next(goals *goal, const char *part, heed_tensor *y)
{
    EXPECT(y != NULL, "%s.%s: %s", goal->row->operation, goal->row->form, heed_error_message());
    y = heed_contiguous(heed_to(heed_detach(y), HEED_F64));
    const int64_t n = y->numel;
    ck_assert_int_le(goal->at + n, goal->count);
    const bool is_gradient = *part != 'y';
    const double *found = heed_const_data_f64(y), *torch = goal->torch + goal->at;
    const double *exact = goal->exact != NULL ? goal->exact + goal->at : torch;
    const double most = fmax(largest_finite(torch, n), largest_finite(exact, n));
    const bool skipped = (goal->row->where == IF_SOUND && !is_sound(torch, exact, n)) ||
                         (is_gradient && goal->overflows);
    goal->overflows = is_gradient && goal->overflows;
    for (int64_t i = 0; i < n && !skipped; i++) {
        EXPECT(is_near(found[i], torch[i], room_of(goal, is_gradient, torch[i], most)) ||
                   is_near(found[i], exact[i], room_of(goal, is_gradient, exact[i], most)),
               "%s.%s, variant %d, %s of %s, element %lld: %.9g; torch %.9g, exact %.9g",
               goal->row->operation, goal->row->form, goal->variant, part,
               heed_dtype_name(goal->dtype), (long long)i, found[i], torch[i], exact[i]);
        goal->overflows = goal->overflows || (isinf(found[i]) && isfinite(torch[i]));
    }
    goal->at += n;
}

/* ---- a test for each row ---- */

static heed_tensor *join(heed_tensor *const *parts, int count)
{
    return count > 1 ? heed_cat(parts, count, 0) : parts[0];
}

/* The v-th of `count` equal parts along dim 0. */
static heed_tensor *part_of(heed_tensor *x, int v, int count)
{
    const int64_t size = count > 1 ? x->shape[0] / count : 0;
    return count > 1 ? heed_narrow(x, 0, v * size, size) : x;
}

/* The inputs of all these variants, joined along dim 0. */
static void join_inputs(const parity_case *c, const variant *list, int count, heed_dtype dtype,
                        heed_tensor *inputs[PARITY_INPUTS])
{
    heed_tensor *parts[MOST_VARIANTS];
    int place = 0;
    for (int i = 0; i < c->count; i++) {
        for (int v = 0; v < count; v++) {
            parts[v] = changed(c->inputs[i], place, &list[v], dtype);
        }
        inputs[i] = join(parts, count);
        if (parity_case_requires_grad(c, i)) {
            heed_set_requires_grad(inputs[i], true);
        }
        place += heed_is_float(c->inputs[i]->dtype);
    }
}

/* Checks these variants in one call of the operation. */
static void check_variants(goals *goal, const operation_row *row, const parity_case *c,
                           const variant *list, int count, bool create_graph)
{
    heed_tensor *inputs[PARITY_INPUTS], *xs[PARITY_INPUTS], *grads[PARITY_INPUTS];
    heed_tensor *parts[MOST_VARIANTS], *g = parity_case_part(c, "g");
    parity_leaf leaves[PARITY_INPUTS];
    join_inputs(c, list, count, goal->dtype, inputs);
    const int leaf_count = g != NULL ? parity_input_leaves(c, inputs, leaves) : 0;
    heed_tensor *y = row->f(inputs, NULL);
    if (leaf_count > 0) {
        for (int v = 0; v < count; v++) {
            parts[v] = scaled(g, list[v].g, y->dtype);
        }
        for (int i = 0; i < leaf_count; i++) {
            xs[i] = leaves[i].x;
        }
        heed_grad(heed_sum(heed_mul(y, join(parts, count))), xs, leaf_count, grads, create_graph);
    }
    for (int v = 0; v < count; v++, goal->variant++) {
        expect_next(goal, "y", part_of(y, v, count));
        for (int i = 0; i < leaf_count; i++) {
            expect_next(goal, leaves[i].name, part_of(grads[i], v, count));
        }
    }
}

static const double *as_doubles(heed_tensor *x)
{
    return x != NULL ? heed_const_data_f64(heed_to(x, HEED_F64)) : NULL;
}

/* Calls the operation with `together` variants at a time; 0: all of them. */
static void check_row(const extreme_row *extreme, const operation_row *row, const parity_case *c,
                      const parity_case *expected, heed_dtype dtype, int together,
                      bool create_graph)
{
    variant list[MOST_VARIANTS];
    int floats = 0;
    for (int i = 0; i < c->count; i++) {
        floats += heed_is_float(c->inputs[i]->dtype);
    }
    const int count = list_variants(floats, parity_case_part(c, "g") != NULL, dtype, list);
    const int step = together > 0 ? together : count;
    const bool f32 = dtype == HEED_F32;
    heed_tensor *torch = parity_case_part(expected, f32 ? "f32" : "f64");
    goals goal = {.row = extreme,
                  .accuracy = row->accuracy,
                  .dtype = dtype,
                  .torch = as_doubles(torch),
                  .exact = as_doubles(parity_case_part(expected, f32 ? "f32.exact" : "f64.exact")),
                  .count = torch->numel};
    for (int v = 0; v < count; v += step) {
        heed_scope scope;
        heed_scope_begin(&scope);
        check_variants(&goal, row, c, list + v, step, create_graph);
        heed_scope_end(&scope);
    }
    ck_assert_int_eq(goal.at, goal.count);
}

static const operation_row *row_of(const extreme_row *extreme)
{
    const operation_row *row = find_row(extreme->operation, extreme->form);
    EXPECT(row != NULL && row->accuracy != NOT_COMPARED, "%s.%s is not compared with PyTorch",
           extreme->operation, extreme->form);
    return row;
}

START_TEST(extremes_agree_with_torch)
{
    const extreme_row *extreme = &rows[_i];
    const operation_row *row = row_of(extreme);
    heed_safetensors *file = parity_open(row->subject), *extremes = parity_open("extremes");
    const parity_case c = parity_case_of(file, row->operation, row->form);
    const parity_case expected = parity_case_of(extremes, row->operation, row->form);
    /* Joined, elements pass through the vector loops; alone, through the remainder loops. */
    const bool can_join = strcmp(row->subject, "elementwise") == 0;
    for (int create_graph = 0; create_graph < 2; create_graph++) {
        for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
            check_row(extreme, row, &c, &expected, dtype, 1, create_graph);
            if (can_join) {
                check_row(extreme, row, &c, &expected, dtype, 0, create_graph);
            }
        }
    }
    heed_safetensors_close(extremes);
    heed_safetensors_close(file);
}
END_TEST

bool has_extremes(const char *operation)
{
    for (int i = 0; i < ROW_COUNT; i++) {
        if (strcmp(rows[i].operation, operation) == 0) {
            return true;
        }
    }
    return false;
}

bool is_extreme(const char *name)
{
    for (int i = 0; i < ROW_COUNT; i++) {
        if (strcmp(extreme_name(i), name) == 0) {
            return true;
        }
    }
    return false;
}

void add_extreme_rows(Suite *suite, const char *subject)
{
    TCase *extremes = heed_case(suite, "extremes");
    for (int i = 0; i < ROW_COUNT; i++) {
        if (strcmp(rows[i].subject, subject) == 0) {
            add_row(extremes, extremes_agree_with_torch, i, extreme_name(i));
        }
    }
}
