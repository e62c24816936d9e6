/* next_token's plots. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/next_token/plot.h"
#include "tests/next_token_util.h"

Suite *pictures_suite(void);

/* ---- plots ---- */

START_TEST(test_curve)
{
    curve few = curve_begin(3), many = curve_begin(100000);
    for (int64_t step = 1; step <= 3; step++) {
        curve_add(&few, step, (double)(10 * step));
    }
    ck_assert(few.count == 3 && few.points[2].step == 3 && few.points[2].loss == 30);
    for (int64_t step = 1; step <= 100000; step++) {
        curve_add(&many, step, (double)step);
    }
    ck_assert(many.count > 300 && many.count <= CURVE_POINTS);
    ck_assert_double_eq_tol(many.points[0].step, (double)(many.each + 1) / 2, 1e-9);
    ck_assert_double_eq_tol(many.points[0].loss, many.points[0].step, 1e-9);
    ck_assert_double_eq_tol(many.points[many.count - 1].loss, 100000, (double)many.each);
}
END_TEST

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

START_TEST(test_plot)
{
    static const char *const tokens[] = {
        "<&>\"", "\n", " ", "\t", "\x1B", "\xC2\x85", "na\u00EFve", "a-word-that-is-much-too-long"};
    char *svg = calloc(1 << 20, 1);
    curve learnt = curve_begin(50), held_out = curve_begin(50);
    for (int64_t step = 1; step <= _i * 25; step++) {
        curve_add(&learnt, step, 3 / (double)step);
        curve_add(&held_out, step, 1);
    }
    heed_tensor *attention = heed_softmax(heed_rand(HEED_SHAPE(3, 8, 8), HEED_F32), -1);
    plot_write(path_of_test, "a & b", &learnt, &held_out, attention, tokens);
    expect_no_error();
    FILE *file = fopen(path_of_test, "r");
    ck_assert_uint_lt(fread(svg, 1, (1 << 20) - 1, file), (1 << 20) - 1);
    fclose(file);
    expect_xml(svg);
    ck_assert_ptr_nonnull(strstr(svg, "a &amp; b"));
    ck_assert_ptr_nonnull(strstr(svg, "&lt;&amp;&gt;&quot;"));
    ck_assert_ptr_nonnull(strstr(svg, "head 3"));
    ck_assert_ptr_nonnull(strstr(svg, ">a-word-that-is\u2026<"));
    ck_assert((_i > 0) == (strstr(svg, "held-out loss 1.000") != NULL));
    free(svg);
    plot_write("/no/such/file", "", &learnt, &held_out, attention, tokens);
    expect_error(HEED_ERR_FILE, "--plot: cannot write /no/such/file: No such file");
}
END_TEST

Suite *pictures_suite(void)
{
    Suite *suite = suite_create("pictures");
    TCase *pictures = path_case(suite, "plots");
    tcase_add_test(pictures, test_curve);
    tcase_add_loop_test(pictures, test_plot, 0, 3);
    return suite;
}
