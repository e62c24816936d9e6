/* The tasks of examples/lab/toys: each generator's answers are found again from its inputs.
 * Then the model, and what looks inside it. tests/programs/toys.sh tests runs and settings. */
#include <math.h>
#include <string.h>

#include "examples/lab/toys/inside.h"
#include "tests/common/test_util.h"

static toys_settings settings_of(const toys_task *task, const char *name, const char *value)
{
    toys_settings s = toys_defaults(task);
    if (name != NULL) {
        flags_set(&toys_setting_flags, &s, name, value);
    }
    expect_no_error();
    return s;
}

static toys_batch batch_of(const toys_task *task, const toys_settings *s, int64_t rows)
{
    heed_manual_seed(3);
    const toys_batch b = toys_draw(task, s, s->length, rows);
    expect_no_error();
    return b;
}

static const int64_t *ids(heed_tensor *t, int64_t row)
{
    return heed_const_data_i64(t) + row * heed_size(t, 1);
}

static double loss_of(toys_predictor *p, const toys_settings *s, const toys_batch *b)
{
    return toys_mean_loss(toys_predict(p, s, b), -1);
}

enum { ROWS = 200 };

/* ---- generators ---- */

static int64_t copied(const int64_t *x, int64_t n, int64_t i)
{
    (void)n;
    return x[i];
}

static int64_t reversed(const int64_t *x, int64_t n, int64_t i)
{
    return x[n - 1 - i];
}

/* The smallest symbol below or equal to which there are more than i. */
static int64_t sorted(const int64_t *x, int64_t n, int64_t i)
{
    for (int64_t symbol = 0;; symbol++) {
        int64_t count = 0;
        for (int64_t j = 0; j < n; j++) {
            count += x[j] <= symbol;
        }
        if (count > i) {
            return symbol;
        }
    }
}

/* All 6 x 6 x 6 numbers below 6 give each order of 3 items equally often. */
START_TEST(test_shuffles_are_fair)
{
    int seen[333] = {0};
    for (int64_t n = 0; n < 216; n++) {
        int64_t items[] = {1, 2, 3};
        toys_shuffle(items, 3, 3, (const int64_t[]){n % 6, n / 6 % 6, n / 36});
        seen[100 * items[0] + 10 * items[1] + items[2]]++;
    }
    ck_assert(seen[123] == 36 && seen[132] == 36 && seen[213] == 36);
    ck_assert(seen[231] == 36 && seen[312] == 36 && seen[321] == 36);
}
END_TEST

START_TEST(test_answers)
{
    static const struct {
        const toys_task *task;
        int64_t (*answer)(const int64_t *x, int64_t n, int64_t i);
    } all[] = {{&toys_copy, copied}, {&toys_reverse, reversed}, {&toys_sort, sorted}};
    const toys_settings s = toys_defaults(all[_i].task);
    const toys_batch b = batch_of(all[_i].task, &s, ROWS);
    expect_shape(b.inputs, HEED_SHAPE(ROWS, 2 * s.length));
    expect_shape(b.targets, HEED_SHAPE(ROWS, s.length));
    for (int64_t row = 0; row < ROWS; row++) {
        const int64_t *x = ids(b.inputs, row), *target = ids(b.targets, row);
        ck_assert_int_eq(x[s.length], s.symbols);
        for (int64_t i = 0; i < s.length; i++) {
            ck_assert_int_lt(x[i], s.symbols);
            ck_assert_int_eq(target[i], all[_i].answer(x, s.length, i));
            ck_assert(i == 0 || x[s.length + i] == target[i - 1]);
        }
    }
}
END_TEST

/* The shortest period that explains tokens and targets lies between a quarter and half. */
START_TEST(test_induction)
{
    const toys_settings s = settings_of(&toys_induction, "length", "20");
    const toys_batch b = batch_of(&toys_induction, &s, ROWS);
    int seen[21] = {0};
    for (int64_t row = 0; row < ROWS; row++) {
        const int64_t *x = ids(b.inputs, row), *target = ids(b.targets, row);
        int64_t period = 5;
        while (target[period - 5] == TOYS_UNSCORED) {
            period++;
        }
        seen[period]++;
        for (int64_t t = 5; t < 20; t++) {
            ck_assert_int_eq(target[t - 5], t < period ? TOYS_UNSCORED : x[t + 1 - period]);
            ck_assert(t < period || x[t] == x[t - period]);
        }
    }
    for (int period = 5; period <= 10; period++) {
        ck_assert_int_gt(seen[period], 0);
    }
}
END_TEST

START_TEST(test_recall)
{
    const toys_settings s = toys_defaults(&toys_recall);
    const toys_batch b = batch_of(&toys_recall, &s, ROWS);
    for (int64_t row = 0; row < ROWS; row++) {
        const int64_t *x = ids(b.inputs, row), *target = ids(b.targets, row);
        bool asked[16] = {false};
        for (int64_t i = 0; i < s.length; i++) {
            const int64_t query = x[2 * s.length + i];
            int found = 0;
            ck_assert(!asked[query]);
            asked[query] = true;
            for (int64_t j = 0; j < s.length; j++) {
                if (x[2 * j] == query) {
                    found++;
                    ck_assert_int_eq(x[2 * j + 1], s.symbols + target[i]);
                    ck_assert_int_eq(toys_recall.induction_target(&b, row, 2 * s.length + i),
                                     2 * j + 1);
                }
            }
            ck_assert_int_eq(found, 1);
        }
    }
}
END_TEST

START_TEST(test_counts)
{
    const toys_settings s = settings_of(&toys_majority, "length", "9");
    const toys_batch majority = batch_of(&toys_majority, &s, ROWS);
    const toys_batch parity = batch_of(&toys_parity, &s, ROWS);
    expect_shape(majority.targets, HEED_SHAPE(ROWS, 5));
    for (int64_t row = 0; row < ROWS; row++) {
        int64_t ones = 0, odd = 0;
        for (int64_t t = 0; t < 9; t++) {
            ones += ids(majority.inputs, row)[t];
            odd += ids(parity.inputs, row)[t];
            ck_assert_int_eq(ids(parity.targets, row)[t], odd % 2);
            ck_assert(t % 2 == 1 || ids(majority.targets, row)[t / 2] == (ones > t + 1 - ones));
        }
    }
}
END_TEST

/* Reads the brackets with a stack. */
START_TEST(test_dyck)
{
    const toys_settings s = toys_defaults(&toys_dyck);
    const toys_batch b = batch_of(&toys_dyck, &s, ROWS);
    int64_t deepest = 0;
    for (int64_t row = 0; row < ROWS; row++) {
        int64_t stack[64], open = 0;
        for (int64_t t = 0; t < s.length; t++) {
            const int64_t token = ids(b.inputs, row)[t];
            if (token < s.symbols) {
                stack[open++] = token;
            } else {
                ck_assert_int_gt(open, 0);
                ck_assert_int_eq(token - s.symbols, stack[--open]);
            }
            ck_assert_int_eq(ids(b.targets, row)[t], open > 0 ? stack[open - 1] : TOYS_UNSCORED);
            deepest = open > deepest ? open : deepest;
        }
    }
    ck_assert_int_eq(deepest, 4);
}
END_TEST

/* All pairs once, in one of the two parts. */
START_TEST(test_modadd)
{
    const toys_settings s = settings_of(&toys_modadd, "symbols", "13");
    int seen[13 * 13] = {0};
    heed_manual_seed(3);
    heed_tensor *fixed = toys_modadd.fix(&s);
    for (int test = 0; test <= 1; test++) {
        const toys_batch b = toys_draw_fixed(&toys_modadd, &s, fixed, test);
        ck_assert_int_eq(b.rows, test ? 169 - 84 : 84);
        for (int64_t row = 0; row < b.rows; row++) {
            const int64_t *x = ids(b.inputs, row);
            seen[x[0] * 13 + x[1]]++;
            ck_assert_int_eq(x[2], 13);
            ck_assert_int_eq(ids(b.targets, row)[0], (x[0] + x[1]) % 13);
        }
    }
    for (int i = 0; i < 169; i++) {
        ck_assert_int_eq(seen[i], 1);
    }
}
END_TEST

/* The first d pairs of x and y determine w: their errors are d, d - 1, ..., 1 on average, and then
 * 0. */
START_TEST(test_regression)
{
    const toys_settings s = settings_of(&toys_regression, "symbols", "3");
    const toys_batch b = batch_of(&toys_regression, &s, 4000);
    const double n = (double)s.length + 1, best = loss_of(toys_regression.best, &s, &b);
    expect_shape(b.inputs, HEED_SHAPE(4000, 2 * s.length + 1, 4));
    expect_shape(b.targets, HEED_SHAPE(4000, s.length + 1));
    ck_assert_double_eq_tol(best * n, 3 + 2 + 1, 0.3);
    ck_assert_double_eq_tol(loss_of(toys_regression.simple, &s, &b), 3, 0.1);
    for (int64_t i = 0; i < s.length; i++) {
        const double y = heed_at(b.inputs, HEED_INDEX(7, 2 * i + 1, 3));
        ck_assert_double_eq(y, heed_at(b.targets, HEED_INDEX(7, i)));
        ck_assert_double_eq(heed_at(b.inputs, HEED_INDEX(7, 2 * i, 3)), 0);
        ck_assert_double_eq(heed_at(b.inputs, HEED_INDEX(7, 2 * i + 1, 0)), 0);
    }
}
END_TEST

/* ---- the model ---- */

static toys_settings small(int positions, int norm)
{
    toys_settings s = settings_of(&toys_parity, "ff", norm == NORM_NONE ? "0" : "12");
    s.positions = positions;
    s.norm = norm;
    s.width = 8;
    return s;
}

/* A token changes the outputs at its own and later positions alone. If only the last position is
 * scored, its output is the same, up to rounding. */
START_TEST(test_model)
{
    const toys_settings s = small(_i / 2, _i % 2);
    toys_batch b = batch_of(&toys_parity, &s, 3);
    struct toys_model *m = toys_model_new(&s, b.shape);
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *y = toys_forward(m, &b);
    expect_shape(y, HEED_SHAPE(3, s.length, 2));
    toys_batch last = b;
    last.shape.first = s.length - 1;
    ck_assert(heed_allclose(toys_forward(m, &last), heed_narrow(y, 1, s.length - 1, 1), 1e-4, 1e-5,
                            false));
    b.inputs = heed_clone(b.inputs);
    heed_data_i64(b.inputs)[5] ^= 1; /* of row 0 */
    heed_tensor *z = toys_forward(m, &b);
    expect_same_bits(heed_contiguous(heed_narrow(y, 1, 0, 5)),
                     heed_contiguous(heed_narrow(z, 1, 0, 5)));
    ck_assert(!heed_equal(heed_narrow(y, 1, 5, 1), heed_narrow(z, 1, 5, 1)));
    expect_no_error();
    heed_module_free(m);
}
END_TEST

/* Without positions, the order of earlier tokens does not matter to one layer; with them it does.
 */
START_TEST(test_positions)
{
    toys_settings s = small(_i, NORM_LAYER);
    s.layers = 1;
    toys_batch b = batch_of(&toys_parity, &s, 1);
    struct toys_model *m = toys_model_new(&s, b.shape);
    HEED_SCOPE_NO_GRAD(scope);
    memcpy(heed_data_i64(b.inputs), (int64_t[]){0, 1, 1, 0, 1, 0, 0, 1}, 8 * sizeof(int64_t));
    heed_tensor *y = heed_select(toys_forward(m, &b), 1, 7);
    memcpy(heed_data_i64(b.inputs), (int64_t[]){1, 0, 1, 0, 0, 0, 1, 1}, 8 * sizeof(int64_t));
    heed_tensor *z = heed_select(toys_forward(m, &b), 1, 7);
    ck_assert_int_eq(heed_allclose(y, z, 1e-4, 1e-5, false), _i == POSITIONS_NONE);
    expect_no_error();
    heed_module_free(m);
}
END_TEST

/* ---- looking inside ---- */

/* A run that has taken a few steps. */
static void begin_run(toys_run *r, const toys_task *task, int positions, int norm)
{
    toys_settings s = toys_defaults(task);
    s.positions = positions;
    s.norm = norm;
    s.layers = 2;
    s.heads = 2;
    s.width = 8;
    s.ff = norm == NORM_LAYER ? 12 : 0;
    s.test_rows = 6;
    s.batch = 4;
    s.warmup = 0;
    toys_run_begin(r, task, &s, 1);
    for (int i = 0; i < 5; i++) {
        toys_run_step(r);
    }
    expect_no_error();
}

/* A head that is replaced by zeros costs what zeros in its columns of W_o cost. Its mean is another
 * value. Nothing stays changed. */
START_TEST(test_ablation)
{
    toys_run r;
    begin_run(&r, &toys_copy, POSITIONS_LEARNED, NORM_LAYER);
    const toys_score before = toys_measure(&r.test, toys_forward(r.model, &r.test));
    toys_place head = toys_head(0, 1);
    const toys_score zeros = toys_measure(&r.test, toys_replaced(r.model, &r.test, head));
    head.by = TOYS_MEAN;
    const toys_score mean = toys_measure(&r.test, toys_replaced(r.model, &r.test, head));
    const toys_score after = toys_measure(&r.test, toys_forward(r.model, &r.test));
    ck_assert_double_eq(before.loss, after.loss);
    heed_fill_into(heed_narrow(heed_detach(toys_block_of(r.model, 0)->W_o->weight), 1, 4, 4), 0);
    const toys_score without = toys_measure(&r.test, toys_forward(r.model, &r.test));
    ck_assert_double_eq_tol(zeros.loss, without.loss, 1e-6);
    ck_assert(zeros.loss != before.loss && mean.loss != zeros.loss);
    toys_run_free(&r);
}
END_TEST

/* The parts add up to the logits. */
START_TEST(test_attribution)
{
    static const toys_task *const tasks[] = {&toys_copy, &toys_regression, &toys_modadd};
    toys_run r;
    begin_run(&r, tasks[_i % 3], _i % 4, _i / 3);
    HEED_SCOPE_NO_GRAD(scope);
    FILE *nowhere = fopen("/dev/null", "w");
    ck_assert_double_eq_tol(toys_attribute(nowhere, &r), 0, 1e-5);
    expect_no_error();
    fclose(nowhere);
    toys_run_free(&r);
}
END_TEST

/* An embedding made of two frequencies has nothing at others. */
START_TEST(test_spectrum)
{
    toys_settings s = settings_of(&toys_modadd, "symbols", "11");
    s.width = 4;
    struct toys_model *m = toys_model_new(&s, toys_modadd.shape(&s, 1));
    double shares[5];
    float *x = heed_data_f32(heed_detach(m->wte->weight));
    for (int t = 0; t < 11; t++) {
        const double angle = 2 * acos(-1) * t / 11;
        x[4 * t] = (float)(3 * cos(2 * angle));
        x[4 * t + 1] = (float)sin(5 * angle);
        x[4 * t + 2] = 7;
        x[4 * t + 3] = 0;
    }
    toys_spectrum(m, 11, shares);
    ck_assert_double_eq_tol(shares[0] + shares[2] + shares[3], 0, 1e-9);
    ck_assert_double_eq_tol(shares[1], 0.9, 1e-6);
    ck_assert_double_eq_tol(shares[4], 0.1, 1e-6);
    heed_module_free(m);
}
END_TEST

void add_toys_cases(Suite *suite)
{
    TCase *toys = heed_case(suite, "toys");
    tcase_add_test(toys, test_shuffles_are_fair);
    tcase_add_loop_test(toys, test_answers, 0, 3);
    tcase_add_test(toys, test_induction);
    tcase_add_test(toys, test_recall);
    tcase_add_test(toys, test_counts);
    tcase_add_test(toys, test_dyck);
    tcase_add_test(toys, test_modadd);
    tcase_add_test(toys, test_regression);
    tcase_add_loop_test(toys, test_model, 0, 8);
    tcase_add_loop_test(toys, test_positions, 0, 4);
    tcase_add_test(toys, test_ablation);
    tcase_add_loop_test(toys, test_attribution, 0, 6);
    tcase_add_test(toys, test_spectrum);
}
