/* Reports of training runs: their data, their escapes, rewriting, resuming, and damaged files. The
 * page itself is tested in a browser, by tests/page/report.py. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "examples/lab/common/report.h"
#include "examples/lab/common/report_file.h"
#include "examples/lab/gpt/train.h"
#include "tests/common/files_util.h"

enum { TOKENS = 3 };

static const char *const tokens[TOKENS] = {"a<", "\n", "\xff"};

/* Two layers of one head. */
static heed_tensor *attention(void *context)
{
    const double unit = 1.0 / 4095; /* of one digit step */
    (void)context;
    return heed_from_f64((double[]){1, 0, 0, 1000 * unit, 3095 * unit, 0, 5 * unit, 90 * unit,
                                    4000 * unit, /**/
                                    1, 0, 0, 0.25, 0.75, 0, 0, 0, 1},
                         HEED_SHAPE(2, 1, TOKENS, TOKENS));
}

typedef struct fixture {
    struct heed_linear *model;
    heed_watch *watch;
    report *report;
} fixture;

static fixture begin(int64_t steps, int64_t resumed)
{
    fixture f = {.model = heed_linear_new(2, 3)};
    f.watch = heed_watch_new((heed_watch_options){.steps = steps, .resumed = resumed});
    f.report = report_new((report_options){.path = in_folder("run.html"),
                                           .program = "gpt <train>",
                                           .model = f.model,
                                           .watch = f.watch,
                                           .steps = steps,
                                           .resumed = resumed,
                                           .attention = attention,
                                           .tokens = tokens,
                                           .token_count = TOKENS});
    return f;
}

static void step(fixture *f, double loss)
{
    heed_watch_value(f->watch, "loss", loss);
    if (heed_watch_steps(f->watch) % 2 == 1) {
        heed_watch_value(f->watch, "val_loss", loss + 1);
    }
    heed_watch_step(f->watch);
    report_step(f->report);
}

static void end(fixture *f, report_state state)
{
    report_end(f->report, state);
    heed_watch_free(f->watch);
    heed_module_free(f->model);
}

/* A report of `steps` steps, whose loss equals the step number. */
static void write_run(int64_t steps)
{
    fixture f = begin(steps, 0);
    for (int i = 1; i <= steps; i++) {
        step(&f, i);
        report_text(f.report, i, "sample", "text", 4);
    }
    end(&f, REPORT_FINISHED);
    expect_no_error();
}

static char *page(void)
{
    size_t size;
    return read_bytes(in_folder("run.html"), &size);
}

static void expect_line(const char *text, const char *line)
{
    if (strstr(text, line) == NULL) {
        ck_abort_msg("no line '%s' in:\n%s", line, strstr(text, report_begins));
    }
}

/* ---- what it contains ---- */

START_TEST(test_data)
{
    heed_manual_seed(1);
    fixture f = begin(5, 0);
    HEED_SCOPE(scope);
    for (int i = 1; i <= 5; i++) {
        step(&f, 0.5 * i);
    }
    end(&f, REPORT_FINISHED);
    expect_no_error();
    char *text = page();
    ck_assert(strncmp(text, report_signature, strlen(report_signature)) == 0);
    expect_line(text,
                "\nheed run 1\nprogram\tgpt \\u003ctrain>\nstate\tfinished\t5\t5\nsince\t0\n");
    expect_line(text, "\nmodule\t0\t\tLinear\tin_features=2, out_features=3, bias=True\n"
                      "parameter\t1\tweight\t(3, 2)\t6\t0\nparameter\t1\tbias\t(3)\t3\t1\n");
    expect_line(text, "\ncurve\tloss\t1\t1 0.5 2 1 3 1.5 4 2 5 2.5\t\n");
    expect_line(text, "\ncurve\tval_loss\t1\t2 2 4 3\t\n");
    expect_line(text, "\nshape\t2\t2\t1\t3\ntokens\ta\\u003c\t\\n\t\\ufffd\n");
    const char *const snapshots[] = {"\nsnapshot\t0\t", "\nsnapshot\t1\t", "\nsnapshot\t2\t",
                                     "\nsnapshot\t4\t", "\nsnapshot\t5\t"};
    for (int i = 0; i < 5; i++) {
        expect_line(text, snapshots[i]);
    }
    ck_assert_ptr_null(strstr(text, "\nsnapshot\t3\t"));
    /* rows 4095; 1000 3095; 5 90 4000; then 4095; 1024 3071; 0 0 4095 */
    expect_line(text, "\t- -\t__PowXAFBa-g__QAv_AAAA__\n");
    free(text);
}
END_TEST

/* Norms are those of the parameters and gradients that exist. */
START_TEST(test_norms)
{
    fixture f = begin(1, 0);
    heed_set_data(f.model->weight, heed_full(HEED_SHAPE(3, 2), 2, HEED_F32));
    heed_set_data(f.model->bias, heed_full(HEED_SHAPE(3), 0, HEED_F32));
    {
        HEED_SCOPE(scope);
        heed_backward(
            heed_sum(heed_linear_forward(f.model, heed_from_f64((double[]){3, 4}, HEED_SHAPE(2)))));
        expect_error(HEED_ERR_DTYPE, "");
        heed_tensor *x = heed_from_f32((float[]){3, 4}, HEED_SHAPE(2));
        heed_backward(heed_sum(heed_linear_forward(f.model, x)));
        step(&f, 1);
    }
    end(&f, REPORT_FINISHED);
    char *text = page();
    expect_line(text, "\nsnapshot\t1\t4.899 0\t8.66 1.732\t"); /* 2 sqrt 6; 5 sqrt 3, sqrt 3 */
    free(text);
}
END_TEST

/* No text can end the data block or its line, and all texts are read back. */
START_TEST(test_escapes)
{
    static const char hostile[] =
        "</script><!-- & \\ \t \n \x01\x7f \xc2\x85 \xff\xc3 \xf0\x9f\x98\x80";
    const flag_row rows[] = {{.kind = FLAG_STRING, .name = "text"}};
    const flag_table table = {.flags = rows, .count = 1};
    struct {
        const char *text;
    } options = {hostile};
    fixture f = begin(1, 0);
    report_flags(f.report, &table, &options);
    report_text(f.report, 1, hostile, hostile, strlen(hostile));
    heed_watch_value(f.watch, "a</script>b\\", 1);
    step(&f, 1);
    end(&f, REPORT_FINISHED);
    expect_no_error();
    char *text = page(), *data = strstr(text, report_begins) + strlen(report_begins);
    const char *after = strstr(data, report_ends);
    ck_assert_ptr_eq(memchr(data, '<', strlen(data)), after);
    free(text);
    report_file file;
    report_file_read(&file, in_folder("run.html"));
    expect_no_error();
    ck_assert_str_eq(file.settings[0].name, "--text");
    ck_assert_str_eq(file.settings[0].value,
                     "</script><!-- & \\ \t \n \x01\x7f \xc2\x85 \xef\xbf\xbd\xef\xbf\xbd "
                     "\xf0\x9f\x98\x80");
    ck_assert_ptr_nonnull(curve_among(file.curves, file.curve_count, "a</script>b\\"));
    ck_assert_int_eq(file.text_count, 1);
    report_file_free(&file);
}
END_TEST

/* Long texts are cut at character boundaries, and old texts are dropped. */
START_TEST(test_many_texts)
{
    static char text[5001];
    fixture f = begin(1000, 0);
    for (size_t i = 0; i < 5000; i++) {
        text[i] = "\xc3\xa9x"[i % 3];
    }
    for (int i = 1; i <= 1000; i++) {
        report_text(f.report, i, "sample", text, 5000);
    }
    end(&f, REPORT_FINISHED);
    report_file file;
    report_file_read(&file, in_folder("run.html"));
    expect_no_error();
    ck_assert_int_ge(file.text_count, 24);
    ck_assert_int_le(file.text_count, 48);
    ck_assert_int_eq(file.texts[0].step, 1);
    ck_assert_int_eq(file.texts[file.text_count - 1].step, 1000);
    ck_assert_uint_eq(strlen(strchr(file.texts[0].fields, '\t') + 1), 3999);
    report_file_free(&file);
}
END_TEST

/* Models with many heads show fewer tokens. Query i attends equally to keys 0 ... i. */
static heed_tensor *many_heads(void *context)
{
    (void)context;
    heed_tensor *blocked = heed_causal_block_mask(40);
    heed_tensor *sims = heed_masked_fill(heed_zeros(HEED_SHAPE(40, 40), HEED_F32), blocked, -1e30);
    return heed_expand(heed_softmax(sims, -1), HEED_SHAPE(40, 20, 40, 40));
}

START_TEST(test_many_heads)
{
    static const char *labels[40];
    for (int i = 0; i < 40; i++) {
        labels[i] = "x";
    }
    fixture f = {.model = heed_linear_new(2, 3)};
    f.watch = heed_watch_new((heed_watch_options){.steps = 1});
    f.report = report_new((report_options){.path = in_folder("run.html"),
                                           .program = "p",
                                           .model = f.model,
                                           .watch = f.watch,
                                           .attention = many_heads,
                                           .tokens = labels,
                                           .token_count = 40});
    end(&f, REPORT_FINISHED);
    expect_no_error();
    char *text = page();
    expect_line(text,
                "\nshape\t2\t40\t20\t8\ntokens\tx\tx\tx\tx\tx\tx\tx\tx\n"); /* 800 * 36 < 2^15 */
    const char *weights = strstr(text, "\t- -\t") + strlen("\t- -\t");
    ck_assert_int_eq(strncmp(weights, "__gAgAVVVVVV", 12), 0); /* 1, two halves, three thirds */
    ck_assert_int_eq(strncmp(weights, weights + 72, 72), 0);
    ck_assert_uint_eq(strcspn(weights, "\n"), 800 * 72);
    free(text);
}
END_TEST

/* A model without attention. */
START_TEST(test_no_attention)
{
    for (int64_t resumed = 0; resumed < 2; resumed++) {
        fixture f = {.model = heed_linear_new(2, 3)};
        f.watch = heed_watch_new((heed_watch_options){.resumed = resumed});
        f.report = report_new((report_options){.path = in_folder("run.html"),
                                               .program = "p",
                                               .model = f.model,
                                               .watch = f.watch,
                                               .resumed = resumed});
        step(&f, 1);
        end(&f, REPORT_FINISHED);
        expect_no_error();
    }
    char *text = page();
    expect_line(text, "\nshape\t2\t0\t0\t0\nsnapshot\t0\t");
    expect_line(text, "\nsnapshot\t1\t");
    expect_line(text, "\nsince\t0\n");
    free(text);
}
END_TEST

/* ---- rewriting ---- */

/* During training the file reports that state; each version replaces the previous one. */
START_TEST(test_rewritten)
{
    fixture f = begin(100, 0);
    step(&f, 7);
    char *text = page();
    expect_line(text, "\nstate\ttraining\t1\t100\n");
    free(text);
    step(&f, 8); /* too soon to be written */
    text = page();
    expect_line(text, "\nstate\ttraining\t1\t100\n");
    free(text);
    end(&f, REPORT_INTERRUPTED);
    text = page();
    expect_line(text, "\nstate\tinterrupted\t2\t100\n");
    free(text);
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

/* The error that stopped training stays pending. */
START_TEST(test_failed_run)
{
    fixture f = begin(100, 0);
    step(&f, 7);
    heed_fail(HEED_ERR_VALUE, "the loss is nan");
    step(&f, 8);
    end(&f, REPORT_FAILED);
    expect_error(HEED_ERR_VALUE, "the loss is nan");
    char *text = page();
    expect_line(text, "\nstate\tfailed\t1\t100\n");
    free(text);
}
END_TEST

/* Capture what the code between these two prints to stderr. */
static int stderr_before;
static void catch_stderr(void)
{
    fflush(stderr);
    stderr_before = dup(2);
    const int file = open(in_folder("stderr"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, 2);
    close(file);
}
static char *caught_stderr(void)
{
    size_t size;
    fflush(stderr);
    dup2(stderr_before, 2);
    close(stderr_before);
    return read_bytes(in_folder("stderr"), &size);
}

/* A file that cannot be written: one warning, and training continues. */
START_TEST(test_unwritable)
{
    fixture f = begin(3, 0);
    char name[40];
    snprintf(name, sizeof name, "run.html.new-%ld", (long)getpid());
    mkdir(in_folder(name), 0700);
    catch_stderr();
    step(&f, 1);
    ck_assert_int_eq(heed_error_pending(), HEED_OK);
    step(&f, 2);
    end(&f, REPORT_FINISHED);
    char *printed = caught_stderr();
    ck_assert_ptr_nonnull(strstr(printed, "gpt <train>: --report: cannot write "));
    ck_assert_ptr_eq(strchr(printed, '\n'), printed + strlen(printed) - 1); /* one line */
    free(printed);
    ck_assert_int_ne(access(in_folder("run.html"), F_OK), 0);
    rmdir(in_folder(name));
}
END_TEST

/* Two runs write one report: neither uses the temporary file of the other. */
START_TEST(test_another_run)
{
    fixture f = begin(1, 0);
    const pid_t child = fork();
    if (child == 0) {
        step(&f, 1);
        end(&f, REPORT_FINISHED);
        _exit(heed_error_pending() ? 1 : 0);
    }
    char name[40];
    int status = 1;
    snprintf(name, sizeof name, "run.html.new-%ld", (long)getpid());
    write_bytes(in_folder(name), "half", 4);
    write_bytes(in_folder("run.html.new"), "half", 4);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    free(page());
    ck_assert_int_eq(files_in_folder(), 3);
    unlink(in_folder("run.html.new"));
    step(&f, 1);
    end(&f, REPORT_FINISHED);
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

/* A link stays one: its target is replaced, even if it does not exist yet. */
START_TEST(test_symbolic_link)
{
    struct stat at;
    unlink(in_folder("run.html"));
    ck_assert_int_eq(symlink("target.html", in_folder("run.html")), 0);
    for (int i = 0; i < 2; i++) {
        fixture f = begin(3, 0);
        step(&f, 1);
        end(&f, REPORT_FINISHED);
        ck_assert_int_eq(lstat(in_folder("run.html"), &at), 0);
        ck_assert(S_ISLNK(at.st_mode));
        ck_assert_int_eq(lstat(in_folder("target.html"), &at), 0);
        ck_assert(S_ISREG(at.st_mode));
    }
    ck_assert_int_eq(unlink(in_folder("run.html")), 0);
}
END_TEST

/* ---- resuming ---- */

START_TEST(test_resumed)
{
    write_run(12);
    fixture f = begin(20, 6);
    for (int i = 7; i <= 9; i++) {
        step(&f, 100 + i);
    }
    end(&f, REPORT_FINISHED);
    expect_no_error();
    char *text = page();
    expect_line(text, "\nstate\tfinished\t9\t20\nsince\t0\n");
    expect_line(text, "\ncurve\tloss\t1\t1 1 2 2 3 3 4 4 5 5 6 6 7 107 8 108 9 109\t\n");
    expect_line(text, "\ntext\t6\tsample\ttext\nshape\t");
    const int64_t steps[] = {0, 1, 2, 4, 6, 8, 9};
    report_file file;
    report_file_read(&file, in_folder("run.html"));
    expect_no_error();
    ck_assert_int_eq(file.snapshot_count, 7);
    for (int i = 0; i < 7; i++) {
        ck_assert_int_eq(file.snapshots[i].step, steps[i]);
    }
    ck_assert_int_eq(file.text_count, 6);
    report_file_free(&file);
    free(text);
}
END_TEST

/* Without the earlier report, a resumed run's report states where its data begin. */
START_TEST(test_resumed_without_file)
{
    fixture f = begin(20, 6);
    step(&f, 1);
    end(&f, REPORT_FINISHED);
    char *text = page();
    expect_line(text, "\nstate\tfinished\t7\t20\nsince\t6\n");
    expect_line(text, "\nsnapshot\t6\t");
    free(text);
}
END_TEST

/* Snapshots with other tokens are dropped, and so are all data of another model. */
static void change_shape(size_t place, char digit)
{
    size_t size;
    char *text = read_bytes(in_folder("run.html"), &size);
    char *shape = strstr(text, "\nshape\t2\t2\t1\t3");
    shape[place] = digit;
    write_bytes(in_folder("run.html"), text, size);
    free(text);
}

START_TEST(test_resumed_other_model)
{
    write_run(4);
    change_shape(strlen("\nshape\t"), '3');
    catch_stderr();
    fixture f = begin(20, 4);
    char *printed = caught_stderr();
    ck_assert_ptr_nonnull(
        strstr(printed, "written for another model; the report begins at step 4"));
    free(printed);
    end(&f, REPORT_FINISHED);
    char *text = page();
    expect_line(text, "\nsince\t4\n");
    ck_assert_ptr_null(strstr(text, "\ncurve\t"));
    free(text);
}
END_TEST

START_TEST(test_resumed_other_tokens)
{
    write_run(4);
    change_shape(strlen("\nshape\t2\t2\t1\t"), '4');
    fixture f = begin(20, 4);
    end(&f, REPORT_FINISHED);
    report_file file;
    report_file_read(&file, in_folder("run.html"));
    expect_no_error();
    ck_assert_int_eq(file.snapshot_count, 1);
    ck_assert_int_eq(file.snapshots[0].step, 4);
    ck_assert_int_eq(curve_among(file.curves, file.curve_count, "loss")->count, 4);
    report_file_free(&file);
}
END_TEST

/* ---- foreign and damaged files ---- */

START_TEST(test_not_a_report)
{
    static const char *const contents[] = {"", "my notes", "<!doctype html>\n<p>a page"};
    for (int i = 0; i < 3; i++) {
        write_bytes(in_folder("run.html"), contents[i], strlen(contents[i]));
        fixture f = begin(20, 0);
        ck_assert_ptr_null(f.report);
        expect_error(HEED_ERR_VALUE, "exists and is not a report");
        end(&f, REPORT_FINISHED);
        char *text = page();
        ck_assert_str_eq(text, contents[i]);
        free(text);
        report_file file;
        report_file_read(&file, in_folder("run.html"));
        expect_error(HEED_ERR_VALUE, i == 0 ? "empty" : "not a report");
        report_file_free(&file);
    }
}
END_TEST

static const struct {
    const char *from, *to;
} damages[] = {
    {"heed run 1", "heed run 2"},
    {"state\tfinished\t4", "state\tfinished\t-4"},
    {"state\tfinished\t4\t4", "state\tfinished"},
    {"since\t0", "since\tx"},
    {"since\t0", "since\t99999999999999999999"},
    {"since\t0", "since"},
    {"curve\tloss\t1", "curve\tloss\tmany"},
    {"1 1 2 2 3 3", "1 1 2 2 3"},
    {"1 1 2 2 3 3", "1 1 2 2 1 3"},
    {"1 1 2 2 3 3", "nan 1 2 2 3 3"},
    {"1 1 2 2 3 3", "1 1 2,2 3 3"},
    {"1 1 2 2 3 3", "1 1 2 2 3-3"},
    {"4 4\t", "4 4"},
    {"text\t1", "text\tone"},
    {"snapshot\t1", "snapshot\t-1"},
    {"snapshot\t1", "snap<hot\t1"},
    {"snapshot\t1", "snap\001hot\t1"},
    {"</script>", "<script>"},
};

/* A damaged report is rejected with a message. A run that continues it warns and begins a new
 * one. */
START_TEST(test_damaged)
{
    write_run(4);
    char *text = page(), *changed = malloc(strlen(text) + 100);
    char *data = strstr(text, report_begins);
    char *at = strstr(data, damages[_i].from);
    ck_assert_ptr_nonnull(at);
    sprintf(changed, "%.*s%s%s", (int)(at - text), text, damages[_i].to,
            at + strlen(damages[_i].from));
    if (damages[_i].from[0] == '<') {
        changed[at - text] = '\0';
    }
    write_bytes(in_folder("run.html"), changed, strlen(changed));
    free(text);
    free(changed);
    report_file file;
    report_file_read(&file, in_folder("run.html"));
    expect_error(HEED_ERR_VALUE, "run.html: ");
    report_file_free(&file);
    catch_stderr();
    fixture f = begin(8, 4);
    char *printed = caught_stderr();
    ck_assert_ptr_nonnull(f.report);
    ck_assert_ptr_nonnull(strstr(printed, "the report begins at step 4"));
    free(printed);
    end(&f, REPORT_FINISHED);
    report_file_read(&file, in_folder("run.html"));
    expect_no_error();
    ck_assert_int_eq(file.since, 4);
    report_file_free(&file);
}
END_TEST

/* Settings and curves are searched by name, so their number is limited. */
START_TEST(test_many_records)
{
    static const char *const lines[] = {"setting\ta\tb\n", "curve\ta\t1\t\t\n"};
    for (int kind = 0; kind < 2; kind++) {
        for (int count = 1000; count <= 1001; count++) {
            text_buffer text = {.length = 0};
            report_file file;
            text_append(&text, report_signature, strlen(report_signature));
            text_append(&text, report_begins, strlen(report_begins));
            text_append(&text, "heed run 1\n", strlen("heed run 1\n"));
            for (int i = 0; i < count; i++) {
                text_append(&text, lines[kind], strlen(lines[kind]));
            }
            text_append(&text, report_ends, strlen(report_ends));
            write_bytes(in_folder("run.html"), text.bytes, text.length);
            text_free(&text);
            report_file_read(&file, in_folder("run.html"));
            if (count == 1000) {
                expect_no_error();
            } else {
                expect_error(HEED_ERR_VALUE, "line 1002 of the data is damaged");
            }
            report_file_free(&file);
        }
    }
}
END_TEST

/* A file with any byte changed, or truncated anywhere, is read or rejected; continuing it keeps it
 * readable. */
START_TEST(test_every_byte)
{
    static const char others[] = "\t\n <\\9-\x80";
    write_run(2);
    size_t size;
    char *text = read_bytes(in_folder("run.html"), &size);
    const size_t first = (size_t)(strstr(text, report_begins) - text);
    const size_t last = (size_t)(strstr(text + first, report_ends) - text);
    catch_stderr();
    for (size_t i = first; i < last + 9; i++) {
        for (const char *other = others; *other != '\0'; other++) {
            const char byte = text[i];
            report_file file;
            text[i] = *other;
            write_bytes(in_folder("run.html"), text, other[1] == '\0' ? i : size);
            text[i] = byte;
            if (report_file_read(&file, in_folder("run.html")) != HEED_OK) {
                ck_assert_int_eq(heed_error(), HEED_ERR_VALUE);
            }
            report_file_free(&file);
            fixture f = begin(8, 2);
            ck_assert_ptr_nonnull(f.report);
            end(&f, REPORT_FINISHED);
            if (report_file_read(&file, in_folder("run.html")) != HEED_OK) {
                ck_abort_msg("byte %zu as %d: %s", i, *other, heed_error_message());
            }
            report_file_free(&file);
        }
    }
    free(caught_stderr());
    free(text);
}
END_TEST

/* ---- curves ---- */

START_TEST(test_thin)
{
    heed_curve c = curve_new("loss", 11);
    for (int i = 0; i < 11; i++) {
        ((double *)c.x)[i] = i;
        ((double *)c.y)[i] = 10 * i;
    }
    curve_thin(&c, 5);
    const double x[] = {1.5, 5.5, 9.25}; /* from 0.5 2.5 4.5 6.5 8.5 10, averaged in pairs */
    ck_assert_int_eq(c.count, 3);
    ck_assert_int_eq(c.per_point, 4);
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(c.x[i], x[i], 1e-12);
        ck_assert_double_eq_tol(c.y[i], 10 * x[i], 1e-12);
    }
    curve_free(&c);
}
END_TEST

/* ---- memory and training ---- */

/* Each allocation fails once: only report_new reports it. */
START_TEST(test_no_memory)
{
    write_run(4);
    catch_stderr();
    bool failed = true;
    for (int64_t n = 0; failed; n++) {
        const int64_t before = heed_allocation_failures();
        struct heed_linear *model = heed_linear_new(2, 3);
        heed_watch *watch = heed_watch_new((heed_watch_options){.resumed = 4});
        heed_watch_step(watch);
        HEED_SCOPE(scope);
        heed_fail_allocation(n);
        report *r = report_new((report_options){.path = in_folder("run.html"),
                                                .program = "p",
                                                .model = model,
                                                .watch = watch,
                                                .resumed = 4,
                                                .attention = attention,
                                                .tokens = tokens,
                                                .token_count = TOKENS});
        ck_assert_int_eq(heed_error(), r == NULL ? HEED_ERR_MEMORY : HEED_OK);
        report_text(r, 5, "sample", "text", 4);
        report_output(r, "Result", "text");
        report_step(r);
        report_end(r, REPORT_FINISHED);
        ck_assert_int_eq(heed_error_pending(), HEED_OK);
        heed_fail_allocation(-1);
        failed = heed_allocation_failures() > before;
        heed_watch_free(watch);
        heed_module_free(model);
        ck_assert_int_lt(n, 3000);
        report_file file;
        ck_assert_int_eq(report_file_read(&file, in_folder("run.html")), HEED_OK);
        for (int64_t i = 0; i < file.snapshot_count; i++) {
            ck_assert_ptr_null(strstr(file.snapshots[i].fields, "nan"));
        }
        report_file_free(&file);
    }
    free(caught_stderr());
}
END_TEST

/* ---- many runs: no model, another unit, and results ---- */

static void write_runs(int64_t resumed)
{
    heed_watch *w = heed_watch_new((heed_watch_options){.steps = 4, .resumed = resumed});
    report *r = report_new((report_options){.path = in_folder("run.html"),
                                            .program = "toys",
                                            .watch = w,
                                            .steps = 4,
                                            .resumed = resumed,
                                            .step_name = "run"});
    report_flag(r, "--sweep", "width=8,<16>");
    for (int64_t i = resumed + 1; i <= resumed + 2; i++) {
        heed_watch_value(w, "learned", (double)i);
        heed_watch_step(w);
        report_step(r);
    }
    report_output(r, "Runs", "a  b\n1  2\n");
    report_end(r, REPORT_FINISHED);
    heed_watch_free(w);
    expect_no_error();
}

START_TEST(test_many_runs)
{
    write_runs(0);
    char *text = page();
    expect_line(text, "\nstate\tfinished\t2\t4\nsince\t0\nunit\trun\nsetting\t--sweep\twidth=8,"
                      "\\u003c16>\ncurve\tlearned\t1\t1 1 2 2\t\noutput\tRuns\ta  b\\n1  2\\n\n"
                      "shape\t0\t0\t0\t0\n");
    free(text);
    write_runs(2);
    text = page();
    expect_line(text, "\nstate\tfinished\t4\t4\nsince\t0\n");
    expect_line(text, "\ncurve\tlearned\t1\t1 1 2 2 3 3 4 4\t\noutput\tRuns\t");
    free(text);
}
END_TEST

void add_report_cases(Suite *suite)
{
    TCase *content = files_case(suite, "content");
    tcase_add_test(content, test_data);
    tcase_add_test(content, test_norms);
    tcase_add_test(content, test_escapes);
    tcase_add_test(content, test_many_texts);
    tcase_add_test(content, test_many_heads);
    tcase_add_test(content, test_no_attention);
    tcase_add_test(content, test_rewritten);
    tcase_add_test(content, test_failed_run);
    tcase_add_test(content, test_unwritable);
    tcase_add_test(content, test_another_run);
    tcase_add_test(content, test_symbolic_link);
    tcase_add_test(content, test_many_runs);
    TCase *old = files_case(suite, "old");
    tcase_add_test(old, test_resumed);
    tcase_add_test(old, test_resumed_without_file);
    tcase_add_test(old, test_resumed_other_model);
    tcase_add_test(old, test_resumed_other_tokens);
    tcase_add_test(old, test_not_a_report);
    tcase_add_loop_test(old, test_damaged, 0, sizeof damages / sizeof *damages);
    tcase_add_test(old, test_many_records);
    tcase_add_test(old, test_every_byte);
    tcase_add_test(old, test_thin);
    tcase_add_test(old, test_no_memory);
}
