/* Text handling of the programs: UTF-8, files, tokens, joining, vocabularies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/common/text.h"
#include "tests/common/test_util.h"

/* ---- UTF-8 ---- */

typedef struct utf8_row {
    const char *bytes;
    size_t length; /* code 0: not UTF-8 */
    uint32_t code;
} utf8_row;

static const utf8_row utf8_rows[] = {
    {"a", 1, 'a'},
    {"\x7F", 1, 0x7F},
    {"\xC2\x80", 2, 0x80},
    {"\xC3\xA9x", 2, 0xE9},
    {"\xDF\xBF", 2, 0x7FF},
    {"\xE0\xA0\x80", 3, 0x800},
    {"\xE2\x82\xAC", 3, 0x20AC},
    {"\xED\x9F\xBF", 3, 0xD7FF},
    {"\xEE\x80\x80", 3, 0xE000},
    {"\xEF\xBF\xBF", 3, 0xFFFF},
    {"\xF0\x90\x80\x80", 4, 0x10000},
    {"\xF4\x8F\xBF\xBF", 4, 0x10FFFF},
    {"\x80", 1, 0}, /* a continuation byte first */
    {"\xBF"
     "a",
     1, 0},
    {"\xC0\x80", 1, 0}, /* overlong */
    {"\xC1\xBF", 1, 0},
    {"\xE0\x9F\xBF", 1, 0},
    {"\xF0\x8F\xBF\xBF", 1, 0},
    {"\xC3", 1, 0}, /* truncated */
    {"\xE2\x82", 1, 0},
    {"\xF0\x90\x80", 1, 0},
    {"\xC3"
     "a",
     1, 0}, /* not followed by a continuation byte */
    {"\xE2\x82"
     "a",
     1, 0},
    {"\xED\xA0\x80", 1, 0}, /* UTF-16 surrogates */
    {"\xED\xBF\xBF", 1, 0},
    {"\xF4\x90\x80\x80", 1, 0}, /* above U+10FFFF */
    {"\xF5\x80\x80\x80", 1, 0},
    {"\xF8\x88\x80\x80\x80", 1, 0},
    {"\xFF", 1, 0},
};

START_TEST(test_utf8)
{
    const utf8_row *row = &utf8_rows[_i];
    uint32_t code = 0;
    ck_assert_uint_eq(utf8_next(row->bytes, strlen(row->bytes), &code), row->length);
    ck_assert_uint_eq(code, row->code);
    for (size_t left = 1; left < row->length; left++) { /* no byte past `left` is part of it */
        ck_assert_uint_eq(utf8_next(row->bytes, left, &code), 1);
        ck_assert_uint_eq(code, 0);
    }
}
END_TEST

/* Published test values of FNV-1a. */
START_TEST(test_hashes)
{
    ck_assert_uint_eq(text_hash("", 0), UINT64_C(0xcbf29ce484222325));
    ck_assert_uint_eq(text_hash("a", 1), UINT64_C(0xaf63dc4c8601ec8c));
    ck_assert_uint_eq(text_hash("foobar", 6), UINT64_C(0x85944171f73967e8));
}
END_TEST

START_TEST(test_check_names_the_offset)
{
    ck_assert(text_check("it", "caf\xC3\xA9\n", 6));
    ck_assert(!text_check("it", "caf\xC3\xA9\xE9 au", 9));
    expect_error(HEED_ERR_VALUE, "it: not UTF-8: byte 0xE9 at offset 5");
    ck_assert(!text_check("it", "a\0b", 3));
    expect_error(HEED_ERR_VALUE, "a NUL byte at offset 1");
}
END_TEST

/* ---- files ---- */

/* Writes bytes to a file of this test, and reads it. */
static text_buffer read_back(const char *bytes, size_t length)
{
    char path[] = "/tmp/heed-text-XXXXXX";
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, bytes, length), (ssize_t)length);
    close(file);
    text_buffer t = text_read(path);
    unlink(path);
    return t;
}

START_TEST(test_large_file)
{
    const size_t size = 300000;
    char *bytes = malloc(size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (char)('a' + i % 26);
    }
    text_buffer t = read_back(bytes, size);
    ck_assert_uint_eq(t.length, size);
    ck_assert_mem_eq(t.bytes, bytes, size);
    text_free(&t);
    free(bytes);
}
END_TEST

START_TEST(test_no_file)
{
    text_read("/no/such/file");
    expect_error(HEED_ERR_VALUE, "cannot read /no/such/file: No such file");
    text_read("/");
    expect_error(HEED_ERR_VALUE, "cannot read /: Is a directory");
    read_back("", 0);
    expect_error(HEED_ERR_VALUE, "empty");
}
END_TEST

void add_text_cases(Suite *suite)
{
    TCase *texts = heed_case(suite, "texts");
    tcase_add_loop_test(texts, test_utf8, 0, sizeof utf8_rows / sizeof *utf8_rows);
    tcase_add_test(texts, test_check_names_the_offset);
    tcase_add_test(texts, test_hashes);
    tcase_add_test(texts, test_large_file);
    tcase_add_test(texts, test_no_file);
}
