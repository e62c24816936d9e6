/* Pictures of graphs. */
#include <errno.h>

#include "tests/common/observe_util.h"

static heed_tensor *drawn; /* set and drawn by the functions below */
static heed_graph_options how;

static void draw(FILE *stream)
{
    ck_assert_int_eq(heed_graph_dot(stream, drawn, how), HEED_OK);
}

START_TEST(a_shared_tensor_is_drawn_once)
{
    heed_tensor *x = leaf(3);
    drawn = heed_mul(x, heed_add_scalar(x, 1));
    how =
        (heed_graph_options){.title = "a < b", .names = {1, &x, (const char *[]){"x & \"y\"\\\n"}}};
    heed_backward(drawn);
    char *text = written_by(draw);
    ck_assert_int_eq(count_words(text, " [label=<"), 3);
    ck_assert_int_eq(count_words(text, " -> "), 3);
    ck_assert_int_eq(count_words(text, "<B>x &amp; &quot;y&quot;&#92;?</B><BR/>()"), 1);
    ck_assert_int_eq(count_words(text, "label=<a &lt; b>;"), 1);
    ck_assert_int_eq(count_words(text, "<B>add_scalar</B>&#160;b=1<BR/>()"), 1);
    ck_assert_int_eq(count_words(text, "gradient&#160;7.<"), 1);
    ck_assert_int_eq(count_words(text, ">12.<"), 1);
    free(text);
}
END_TEST

START_TEST(malformed_names_become_valid_utf8)
{
    heed_tensor *x = leaf(3);
    drawn = x;
    how = (heed_graph_options){
        .values = -1,
        .names = {1, &x, (const char *[]){"\xC3\xA9\xE2\x82\xFF\x80\x80\x80 \xF0\x9F\x98\x80"}}};
    expect_words(draw, "<B>\xC3\xA9?????? \xF0\x9F\x98\x80</B><BR/>()>,");
}
END_TEST

START_TEST(long_names_are_drawn_whole)
{
    char name[1001] = "", expected[1100];
    heed_tensor *x = leaf(3);
    for (int i = 0; i < 500; i++) {
        strcat(name, "\xC3\xA9");
    }
    drawn = x;
    how = (heed_graph_options){.names = {1, &x, (const char *[]){name}}};
    snprintf(expected, sizeof expected, "<B>%s</B>", name);
    expect_words(draw, expected);
}
END_TEST

/* Values that no derivative reads are freed with their scope. */
static heed_tensor *freed_inside(heed_tensor *x)
{
    HEED_SCOPE(scope);
    return heed_scope_keep(&scope, heed_add_scalar(heed_mul_scalar(x, 7), 1));
}

START_TEST(values_are_drawn_where_they_exist)
{
    heed_tensor *x = leaf(3);
    drawn = freed_inside(x);
    how = (heed_graph_options){0};
    char *text = written_by(draw);
    ck_assert_int_eq(count_words(text, ">21.<"), 0);
    ck_assert_int_eq(count_words(text, ">22.<"), 1);
    free(text);

    heed_recording *r = heed_recording_begin();
    drawn = freed_inside(x);
    how.recording = r;
    expect_words(draw, ">21.<");
    heed_backward(drawn);
    expect_words(draw,
                 ">21.</FONT><BR/><FONT COLOR=\"#A03030\" POINT-SIZE=\"10\">gradient&#160;1.<");
    how.values = -1;
    text = written_by(draw);
    ck_assert_int_eq(count_words(text, "FONT"), 0);
    free(text);

    heed_tensor *wide = heed_mul_scalar(heed_ones(HEED_SHAPE(2, 5), HEED_F64), 1.5);
    drawn = wide;
    how.values = 9;
    text = written_by(draw);
    ck_assert_int_eq(count_words(text, "FONT"), 0);
    free(text);
    how.values = 10;
    expect_words(draw, "<BR/>f64 (2, 5)<BR/><FONT COLOR=\"#1B4F8C\" POINT-SIZE=\"10\">"
                       "[[1.500,&#160;1.500,&#160;1.500,&#160;1.500,&#160;1.500],<BR/>"
                       "&#160;[1.500,&#160;1.500,&#160;1.500,&#160;1.500,&#160;1.500]]</FONT>>,");
    drawn = heed_neg(heed_ones(HEED_SHAPE(101), HEED_F32));
    how.values = 1000;
    text = written_by(draw);
    ck_assert_int_eq(count_words(text, "FONT"), 0);
    free(text);
    heed_recording_free(r);
}
END_TEST

/* Without a graph, the recording supplies the inputs. Parameters have their state dict names and
 * are framed with the module that reads them. */
START_TEST(modules_frame_what_they_computed)
{
    heed_manual_seed(1);
    struct heed_self_attention *m = heed_self_attention_new(2, 0, 1);
    heed_recording *r = heed_recording_begin();
    {
        HEED_SCOPE_NO_GRAD(scope);
        drawn = heed_scope_keep(&scope, heed_self_attention_forward(m, tutorial_input(), NULL));
    }
    how = (heed_graph_options){.module = m, .recording = r};
    char *text = written_by(draw);
    ck_assert_int_eq(count_words(text, " [label=<&#160;"), 6); /* named edges */
    ck_assert_int_eq(count_words(text, "<B>linear</B>"), 3);
    ck_assert_int_eq(
        count_words(text, "subgraph \"cluster_SelfAttention\" { label=<SelfAttention> subgraph "
                          "\"cluster_SelfAttention.W_q\" { label=<W_q> n"),
        2);
    ck_assert_int_eq(count_words(text, "<B>W_q.weight</B><BR/>(2, 2)"), 1);
    ck_assert_int_eq(count_words(text, "\nn"), 1 + 1 + 13); /* node [...], the input, edges */
    ck_assert_int_eq(count_words(text, " -> "), 13);
    ck_assert_int_eq(count_words(text, "{"), count_words(text, "}"));
    free(text);
    heed_recording_free(r);
    heed_module_free(m);
}
END_TEST

START_TEST(a_long_chain_is_drawn)
{
    enum { LENGTH = 100000 };
    FILE *null = fopen("/dev/null", "w");
    heed_tensor *y = leaf(1);
    for (int i = 0; i < LENGTH; i++) {
        y = heed_mul_scalar(y, 1);
    }
    ck_assert_int_eq(heed_graph_dot(null, y, (heed_graph_options){0}), HEED_OK);
    fclose(null);
}
END_TEST

START_TEST(drawing_reports_errors)
{
    heed_tensor *x = leaf(1);
    FILE *unwritable = fopen("/dev/null", "r");
    ck_assert_int_eq(heed_graph_dot(NULL, x, (heed_graph_options){0}), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "graph_dot: the file or the loss is NULL");
    ck_assert_int_eq(heed_graph_dot(stdout, NULL, (heed_graph_options){0}), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "graph_dot");
    ck_assert_int_eq(heed_graph_dot(unwritable, x, (heed_graph_options){0}), HEED_ERR_FILE);
    expect_error(HEED_ERR_FILE, "graph_dot: stream: cannot write");
    fclose(unwritable);
    FILE *full = fopen("/dev/full", "w"); /* fails when flushed */
    if (full != NULL) {
        ck_assert_int_eq(heed_graph_dot(full, x, (heed_graph_options){0}), HEED_ERR_FILE);
        expect_file_error("graph_dot: stream: cannot write", ENOSPC);
        fclose(full);
    }
}
END_TEST

void add_graph_dot_cases(Suite *suite)
{
    TCase *graphs = heed_case(suite, "graphs");
    tcase_add_test(graphs, a_shared_tensor_is_drawn_once);
    tcase_add_test(graphs, malformed_names_become_valid_utf8);
    tcase_add_test(graphs, long_names_are_drawn_whole);
    tcase_add_test(graphs, values_are_drawn_where_they_exist);
    tcase_add_test(graphs, modules_frame_what_they_computed);
    tcase_add_test(graphs, a_long_chain_is_drawn);
    tcase_add_test(graphs, drawing_reports_errors);
}
