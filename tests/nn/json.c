/* The JSON reader for model files: exact numbers, literals, skipped values, and malformed text. */
#include <math.h>
#include <stdio.h>
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

/* These must be read exactly as strtod reads them. */
static const char *const numbers[] = {"0",
                                      "-0",
                                      "1",
                                      "-17",
                                      "0.1",
                                      "1e-05",
                                      "1E-05",
                                      "1.5e+3",
                                      "0.02",
                                      "1e22",
                                      "123456789012345",
                                      "9007199254740993e-3",
                                      "0.30000000000000004",
                                      "0.1000000000000000055511151231257827",
                                      "2.2250738585072014e-308",
                                      "1.7976931348623157e308",
                                      "5e-324",
                                      "1e-400",
                                      "0e999999999999",
                                      "100000000000000000000000000000",
                                      "0.000000000000000000000000000001"};

START_TEST(numbers_are_read)
{
    heed_json json = json_of(numbers[_i]);
    const double expected = strtod(numbers[_i], NULL), got = heed_json_real(&json);
    ck_assert(json.wrong == NULL && heed_json_end(&json));
    ck_assert_msg(got == expected && !signbit(got) == !signbit(expected), "%s: %a, not %a",
                  numbers[_i], got, expected);
    free(json.start);
}
END_TEST

static const struct {
    const char *text, *words;
} no_numbers[] = {{"", "a number is expected"},         {"-", "a number is expected"},
                  {"+1", "a number is expected"},       {".5", "a number is expected"},
                  {"1.", "a number is expected"},       {"1.e5", "a number is expected"},
                  {"1e", "a number is expected"},       {"1e+", "a number is expected"},
                  {"--1", "a number is expected"},      {"NaN", "a number is expected"},
                  {"Infinity", "a number is expected"}, {"-Infinity", "a number is expected"},
                  {"\"1\"", "a number is expected"},    {"null", "a number is expected"},
                  {"01", "a number has a leading 0"},   {"-00.5", "a number has a leading 0"},
                  {"1e309", "a number is too large"},   {"-1e99999999999999999999", "too large"}};

START_TEST(what_is_no_number_is_refused)
{
    heed_json json = json_of(no_numbers[_i].text);
    ck_assert(heed_json_real(&json) == 0);
    expect_wrong(&json, no_numbers[_i].text, no_numbers[_i].words);
}
END_TEST

/* safetensors headers still accept integers only. */
START_TEST(whole_numbers_stay_whole)
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

/* ---- true, false, null ---- */

START_TEST(words_are_read)
{
    heed_json json = json_of(" true\nfalse null\tnull 1");
    ck_assert(heed_json_bool(&json) && !heed_json_bool(&json));
    ck_assert(heed_json_null(&json) && heed_json_null(&json) && !heed_json_null(&json));
    ck_assert(json.wrong == NULL && heed_json_number(&json) == 1 && heed_json_end(&json));
    free(json.start);
    static const char *const texts[] = {"", "True", "tru", "fals", "1", "null", "\"true\""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        heed_json other = json_of(texts[i]);
        ck_assert(!heed_json_bool(&other));
        expect_wrong(&other, texts[i], "true or false is expected");
    }
}
END_TEST

/* ---- skipped values ---- */

#define TIMES_8(x)  x x x x x x x x
#define TIMES_64(x) TIMES_8(TIMES_8(x))

static const char *const values[] = {"1",
                                     "-1.5e-7",
                                     "\"a\\u00e9]}\"",
                                     "true",
                                     "null",
                                     "[]",
                                     "{}",
                                     "[[],[]]",
                                     " [ 1 , [ ] , { } , \"x\" ] ",
                                     "{\"a\":{\"b\":[1,{\"c\":null}],\"d\":[[]]},\"e\":false}",
                                     TIMES_64("[") TIMES_64("]"),
                                     TIMES_64("{\"a\":") "1" TIMES_64("}")};

START_TEST(values_are_passed_over)
{
    char text[1200];
    snprintf(text, sizeof text, "%s,", values[_i]);
    heed_json json = json_of(text);
    heed_json_skip(&json);
    ck_assert_msg(json.wrong == NULL, "%s: %s", text, json.wrong);
    heed_json_take(&json, ','); /* it follows immediately */
    ck_assert(heed_json_end(&json));
    free(json.start);
}
END_TEST

static const struct {
    const char *text, *words;
} no_values[] = {{"", "a value is expected"},
                 {"]", "a value is expected"},
                 {"nul", "a value is expected"},
                 {"x", "a value is expected"},
                 {"'a'", "a value is expected"},
                 {"NaN", "a value is expected"},
                 {"[", "a value is expected"},
                 {"[1", "',' or ']' is expected"},
                 {"[1,]", "a value is expected"},
                 {"[,]", "a value is expected"},
                 {"[1 2]", "',' or ']' is expected"},
                 {"[}", "a value is expected"},
                 {"[1}", "',' or ']' is expected"},
                 {"{", "a string is expected"},
                 {"{1:2}", "a string is expected"},
                 {"{\"a\"}", "':' is expected"},
                 {"{\"a\":}", "a value is expected"},
                 {"{\"a\":1,}", "a string is expected"},
                 {"{\"a\":1]", "',' or '}' is expected"},
                 {"{\"a\" 1}", "':' is expected"},
                 {"[tru]", "true or false is expected"},
                 {"[01]", "a number has a leading 0"},
                 {"\"a", "the text ends inside a string"},
                 {"[\"\xff\"]", "invalid UTF-8"},
                 {TIMES_64("[") "[", "arrays and objects are nested more than 64 deep"},
                 {TIMES_64("{\"a\":") "{", "nested more than 64 deep"}};

START_TEST(what_is_no_value_is_refused)
{
    heed_json json = json_of(no_values[_i].text);
    heed_json_skip(&json);
    expect_wrong(&json, no_values[_i].text, no_values[_i].words);
}
END_TEST

/* Each proper prefix of a long text is rejected, and nothing reads beyond its end. */
START_TEST(prefixes_are_refused)
{
    static const char text[] =
        "{\"a\":[1.5e-3,true,null,\"\\u00e9\\n\",{\"b\":{}},[[-1]]],\"c\":false}";
    for (size_t size = 0; size + 1 < sizeof text; size++) {
        char part[sizeof text];
        snprintf(part, sizeof part, "%.*s", (int)size, text);
        heed_json json = json_of(part);
        heed_json_skip(&json);
        expect_wrong(&json, part, "");
    }
}
END_TEST

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

void add_json_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "json");
    tcase_add_loop_test(tests, numbers_are_read, 0, COUNT(numbers));
    tcase_add_loop_test(tests, what_is_no_number_is_refused, 0, COUNT(no_numbers));
    tcase_add_test(tests, whole_numbers_stay_whole);
    tcase_add_test(tests, escapes_become_utf8);
    tcase_add_test(tests, words_are_read);
    tcase_add_loop_test(tests, values_are_passed_over, 0, COUNT(values));
    tcase_add_loop_test(tests, what_is_no_value_is_refused, 0, COUNT(no_values));
    tcase_add_test(tests, prefixes_are_refused);
}
