/* The report of heed_attention_check, as text. */
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "tests/common/test_util.h"

/* What is printed of a report; the caller frees it. */
static char *printed(const heed_attention_report *report)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    heed_attention_report_print(stream, report);
    fclose(stream);
    return text;
}

static heed_attention_report three_tokens(void)
{
    heed_attention_report r = {.tokens = 3,
                               .reach = {{1, 0.51, 1e-7}, {0.5, 0.21, 0.2}, {0.06, 0.05, 0}},
                               .expected = {"##.", "###", "##?"}};
    for (int i = 0; i < HEED_ATTENTION_CHECKS; i++) {
        r.checks[i].verdict = (heed_verdict)(i % 4);
        snprintf(r.checks[i].text, sizeof r.checks[i].text, "text %d", i);
    }
    return r;
}

START_TEST(a_report_has_a_line_for_each_check)
{
    heed_attention_report r = three_tokens();
    r.reach[2][1] = 1e-9;
    strcpy(r.checks[1].text,
           "words that are too long for one line of eighty columns, and therefore "
           "go on below, after the same column");
    strcpy(r.checks[4].text,
           "a_name_that_is_longer_than_the_rest_of_the_line_of_eighty_columns stays");
    strcpy(r.assumed, ".causal: exactly the later tokens have no effect");
    strcpy(r.mistake, "y equals attention with a mistake; this is the remedy, also long");
    char *text = printed(&r);
    ck_assert_str_eq(
        text,
        "attention check\n\n"
        "  assumed           .causal: exactly the later tokens have no effect\n\n"
        "  repeat     -      text 0\n"
        "  batch      ok     words that are too long for one line of eighty columns, and\n"
        "                    therefore go on below, after the same column\n"
        "  reach      WRONG  text 2\n"
        "  values     ?      text 3\n"
        "  order      -      a_name_that_is_longer_than_the_rest_of_the_line_of_eighty_columns\n"
        "                    stays\n"
        "  equal      ok     text 5\n"
        "  length     WRONG  text 6\n"
        "  padding    ?      text 7\n"
        "  parameters -      text 8\n"
        "  cache      ok     text 9\n"
        "  formula    WRONG  text 10\n"
        "\n  effect of token (column) on output (row):\n\n"
        "      0 1 2\n"
        "   0  # # !\n"
        "   1  * * +\n"
        "   2  + x .\n"
        "\n  as expected: . no effect, - to # an effect\n"
        "  wrong:       ! an effect that should not be\n"
        "  wrong:       x no effect where one should be\n"
        "\n  likely mistake    y equals attention with a mistake; this is the remedy, also\n"
        "                    long\n"
        "\nWRONG: 3 checks passed, 3 failed\n");
    free(text);
}
END_TEST

START_TEST(a_report_without_mistakes)
{
    heed_attention_report r = {.passed = true, .tokens = 2, .reach = {{1, 1e-8}, {1, 0.05}}};
    memcpy(r.expected[0], "#.", 2);
    memcpy(r.expected[1], "##", 2);
    for (int i = 0; i < HEED_ATTENTION_CHECKS; i++) {
        r.checks[i].verdict = i == HEED_CHECK_ORDER ? HEED_VERDICT_UNKNOWN : HEED_VERDICT_PASSED;
    }
    char *text = printed(&r);
    ck_assert_ptr_nonnull(strstr(text, "   0  # .\n   1  # -\n"
                                       "\n  as expected: . no effect, - to # an effect\n"
                                       "\npassed: 10 checks; not checked: order\n"));
    free(text);
    r.checks[HEED_CHECK_FORMULA].verdict = HEED_VERDICT_SKIPPED;
    strcpy(r.checks[HEED_CHECK_FORMULA].text, "no .module");
    text = printed(&r);
    ck_assert_ptr_nonnull(strstr(text, "\npassed: 9 checks; not checked: order, the scale and the "
                                       "projections (no .module)\n"));
    free(text);
}
END_TEST

void add_attention_report_cases(Suite *suite)
{
    TCase *report = heed_case(suite, "report");
    tcase_add_test(report, a_report_has_a_line_for_each_check);
    tcase_add_test(report, a_report_without_mistakes);
}
