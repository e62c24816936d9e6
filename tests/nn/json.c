/* The JSON reader for model files: numbers and strings. (safetensors_malformed.c: whole headers.)
 */
#include <stdlib.h>
#include <string.h>

#include "nn/json.h"
#include "tests/common/files_util.h"

/* Reading modifies the text: this copies it to the heap, where sanitizers watch its end. */
static heed_json json_of(const char *text)
{
    const size_t size = strlen(text);
    char *copy = malloc(size + 1);
    memcpy(copy, text, size + 1);
    return (heed_json){.start = copy, .at = copy, .end = copy + size};
}

static void expect_wrong(heed_json *json, const char *text, const char *words)
{
    ck_assert_msg(json->wrong != NULL, "%s was accepted", text);
    ck_assert_msg(strstr(json->wrong, words) != NULL, "%s: %s, not %s", text, json->wrong, words);
    free(json->start);
}

/* ---- numbers ---- */

START_TEST(only_whole_numbers_are_read)
{
    static const char *const texts[] = {"1.0", "1e3", "-1", "0.5", "true", "null"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        heed_json json = json_of(texts[i]);
        ck_assert_int_eq(heed_json_number(&json), -1);
        expect_wrong(&json, texts[i], "a non-negative integer is expected");
    }
}
END_TEST

/* ---- strings ---- */

/* Escapes at the edges of UTF-8's lengths. */
START_TEST(escapes_become_utf8)
{
    static const struct {
        const char *text, *string;
    } cases[] = {{"\"\\u007f\"", "\x7f"},         {"\"\\u0080\"", "\xC2\x80"},
                 {"\"\\u07ff\"", "\xDF\xBF"},     {"\"\\u0800\"", "\xE0\xA0\x80"},
                 {"\"\\uffff\"", "\xEF\xBF\xBF"}, {"\"\\ud800\\udc00\"", "\xF0\x90\x80\x80"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_json json = json_of(cases[i].text);
        ck_assert_str_eq(heed_json_string(&json), cases[i].string);
        ck_assert(heed_json_end(&json));
        free(json.start);
    }
}
END_TEST

START_TEST(surrogates_come_in_pairs)
{
    static const char *const texts[] = {"\"\\ud800\"", "\"\\udc00\"", "\"\\udc00\\ud800\"",
                                        "\"\\ud800\\ud800\""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        heed_json json = json_of(texts[i]);
        ck_assert_ptr_null(heed_json_string(&json));
        expect_wrong(&json, texts[i], "an unpaired surrogate");
    }
}
END_TEST

void add_json_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "json");
    tcase_add_test(tests, only_whole_numbers_are_read);
    tcase_add_test(tests, escapes_become_utf8);
    tcase_add_test(tests, surrogates_come_in_pairs);
}
