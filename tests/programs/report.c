/* Reports: the page that is written, and its data. tests/page/report.py looks at it in a browser.
 */
#include <stdlib.h>
#include <string.h>

#include "examples/lab/common/report.h"
#include "tests/common/files_util.h"

static heed_tensor *third(void *context)
{
    const int64_t tokens = *(const int64_t *)context;
    return heed_full(HEED_SHAPE(2, 1, tokens, tokens), 1.0 / 3, HEED_F32);
}

static int64_t three = 3;
static const char *const tokens[] = {"a", "</script>", "\"\n\xff"};

/* A run of `steps` steps, whose report is at in_folder("run.html"). */
static void run(int steps, heed_watch *w)
{
    report *r = report_new((report_options){.path = in_folder("run.html"),
                                            .program = "test",
                                            .watch = w,
                                            .steps = 8,
                                            .attention = third,
                                            .context = &three,
                                            .tokens = tokens,
                                            .token_count = 3});
    report_flag(r, "--x", "1 < 2");
    for (int step = 1; step <= steps; step++) {
        report_value(r, w, "loss", 1.0 / step);
        if (step == 2) {
            report_value(r, w, "val_loss", (double)NAN);
            report_text(r, step, "hello", 5);
        }
        heed_watch_step(w);
        report_step(r);
    }
    report_output(r, "Result", "a  b\n1  2\n");
    report_end(r, "finished");
}

/* The data of the page; the caller frees *page. */
static const char *data_of(char **page)
{
    static const char begin[] = "<script type=\"application/json\" id=\"run\">";
    size_t size;
    *page = read_bytes(in_folder("run.html"), &size);
    char *data = strstr(*page, begin), *end = data != NULL ? strstr(data, "</script>") : NULL;
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    return data + strlen(begin);
}

START_TEST(the_data_of_a_run)
{
    char *page;
    heed_watch *w = heed_watch_new(.steps = 8);
    run(3, w);
    heed_watch_free(w);
    expect_no_error();
    ck_assert_str_eq(
        data_of(&page),
        "{\"program\":\"test\",\"state\":\"finished\",\"step\":3,\"steps\":8,\"unit\":\"step\","
        "\"layers\":2,\"heads\":1,\n"
        "\"settings\":[\n[\"--x\",\"1 \\u003c 2\"]],\n"
        "\"points\":[\n[\"loss\",1,1],\n[\"loss\",2,0.5],\n[\"loss\",3,0.333333]],\n"
        "\"texts\":[\n[2,\"hello\"]],\n\"outputs\":[\n[\"Result\",\"a  b\\u000a1  2\\u000a\"]],\n"
        "\"tokens\":[\"a\",\"\\u003c/script>\",\"\\u0022\\u000a\\ufffd\"],\n\"snapshots\":[\n"
        "[0,[333,333,333,333,333,333,333,333,333,333,333,333]],\n"
        "[1,[333,333,333,333,333,333,333,333,333,333,333,333]],\n"
        "[2,[333,333,333,333,333,333,333,333,333,333,333,333]],\n"
        "[3,[333,333,333,333,333,333,333,333,333,333,333,333]]]}");
    free(page);
    ck_assert_int_eq(files_in_folder(), 1); /* no temporary file */
}
END_TEST

/* A file that cannot be written is one warning, and training continues. */
START_TEST(a_report_that_cannot_be_written)
{
    heed_watch *w = heed_watch_new(.steps = 8);
    report *r = report_new(
        (report_options){.path = in_folder("none/run.html"), .program = "test", .watch = w});
    ck_assert_ptr_nonnull(r);
    FILE *shown = freopen(in_folder("stderr"), "w", stderr);
    for (int i = 0; i < 3; i++) {
        report_value(r, w, "loss", 1);
        ck_assert_int_eq(heed_watch_step(w), HEED_OK);
        report_step(r);
    }
    report_end(r, "finished");
    fflush(shown);
    heed_watch_free(w);
    expect_no_error();
    size_t size;
    char *text = read_bytes(in_folder("stderr"), &size);
    ck_assert_ptr_nonnull(strstr(text, "test: --report: cannot write "));
    ck_assert_ptr_eq(strchr(text, '\n'), text + size - 1); /* one line */
    free(text);
}
END_TEST

void add_report_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "report");
    tcase_add_test(tests, the_data_of_a_run);
    tcase_add_test(tests, a_report_that_cannot_be_written);
}
