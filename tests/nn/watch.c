/* Watches: the file that they write and continue, and what they show on a terminal. */
#define _XOPEN_SOURCE 700 /* posix_openpt */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/files_util.h"

static heed_watch *expect_watch(heed_watch *w)
{
    expect_no_error();
    ck_assert_ptr_nonnull(w);
    return w;
}
#define new_watch(...) expect_watch(heed_watch_new(__VA_ARGS__))

/* Steps `from` to `to` with the loss 1/step and, in every third step, a validation loss. */
static void run_steps(heed_watch *w, int from, int to)
{
    for (int step = from; step <= to; step++) {
        heed_watch_value(w, "loss", 1.0 / step);
        if (step == 1 || step % 3 == 0) {
            heed_watch_value(w, "val_loss", step == 1 ? (double)NAN : 2.0 / step);
        }
        heed_watch_step(w);
    }
}

static void expect_bytes(const char *path, const char *expected)
{
    size_t size;
    char *bytes = read_bytes(path, &size);
    ck_assert_str_eq(bytes, expected);
    free(bytes);
}

static void expect_matches(const char *text, const char *pattern)
{
    ck_assert_msg(fnmatch(pattern, text, 0) == 0, "\n%s\ndoes not match\n%s", text, pattern);
}

static void write_rows(const char *path, const char *rows)
{
    FILE *file = fopen(path, "w");
    fputs(rows, file);
    fclose(file);
}

START_TEST(null_is_ignored)
{
    ck_assert_int_eq(heed_watch_value(NULL, "loss", 1), HEED_OK);
    ck_assert_int_eq(heed_watch_step(NULL), HEED_OK);
    heed_watch_pause(NULL);
    heed_watch_free(NULL);
    ck_assert_int_eq(heed_watch_steps(NULL), 0);
}
END_TEST

START_TEST(names_are_checked)
{
    static const char *const refused[] = {"", "a\nb", "\x1b[2J", "a,b", "a\"b"};
    char name[80] = "";
    heed_watch *w = new_watch(.steps = 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        heed_watch_value(w, refused[i], 1);
        expect_error(HEED_ERR_VALUE, "is no column's name");
    }
    heed_watch_value(w, NULL, 1);
    expect_error(HEED_ERR_VALUE, "'' is no column's name");
    memset(name, 'x', 64);
    heed_watch_value(w, name, 1);
    expect_error(HEED_ERR_VALUE, "is no column's name");
    for (int i = 0; i <= 64; i++) {
        snprintf(name, sizeof name, "value%d", i);
        heed_watch_value(w, name, i);
    }
    expect_error(HEED_ERR_VALUE, "'value64' is no column's name, or the 65th");
    heed_watch_free(w);
}
END_TEST

/* ---- CSV ---- */

START_TEST(rows_are_written)
{
    const char *path = in_folder("run.csv");
    heed_watch *w = new_watch(.csv = path);
    static const double values[] = {1, -0.0, 1e15, 1.0 / 3, (double)INFINITY, (double)NAN, 123456};
    heed_watch_value(w, "later", (double)NAN);
    for (int i = 0; i < 7; i++) {
        heed_watch_value(w, "x", values[i]);
        heed_watch_step(w);
    }
    heed_watch_value(w, "later", 5);
    heed_watch_step(w);
    ck_assert_int_eq(heed_watch_steps(w), 8);
    heed_watch_free(w);
    expect_bytes(path, "step,later,x\n1,,1\n2,,-0\n3,,1e+15\n4,,0.333333333\n5,,inf\n6,,\n"
                       "7,,123456\n8,5,\n");
    ck_assert_ptr_null(heed_watch_new(.csv = path)); /* a new run does not replace it */
    expect_error(HEED_ERR_VALUE, "/run.csv: an earlier run wrote it; .replace it");
    heed_watch_free(new_watch(.csv = path, .replace = true));
    expect_bytes(path, "");
}
END_TEST

/* Values that come later, such as a validation loss, add a column. */
START_TEST(new_names_add_columns)
{
    const char *path = in_folder("run.csv");
    heed_watch *w = new_watch(.csv = path);
    for (int step = 1; step <= 7; step++) {
        heed_watch_value(w, "loss", step);
        if (step > 2) {
            heed_watch_value(w, step % 2 == 1 ? "odd" : "even", step);
        }
        heed_watch_step(w);
    }
    heed_watch_free(w);
    w = new_watch(.csv = path, .resumed = 4);
    heed_watch_value(w, "last", 5);
    heed_watch_step(w);
    heed_watch_free(w);
    const char *rows = "step,loss,odd,even,last\n1,1,,,\n2,2,,,\n3,3,3,,\n4,4,,4,\n5,,,,5\n";
    expect_bytes(path, rows);
    /* if the file may not grow, it stays as it is, and training goes on */
    w = new_watch(.csv = path, .resumed = 5);
    heed_watch_value(w, "more", 6);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){30, RLIM_INFINITY}); /* Check writes files too */
    const heed_status status = heed_watch_step(w);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    heed_watch_free(w);
    ck_assert_int_eq(status, HEED_OK);
    expect_bytes(path, rows);
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

/* Symbolic links and permissions stay, wherever the program is by then, and so do other files. */
START_TEST(added_columns_replace_nothing_else)
{
    struct stat about;
    const int before = open(".", O_RDONLY);
    write_rows(in_folder("real.csv"), "");
    chmod(in_folder("real.csv"), 0604);
    ck_assert_int_eq(symlink("real.csv", in_folder("link.csv")), 0);
    write_rows(in_folder("real.csv.tmp"), "mine");
    write_rows(in_folder("link.csv.tmp"), "mine");
    ck_assert(before >= 0 && chdir(in_folder("")) == 0);
    heed_watch *w = new_watch(.csv = "link.csv");
    ck_assert(fchdir(before) == 0 && close(before) == 0);
    run_steps(w, 2, 3);
    heed_watch_free(w);
    expect_bytes(in_folder("real.csv"), "step,loss,val_loss\n1,0.5,\n2,0.333333333,0.666666667\n");
    ck_assert(lstat(in_folder("link.csv"), &about) == 0 && S_ISLNK(about.st_mode));
    ck_assert(stat(in_folder("real.csv"), &about) == 0 && (about.st_mode & 0777) == 0604);
    expect_bytes(in_folder("real.csv.tmp"), "mine");
    expect_bytes(in_folder("link.csv.tmp"), "mine");
    ck_assert_int_eq(files_in_folder(), 4);
}
END_TEST

/* Programs may choose a locale with a decimal comma, as this test does. */
START_TEST(a_decimal_comma_adds_no_cell)
{
    char command[300];
    write_rows(in_folder("source"), "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\n"
                                    "grouping -1\nEND LC_NUMERIC\n");
    snprintf(command, sizeof command, "localedef -ci %s -f ANSI_X3.4-1968 %s 2> /dev/null",
             in_folder("source"), in_folder("comma"));
    setenv("LOCPATH", in_folder(""), 1);
    if (system(command) >= 0 && setlocale(LC_NUMERIC, "comma") != NULL) {
        heed_watch *w = new_watch(.csv = in_folder("run.csv"));
        run_steps(w, 2, 3);
        heed_watch_free(w);
        setlocale(LC_NUMERIC, "C");
        expect_bytes(in_folder("run.csv"),
                     "step,loss,val_loss\n1,0.5,\n2,0.333333333,0.666666667\n");
    } else {
        ck_assert_ptr_null(getenv("HEED_STRICT")); /* localedef is missing */
    }
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf %s", in_folder("comma"));
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* A pipe has the columns of its first row. */
START_TEST(pipes_keep_their_columns)
{
    char text[100] = "", path[40];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    heed_watch *w = new_watch(.csv = path);
    run_steps(w, 2, 3);
    ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
    ck_assert_str_eq(text, "step,loss\n1,0.5\n2,0.333333333\n");
    close(ends[0]);
    run_steps(w, 4,
              9999); /* more than a pipe holds: nobody will read it, so the rest is not written */
    heed_watch_free(w);
    close(ends[1]);
}
END_TEST

/* A run that was killed anywhere, even within a row, continues as if without a break. */
START_TEST(a_run_resumes_after_a_cut_anywhere)
{
    const char *path = in_folder("run.csv");
    size_t size;
    heed_watch *w = new_watch(.csv = path);
    run_steps(w, 1, 12);
    heed_watch_free(w);
    char *whole = read_bytes(path, &size);
    const size_t kept = (size_t)(strstr(whole, "\n7,") + 1 - whole);
    for (size_t cut = kept; cut <= size; cut++) {
        ck_assert_int_eq(truncate(path, (off_t)cut), 0);
        w = new_watch(.csv = path, .resumed = 6);
        ck_assert_int_eq(heed_watch_steps(w), 6);
        heed_watch_value(w, "val_loss", (double)NAN); /* the columns of the file stay */
        run_steps(w, 7, 12);
        heed_watch_free(w);
        expect_bytes(path, whole);
    }
    free(whole);
}
END_TEST

START_TEST(other_files_stay_unchanged)
{
    const char *path = in_folder("text");
    for (int resumed = 0; resumed < 2; resumed++) {
        write_rows(path, "steps to take\n1,2\n");
        ck_assert_ptr_null(heed_watch_new(.csv = path, .resumed = resumed));
        expect_error(HEED_ERR_VALUE, "/text: not written by a watch");
        expect_bytes(path, "steps to take\n1,2\n");
    }
    ck_assert_ptr_null(heed_watch_new(.csv = "/no/such/file"));
    expect_error(HEED_ERR_FILE, "watch_new: /no/such/file: cannot write it: No such file");
}
END_TEST

/* ---- sinks that fail ---- */

/* What is shown in a run of 3,000 steps; the caller frees it. */
static char *train(const char *csv)
{
    size_t size;
    bool good = true;
    FILE *terminal = fopen(in_folder("shown"), "w");
    heed_watch *w = new_watch(.csv = csv, .terminal = terminal, .steps = 3000);
    for (int step = 1; step <= 3000; step++) {
        good = good && heed_watch_value(w, "loss", 1) == HEED_OK && heed_watch_step(w) == HEED_OK;
    }
    heed_watch_free(w);
    fclose(terminal);
    ck_assert(good && heed_error_pending() == HEED_OK);
    return read_bytes(in_folder("shown"), &size);
}

START_TEST(a_full_disk_does_not_stop_training)
{
    char *shown = train("/dev/full");
    expect_matches(shown, "*/dev/full: cannot write step *: No space left on device; "
                          "training continues without it\n*step 3000/3000  loss 1.000\n");
    ck_assert_ptr_null(strstr(strstr(shown, "/dev/full") + 1, "/dev/full"));
    free(shown);
}
END_TEST

/* The reader ends while heed_write waits: some bytes are written, and yet SIGPIPE is raised. */
START_TEST(a_pipe_closed_while_it_is_written_raises_no_signal)
{
    enum { SIZE = 1 << 20 };
    static char bytes[SIZE];
    int ends[2];
    signal(SIGPIPE, SIG_DFL);
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t reader = fork();
    if (reader == 0) {
        close(ends[1]);
        _exit(read(ends[0], bytes, 100) != 100 || poll(NULL, 0, 50) != 0);
    }
    close(ends[0]);
    ck_assert_int_lt(heed_write(ends[1], bytes, SIZE), SIZE);
    ck_assert_int_eq(waitpid(reader, NULL, 0), reader);
    ck_assert(heed_write(ends[1], bytes, SIZE) == -1 && errno == EPIPE);
    close(ends[1]);
}
END_TEST

/* ---- the terminal ---- */

START_TEST(lines_in_a_pipe)
{
    static const char *const shown[] = {"val_loss", NULL};
    size_t size;
    FILE *terminal = fopen(in_folder("shown"), "w");
    heed_watch *w = new_watch(.terminal = terminal, .steps = 30, .resumed = 10,
                              .step_name = "batch", .shown = shown);
    run_steps(w, 11, 29);
    heed_watch_pause(w); /* there is no bar */
    heed_watch_free(w);
    fclose(terminal);
    char *text = read_bytes(in_folder("shown"), &size);
    expect_matches(text, "batch 12/30  0:00:0? left  val_loss 0.167\n"
                         "batch 15/30  0:00:0? left  val_loss 0.133\n"
                         "batch 18/30  0:00:0? left  val_loss 0.111\n"
                         "batch 21/30  0:00:0? left  val_loss 0.0952\n"
                         "batch 24/30  0:00:0? left  val_loss 0.0833\n"
                         "batch 27/30  0:00:0? left  val_loss 0.0741\n"
                         "batch 29/30  0:00:0? left\n");
    free(text);
}
END_TEST

/* A bar of this width is redrawn in place, and makes way for what the program prints. */
static void expect_bar(int columns, const char *pattern)
{
    static char text[4000];
    const struct winsize size = {.ws_col = (unsigned short)columns, .ws_row = 25};
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    FILE *terminal = fopen(ptsname(master), "w");
    ck_assert_ptr_nonnull(terminal);
    ck_assert_int_eq(ioctl(fileno(terminal), TIOCSWINSZ, &size), 0);
    heed_watch *w = new_watch(.terminal = terminal, .steps = 4);
    run_steps(w, 1, 1);
    heed_watch_pause(w);
    fputs("hello\n", terminal);
    run_steps(w, 2, 3);
    heed_watch_free(w);
    fclose(terminal);
    size_t length = 0;
    for (ssize_t part; (part = read(master, text + length, sizeof text - 1 - length)) > 0;) {
        length += (size_t)part; /* a read returns only the bytes received so far */
    }
    text[length] = '\0';
    expect_matches(text, pattern);
    close(master);
}

START_TEST(a_bar_on_a_terminal)
{
    setenv("TERM", "xterm", 1);
    unsetenv("COLUMNS");
    expect_bar(80, "\r\\[=====>              \\] step 1/4  0:00:0? left  loss 1.000\033\\[K"
                   "\r\033\\[Khello\r\n"
                   "\r\\[==========>         \\] step 2/4  0:00:0? left  loss 0.500\033\\[K"
                   "\r\033\\[Kstep 3/4  0:00:0? left  loss 0.333  val_loss 0.667\r\n");
    expect_bar(64, "\r\\[=====>              \\] step 1/4*");
    expect_bar(63, "\rstep 1/4  0:00:0? left  loss 1.000\033\\[K*");
    expect_bar(30, "\rstep 1/4  0:00:0? left\033\\[K*");
    setenv("TERM", "dumb", 1);
    expect_bar(80, "step 1/4  0:00:0? left  loss 1.000\r\nhello\r\n*");
}
END_TEST

void add_watch_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "watch");
    tcase_add_test(tests, null_is_ignored);
    tcase_add_test(tests, names_are_checked);
    tcase_add_test(tests, rows_are_written);
    tcase_add_test(tests, new_names_add_columns);
    tcase_add_test(tests, added_columns_replace_nothing_else);
    tcase_add_test(tests, a_decimal_comma_adds_no_cell);
    tcase_add_test(tests, pipes_keep_their_columns);
    tcase_add_test(tests, a_run_resumes_after_a_cut_anywhere);
    tcase_add_test(tests, other_files_stay_unchanged);
    tcase_add_test(tests, a_full_disk_does_not_stop_training);
    tcase_add_test(tests, a_pipe_closed_while_it_is_written_raises_no_signal);
    tcase_add_test(tests, lines_in_a_pipe);
    tcase_add_test(tests, a_bar_on_a_terminal);
}
