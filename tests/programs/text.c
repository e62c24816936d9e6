/* Text handling of the programs: UTF-8, files, tokens, joining, vocabularies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/common/vocabulary.h"
#include "tests/common/test_util.h"

/* ---- UTF-8 ---- */

typedef struct utf8_row {
    const char *bytes;
    int length; /* 0: not UTF-8 */
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
    {"", 0, 0},     /* empty */
    {"\x80", 0, 0}, /* a continuation byte first */
    {"\xBF"
     "a",
     0, 0},
    {"\xC0\x80", 0, 0}, /* overlong */
    {"\xC1\xBF", 0, 0},
    {"\xE0\x9F\xBF", 0, 0},
    {"\xF0\x8F\xBF\xBF", 0, 0},
    {"\xC3", 0, 0}, /* truncated */
    {"\xE2\x82", 0, 0},
    {"\xF0\x90\x80", 0, 0},
    {"\xC3"
     "a",
     0, 0}, /* not followed by a continuation byte */
    {"\xE2\x82"
     "a",
     0, 0},
    {"\xED\xA0\x80", 0, 0}, /* UTF-16 surrogates */
    {"\xED\xBF\xBF", 0, 0},
    {"\xF4\x90\x80\x80", 0, 0}, /* above U+10FFFF */
    {"\xF5\x80\x80\x80", 0, 0},
    {"\xF8\x88\x80\x80\x80", 0, 0},
    {"\xFF", 0, 0},
};

START_TEST(test_utf8)
{
    const utf8_row *row = &utf8_rows[_i];
    uint32_t code = 0;
    ck_assert_int_eq(utf8_length(row->bytes, strlen(row->bytes), &code), row->length);
    ck_assert_uint_eq(code, row->code);
    for (int left = 1; left < row->length; left++) { /* no byte past `left` is read as part of it */
        ck_assert_int_eq(utf8_length(row->bytes, (size_t)left, &code), 0);
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

/* Writes bytes to a file of this test, and reads it as text. */
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

typedef struct file_row {
    const char *bytes;
    const char *is; /* NULL: rejected with `error` */
    const char *error;
} file_row;

static const file_row file_rows[] = {
    {"plain\ntext\n", "plain\ntext\n", NULL},
    {"\xEF\xBB\xBFmarked", "marked", NULL},
    {"in\xEF\xBB\xBFside", "in\xEF\xBB\xBFside", NULL},
    {"two\r\nlines\r\n", "two\nlines\n", NULL},
    {"\r\r\n\n\r", "\r\n\n\r", NULL},
    {"page\ftab\t\x1B\x7F", "page\ftab\t\x1B\x7F", NULL},
    {"", NULL, "empty"},
    {"\xEF\xBB\xBF", NULL, "empty"},
    {"\xEF\xBB\xBF"
     "a\r\nb\xFF",
     NULL, "0xFF at offset 7"}, /* the offset in the file, before any conversion */
};

START_TEST(test_files)
{
    const file_row *row = &file_rows[_i];
    text_buffer t = read_back(row->bytes, strlen(row->bytes));
    if (row->is == NULL) {
        expect_error(HEED_ERR_VALUE, row->error);
        ck_assert_ptr_null(t.bytes);
        return;
    }
    expect_no_error();
    ck_assert_uint_eq(t.length, strlen(row->is));
    ck_assert_mem_eq(t.bytes, row->is, t.length);
    text_free(&t);
}
END_TEST

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
}
END_TEST

/* ---- tokens ---- */

typedef struct token_row {
    text_level level;
    const char *bytes;
    const char *tokens; /* separated by | */
    const char *joined; /* NULL: the same as bytes */
} token_row;

static const token_row token_rows[] = {
    {TEXT_CHAR, "a b\n", "a| |b|\n", NULL},
    {TEXT_CHAR, "h\xC3\xA9\xE2\x82\xAC!", "h|\xC3\xA9|\xE2\x82\xAC|!", NULL},
    {TEXT_CHAR, "", "", NULL},
    {TEXT_WORD, "", "", NULL},
    {TEXT_WORD, " \t \xC2\xA0\xE2\x80\x83\xE3\x80\x80", "", ""},
    {TEXT_WORD, "The cat sat.", "The|cat|sat|.", NULL},
    {TEXT_WORD, "one  two\tthree ", "one|two|three", "one two three"},
    {TEXT_WORD, "first\n\n second\n", "first|\n|\n|second|\n", "first\n\nsecond\n"},
    {TEXT_WORD, "don't, can't; 'tis 9 o'clock", "don't|,|can't|;|'|tis|9|o'clock",
     "don't, can't; 'tis 9 o'clock"},
    {TEXT_WORD, "it\u2019s", "it\u2019s", NULL},
    {TEXT_WORD, "the dogs' bones", "the|dogs|'|bones", "the dogs 'bones"}, /* as a quotation mark */
    {TEXT_WORD, "3.14 or 1,000. Then v2.", "3.14|or|1,000|.|Then|v2|.", NULL},
    {TEXT_WORD, "a.b 1.b a.1 .5", "a|.|b|1|.|b|a|.|1|.|5", "a. b 1. b a. 1. 5"},
    {TEXT_WORD, "snake_case x_1", "snake_case|x_1", NULL},
    {TEXT_WORD, "well-known and/or", "well|-|known|and|/|or", NULL},
    {TEXT_WORD, "(see [1], {x}) why? no! a: b; c", "(|see|[|1|]|,|{|x|}|)|why|?|no|!|a|:|b|;|c",
     NULL},
    {TEXT_WORD, "he said \"go on\" and \"stop\"", "he|said|\"|go|on|\"|and|\"|stop|\"", NULL},
    {TEXT_WORD, "an \"open\none \"two\" x", "an|\"|open|\n|one|\"|two|\"|x", NULL},
    {TEXT_WORD, "\u201CWell\u201D, \u00ABoui\u00BB \u2014 \u20AC5 50%",
     "\u201C|Well|\u201D|,|\u00AB|oui|\u00BB|\u2014|\u20AC|5|50|%",
     "\u201CWell\u201D, \u00ABoui\u00BB\u2014\u20AC5 50%"},
    {TEXT_WORD, "na\u00EFve \u0416\u0443\u043A \u4F60\u597D\u3002\u518D\u89C1",
     "na\u00EFve|\u0416\u0443\u043A|\u4F60\u597D|\u3002|\u518D\u89C1", NULL},
    {TEXT_WORD, "wait... what", "wait|.|.|.|what", NULL},
    {TEXT_WORD, "a = b * c", "a|=|b|*|c", NULL},
    {TEXT_WORD, "<unknown>", "<|unknown|>", "< unknown >"},
};

START_TEST(test_tokens)
{
    const token_row *row = &token_rows[_i];
    text_buffer tokens = {.length = 0}, joined = {.length = 0};
    text_joint joint = {.tight = true};
    const size_t length = strlen(row->bytes);
    size_t at = 0, start = 0, step;
    while ((step = text_next_token(row->level, row->bytes, length, at, &start)) > 0) {
        char token[64] = "";
        ck_assert_uint_ge(start, at);
        ck_assert_uint_le(start + step, length);
        memcpy(token, row->bytes + start, step);
        text_append(&tokens, "|", tokens.length > 0);
        text_append(&tokens, token, step);
        text_join(&joined, row->level, &joint, token);
        at = start + step;
    }
    text_append(&tokens, "", 1);
    text_append(&joined, "", 1);
    ck_assert_str_eq(tokens.bytes, row->tokens);
    ck_assert_str_eq(joined.bytes, row->joined != NULL ? row->joined : row->bytes);
    text_free(&tokens);
    text_free(&joined);
}
END_TEST

/* ---- vocabularies ---- */

static text_buffer text_of(const char *bytes)
{
    text_buffer t = {.length = 0};
    text_append(&t, bytes, strlen(bytes));
    return t;
}

START_TEST(test_vocabulary_is_ordered_by_uses)
{
    text_buffer t = text_of("b a c a b a\nd c");
    vocabulary v = vocabulary_of_text(TEXT_WORD, t.bytes, t.length, 100);
    static const char *const order[] = {"<unknown>", "a", "b", "c", "\n", "d"};
    ck_assert_int_eq(v.count, 6);
    for (int64_t id = 0; id < v.count; id++) {
        ck_assert_str_eq(vocabulary_token(&v, id), order[id]);
        ck_assert_int_eq(vocabulary_id(&v, order[id], strlen(order[id])), id);
    }
    ck_assert_str_eq(vocabulary_token(&v, 6), "");
    ck_assert_str_eq(vocabulary_token(&v, -1), "");
    ck_assert_int_eq(vocabulary_id(&v, "e", 1), 0);
    vocabulary_free(&v);
    text_free(&t);
}
END_TEST

START_TEST(test_vocabulary_is_limited)
{
    text_buffer t = text_of("b a c a b a d c");
    vocabulary v = vocabulary_of_text(TEXT_WORD, t.bytes, t.length, 3);
    token_span unknown;
    token_list list = vocabulary_encode(&v, t.bytes, t.length, &unknown);
    static const int64_t ids[] = {2, 1, 0, 1, 2, 1, 0, 0};
    ck_assert_int_eq(v.count, 3);
    ck_assert_int_eq(list.count, 8);
    ck_assert_mem_eq(list.ids, ids, sizeof ids);
    ck_assert_ptr_eq(unknown.bytes, t.bytes + 4);
    ck_assert_uint_eq(unknown.length, 1);
    token_list_free(&list);
    vocabulary_free(&v);
    text_free(&t);
}
END_TEST

/* Many tokens, so that the table grows; joining inverts encoding. */
START_TEST(test_vocabulary_of_many)
{
    text_buffer t = {.length = 0}, joined = {.length = 0};
    for (int i = 0; i < 5000; i++) {
        char word[24];
        snprintf(word, sizeof word, i > 0 ? " w%d" : "w%d", i * 7919 % 3001);
        text_append(&t, word, strlen(word));
    }
    vocabulary v = vocabulary_of_text(TEXT_WORD, t.bytes, t.length, 8192);
    ck_assert_int_eq(v.count, 3002);
    token_span unknown;
    token_list list = vocabulary_encode(&v, t.bytes, t.length, &unknown);
    ck_assert_int_eq(list.count, 5000);
    ck_assert_ptr_null(unknown.bytes);
    text_joint joint = {.tight = true};
    for (int64_t i = 0; i < list.count; i++) {
        ck_assert_int_gt(list.ids[i], 0);
        text_join(&joined, TEXT_WORD, &joint, vocabulary_token(&v, list.ids[i]));
    }
    ck_assert_uint_eq(joined.length, t.length);
    ck_assert_mem_eq(joined.bytes, t.bytes, t.length);
    token_list_free(&list);
    vocabulary_free(&v);
    text_free(&joined);
    text_free(&t);
}
END_TEST

/* A vocabulary survives a round trip through a list. */
START_TEST(test_vocabulary_as_list)
{
    const text_level level = _i == 0 ? TEXT_CHAR : TEXT_WORD;
    text_buffer t = text_of("Don't \"stop\",\nna\u00EFve one!\n\u20AC <x> \f don't");
    vocabulary v = vocabulary_of_text(level, t.bytes, t.length, 100);
    text_buffer list = vocabulary_list(&v);
    ck_assert_uint_eq(strlen(list.bytes) + 1, list.length);
    vocabulary again = vocabulary_of_list(level, true, list.bytes);
    expect_no_error();
    ck_assert_int_eq(again.count, v.count);
    ck_assert_int_eq(again.unknown, 0);
    for (int64_t id = 0; id < v.count; id++) {
        ck_assert_str_eq(vocabulary_token(&again, id), vocabulary_token(&v, id));
    }
    vocabulary_free(&again);
    vocabulary_free(&v);
    text_free(&list);
    text_free(&t);
}
END_TEST

START_TEST(test_vocabulary_of_broken_lists)
{
    static const char *const lists[] = {"a b a", "a  b", " a", "a <unknown>"};
    for (int i = 0; i < 4; i++) {
        vocabulary v = vocabulary_of_list(TEXT_WORD, true, lists[i]);
        expect_error(HEED_ERR_VALUE, "an empty or a duplicate token");
        ck_assert_int_eq(v.count, 0);
    }
    vocabulary_of_list(TEXT_CHAR, true, "aba");
    expect_error(HEED_ERR_VALUE, "duplicate token");
    vocabulary v = vocabulary_of_list(TEXT_WORD, false, "<eos> the");
    ck_assert_int_eq(v.count, 2);
    ck_assert_int_eq(vocabulary_id(&v, "it", 2), VOCABULARY_NONE);
    vocabulary_free(&v);
}
END_TEST

/* Each allocation fails in turn: the error is pending, and nothing is lost or leaked. */
START_TEST(test_no_memory)
{
    bool failed = true;
    for (int n = 0; failed; n++) {
        heed_fail_allocation(n);
        text_buffer t = read_back("one two three\nfour", 18);
        vocabulary v = {.count = 0};
        token_list list = {.count = 0};
        if (!heed_error_pending()) {
            v = vocabulary_of_text(TEXT_WORD, t.bytes, t.length, 100);
        }
        if (!heed_error_pending()) {
            list = vocabulary_encode(&v, t.bytes, t.length, NULL);
        }
        failed = heed_error_pending() == HEED_ERR_MEMORY;
        ck_assert_int_eq(heed_error(), failed ? HEED_ERR_MEMORY : HEED_OK);
        token_list_free(&list);
        vocabulary_free(&v);
        text_free(&t);
        ck_assert_int_lt(n, 1000);
    }
    heed_fail_allocation(-1);
}
END_TEST

void add_text_cases(Suite *suite)
{
    TCase *texts = heed_case(suite, "texts");
    tcase_add_loop_test(texts, test_utf8, 0, sizeof utf8_rows / sizeof *utf8_rows);
    tcase_add_test(texts, test_check_names_the_offset);
    tcase_add_test(texts, test_hashes);
    tcase_add_loop_test(texts, test_files, 0, sizeof file_rows / sizeof *file_rows);
    tcase_add_test(texts, test_large_file);
    tcase_add_test(texts, test_no_file);
    tcase_add_loop_test(texts, test_tokens, 0, sizeof token_rows / sizeof *token_rows);
    TCase *words = heed_case(suite, "vocabularies");
    tcase_add_test(words, test_vocabulary_is_ordered_by_uses);
    tcase_add_test(words, test_vocabulary_is_limited);
    tcase_add_test(words, test_vocabulary_of_many);
    tcase_add_loop_test(words, test_vocabulary_as_list, 0, 2);
    tcase_add_test(words, test_vocabulary_of_broken_lists);
    tcase_add_test(words, test_no_memory);
}
