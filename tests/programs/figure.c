/* Figures of several parts, and logs read as curves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/figure.h"
#include "examples/lab/common/run_log.h"
#include "tests/common/next_token_util.h"

/* ---- figures ---- */

/* Every tag is closed, and < and & are escaped. */
static void expect_xml(const char *svg)
{
    char open[32][24];
    int depth = 0;
    for (const char *c = strchr(svg, '<'); c != NULL; c = strchr(c + 1, '<')) {
        const size_t name = strspn(c + 1, "abcdefghijklmnopqrstuvwxyz"), length = strcspn(c, ">");
        ck_assert(c[length] == '>' && memchr(c + 1, '<', length - 1) == NULL);
        if (c[1] == '/') {
            const size_t closing = strcspn(c + 2, ">");
            ck_assert_int_gt(depth, 0);
            depth--;
            ck_assert(strlen(open[depth]) == closing && strncmp(open[depth], c + 2, closing) == 0);
        } else if (c[1] != '?' && c[length - 1] != '/') {
            ck_assert(name > 0 && name < 24 && depth < 32);
            memcpy(open[depth], c + 1, name);
            open[depth++][name] = '\0';
        }
    }
    ck_assert_int_eq(depth, 0);
    for (const char *c = strchr(svg, '&'); c != NULL; c = strchr(c + 1, '&')) {
        ck_assert(strncmp(c, "&amp;", 5) == 0 || strncmp(c, "&lt;", 4) == 0 ||
                  strncmp(c, "&gt;", 4) == 0 || strncmp(c, "&quot;", 6) == 0);
    }
    for (const char *c = svg; *c != '\0'; c++) {
        ck_assert((unsigned char)*c >= ' ' || *c == '\n');
    }
    ck_assert_ptr_null(strstr(svg, "nan"));
    ck_assert_ptr_null(strstr(svg, "inf"));
}

static const double numbers[] = {1, 2, 3};
static const heed_curve line = {.name = "a <line>", .count = 3, .x = numbers, .y = numbers};

static char *read_figure(void)
{
    char *svg = calloc(1 << 20, 1);
    FILE *file = fopen(path_of_test, "r");
    ck_assert_uint_lt(fread(svg, 1, (1 << 20) - 1, file), (1 << 20) - 1);
    fclose(file);
    return svg;
}

/* Parts are stacked vertically, at the size at which they were drawn. */
START_TEST(figures_stack_their_parts)
{
    static const char *const tokens[] = {"<&>", "\n", "\x1B"};
    figure f = {.height = 0};
    heed_plot_svg(figure_part(&f), &line, 1,
                  (heed_plot_options){.title = "a & b", .width = 300, .height = 200});
    figure_end_part(&f);
    heed_plot_svg(figure_part(&f), &line, 1, (heed_plot_options){.width = 400, .height = 150});
    figure_end_part(&f);
    ck_assert(f.width == 400 && f.height == 350);
    heed_attention_svg(figure_part(&f), heed_full(HEED_SHAPE(2, 3, 3), 1.0 / 3, HEED_F32),
                       (heed_attention_plot_options){.queries = tokens});
    figure_end_part(&f);
    ck_assert(f.height > 350);
    figure_write(&f, "--to", path_of_test);
    figure_free(&f);
    expect_no_error();
    char *svg = read_figure();
    expect_xml(svg);
    ck_assert_ptr_nonnull(strstr(svg, "y=\"0\" width=\"300\" height=\"200\""));
    ck_assert_ptr_nonnull(strstr(svg, "y=\"200\" width=\"400\" height=\"150\""));
    ck_assert_ptr_nonnull(strstr(svg, "y=\"350\""));
    free(svg);
}
END_TEST

/* If a part cannot be drawn, an error is pending and no file is written. */
START_TEST(figures_with_an_error_are_not_written)
{
    figure f = {.height = 0};
    heed_attention_svg(figure_part(&f), heed_zeros(HEED_SHAPE(3), HEED_F32),
                       (heed_attention_plot_options){.width = 0});
    figure_end_part(&f);
    unlink(path_of_test);
    figure_write(&f, "--to", path_of_test);
    figure_free(&f);
    expect_error(HEED_ERR_SHAPE, "attention_svg");
    ck_assert_int_ne(access(path_of_test, F_OK), 0);
    figure_write(&f, "--to", "/no/such/file");
    expect_error(HEED_ERR_FILE, "--to: cannot write /no/such/file: No such file");
}
END_TEST

/* Runs in a child: the exit status is 0 if the check holds. */
static void write_past_the_limit(void)
{
    const struct rlimit limit = {60, 60};
    figure f = {.height = 0};
    console_begin("test");
    setrlimit(RLIMIT_FSIZE, &limit);
    heed_plot_svg(figure_part(&f), &line, 1, (heed_plot_options){.width = 300});
    figure_end_part(&f);
    figure_write(&f, "--plot", path_of_test);
    _exit(heed_error() != HEED_ERR_FILE ||
          strstr(heed_error_message(), "--plot: cannot write") == NULL ||
          strstr(heed_error_message(), "File too large") == NULL);
}

START_TEST(figures_beyond_the_file_size_limit_are_errors)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        write_past_the_limit();
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- logs ---- */

static const struct {
    const char *text;
    int64_t steps;     /* of the last row */
    double loss, rate; /* of the last row that has them; NAN if none */
    const char *error; /* NULL: none */
} logs[] = {
    {"step,loss,lr\n1,2.5,\n2,,0.5\n", 2, 2.5, 0.5, NULL},
    {"step,loss,lr\n7,2,\n9,nan,1e-3\n", 9, 2, 1e-3, NULL},
    {"step,\"a,b\",loss,lr\n1,2,3,4\n", 1, 3, 4, NULL},
    {"a book\n", 0, 0, 0, ": not a training log, whose first column is step"},
    {"step,loss\n1,2\n1,2\n", 0, 0, 0, ": step 1 does not follow step 1"},
    {"step,loss\n1,2\n99999999999,2\n", 0, 0, 0, ": step 99999999999 does not follow step 1"},
    {"step,loss\n1,2\n6000000,2\n12000000,2\n", 0, 0, 0, ": step 12000000 does not follow"},
    {"step,loss\n0,2\n", 0, 0, 0, ": step 0 does not follow step 0"},
    {"step,loss\n,2\n", 0, 0, 0, ": step nan does not follow step 0"},
    {"step,loss\n1e300,2\n", 0, 0, 0, ": step 1.0000000000000001e+300 does not follow step 0"},
    {"step,loss\n1,x\n", 0, 0, 0, "'x' in column loss is not a number"},
    {"step,loss,lr\n1,2\n", 0, 0, 0, ": a row without 3 cells"},
    {"step,loss\n", 0, 0, 0, ": no rows"},
    {"", 0, 0, 0, ""},
};

START_TEST(logs_are_read_as_curves)
{
    write_file(logs[_i].text);
    heed_watch *w = run_log_read("--log", path_of_test);
    if (logs[_i].error != NULL) {
        ck_assert_ptr_null(w);
        ck_assert_ptr_nonnull(strstr(heed_error_message(), "--log: "));
        expect_error(HEED_ERR_VALUE, logs[_i].error);
        return;
    }
    expect_no_error();
    const double loss = heed_watch_last(w, "loss"), rate = heed_watch_last(w, "lr");
    ck_assert_int_eq(heed_watch_steps(w), logs[_i].steps);
    ck_assert(loss == logs[_i].loss || (isnan(loss) && isnan(logs[_i].loss)));
    ck_assert(rate == logs[_i].rate);
    ck_assert_double_eq(heed_watch_curve(w, "lr").x[heed_watch_curve(w, "lr").count - 1],
                        (double)logs[_i].steps);
    heed_watch_free(w);
}
END_TEST

START_TEST(logs_with_too_many_columns_are_refused)
{
    char text[8200] = "step";
    for (int i = 1; i <= 1000; i++) {
        sprintf(text + strlen(text), ",c%d", i);
    }
    strcat(text, "\n");
    write_file(text);
    ck_assert_ptr_null(run_log_read("--log", path_of_test));
    expect_error(HEED_ERR_VALUE, ": over 1000 columns");
}
END_TEST

START_TEST(a_missing_log_is_refused)
{
    ck_assert_ptr_null(run_log_read("--log", "/no/such/file"));
    expect_error(HEED_ERR_VALUE, "--log: /no/such/file: cannot open it: No such file");
}
END_TEST

void add_figure_cases(Suite *suite)
{
    TCase *figures = path_case(suite, "figures"), *read = path_case(suite, "logs");
    tcase_add_test(figures, figures_stack_their_parts);
    tcase_add_test(figures, figures_with_an_error_are_not_written);
    tcase_add_test(figures, figures_beyond_the_file_size_limit_are_errors);
    tcase_add_loop_test(read, logs_are_read_as_curves, 0, sizeof logs / sizeof *logs);
    tcase_add_test(read, logs_with_too_many_columns_are_refused);
    tcase_add_test(read, a_missing_log_is_refused);
}
