/* Watches: the values they collect, the files they write and continue, and their terminal
 * output. */
#define _XOPEN_SOURCE 700 /* posix_openpt */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/common/files_util.h"

static heed_watch *new_watch(heed_watch_options options)
{
    heed_watch *w = heed_watch_new(options);
    expect_no_error();
    ck_assert_ptr_nonnull(w);
    return w;
}

static void step_with(heed_watch *w, double loss)
{
    heed_watch_value(w, "loss", loss);
    heed_watch_step(w);
}

/* Steps `from` to `to` with the loss 1/step and, in every third step, a validation loss. */
static void run_steps(heed_watch *w, int from, int to)
{
    for (int step = from; step <= to; step++) {
        if (step % 3 == 0) {
            heed_watch_value(w, "val_loss", 2.0 / step);
        }
        step_with(w, 1.0 / step);
    }
}

static void expect_bytes(const char *path, const char *expected)
{
    size_t size;
    char *bytes = read_bytes(path, &size);
    ck_assert_str_eq(bytes, expected);
    ck_assert_uint_eq(size, strlen(expected));
    free(bytes);
}

static void expect_matches(const char *text, const char *pattern)
{
    ck_assert_msg(fnmatch(pattern, text, 0) == 0, "\n%s\ndoes not match\n%s", text, pattern);
}

/* ---- collected values ---- */

START_TEST(it_collects_values)
{
    const heed_curve *curves;
    char name[] = "a,b";
    heed_watch *w = new_watch((heed_watch_options){.steps = 0});
    ck_assert_int_eq(heed_watch_curves(w, &curves), 0);
    heed_watch_value(w, "loss", 5);
    heed_watch_value(w, "loss", 3); /* replaces 5 */
    heed_watch_value(w, name, 7);
    name[0] = 'x'; /* the name was copied */
    ck_assert_double_eq(heed_watch_last(w, "loss"), 3);
    ck_assert_int_eq(heed_watch_steps(w), 0);
    heed_watch_step(w);
    heed_watch_name(w, "later");
    step_with(w, 2);
    ck_assert_int_eq(heed_watch_steps(w), 2);
    ck_assert_int_eq(heed_watch_curves(w, &curves), 3);
    ck_assert_str_eq(curves[0].name, "loss");
    ck_assert_int_eq(curves[0].count, 2);
    ck_assert(curves[0].x[0] == 1 && curves[0].y[0] == 3 && curves[0].per_point == 1);
    ck_assert(curves[0].x[1] == 2 && curves[0].y[1] == 2 && curves[0].spike_count == 0);
    ck_assert_str_eq(curves[1].name, "a,b");
    ck_assert_int_eq(curves[1].count, 1);
    ck_assert_int_eq(heed_watch_curve(w, "later").count, 0);
    ck_assert_int_eq(heed_watch_curve(w, "unknown").count, 0);
    ck_assert_double_eq(heed_watch_last(w, "a,b"), 7);
    ck_assert(isnan(heed_watch_last(w, "later")) && isnan(heed_watch_last(w, "unknown")));
    ck_assert_ptr_null(heed_watch_warning(w));
    heed_watch_free(w);
}
END_TEST

START_TEST(many_names_in_any_order)
{
    char name[20];
    heed_watch *w = new_watch((heed_watch_options){.steps = 0});
    for (int step = 1; step <= 3; step++) {
        for (int i = 0; i < 100; i++) {
            snprintf(name, sizeof name, "value%d", step == 2 ? 99 - i : (i + step) % 100);
            heed_watch_value(w, name, step);
        }
        heed_watch_step(w);
    }
    const heed_curve *curves;
    ck_assert_int_eq(heed_watch_curves(w, &curves), 100);
    for (int i = 0; i < 100; i++) {
        ck_assert(curves[i].count == 3 && curves[i].y[1] == 2);
    }
    heed_watch_free(w);
}
END_TEST

START_TEST(null_is_ignored)
{
    const heed_curve *curves;
    ck_assert_int_eq(heed_watch_value(NULL, "loss", 1), HEED_OK);
    ck_assert_int_eq(heed_watch_name(NULL, "loss"), HEED_OK);
    ck_assert_int_eq(heed_watch_step(NULL), HEED_OK);
    ck_assert_int_eq(heed_watch_text(NULL, "sample", "x"), HEED_OK);
    heed_watch_pause(NULL);
    heed_watch_flush(NULL);
    heed_watch_free(NULL);
    ck_assert_int_eq(heed_watch_curves(NULL, &curves), 0);
    ck_assert_ptr_null(curves);
    ck_assert_int_eq(heed_watch_curve(NULL, "loss").count, 0);
    ck_assert_int_eq(heed_watch_steps(NULL), 0);
    ck_assert(isnan(heed_watch_last(NULL, "loss")));
    ck_assert_ptr_null(heed_watch_warning(NULL));
}
END_TEST

START_TEST(names_and_options_are_checked)
{
    static const char *const refused[] = {"",     "step",     "a\nb",     "\x1b[2J",
                                          "\x7f", "\xff\xfe", "\xc2\x9b["};
    heed_watch *w = new_watch((heed_watch_options){.steps = 0});
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        heed_watch_value(w, refused[i], 1);
        expect_error(HEED_ERR_VALUE, "watch_value: ");
        heed_watch_name(w, refused[i]);
        expect_error(HEED_ERR_VALUE, "watch_name: ");
        heed_watch_text(w, refused[i], "text");
        expect_error(HEED_ERR_VALUE, "watch_text: ");
    }
    heed_watch_value(w, NULL, 1);
    expect_error(HEED_ERR_NULL, "watch_value: ");
    heed_watch_text(w, "sample", NULL);
    expect_error(HEED_ERR_NULL, "watch_text: ");
    heed_watch_free(w);
    ck_assert_ptr_null(heed_watch_new((heed_watch_options){.steps = -1}));
    expect_error(HEED_ERR_VALUE, "watch_new: ");
    ck_assert_ptr_null(heed_watch_new((heed_watch_options){.resumed = -1}));
    expect_error(HEED_ERR_VALUE, "watch_new: ");
    ck_assert_ptr_null(heed_watch_new((heed_watch_options){.per_step = (double)NAN}));
    expect_error(HEED_ERR_VALUE, "watch_new: ");
    ck_assert_ptr_null(heed_watch_new((heed_watch_options){.csv = in_folder("none/run.csv")}));
    expect_error(HEED_ERR_FILE, "/none/run.csv: cannot write it: ");
}
END_TEST

START_TEST(a_pending_error_is_left_alone)
{
    heed_watch *w = new_watch((heed_watch_options){.csv = in_folder("run.csv")});
    step_with(w, 1);
    heed_fail(HEED_ERR_VALUE, "mine");
    ck_assert_int_eq(heed_watch_value(w, "loss", 2), HEED_ERR_VALUE);
    ck_assert_int_eq(heed_watch_step(w), HEED_ERR_VALUE);
    ck_assert_int_eq(heed_watch_text(w, "sample", "x"), HEED_ERR_VALUE);
    ck_assert_int_eq(heed_watch_steps(w), 1);
    ck_assert_double_eq(heed_watch_last(w, "loss"), 1);
    heed_watch_free(w); /* works, and writes buffered rows */
    expect_error(HEED_ERR_VALUE, "mine");
    expect_bytes(in_folder("run.csv"), "step,loss\n1,1\n");
}
END_TEST

/* A million steps take no more memory than a thousand. */
START_TEST(long_runs_are_thinned)
{
    const int64_t steps = HAS_SANITIZER ? 100000 : 1000000;
    heed_watch *w = new_watch((heed_watch_options){.steps = steps});
    step_with(w, 1);
    const int64_t bytes = heed_live_bytes();
    for (int64_t step = 2; step <= steps; step++) {
        step_with(w, (double)step);
    }
    ck_assert_int_eq(heed_live_bytes(), bytes);
    const heed_curve c = heed_watch_curve(w, "loss");
    ck_assert(c.count > HEED_WATCH_POINTS / 2 && c.count <= HEED_WATCH_POINTS);
    ck_assert_int_eq((steps + c.per_point - 1) / c.per_point, c.count);
    for (int64_t i = 0; i < c.count; i++) {
        const int64_t first = i * c.per_point + 1, end = first + c.per_point - 1;
        const double mean = 0.5 * (double)(first + (end < steps ? end : steps));
        ck_assert_double_eq_tol(c.x[i], mean, 1e-6);
        ck_assert_double_eq_tol(c.y[i], mean, 1e-6);
    }
    heed_watch_free(w);
}
END_TEST

/* A point is the mean of its finite values; without any it is not finite. Also if the second of two
 * points that are merged is not finite, and not the first. */
START_TEST(points_leave_out_nan_and_infinity)
{
    heed_watch *w = new_watch((heed_watch_options){.steps = 0});
    for (int step = 1; step <= 2 * HEED_WATCH_POINTS + 9; step++) {
        const int place = (step + _i) % 4;
        step_with(w, place == 1    ? (double)NAN
                     : place == 3  ? -(double)INFINITY
                     : step > 1000 ? 3
                                   : (double)NAN);
    }
    const heed_curve c = heed_watch_curve(w, "loss");
    ck_assert_int_eq(c.per_point, 4);
    ck_assert_int_eq(c.count, HEED_WATCH_POINTS / 2 + 3);
    ck_assert(!isfinite(c.y[0]) && isfinite(c.y[c.count - 1]) == (_i == 1));
    ck_assert(c.y[c.count - 2] == 3 && c.y[300] == 3 && c.y[253] == 3); /* added to, and merged */
    heed_watch_free(w);
}
END_TEST

/* ---- spikes ---- */

enum { WINDOW = 128, VALUES = 3000 };

/* The definition, in long double. */
static double naive_z(const double *values, int end)
{
    long double mean = 0, m2 = 0;
    for (int i = end - WINDOW; i < end; i++) {
        mean += (long double)values[i] / WINDOW;
    }
    for (int i = end - WINDOW; i < end; i++) {
        const long double distance = (long double)values[i] - mean;
        m2 += distance * distance / WINDOW;
    }
    return m2 > 0 ? (double)(((long double)values[end - 1] - mean) / sqrtl(m2)) : 0;
}

/* A value of 1e12 among values of about 1e-3 must not hide the spikes after it. */
START_TEST(spikes_are_those_of_the_definition)
{
    static double values[VALUES];
    double expected[VALUES];
    int count = 0;
    srand(1);
    heed_watch *w = new_watch((heed_watch_options){.steps = 0});
    for (int i = 0; i < VALUES; i++) {
        values[i] = 1e-3 + 1e-5 * (rand() % 100);
        values[i] = i == 1000 ? 1e12 : i % 97 == 50 ? 8e-3 : values[i];
        heed_watch_value(w, "grad_norm", values[i]);
        heed_watch_value(w, "lr", values[i]);
        step_with(w, (double)NAN); /* neither a spike nor an obstacle to finding others */
        if (i >= WINDOW - 1 && naive_z(values, i + 1) > 6) {
            expected[count++] = i + 1;
        }
    }
    const heed_curve c = heed_watch_curve(w, "grad_norm");
    ck_assert_int_gt(count, 10);
    ck_assert_int_eq(c.spike_count, count);
    ck_assert_mem_eq(c.spikes, expected, (size_t)count * sizeof *expected);
    ck_assert_int_eq(heed_watch_curve(w, "lr").spike_count, 0);
    ck_assert_int_eq(heed_watch_curve(w, "loss").spike_count, 0);
    heed_watch_free(w);
}
END_TEST

START_TEST(the_number_of_spikes_kept_is_bounded)
{
    heed_watch *w = new_watch((heed_watch_options){.steps = 0});
    for (int step = 1; step <= 100000; step++) {
        step_with(w, step % 100 == 0 ? 1 : 0);
    }
    const heed_curve c = heed_watch_curve(w, "loss");
    ck_assert_int_eq(c.spike_count, 256);
    ck_assert_double_eq(c.spikes[255], 100000);
    ck_assert_double_eq(c.spikes[0], 100000 - 255 * 100);
    heed_watch_free(w);
}
END_TEST

/* ---- CSV and JSON lines ---- */

START_TEST(rows_are_written)
{
    heed_watch *w = new_watch(
        (heed_watch_options){.csv = in_folder("run.csv"), .jsonl = in_folder("run.jsonl")});
    heed_watch_name(w, "val_loss");
    heed_watch_value(w, "say \"a,b\"", 0.1);
    step_with(w, -2.5);
    heed_watch_text(w, "sample", "He said:\n\"\x01\xc3\xa9\xff\xe2\x82\".");
    heed_watch_value(w, "val_loss", -123456789012);
    step_with(w, (double)NAN);
    heed_watch_value(w, "val_loss", -(double)INFINITY);
    step_with(w, (double)INFINITY);
    heed_watch_value(w, "val_loss", (double)(1.0f / 3));
    step_with(w, 1e300);
    heed_watch_value(w, "val_loss", 999999999999999);
    step_with(w, 1e15);
    heed_watch_value(w, "new", 1);
    step_with(w, -0.0);
    ck_assert_ptr_nonnull(strstr(heed_watch_warning(w), "/run.csv: no column for new, which"));
    heed_watch_text(w, "sample", "");
    heed_watch_free(w);
    expect_bytes(in_folder("run.csv"), "step,val_loss,\"say \"\"a,b\"\"\",loss\n"
                                       "1,,0.1,-2.5\n"
                                       "2,-123456789012,,nan\n"
                                       "3,-inf,,inf\n"
                                       "4,0.333333343,,1e+300\n"
                                       "5,999999999999999,,1e+15\n"
                                       "6,,,-0\n");
    expect_bytes(in_folder("run.jsonl"),
                 "{\"step\": 1, \"say \\\"a,b\\\"\": 0.1, \"loss\": -2.5}\n"
                 "{\"step\": 2, \"sample\": \"He "
                 "said:\\n\\\"\\u0001\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                 "\\\".\", \"val_loss\": -123456789012, \"loss\": \"NaN\"}\n"
                 "{\"step\": 3, \"val_loss\": \"-Infinity\", \"loss\": \"Infinity\"}\n"
                 "{\"step\": 4, \"val_loss\": 0.333333343, \"loss\": 1e+300}\n"
                 "{\"step\": 5, \"val_loss\": 999999999999999, \"loss\": 1e+15}\n"
                 "{\"step\": 6, \"loss\": -0, \"new\": 1}\n"
                 "{\"step\": 7, \"sample\": \"\"}\n");
}
END_TEST

/* In a continued file, names keep their columns, whatever their order in the program. */
START_TEST(a_resumed_run_keeps_the_columns)
{
    const char *path = in_folder("run.csv");
    write_bytes(path, "step,b,\"x \"\"y\"\", z\"\n1,1,2\n2,3,4\n", 33);
    heed_watch *w = new_watch((heed_watch_options){.csv = path, .resumed = 2});
    ck_assert_int_eq(heed_watch_steps(w), 2);
    heed_watch_value(w, "x \"y\", z", 6);
    heed_watch_value(w, "b", 5);
    heed_watch_step(w);
    ck_assert_ptr_null(heed_watch_warning(w));
    heed_watch_free(w);
    expect_bytes(path, "step,b,\"x \"\"y\"\", z\"\n1,1,2\n2,3,4\n3,5,6\n");
}
END_TEST

/* Writes the rows of steps `from` to `to` to a CSV or JSON lines file. */
static void write_rows(bool json, const char *path, int from, int to)
{
    heed_watch *w = new_watch((heed_watch_options){
        .csv = json ? NULL : path, .jsonl = json ? path : NULL, .resumed = from - 1});
    heed_watch_name(w, "loss");
    heed_watch_name(w, "val_loss");
    run_steps(w, from, to);
    heed_watch_free(w);
}

/* A run is killed after any byte of its file and resumed after any step whose row it contains: the
 * file then equals that of an uninterrupted run. */
START_TEST(a_run_resumes_after_a_cut_anywhere)
{
    enum { STEPS = 7 };
    const bool json = _i;
    const char *path = in_folder("cut");
    size_t size, again;
    write_rows(json, path, 1, STEPS);
    char *whole = read_bytes(path, &size);
    for (size_t cut = 0; cut <= size; cut++) {
        int rows = json ? 0 : -1; /* without the header */
        for (size_t i = 0; i < cut; i++) {
            rows += whole[i] == '\n';
        }
        for (int resumed = 1; resumed <= (rows > 1 ? rows : 1); resumed++) {
            write_bytes(path, whole, cut);
            write_rows(json, path, resumed + 1, STEPS);
            char *bytes = read_bytes(path, &again);
            if (rows >= resumed) {
                ck_assert_str_eq(bytes, whole);
            } else { /* step 1 has no row */
                ck_assert_ptr_nonnull(strstr(bytes, json ? "{\"step\": 2" : "loss\n2,"));
            }
            free(bytes);
        }
    }
    free(whole);
}
END_TEST

START_TEST(missing_rows_are_reported)
{
    const char *path = in_folder("run.csv");
    write_rows(false, path, 1, 3);
    heed_watch *w = new_watch((heed_watch_options){.csv = path, .resumed = 5});
    ck_assert_ptr_nonnull(
        strstr(heed_watch_warning(w), "run.csv: no rows for steps 4 to 5, which"));
    heed_watch_free(w);
    w = new_watch((heed_watch_options){.csv = "/dev/null", .resumed = 5});
    ck_assert_ptr_null(heed_watch_warning(w));
    heed_watch_free(w);
}
END_TEST

static const struct foreign {
    bool json;
    const char *bytes;
} foreign[] = {
    {false, "hello\n"},
    {false, "hello"},
    {false, "step by step\n"},
    {false, "step\n1,2\n"},
    {false, "steps,loss\n1,2\n"},
    {false, "step,loss,loss\n1,2,3\n"},
    {false, "step,\n1,2\n"},
    {false, "step,\"loss\n"},
    {false, "step,\"loss\"x\n"},
    {false, "step,loss\n1,2\nx,3\n3,4\n"},
    {false, "step,loss\n1,2\n1,3\n"},
    {false, "step,loss\n2,2\n1,3\n"},
    {false, "step,loss\n1,2\n2\n"},
    {false, "step,loss\n1,2,3\n"},
    {false, "step,loss\n0,2\n"},
    {false, "step,loss\n-1,2\n"},
    {false, "step,loss\n1,2\n\n"},
    {false, "step,loss\n1234567890123456789,2\n"},
    {true, "hello\n"},
    {true, "{\"step\": 1, \"loss\": 2\n"},
    {true, "{\"step\": -1}\n"},
    {true, "{\"step\": 0}\n{\"step\": 0}\n"},
    {true, "{\"step\": 1x}\n"},
    {true, "step,loss\n1,2\n"},
    {true, "{\"step\": 1}\n\n"},
};

START_TEST(foreign_files_stay_unchanged)
{
    const struct foreign *f = &foreign[_i];
    const char *path = in_folder("file");
    write_bytes(path, f->bytes, strlen(f->bytes));
    ck_assert_ptr_null(heed_watch_new((heed_watch_options){
        .csv = f->json ? NULL : path, .jsonl = f->json ? path : NULL, .resumed = 3}));
    expect_error_of_file(HEED_ERR_VALUE, "watch_new", "choose another file");
    expect_bytes(path, f->bytes);
}
END_TEST

/* In a program that has closed its standard input, files get descriptor 0. */
START_TEST(files_may_have_descriptor_0)
{
    const char *path = in_folder("run.csv");
    const int input = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    heed_watch *w = new_watch((heed_watch_options){.csv = path});
    step_with(w, 1);
    heed_watch_free(w);
    dup2(input, STDIN_FILENO);
    close(input);
    expect_bytes(path, "step,loss\n1,1\n");
}
END_TEST

START_TEST(a_new_run_begins_its_files)
{
    write_bytes(in_folder("a"), "step,x\n1,2\n", 11);
    write_rows(false, in_folder("a"), 1, 1);
    expect_bytes(in_folder("a"), "step,loss,val_loss\n1,1,\n");
    write_rows(true, in_folder("b"), 4, 4); /* resumed without a file */
    expect_bytes(in_folder("b"), "{\"step\": 4, \"loss\": 0.25}\n");
}
END_TEST

static double elapsed(const struct timespec *since)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - since->tv_sec) + 1e-9 * (double)(now.tv_nsec - since->tv_nsec);
}

/* Rows are in the file after a flush, and soon after slow steps. */
START_TEST(rows_are_flushed)
{
    const char *path = in_folder("run.csv");
    heed_watch *w = new_watch((heed_watch_options){.csv = path});
    step_with(w, 1);
    heed_watch_flush(w);
    expect_bytes(path, "step,loss\n1,1\n");
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    step_with(w, 2);
    expect_bytes(path, "step,loss\n1,1\n2,2\n");
    struct timespec began; /* a quick step is written later; the machine may be too busy for one */
    clock_gettime(CLOCK_MONOTONIC, &began);
    step_with(w, 3);
    if (elapsed(&began) < 0.005) {
        expect_bytes(path, "step,loss\n1,1\n2,2\n");
    }
    heed_watch_free(w);
}
END_TEST

START_TEST(a_new_run_replaces_only_files_of_watches)
{
    const char *path = in_folder("data.csv");
    FILE *file = fopen(path, "w");
    fputs("sepal,petal\n1,2\n", file);
    fclose(file);
    ck_assert_ptr_null(heed_watch_new((heed_watch_options){.csv = path}));
    expect_error(HEED_ERR_VALUE, "line 1 was not written by a watch");
    expect_bytes(path, "sepal,petal\n1,2\n");
    write_rows(false, in_folder("run.csv"), 1, 3);
    write_rows(false, in_folder("run.csv"), 1, 1);
    expect_bytes(in_folder("run.csv"), "step,loss,val_loss\n1,1,\n");
}
END_TEST

START_TEST(a_value_after_the_last_step_is_named)
{
    char *shown = NULL;
    size_t size;
    FILE *terminal = open_memstream(&shown, &size);
    heed_watch *w = new_watch((heed_watch_options){.terminal = terminal, .every = 1});
    step_with(w, 1);
    heed_watch_value(w, "accuracy", 0.5);
    heed_watch_free(w);
    fclose(terminal);
    ck_assert_ptr_nonnull(strstr(shown, "accuracy: set after the last step"));
    free(shown);
}
END_TEST

START_TEST(numbers_have_a_point_in_all_locales)
{
    use_comma_locale();
    write_rows(false, in_folder("run.csv"), 2, 3);
    setlocale(LC_NUMERIC, "C");
    expect_bytes(in_folder("run.csv"), "step,loss,val_loss\n2,0.5,\n3,0.333333333,0.666666667\n");
}
END_TEST

/* A child may continue with a copy of the watch; only the parent writes. */
START_TEST(a_forked_child_writes_nothing)
{
    int status;
    const char *path = in_folder("run.csv");
    FILE *terminal = fopen(in_folder("terminal"), "w");
    heed_watch *w = new_watch((heed_watch_options){.csv = path, .terminal = terminal, .every = 1});
    step_with(w, 1);
    const pid_t child = fork();
    if (child == 0) {
        step_with(w, 2);
        heed_watch_free(w);
        _exit(heed_error_pending() == HEED_OK ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    step_with(w, 3);
    heed_watch_free(w);
    fclose(terminal);
    expect_bytes(path, "step,loss\n1,1\n2,3\n");
    expect_bytes(in_folder("terminal"), "step     1   loss 1.000\nstep     2   loss 3.000\n");
}
END_TEST

/* ---- one writer at a time ---- */

static bool has_no_locks; /* flock fails as on a file system without locks */

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
    errno = ENOLCK;
    return has_no_locks ? -1 : __real_flock(fd, operation);
}

static void expect_claimed(heed_watch_options options, const char *words)
{
    ck_assert_ptr_null(heed_watch_new(options));
    expect_error(HEED_ERR_FILE, words);
}

/* Whether the second run is new or resumed, and whatever it calls the file. */
START_TEST(a_second_writer_is_refused)
{
    const char *path = in_folder("run.csv"), *lines = in_folder("run.jsonl");
    ck_assert_int_eq(symlink("run.csv", in_folder("link")), 0);
    write_rows(false, path, 1, 1);
    heed_watch *w = new_watch((heed_watch_options){.csv = path, .jsonl = lines, .resumed = 1});
    step_with(w, 2);
    heed_watch_flush(w);
    expect_claimed((heed_watch_options){.csv = path},
                   "/run.csv: another watch is writing it; choose another file");
    expect_claimed((heed_watch_options){.csv = in_folder("link"), .resumed = 1},
                   "/link: another watch is writing it");
    write_rows(false, in_folder("other.csv"), 1, 2);
    expect_claimed((heed_watch_options){.csv = in_folder("other.csv"), .jsonl = lines},
                   "/run.jsonl: another watch is writing it");
    expect_bytes(in_folder("other.csv"), "step,loss,val_loss\n1,1,\n2,0.5,\n"); /* unchanged */
    step_with(w, 3);
    heed_watch_free(w);
    expect_bytes(path, "step,loss,val_loss\n1,1,\n2,2,\n3,3,\n");
    heed_watch_free(new_watch((heed_watch_options){.csv = path, .jsonl = lines, .resumed = 3}));
}
END_TEST

/* In a child: begins a watch, says so, and waits. */
static void watch_until_killed(const char *path, int end)
{
    heed_watch *w = heed_watch_new((heed_watch_options){.csv = path, .resumed = 1});
    step_with(w, 2);
    heed_watch_flush(w);
    const bool written = write(end, "", 1) == 1;
    while (written) {
        pause();
    }
    _exit(1);
}

START_TEST(a_second_process_is_refused_until_the_first_dies)
{
    int ends[2];
    char byte, words[60];
    const char *path = in_folder("run.csv");
    write_rows(false, path, 1, 1);
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        watch_until_killed(path, ends[1]);
    }
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    snprintf(words, sizeof words, "/run.csv: process %ld is writing it", (long)child);
    expect_claimed((heed_watch_options){.csv = path}, words);
    expect_claimed((heed_watch_options){.csv = path, .resumed = 1}, words);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    heed_watch *w = new_watch((heed_watch_options){.csv = path, .resumed = 2});
    step_with(w, 3);
    heed_watch_free(w);
    expect_bytes(path, "step,loss,val_loss\n1,1,\n2,2,\n3,3,\n");
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* It has a copy of the descriptor, and with it of the lock. */
START_TEST(a_forked_child_does_not_keep_the_file)
{
    heed_watch *w = new_watch((heed_watch_options){.csv = in_folder("run.csv")});
    const pid_t child = fork();
    if (child == 0) {
        heed_watch_free(w); /* must not unlock the parent's file */
        pause();
    }
    const pid_t other = fork(); /* with the watch */
    if (other == 0) {
        pause();
    }
    expect_claimed((heed_watch_options){.csv = in_folder("run.csv")}, "another watch");
    heed_watch_free(w);
    heed_watch_free(new_watch((heed_watch_options){.csv = in_folder("run.csv")}));
    kill(child, SIGKILL);
    kill(other, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
}
END_TEST

/* Also if two runs then write one file, each row stays whole. */
START_TEST(a_file_system_may_have_no_locks)
{
    const char *path = in_folder("run.csv");
    has_no_locks = true;
    heed_watch *w = new_watch((heed_watch_options){.csv = path}),
               *second = new_watch((heed_watch_options){.csv = path});
    has_no_locks = false;
    step_with(w, 1);
    heed_watch_flush(w);
    step_with(second, 2);
    heed_watch_free(second);
    step_with(w, 3);
    heed_watch_free(w);
    expect_bytes(path, "step,loss\n1,1\nstep,loss\n1,2\n2,3\n");
}
END_TEST

/* By whatever names; an existing file stays unchanged. */
START_TEST(csv_and_jsonl_are_two_files)
{
    static const char *const names[] = {"run", "./run", "hard", "soft", "missing"};
    char spelled[300];
    write_rows(false, in_folder("run"), 1, 1);
    ck_assert_int_eq(link(in_folder("run"), in_folder("hard")), 0);
    ck_assert_int_eq(symlink("run", in_folder("soft")), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *csv = in_folder(i < 4 ? "run" : names[i]);
        snprintf(spelled, sizeof spelled, "%s", in_folder(names[i]));
        for (int resumed = 0; resumed < 2; resumed++) {
            ck_assert_ptr_null(heed_watch_new(
                (heed_watch_options){.csv = csv, .jsonl = spelled, .resumed = resumed}));
            expect_error(HEED_ERR_VALUE, ": csv and jsonl are this file; they need one each");
        }
        expect_bytes(csv, i < 4 ? "step,loss,val_loss\n1,1,\n" : "");
    }
    heed_watch_free(
        new_watch((heed_watch_options){.csv = "/dev/null", .jsonl = "/dev/null"})); /* no file */
}
END_TEST

/* ---- descriptors ---- */

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* In a child without standard streams: writes to them must not reach the library's files. */
static void write_without_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        close(fd);
    }
    heed_watch *w = heed_watch_new((heed_watch_options){.csv = in_folder("run.csv"),
                                                        .jsonl = in_folder("run.jsonl"),
                                                        .tensorboard = in_folder(""),
                                                        .terminal = stderr,
                                                        .resumed = 1});
    heed_safetensors *file = heed_safetensors_open(in_folder("x"));
    bool good = w != NULL && file != NULL && !is_open(0) && !is_open(1) && !is_open(2);
    step_with(w, 2);
    good = good && write(2, "oops", 4) < 0; /* as heed_die does */
    heed_safetensors_close(file);
    heed_watch_free(w);
    _exit(good && !heed_error_pending() ? 0 : 1);
}

START_TEST(descriptors_are_above_those_of_streams)
{
    int status;
    write_rows(false, in_folder("run.csv"), 1, 1);
    save_one(in_folder("x"), heed_zeros(HEED_SHAPE(2), HEED_F32));
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        write_without_streams();
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    expect_bytes(in_folder("run.csv"), "step,loss,val_loss\n1,1,\n2,2,\n");
    expect_bytes(in_folder("run.jsonl"), "{\"step\": 2, \"loss\": 2}\n");
}
END_TEST

/* ---- TensorBoard: a reader of event files ---- */

static uint32_t crc32c(const unsigned char *bytes, size_t size)
{
    uint32_t sum = 0xFFFFFFFF;
    for (size_t i = 0; i < 8 * size; i++) {
        sum ^= bytes[i / 8] >> i % 8 & 1;
        sum = (sum & 1) != 0 ? sum >> 1 ^ 0x82F63B78 : sum >> 1;
    }
    return ~sum;
}

static uint64_t little_endian(const unsigned char *bytes, int size)
{
    uint64_t number = 0;
    for (int i = size - 1; i >= 0; i--) {
        number = number << 8 | bytes[i];
    }
    return number;
}

/* Expects the checksum of `size` bytes right after them. */
static void expect_sum(const unsigned char *bytes, size_t size)
{
    const uint32_t sum = (uint32_t)little_endian(bytes + size, 4) - 0xA282EAD8u;
    ck_assert_uint_eq(sum >> 17 | sum << 15, crc32c(bytes, size));
}

static uint64_t take_varint(const unsigned char **at)
{
    uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
        number |= (uint64_t)(**at & 127) << shift;
        if (*(*at)++ < 128) {
            return number;
        }
    }
}

/* Appends a message as text: "2:1 5:{1:{1:'loss' 2:f1.5}}". `path`, the numbers of the enclosing
 * fields, determines which bytes are messages. */
static void describe(const unsigned char *at, const unsigned char *end, const char *path, FILE *out)
{
    static const char *const messages[] = {"5", "51", "518", "5182", "519", "5191", "7"};
    const char *gap = "";
    while (at < end) {
        const uint64_t key = take_varint(&at);
        char here[20];
        bool message = false;
        snprintf(here, sizeof here, "%s%d", path, (int)(key / 8));
        fprintf(out, "%s%d:", gap, (int)(key / 8));
        gap = " ";
        if (key % 8 == 0) {
            fprintf(out, "%llu", (unsigned long long)take_varint(&at));
        } else if (key % 8 == 1) {
            fprintf(out, "time");
            at += 8;
        } else if (key % 8 == 5) {
            const uint32_t bits = (uint32_t)little_endian(at, 4);
            float value;
            memcpy(&value, &bits, 4);
            fprintf(out, "f%g", (double)value);
            at += 4;
        } else {
            ck_assert_uint_eq(key % 8, 2);
            const uint64_t size = take_varint(&at);
            for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
                message |= strcmp(here, messages[i]) == 0;
            }
            ck_assert_uint_le(size, (uint64_t)(end - at));
            if (message) {
                fputc('{', out);
                describe(at, at + size, here, out);
                fputc('}', out);
            } else {
                fprintf(out, "'%.*s'", (int)size, (const char *)at);
            }
            at += size;
        }
    }
    ck_assert_ptr_eq(at, end);
}

/* Returns a line for each record of the file; checks the checksums. */
static char *describe_events(const char *path)
{
    size_t size, length;
    char *text = NULL;
    unsigned char *bytes = (unsigned char *)read_bytes(path, &size);
    FILE *out = open_memstream(&text, &length);
    for (size_t at = 0; at < size;) {
        ck_assert_uint_ge(size - at, 16);
        const uint64_t record = little_endian(bytes + at, 8);
        expect_sum(bytes + at, 8);
        ck_assert_uint_ge(size - at - 16, record);
        expect_sum(bytes + at + 12, record);
        describe(bytes + at + 12, bytes + at + 12 + record, "", out);
        fputc('\n', out);
        at += 16 + record;
    }
    fclose(out);
    free(bytes);
    return text;
}

/* The path of the n-th event file, sorted by name; the caller frees it. */
static char *event_file(const char *folder, int n)
{
    char command[600], line[600] = "";
    snprintf(command, sizeof command, "ls %s/events.out.tfevents.* | sort -V", folder);
    FILE *list = popen(command, "r");
    for (int i = 0; i <= n; i++) {
        ck_assert_ptr_nonnull(fgets(line, sizeof line, list));
    }
    pclose(list);
    line[strcspn(line, "\n")] = '\0';
    return strdup(line);
}

static void expect_events(const char *folder, int n, const char *expected)
{
    char *path = event_file(folder, n), *events = describe_events(path);
    ck_assert_str_eq(events, expected);
    free(events);
    free(path);
}

START_TEST(event_files_hold_scalars_and_texts)
{
    const char *folder = in_folder(".");
    heed_watch *w = new_watch((heed_watch_options){.tensorboard = folder});
    heed_watch_value(w, "lr", 0.5);
    step_with(w, 1.5);
    heed_watch_step(w); /* without values: no event */
    heed_watch_text(w, "sample", "a \xc3\xa9\xff");
    step_with(w, (double)NAN);
    heed_watch_free(w);
    w = new_watch((heed_watch_options){.tensorboard = folder, .resumed = 200});
    expect_events(folder, 1, /* at once: TensorBoard discards later steps of the run before */
                  "1:time 2:0 3:'brain.Event:2'\n"
                  "1:time 2:201 7:{1:1}\n");
    step_with(w, -(double)INFINITY);
    heed_watch_free(w);
    ck_assert_int_eq(files_in_folder(), 2);
    expect_events(folder, 0,
                  "1:time 2:0 3:'brain.Event:2'\n"
                  "1:time 2:1 7:{1:1}\n"
                  "1:time 2:1 5:{1:{1:'lr' 2:f0.5} 1:{1:'loss' 2:f1.5}}\n"
                  "1:time 2:3 5:{1:{1:'sample' 8:{1:7 2:{} 8:'a \xc3\xa9\xef\xbf\xbd'} "
                  "9:{1:{1:'text'} 4:2}}}\n"
                  "1:time 2:3 5:{1:{1:'loss' 2:fnan}}\n");
    expect_events(folder, 1,
                  "1:time 2:0 3:'brain.Event:2'\n"
                  "1:time 2:201 7:{1:1}\n"
                  "1:time 2:201 5:{1:{1:'loss' 2:f-inf}}\n");
}
END_TEST

START_TEST(long_texts_make_whole_records)
{
    enum { LENGTH = 100000 };
    char *text = calloc(LENGTH + 1, 1);
    memset(text, 'x', LENGTH);
    heed_watch *w = new_watch(
        (heed_watch_options){.tensorboard = in_folder("."), .jsonl = in_folder("run.jsonl")});
    heed_watch_text(w, "sample", text);
    step_with(w, 1);
    heed_watch_free(w);
    size_t size;
    char *json = read_bytes(in_folder("run.jsonl"), &size), *path = event_file(in_folder("."), 0);
    char *events = describe_events(path);
    ck_assert_uint_eq(size, LENGTH + strlen("{'step': 1, 'sample': '', 'loss': 1}\n"));
    ck_assert_ptr_nonnull(strstr(events, text));
    free(events);
    free(path);
    free(json);
    free(text);
}
END_TEST

/* Names fill their array at some steps. */
START_TEST(each_step_may_have_a_new_name)
{
    enum { NAMES = 70 };
    char name[20], *shown = NULL;
    size_t size;
    FILE *terminal = open_memstream(&shown, &size);
    heed_watch *w = new_watch((heed_watch_options){.csv = in_folder("run.csv"),
                                                   .jsonl = in_folder("run.jsonl"),
                                                   .tensorboard = in_folder("events"),
                                                   .terminal = terminal,
                                                   .every = 1});
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "v%d", i);
        heed_watch_value(w, name, i);
        heed_watch_step(w);
    }
    heed_watch_free(w);
    fclose(terminal);
    ck_assert_ptr_nonnull(strstr(shown, "step    70"));
    free(shown);
    char *rows = read_bytes(in_folder("run.jsonl"), &size);
    ck_assert_ptr_nonnull(strstr(rows, "\n{\"step\": 70, \"v69\": 69}\n"));
    free(rows);
    char *events = event_file(in_folder("events"), 0);
    ck_assert_int_eq(remove(events), 0);
    ck_assert_int_eq(rmdir(in_folder("events")), 0);
    free(events);
}
END_TEST

START_TEST(a_folder_for_events_is_created)
{
    char folder[600];
    snprintf(folder, sizeof folder, "%s/second", in_folder("first"));
    heed_watch *w = new_watch((heed_watch_options){.tensorboard = folder});
    heed_watch_free(w);
    char *path = event_file(folder, 0);
    ck_assert_int_eq(files_in_folder(), 1); /* and nothing else */
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
    free(path);
    write_bytes(in_folder("file"), "", 0);
    ck_assert_ptr_null(heed_watch_new((heed_watch_options){.tensorboard = in_folder("file")}));
    expect_error(HEED_ERR_FILE, "/file/events.out.tfevents.");
    ck_assert_ptr_null(heed_watch_new((heed_watch_options){.tensorboard = ""}));
    expect_error(HEED_ERR_FILE, "cannot create it");
}
END_TEST

/* ---- sinks that fail ---- */

/* Continues training after the sink has failed. Calls no Check functions, which write files too. */
static bool outlives(heed_watch *w)
{
    bool good = true;
    for (int step = 1; step <= 3000; step++) {
        good = good && heed_watch_value(w, "loss", 1) == HEED_OK && heed_watch_step(w) == HEED_OK;
    }
    heed_watch_flush(w);
    return good && heed_error_pending() == HEED_OK;
}

/* Expects a matching warning, shown once on the terminal, followed by the last step. */
static void expect_warning(heed_watch *w, FILE *terminal, char **shown, const char *pattern)
{
    char warning[400];
    ck_assert_ptr_nonnull(heed_watch_warning(w));
    strcpy(warning, heed_watch_warning(w));
    expect_matches(warning, pattern);
    heed_watch_free(w);
    fclose(terminal);
    const char *first = strstr(*shown, warning);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_null(strstr(first + strlen(warning), warning));
    ck_assert_ptr_nonnull(strstr(first, "step  3000/3000   loss 1.000\n"));
    free(*shown);
}

START_TEST(a_full_disk_does_not_stop_training)
{
    char *shown = NULL;
    size_t size;
    FILE *terminal = open_memstream(&shown, &size);
    heed_watch *w = new_watch((heed_watch_options){.csv = _i == 0 ? "/dev/full" : NULL,
                                                   .jsonl = _i == 1 ? "/dev/full" : NULL,
                                                   .terminal = terminal,
                                                   .steps = 3000});
    ck_assert(outlives(w));
    expect_warning(w, terminal, &shown,
                   "/dev/full: cannot write it after step *: No space left on device; training "
                   "continues without it");
}
END_TEST

/* The other sinks continue, and SIGXFSZ does not end the program. */
START_TEST(a_file_limit_does_not_stop_training)
{
    char *shown = NULL;
    size_t size;
    struct rlimit limit;
    FILE *terminal = open_memstream(&shown, &size);
    heed_watch *w = new_watch(
        (heed_watch_options){.csv = in_folder("run.csv"), .terminal = terminal, .steps = 3000});
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    signal(SIGXFSZ, SIG_DFL);
    limit.rlim_cur = 10000;
    setrlimit(RLIMIT_FSIZE, &limit);
    const bool good = outlives(w);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_FSIZE, &limit);
    ck_assert(good);
    expect_warning(w, terminal, &shown,
                   "*/run.csv: cannot write it after step *: File too large; training continues "
                   "without it");
    free(read_bytes(in_folder("run.csv"), &size));
    ck_assert_uint_eq(size, 10000);
}
END_TEST

/* SIGPIPE ends programs that do not ignore it; a watch does not raise it. */
START_TEST(a_closed_pipe_does_not_stop_training)
{
    int ends[2];
    signal(SIGPIPE, SIG_DFL);
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    FILE *terminal = fdopen(ends[1], "w");
    heed_watch *w = new_watch((heed_watch_options){
        .csv = in_folder("run.csv"), .terminal = terminal, .steps = 100, .every = 1});
    run_steps(w, 1, 100);
    expect_no_error();
    expect_matches(heed_watch_warning(w),
                   "the terminal: cannot write it after step 1: Broken pipe; *");
    heed_watch_free(w);
    fclose(terminal);
}
END_TEST

START_TEST(a_deleted_file_does_not_stop_training)
{
    heed_watch *w = new_watch((heed_watch_options){.csv = in_folder("run.csv")});
    step_with(w, 1);
    ck_assert_int_eq(remove(in_folder("run.csv")), 0);
    step_with(w, 2);
    heed_watch_flush(w);
    heed_watch_free(w);
    expect_no_error();
    ck_assert_int_eq(files_in_folder(), 0);
}
END_TEST

/* ---- the terminal: lines ---- */

/* The lines of a run of `steps` steps. */
static char *lines_of(heed_watch_options options, int steps)
{
    char *shown = NULL;
    size_t size;
    options.terminal = open_memstream(&shown, &size);
    heed_watch *w = new_watch(options);
    heed_watch_name(w, "loss");
    run_steps(w, (int)options.resumed + 1, steps);
    heed_watch_free(w);
    fclose(options.terminal);
    return shown;
}

static void expect_lines(heed_watch_options options, int steps, const char *pattern)
{
    char *shown = lines_of(options, steps);
    expect_matches(shown, pattern);
    free(shown);
}

/* Once, though each later row lacks the column. */
START_TEST(a_missing_column_is_reported_once)
{
    char *shown = NULL;
    size_t size;
    FILE *terminal = open_memstream(&shown, &size);
    heed_watch *w = new_watch(
        (heed_watch_options){.csv = in_folder("run.csv"), .terminal = terminal, .every = 100});
    for (int step = 1; step < 5; step++) {
        if (step > 1) {
            heed_watch_value(w, "new", 1);
        }
        step_with(w, 1);
    }
    heed_watch_free(w);
    fclose(terminal);
    const char *first = strstr(shown, "no column for new");
    ck_assert(first != NULL && strstr(first + 1, "no column") == NULL);
    free(shown);
}
END_TEST

START_TEST(lines_in_a_pipe)
{
    const char *const loss[] = {"loss", NULL};
    expect_lines((heed_watch_options){.steps = 4, .unit = "tokens", .per_step = 10}, 4,
                 "step     1/4   loss 1.000   * tokens/s   *:?? left\n"
                 "step     2/4   loss 0.500   * tokens/s   *:?? left\n"
                 "step     3/4   loss 0.333   val_loss 0.667   * tokens/s   *:?? left\n"
                 "step     4/4   loss 0.250   [0-9]* tokens/s\n");
    expect_lines((heed_watch_options){.steps = 1, .unit = "texts", .per_step = 1}, 1,
                 "step     1/1   loss 1.000   [0-9]* texts/s\n");
    expect_lines((heed_watch_options){.steps = 7, .every = 3, .step_name = "batch", .shown = loss},
                 7,
                 "batch     3/7   loss 0.333   *:?? left\n"
                 "batch     6/7   loss 0.167   *:?? left\n"
                 "batch     7/7   loss 0.143\n");
    expect_lines((heed_watch_options){.every = 2}, 3,
                 "step     2   loss 0.500\nstep     3   loss 0.333   val_loss 0.667\n");
    expect_lines((heed_watch_options){.every = 4}, 8, /* measured after steps 3 and 6 */
                 "step     4   loss 0.250   val_loss 0.667 (step 3)\n"
                 "step     8   loss 0.125   val_loss 0.333 (step 6)\n");
    expect_lines((heed_watch_options){.steps = 5, .every = 100}, 2, /* ended early */
                 "step     2/5   loss 0.500\n");
    expect_lines((heed_watch_options){.steps = 4, .resumed = 2}, 4,
                 "step     3/4   loss 0.333   val_loss 0.667   *:?? left\n"
                 "step     4/4   loss 0.250\n");
    expect_lines((heed_watch_options){.steps = 4, .resumed = 4}, 4, "");
    expect_lines((heed_watch_options){.steps = 1}, 2, /* more than announced */
                 "step     1/1   loss 1.000\nstep     2/1   loss 0.500\n");
}
END_TEST

START_TEST(about_ten_lines_a_run)
{
    for (int steps = 1; steps < 130; steps++) {
        char *shown = lines_of((heed_watch_options){.steps = steps}, steps);
        int lines = 0;
        for (const char *c = shown; *c != '\0'; c++) {
            lines += *c == '\n';
        }
        ck_assert_int_eq(lines, steps < 10 ? steps : 10);
        free(shown);
    }
}
END_TEST

START_TEST(lines_without_a_known_end)
{
    int reported[20], count = 0;
    char *shown = lines_of((heed_watch_options){.steps = 0}, 321);
    for (char *line = strtok(shown, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        ck_assert_int_eq(sscanf(line, "step %d", &reported[count++]), 1);
        ck_assert_ptr_null(strstr(line, "left"));
    }
    const int expected[] = {1, 2, 5, 10, 20, 50, 100, 200, 321};
    ck_assert_int_eq(count, 9);
    ck_assert_mem_eq(reported, expected, sizeof expected);
    free(shown);
}
END_TEST

/* The rate excludes the first step if there are more; the remaining time follows from it. */
START_TEST(the_remaining_time_follows_from_the_rate)
{
    enum { STEPS = 1000000, PER_STEP = 1000 };
    char *shown = NULL;
    size_t size;
    FILE *terminal = open_memstream(&shown, &size);
    heed_watch *w = new_watch((heed_watch_options){
        .steps = STEPS, .terminal = terminal, .every = 1, .unit = "tokens", .per_step = PER_STEP});
    for (int step = 1; step <= 3; step++) {
        nanosleep(&(struct timespec){.tv_nsec = step == 1 ? 300000000 : 20000000}, NULL);
        heed_watch_step(w);
    }
    heed_watch_free(w);
    fclose(terminal);
    double first = 0;
    const char *line = shown;
    for (int step = 1; step <= 3; step++) {
        int at, hours, minutes, seconds;
        double rate;
        ck_assert_int_eq(sscanf(line, "step %d/1000000 %lf tokens/s %d:%d:%d left", &at, &rate,
                                &hours, &minutes, &seconds),
                         5);
        const double left = 3600.0 * hours + 60.0 * minutes + seconds;
        ck_assert(at == step && minutes < 60 && seconds < 60);
        ck_assert_double_eq_tol(left * rate / PER_STEP, STEPS - step, 1e-2 * STEPS);
        ck_assert(rate <= PER_STEP / (step == 1 ? 0.3 : 0.02) + 1);
        ck_assert(rate > first);
        first = step == 1 ? rate : first;
        line = strchr(line, '\n') + 1;
    }
    free(shown);
}
END_TEST

START_TEST(numbers_are_short)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0.000"},
                 {2.5, "2.500"},
                 {-0.1, "-0.100"},
                 {0.0123, "0.0123"},
                 {3e-5, "3e-05"},
                 {0.1, "0.100"},
                 {9999.5, "9999.500"},
                 {10000, "1e+04"},
                 {12345678, "1.23e+07"},
                 {(double)INFINITY, "inf"},
                 {-(double)INFINITY, "-inf"},
                 {(double)NAN, "nan"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[60], *shown = NULL;
        size_t size;
        FILE *terminal = open_memstream(&shown, &size);
        heed_watch *w = new_watch((heed_watch_options){.terminal = terminal});
        heed_watch_value(w, "100%n%s", cases[i].value); /* harmless */
        heed_watch_step(w);
        heed_watch_free(w);
        fclose(terminal);
        snprintf(expected, sizeof expected, "step     1   100%%n%%s %s\n", cases[i].text);
        ck_assert_str_eq(shown, expected);
        free(shown);
    }
}
END_TEST

START_TEST(lines_name_spikes)
{
    char *shown = NULL;
    size_t size;
    FILE *terminal = open_memstream(&shown, &size);
    heed_watch *w = new_watch((heed_watch_options){.steps = 1000, .terminal = terminal});
    for (int step = 1; step <= 1000; step++) {
        const bool spike = step == 250 || step == 251 || step == 400;
        heed_watch_value(w, "grad_norm", step % 2 + (step == 250 ? 50 : 0));
        step_with(w, step % 2 + (spike ? 50 : 0));
    }
    heed_watch_free(w);
    fclose(terminal);
    ck_assert_ptr_nonnull(
        strstr(shown, "   ! grad_norm spike, z = 11.2   ! loss spike, z = 11.2\n"));
    ck_assert_ptr_nonnull(strstr(shown, "step   250/1000"));
    ck_assert_ptr_null(strstr(shown, "step   251/1000")); /* too soon after the previous one */
    ck_assert_ptr_nonnull(strstr(strstr(shown, "step   400/1000"), "! loss spike, z = 11.2"));
    free(shown);
}
END_TEST

/* ---- the terminal: a bar ---- */

/* Reads what a program writes to a pseudo-terminal. */
typedef struct reader {
    int master;
    FILE *copy;
} reader;

static void *read_all(void *context)
{
    const reader *r = context;
    char bytes[1000];
    ssize_t count;
    while ((count = read(r->master, bytes, sizeof bytes)) > 0) {
        fwrite(bytes, 1, (size_t)count, r->copy);
    }
    return NULL; /* EIO: the other end was closed */
}

static int slave = -1; /* the terminal of the running test */

static void resize(int columns, int lines)
{
    const struct winsize size = {.ws_col = (unsigned short)columns,
                                 .ws_row = (unsigned short)lines};
    ck_assert_int_eq(ioctl(slave, TIOCSWINSZ, &size), 0);
}

/* What `run` writes to a terminal of this size; the caller frees it. */
static char *on_terminal(int columns, int lines, void (*run)(FILE *terminal))
{
    char *shown = NULL;
    size_t size;
    pthread_t thread;
    reader r = {.master = posix_openpt(O_RDWR | O_NOCTTY)};
    ck_assert_int_ge(r.master, 0);
    ck_assert(grantpt(r.master) == 0 && unlockpt(r.master) == 0);
    slave = open(ptsname(r.master), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(slave, 0);
    resize(columns, lines);
    r.copy = open_memstream(&shown, &size);
    ck_assert_int_eq(pthread_create(&thread, NULL, read_all, &r), 0);
    FILE *terminal = fdopen(slave, "w");
    setenv("TERM", "xterm", 1);
    unsetenv("COLUMNS");
    unsetenv("LINES");
    run(terminal);
    fclose(terminal);
    pthread_join(thread, NULL);
    close(r.master);
    fclose(r.copy);
    return shown;
}

/* The screen after those bytes. Fails if a line is too long. */
enum { MOST_LINES = 100, MOST_COLUMNS = 300 };
typedef struct screen {
    char cells[MOST_LINES][MOST_COLUMNS + 1];
    int line, column, columns;
} screen;

static void erase_from(screen *s, int line, int column)
{
    memset(s->cells[line] + column, 0, (size_t)(MOST_COLUMNS - column));
}

static const char *obey(screen *s, const char *escape)
{
    char *end;
    ck_assert_int_eq(escape[1], '[');
    const int n = (int)strtol(escape + 2, &end, 10);
    switch (*end) {
    case 'K':
        erase_from(s, s->line, s->column);
        break;
    case 'J':
        erase_from(s, s->line, s->column);
        for (int i = s->line + 1; i < MOST_LINES; i++) {
            erase_from(s, i, 0);
        }
        break;
    case 'A':
        s->line -= n;
        break;
    case 'C':
        s->column += n;
        break;
    default:
        ck_abort_msg("unknown escape sequence %s", escape);
    }
    ck_assert(s->line >= 0 && s->column < s->columns);
    return end + 1;
}

static void expect_screen(const char *bytes, int columns, const char *pattern)
{
    char *seen = NULL;
    size_t size;
    screen *s = calloc(1, sizeof *s);
    s->columns = columns;
    while (*bytes != '\0') {
        if (*bytes == '\033') {
            bytes = obey(s, bytes);
            continue;
        }
        if (*bytes == '\r') {
            s->column = 0;
        } else if (*bytes == '\n') {
            ck_assert_int_lt(++s->line, MOST_LINES);
        } else {
            ck_assert_int_lt(s->column, columns);
            s->cells[s->line][s->column++] = *bytes;
        }
        bytes++;
    }
    FILE *out = open_memstream(&seen, &size);
    for (int i = 0; i < MOST_LINES; i++) {
        if (*s->cells[i] != '\0') {
            fprintf(out, "%s\n", s->cells[i]);
        }
    }
    fclose(out);
    expect_matches(seen, pattern);
    free(seen);
    free(s);
}

static void pause_for(int milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

static heed_watch_options on(FILE *terminal)
{
    return (heed_watch_options){
        .steps = 200, .terminal = terminal, .unit = "tokens", .per_step = 1000};
}

/* 100 of 200 steps; the last one is drawn. */
static void run_half(FILE *terminal)
{
    heed_watch *w = new_watch(on(terminal));
    for (int step = 1; step <= 100; step++) {
        heed_watch_value(w, "lr", 0.001);
        if (step % 20 == 0) {
            heed_watch_value(w, "val_loss", 3);
        }
        if (step == 100) {
            heed_watch_pause(w);
        }
        step_with(w, 1.25);
    }
    heed_watch_free(w);
}

/* Cuts off the bytes that finally remove the bar. */
static void cut_end(char *bytes)
{
    char *last = NULL;
    for (char *at = bytes; (at = strstr(at, "\r\033[J")) != NULL; at++) {
        last = at;
    }
    ck_assert_ptr_nonnull(last);
    *last = '\0';
}

START_TEST(a_bar_shows_the_last_values)
{
    static const struct {
        int columns;
        const char *bar;
    } cases[] = {
        {140,
         "[[]================>               ]  100/200  lr 0.001  loss 1.250  val_loss 3.000  "
         "* tokens/s  *:?? left\n"},
        {80, "[[]=*>*]  100/200  lr 0.001  loss 1.250  val_loss 3.000  *:?? left\n"},
        {60, "100/200  lr 0.001  loss 1.250  val_loss 3.000  *:?? left\n"},
        {30, "100/200  *:?? left\n"},
        {20, "100/200  *:?? left\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *bytes = on_terminal(cases[i].columns, 24, run_half);
        if (cases[i].columns > 60) {
            expect_screen(bytes, cases[i].columns,
                          "step 100/200  lr 0.001  loss 1.250  val_loss 3.000*\n");
        }
        cut_end(bytes);
        expect_screen(bytes, cases[i].columns, cases[i].bar);
        free(bytes);
    }
}
END_TEST

static void run_with_hidden(FILE *terminal)
{
    const char *const shown[] = {"loss", NULL};
    heed_watch_options options = on(terminal);
    options.shown = shown;
    heed_watch *w = new_watch(options);
    heed_watch_value(w, "lr", 0.5);
    step_with(w, 1.25);
    heed_watch_free(w);
}

START_TEST(a_bar_shows_only_what_is_wanted)
{
    char *bytes = on_terminal(100, 24, run_with_hidden);
    ck_assert_ptr_nonnull(strstr(bytes, "loss 1.250"));
    ck_assert_ptr_null(strstr(bytes, "lr"));
    free(bytes);
}
END_TEST

/* expect_screen fails if a line is too long. */
START_TEST(a_bar_fits_terminals_of_any_width)
{
    for (int columns = 1; columns < 260; columns += columns < 120 ? 1 : 20) {
        char *bytes = on_terminal(columns, 24, run_half);
        expect_screen(bytes, columns, "*");
        free(bytes);
    }
}
END_TEST

static void run_paused(FILE *terminal)
{
    heed_watch *w = new_watch(on(terminal));
    run_steps(w, 1, 5);
    heed_watch_pause(w);
    fputs("a sample\n", terminal);
    run_steps(w, 6, 7);
    heed_watch_pause(w);
    fputs("another", terminal);
    heed_watch_pause(w); /* nothing to remove */
    fputs("\n", terminal);
    fputs("a line that the bar overwrites", terminal); /* still in the stream's buffer */
    run_steps(w, 8, 9);
    heed_watch_free(w);
}

START_TEST(a_paused_bar_leaves_no_trace)
{
    char *bytes = on_terminal(80, 24, run_paused);
    expect_screen(bytes, 80, "a sample\nanother\nstep   9/200  loss 0.111  val_loss 0.222*\n");
    const char *line = strstr(bytes, "a line that the bar overwrites");
    ck_assert(line != NULL && strstr(line, "step   9/200") != NULL);
    free(bytes);
}
END_TEST

static double run_time;

static void run_long(FILE *terminal)
{
    struct timespec began;
    heed_watch *w = new_watch(on(terminal));
    clock_gettime(CLOCK_MONOTONIC, &began);
    while (elapsed(&began) < 0.35 && heed_watch_steps(w) < 190) {
        step_with(w, 1);
        pause_for(2);
    }
    pause_for(110);
    step_with(w, 1); /* drawn even on a busy machine */
    run_time = elapsed(&began);
    heed_watch_free(w);
}

START_TEST(a_bar_is_redrawn_at_most_ten_times_a_second)
{
    char *bytes = on_terminal(80, 24, run_long);
    int frames = 0;
    for (const char *at = bytes; (at = strstr(at, " left\033[K")) != NULL; at++) {
        frames++;
    }
    ck_assert(frames >= 2 && frames <= 1 + 10 * run_time);
    free(bytes);
}
END_TEST

/* A sparse value is shown at once, and stays. */
static void run_sparse(FILE *terminal)
{
    heed_watch *w = new_watch(on(terminal));
    for (int step = 1; step <= 100; step++) {
        if (step == 60) {
            heed_watch_value(w, "val_loss", 7);
        }
        step_with(w, 1);
    }
    heed_watch_free(w);
}

START_TEST(a_sparse_value_is_shown_at_once)
{
    char *bytes = on_terminal(100, 24, run_sparse);
    ck_assert_ptr_nonnull(strstr(bytes, " 60/200  loss 1.000  val_loss 7.000  "));
    ck_assert_ptr_nonnull(strstr(bytes, "step 100/200  loss 1.000  val_loss 7.000  "));
    free(bytes);
}
END_TEST

static void run_resized(FILE *terminal)
{
    heed_watch *w = new_watch(on(terminal));
    step_with(w, 1);
    resize(50, 24);
    pause_for(110);
    step_with(w, 1);
    heed_watch_free(w);
}

START_TEST(a_bar_follows_the_size_of_the_terminal)
{
    char *bytes = on_terminal(80, 24, run_resized);
    cut_end(bytes);
    char *second = strstr(bytes, "\r\033[J\r"); /* the first bar is removed */
    ck_assert_ptr_nonnull(second);
    expect_screen(second, 50, "[[]*]    2/200  loss 1.000  *:?? left\n");
    free(bytes);
}
END_TEST

static void run_spikes(FILE *terminal)
{
    heed_watch *w = new_watch(on(terminal));
    for (int step = 1; step <= 200; step++) {
        step_with(w, step % 2 + (step == 150 || step == 160 ? 50 : 0));
    }
    heed_watch_free(w);
}

START_TEST(a_spike_is_named_above_the_bar)
{
    char *bytes = on_terminal(80, 24, run_spikes);
    expect_screen(bytes, 80,
                  "step   150/200   loss 50.000   ! loss spike, z = 11.2\n"
                  "step 200/200  loss 0.000  2 spikes  * tokens/s\n");
    free(bytes);
}
END_TEST

static void run_warned(FILE *terminal)
{
    heed_watch_options options = on(terminal);
    options.csv = "/dev/full";
    heed_watch *w = new_watch(options);
    step_with(w, 1);
    heed_watch_flush(w);
    step_with(w, 2);
    heed_watch_free(w);
}

START_TEST(a_warning_stays_above_the_bar)
{
    char *bytes = on_terminal(120, 24, run_warned);
    expect_screen(bytes, 120,
                  "/dev/full: cannot write it after step 1: No space left on device; training "
                  "continues without it\nstep   2/200  loss 2.000  *\n");
    free(bytes);
}
END_TEST

static void run_unknown(FILE *terminal)
{
    heed_watch_options options = on(terminal);
    options.steps = 0;
    options.step_name = "batch";
    heed_watch *w = new_watch(options);
    run_steps(w, 1, 3);
    heed_watch_free(w);
}

/* Two runs; with the loss, their lines have 77 and 78 characters. */
static void run_of_long_name(FILE *terminal)
{
    static const char *const ends[] = {"long", "longer"};
    for (int i = 0; i < 2; i++) {
        char name[70];
        snprintf(name, sizeof name, "%0*d%s", 63 + i - (int)strlen(ends[i]), 0, ends[i]);
        heed_watch *w = new_watch((heed_watch_options){.terminal = terminal, .step_name = name});
        step_with(w, 1);
        heed_watch_free(w);
    }
}

START_TEST(without_steps_a_line_without_a_bar_is_redrawn)
{
    char *bytes = on_terminal(80, 24, run_unknown);
    ck_assert(strchr(bytes, '>') == NULL && strstr(bytes, "left") == NULL);
    ck_assert_ptr_nonnull(strstr(bytes, "\rbatch 1  loss 1.000"));
    expect_screen(bytes, 80, "batch 3  loss 0.333  val_loss 0.667  * tokens/s\n");
    free(bytes);
    bytes = on_terminal(0, 0, run_of_long_name); /* of unknown size: 80 columns, 77 for the text */
    expect_screen(bytes, 80, "*long 1  loss 1.000\n*longer 1\n");
    free(bytes);
    bytes = on_terminal(21, 24, run_unknown); /* three columns are left for a typed ^C */
    expect_screen(bytes, 21, "batch 3\n");
    free(bytes);
    bytes = on_terminal(56, 24, run_unknown); /* no columns are kept for a bar */
    expect_screen(bytes, 56, "batch 3  loss 0.333  val_loss 0.667  * tokens/s\n");
    free(bytes);
}
END_TEST

/* Lines on a terminal that does not understand escape sequences; COLUMNS limits a bar. */
static void run_dumb(FILE *terminal)
{
    setenv("TERM", "dumb", 1);
    run_half(terminal);
}

static void run_narrow(FILE *terminal)
{
    setenv("COLUMNS", "25", 1);
    run_half(terminal);
}

START_TEST(the_environment_is_respected)
{
    char *bytes = on_terminal(80, 24, run_dumb);
    ck_assert_ptr_null(strchr(bytes, '\033'));
    ck_assert_ptr_nonnull(strstr(bytes, "step    20/200   lr 0.001   loss 1.250   val_loss 3.000"));
    free(bytes);
    bytes = on_terminal(80, 24, run_narrow);
    expect_screen(bytes, 25, "step 100/200  lr 0.001\n");
    free(bytes);
}
END_TEST

static void run_nothing(FILE *terminal)
{
    heed_watch_free(new_watch(on(terminal)));
}

static void run_with_curve(FILE *terminal)
{
    heed_watch_options options = on(terminal);
    options.curve = true;
    heed_watch *w = new_watch(options);
    for (int step = 1; step <= 200; step++) {
        if (step == 190) {
            heed_watch_pause(w);
            fputs("a sample\n", terminal);
        }
        if (step == 195) {
            pause_for(110); /* so that the curve is redrawn in place */
        }
        step_with(w, 1.0 / step);
    }
    heed_watch_free(w);
}

/* Drawn in place, on terminals that are large enough. */
START_TEST(a_curve_is_drawn_below_the_bar)
{
    static const char below[] = "*[*]*+-----*\n* 1 *step* 19[0-9]*\nloss 0.005*\n";
    static const char line[] = "step 200/200  loss 0.005  *tokens/s\n";
    char pattern[200];
    setenv("LC_ALL", "C", 1);
    char *bytes = on_terminal(80, 24, run_with_curve);
    snprintf(pattern, sizeof pattern, "a sample\n%s*[*]*+-----*\n* 1 *step* 200\nloss 0.005\n",
             line);
    expect_screen(bytes, 80, pattern);
    const char *axis = strstr(bytes, "+--"), *line_before = axis;
    while (line_before[-1] == ' ') {
        line_before--;
    }
    ck_assert_int_eq(axis - line_before + (int)strspn(axis, "+-"), 79); /* all but one column */
    cut_end(bytes);
    snprintf(pattern, sizeof pattern, "a sample\n[[]=*]  19[0-9]/200  loss 0.005*left\n%s", below);
    expect_screen(bytes, 80, pattern);
    free(bytes);
    const int small[][2] = {{80, 13}, {39, 24}};
    for (int i = 0; i < 2; i++) {
        bytes = on_terminal(small[i][0], small[i][1], run_with_curve);
        expect_screen(bytes, small[i][0], "a sample\nstep 200/200  loss 0.005*\n");
        ck_assert_ptr_null(strstr(bytes, "+---"));
        free(bytes);
    }
}
END_TEST

START_TEST(no_step_no_output)
{
    char *bytes = on_terminal(80, 24, run_nothing);
    ck_assert_str_eq(bytes, "");
    free(bytes);
}
END_TEST

void add_watch_cases(Suite *suite)
{
    TCase *collects = files_case(suite, "collects");
    tcase_add_test(collects, it_collects_values);
    tcase_add_test(collects, many_names_in_any_order);
    tcase_add_test(collects, null_is_ignored);
    tcase_add_test(collects, names_and_options_are_checked);
    tcase_add_test(collects, a_pending_error_is_left_alone);
    tcase_add_test(collects, long_runs_are_thinned);
    tcase_add_loop_test(collects, points_leave_out_nan_and_infinity, 0, 2);
    tcase_add_test(collects, spikes_are_those_of_the_definition);
    tcase_add_test(collects, the_number_of_spikes_kept_is_bounded);
    TCase *rows = files_case(suite, "rows");
    tcase_add_test(rows, rows_are_written);
    tcase_add_test(rows, a_resumed_run_keeps_the_columns);
    tcase_add_loop_test(rows, a_run_resumes_after_a_cut_anywhere, 0, 2);
    tcase_add_test(rows, missing_rows_are_reported);
    tcase_add_loop_test(rows, foreign_files_stay_unchanged, 0, sizeof foreign / sizeof *foreign);
    tcase_add_test(rows, files_may_have_descriptor_0);
    tcase_add_test(rows, each_step_may_have_a_new_name);
    tcase_add_test(rows, a_new_run_begins_its_files);
    tcase_add_test(rows, rows_are_flushed);
    tcase_add_test(rows, a_new_run_replaces_only_files_of_watches);
    tcase_add_test(rows, a_value_after_the_last_step_is_named);
    tcase_add_test(rows, a_forked_child_writes_nothing);
    tcase_add_test(rows, a_second_writer_is_refused);
    tcase_add_test(rows, a_second_process_is_refused_until_the_first_dies);
    tcase_add_test(rows, a_forked_child_does_not_keep_the_file);
    tcase_add_test(rows, csv_and_jsonl_are_two_files);
    tcase_add_test(rows, descriptors_are_above_those_of_streams);
    required(CAN_WRAP, "the linker has no --wrap");
    tcase_add_test(rows, a_file_system_may_have_no_locks);
    lacking(has_comma_locale() ? NULL : "no locale has a decimal comma");
    tcase_add_test(rows, numbers_have_a_point_in_all_locales);
    lacking(NULL);
    TCase *events = files_case(suite, "events");
    tcase_add_test(events, event_files_hold_scalars_and_texts);
    tcase_add_test(events, long_texts_make_whole_records);
    tcase_add_test(events, a_folder_for_events_is_created);
    TCase *failures = files_case(suite, "failures");
    if (access("/dev/full", W_OK) == 0) {
        tcase_add_loop_test(failures, a_full_disk_does_not_stop_training, 0, 2);
    }
    tcase_add_test(failures, a_file_limit_does_not_stop_training);
    tcase_add_test(failures, a_closed_pipe_does_not_stop_training);
    tcase_add_test(failures, a_deleted_file_does_not_stop_training);
    TCase *lines = files_case(suite, "lines");
    tcase_add_test(lines, a_missing_column_is_reported_once);
    tcase_add_test(lines, lines_in_a_pipe);
    tcase_add_test(lines, about_ten_lines_a_run);
    tcase_add_test(lines, lines_without_a_known_end);
    tcase_add_test(lines, the_remaining_time_follows_from_the_rate);
    tcase_add_test(lines, numbers_are_short);
    tcase_add_test(lines, lines_name_spikes);
    TCase *bar = files_case(suite, "bar");
    required(has_terminals(), "this machine has no pseudo-terminals; mount /dev/pts");
    tcase_add_test(bar, a_bar_shows_the_last_values);
    tcase_add_test(bar, a_bar_shows_only_what_is_wanted);
    tcase_add_test(bar, a_bar_fits_terminals_of_any_width);
    tcase_add_test(bar, a_paused_bar_leaves_no_trace);
    tcase_add_test(bar, a_bar_is_redrawn_at_most_ten_times_a_second);
    tcase_add_test(bar, a_sparse_value_is_shown_at_once);
    tcase_add_test(bar, a_bar_follows_the_size_of_the_terminal);
    tcase_add_test(bar, a_spike_is_named_above_the_bar);
    tcase_add_test(bar, without_steps_a_line_without_a_bar_is_redrawn);
    tcase_add_test(bar, the_environment_is_respected);
    tcase_add_test(bar, a_curve_is_drawn_below_the_bar);
    tcase_add_test(bar, no_step_no_output);
    if (has_terminals()) {
        required(access("/dev/full", W_OK) == 0, "/dev/full is missing");
    }
    tcase_add_test(bar, a_warning_stays_above_the_bar);
}
