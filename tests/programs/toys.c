/* The tasks of examples/lab/toys: each generator's answers are found again from its inputs, the
 * best losses are compared with those of a search over all sequences, and runs do not depend on how
 * many are made at a time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/toys/inside.h"
#include "examples/lab/toys/runs.h"
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

/* Labels are as frequent after each symbol. */
START_TEST(test_lottery)
{
    const toys_settings s = toys_defaults(&toys_lottery);
    const toys_batch b = batch_of(&toys_lottery, &s, 4000);
    double counts[4][4] = {{0}};
    for (int64_t i = 0; i < 4000 * s.length; i++) {
        counts[heed_const_data_i64(b.inputs)[i]][heed_const_data_i64(b.targets)[i]]++;
    }
    for (int i = 0; i < 16; i++) {
        ck_assert_double_eq_tol(counts[i / 4][i % 4] / 4000, 1, 0.06);
    }
    ck_assert_double_eq_tol(loss_of(toys_lottery.best, &s, &b), log(4), 1e-10);
}
END_TEST

/* ---- the best loss ---- */

enum { SHORT = 6, TWO = 2, SEQUENCES = 3 * 64 }; /* periods 1 ... 3, six tokens of two symbols */

/* The best loss of induction, by counting: all periods and all symbols are equally likely. Scored
 * positions with the same tokens before them have the same best prediction. */
static double best_by_counting(void)
{
    static double counts[SHORT][1 << SHORT][TWO];
    double sum = 0, all = 0;
    memset(counts, 0, sizeof counts);
    for (int pass = 0; pass <= 1; pass++) {
        for (int sequence = 0; sequence < SEQUENCES; sequence++) {
            const int period = 1 + sequence / 64;
            int x[SHORT + 1], prefix = 0;
            for (int t = 0; t <= SHORT; t++) {
                x[t] = t < period ? sequence >> t & 1 : x[t - period];
            }
            for (int t = 0; t < SHORT; t++) {
                prefix |= x[t] << t;
                double *count = counts[t][prefix];
                if (t >= period && pass == 0) {
                    count[x[t + 1]]++;
                } else if (t >= period) {
                    sum -= log(count[x[t + 1]] / (count[0] + count[1]));
                    all++;
                }
            }
        }
    }
    return sum / all;
}

START_TEST(test_best_of_induction)
{
    toys_settings s = settings_of(&toys_induction, "length", "6");
    s.symbols = TWO;
    const toys_batch b = batch_of(&toys_induction, &s, 20000);
    ck_assert_double_eq_tol(loss_of(toys_induction.best, &s, &b), best_by_counting(), 0.005);
    ck_assert_double_gt(loss_of(toys_induction.simple, &s, &b),
                        loss_of(toys_induction.best, &s, &b));
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

/* Each query divides 1 among itself and the tokens before. */
START_TEST(test_attention)
{
    toys_run r;
    begin_run(&r, &toys_recall, POSITIONS_ROTARY, NORM_NONE);
    toys_batch b = toys_input(&r, "--input", "k3 v1 k0 v15 k3");
    expect_no_error();
    ck_assert(heed_equal(b.inputs, heed_from_i64((int64_t[]){3, 17, 0, 31, 3}, HEED_SHAPE(1, 5))));
    heed_tensor *weights = toys_attention(r.model, &b, 1);
    expect_shape(weights, HEED_SHAPE(1, 2, 5, 5));
    for (int t = 0; t < 5; t++) {
        double sum = 0;
        for (int to = 0; to < 5; to++) {
            const double weight = heed_at(weights, HEED_INDEX(0, 1, t, to));
            ck_assert(to > t ? weight == 0 : weight > 0);
            sum += weight;
        }
        ck_assert_double_eq_tol(sum, 1, 1e-6);
    }
    toys_input(&r, "--input", "k3 x1");
    expect_error(HEED_ERR_VALUE, "--input: recall has no token 'x1'");
    toys_input(&r, "--input", " ");
    expect_error(HEED_ERR_VALUE, "--input: no tokens");
    toys_input(&r, "--input",
               "k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0 k0");
    expect_error(HEED_ERR_VALUE, "--input: more than 24 tokens");
    b = toys_input(&r, "--input", NULL);
    expect_equal(b.inputs, heed_narrow(r.test.inputs, 0, 0, 1));
    toys_run_free(&r);
}
END_TEST

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

/* ---- settings ---- */

START_TEST(test_settings)
{
    static const struct {
        const toys_task *task;
        const char *name, *value, *words;
    } wrong[] = {
        {&toys_copy, "heads", "3", "--width 32: not divisible by --heads 3"},
        {&toys_copy, "warmup", "1500", "--warmup 1500: must be less than --steps 1500"},
        {&toys_recall, "length", "17", "--length 17: recall needs as many --symbols"},
        {&toys_induction, "length", "1", "--length 1: too short for induction"},
    };
    const toys_settings s = settings_of(wrong[_i].task, wrong[_i].name, wrong[_i].value);
    toys_settings_check(&s, wrong[_i].task);
    expect_error(HEED_ERR_VALUE, wrong[_i].words);
}
END_TEST

START_TEST(test_defaults)
{
    for (int i = 0; toys_tasks[i] != NULL; i++) {
        const toys_settings s = toys_defaults(toys_tasks[i]);
        toys_settings_check(&s, toys_tasks[i]);
        expect_no_error();
        ck_assert_ptr_eq(toys_task_named(toys_tasks[i]->name), toys_tasks[i]);
    }
    toys_task_named("cpoy");
    expect_error(HEED_ERR_VALUE, "no task is called 'cpoy'");
}
END_TEST

START_TEST(test_rates)
{
    toys_settings s = settings_of(&toys_copy, "steps", "110");
    s.lr = 1;
    s.warmup = 10;
    s.schedule = SCHEDULE_COSINE;
    ck_assert_double_eq_tol(toys_rate(&s, 0), 1.0 / 11, 1e-12);
    ck_assert_double_eq_tol(toys_rate(&s, 10), 1, 1e-12);
    ck_assert_double_eq_tol(toys_rate(&s, 60), 0.5, 1e-12);
    ck_assert_double_lt(toys_rate(&s, 109), 0.001);
    s.schedule = SCHEDULE_CONSTANT;
    ck_assert_double_eq_tol(toys_rate(&s, 109), 1, 1e-12);
}
END_TEST

/* ---- runs ---- */

static toys_options options_of(const char *task, const char *sweep)
{
    toys_options o = {.task = task, .sweeps = {sweep}, .sweep_count = sweep != NULL};
    o.given.seeds = true;
    o.seeds = 3;
    toys_options_settle(&o, toys_task_named(task));
    o.settings.steps = 30;
    o.settings.eval_every = 10;
    o.settings.batch = 4;
    o.settings.test_rows = 8;
    return o;
}

static void plan(toys_runs *r, const toys_options *o)
{
    toys_runs_plan(r, o, toys_task_named(o->task));
    expect_no_error();
}

static void expect_same_result(const toys_result *a, const toys_result *b)
{
    ck_assert_int_eq(a->steps, b->steps);
    ck_assert_int_eq(a->learned_at, b->learned_at);
    ck_assert_double_eq(a->train_loss, b->train_loss);
    ck_assert_double_eq(a->test.loss, b->test.loss);
    ck_assert_double_eq(a->test.score, b->test.score);
}

START_TEST(test_jobs)
{
    const toys_options o = options_of("copy", "width=8,16");
    toys_runs one, three;
    plan(&one, &o);
    plan(&three, &o);
    ck_assert_int_eq(one.count, 6);
    ck_assert_int_eq(one.points[1].settings.width, 16);
    toys_runs_execute(&one, 1, NULL, NULL, NULL);
    toys_runs_execute(&three, 3, NULL, NULL, NULL);
    expect_no_error();
    for (int i = 0; i < 6; i++) {
        toys_result alone;
        ck_assert(one.records[i].done && three.records[i].done);
        expect_same_result(&one.records[i].result, &three.records[i].result);
        ck_assert(toys_runs_one(&one, i, &alone));
        expect_same_result(&one.records[i].result, &alone);
    }
    ck_assert_double_ne(one.records[0].result.test.loss, one.records[1].result.test.loss);
    toys_runs_free(&one);
    toys_runs_free(&three);
}
END_TEST

START_TEST(test_sweeps)
{
    static const char *const wrong[][2] = {{"width", "'width' is not NAME=VALUE"},
                                           {"width=", "'width=' is not NAME=VALUE"},
                                           {"widht=3", "no flag is called widht"},
                                           {"length=3,x", "--length: 'x' is not a whole number"},
                                           {"heads=1,3", "--width 32: not divisible by --heads 3"}};
    const toys_options o = options_of("copy", wrong[_i][0]);
    toys_runs r;
    toys_runs_plan(&r, &o, &toys_copy);
    expect_error(HEED_ERR_VALUE, wrong[_i][1]);
    toys_runs_free(&r);
}
END_TEST

START_TEST(test_quantiles)
{
    const double x[] = {1, 2, 4, HUGE_VAL};
    ck_assert_double_eq(toys_quantile(x, 4, 0), 1);
    ck_assert_double_eq(toys_quantile(x, 4, 0.25), 1.75);
    ck_assert_double_eq(toys_quantile(x, 4, 0.5), 3);
    ck_assert(isinf(toys_quantile(x, 4, 0.75)));
    ck_assert_double_eq(toys_quantile(x, 3, 0.75), 3);
    ck_assert_double_eq(toys_quantile(x, 1, 0.75), 1);
}
END_TEST

/* What was written is read back; a line that was cut off is removed and run again. */
START_TEST(test_resume)
{
    char path[] = "/tmp/heed_toys_XXXXXX";
    close(mkstemp(path));
    const toys_options o = options_of("parity", NULL);
    toys_runs first, second, other;
    plan(&first, &o);
    toys_runs_open(&first, path, false);
    for (int i = 0; i < 2; i++) {
        toys_result result;
        const int64_t record = toys_runs_take(&first);
        ck_assert(toys_runs_one(&first, record, &result));
        toys_runs_put(&first, record, &result);
    }
    fputs("parity,8,16,2,4,0.3", first.csv); /* the process dies */
    fflush(first.csv);
    plan(&second, &o);
    toys_runs_open(&second, path, true);
    expect_no_error();
    ck_assert_int_eq(second.done, 2);
    ck_assert_int_eq(toys_runs_take(&second), 2);
    ck_assert_int_eq(toys_runs_take(&second), -1);
    ck_assert_double_eq_tol(second.records[1].result.test.loss, first.records[1].result.test.loss,
                            1e-8);
    ck_assert_int_eq(second.records[1].result.learned_at, -1);
    toys_runs_put(&second, 2, &first.records[1].result);

    toys_options wider = o;
    wider.settings.width = 64;
    plan(&other, &wider);
    toys_runs_open(&other, path, true);
    expect_error(HEED_ERR_VALUE, "is of other settings or another seed");
    toys_runs_free(&first);
    toys_runs_free(&second);
    toys_runs_free(&other);
    remove(path);
}
END_TEST

void add_toys_cases(Suite *suite)
{
    TCase *tasks = heed_case(suite, "tasks");
    tcase_add_loop_test(tasks, test_answers, 0, 3);
    tcase_add_test(tasks, test_induction);
    tcase_add_test(tasks, test_recall);
    tcase_add_test(tasks, test_counts);
    tcase_add_test(tasks, test_dyck);
    tcase_add_test(tasks, test_modadd);
    tcase_add_test(tasks, test_regression);
    tcase_add_test(tasks, test_lottery);
    tcase_add_test(tasks, test_best_of_induction);

    TCase *model = heed_case(suite, "model");
    tcase_add_loop_test(model, test_model, 0, 8);
    tcase_add_loop_test(model, test_positions, 0, 4);

    TCase *inside = heed_case(suite, "inside");
    tcase_add_test(inside, test_attention);
    tcase_add_test(inside, test_ablation);
    tcase_add_loop_test(inside, test_attribution, 0, 6);
    tcase_add_test(inside, test_spectrum);

    TCase *settings = heed_case(suite, "settings");
    tcase_add_loop_test(settings, test_settings, 0, 4);
    tcase_add_test(settings, test_defaults);
    tcase_add_test(settings, test_rates);

    TCase *runs = heed_case(suite, "runs");
    tcase_add_test(runs, test_jobs);
    tcase_add_loop_test(runs, test_sweeps, 0, 5);
    tcase_add_test(runs, test_quantiles);
    tcase_add_test(runs, test_resume);
}
