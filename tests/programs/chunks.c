/* How a byte-pair encoder splits a text into chunks, and counts them. */
#include <stdio.h>
#include <string.h>

#include "examples/gpt/bpe.h"
#include "tests/common/test_util.h"

Suite *chunks_suite(void);

typedef struct chunk_row {
    const char *text, *chunks; /* separated by | */
} chunk_row;

static const chunk_row chunk_rows[] = {
    {"", ""},
    {" ", " "},
    {"the cat sat", "the| cat| sat"},
    {"don't!", "don|'|t|!"},
    {"a1b22 c3", "a|1|b|22| c|3"},
    {"x = (y+1);", "x| =| (|y|+|1|);"},
    {"one  two   three", "one| | two|  | three"},
    {"end.  ", "end|.|  "},
    {"\n\n  next\n", "\n\n | next|\n"},
    {"a\tb \tc\t d", "a|\t|b| \t|c|\t| d"},
    {"na\xC3\xAFve \xE6\x9D\xB1\xE4\xBA\xAC", "na\xC3\xAFve| \xE6\x9D\xB1\xE4\xBA\xAC"},
    {"\x80\xFF \x01\x7F~", "\x80\xFF| \x01\x7F~"},
};

/* Puts a | between the chunks of a text. */
static text_buffer cut(const char *bytes, size_t length)
{
    text_buffer cut_up = {.length = 0};
    size_t step;
    for (size_t at = 0; (step = chunk_length(bytes + at, length - at)) > 0; at += step) {
        text_append(&cut_up, "|", at > 0);
        text_append(&cut_up, bytes + at, step);
    }
    text_append(&cut_up, "", 1);
    return cut_up;
}

START_TEST(test_chunks)
{
    const chunk_row *row = &chunk_rows[_i];
    text_buffer found = cut(row->text, strlen(row->text));
    ck_assert_str_eq(found.bytes, row->chunks);
    text_free(&found);
}
END_TEST

/* Long runs are split at the longest chunk; a single space before a word belongs to its chunk. */
START_TEST(test_long_chunks)
{
    char bytes[512];
    static const struct {
        char run;
        size_t count;
        const char *then;
        size_t first, second, third;
    } rows[] = {
        {'a', 127, "b", 128, 0, 0},  {'a', 128, "b", 128, 1, 0},  {'a', 300, "", 128, 128, 44},
        {'-', 130, " a", 128, 2, 2}, {' ', 128, "a", 127, 2, 0},  {' ', 129, "a", 128, 2, 0},
        {' ', 130, "a", 128, 1, 2},  {'\n', 128, "a", 128, 1, 0}, {'\0', 200, "\n", 128, 72, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(bytes, rows[i].run, rows[i].count);
        strcpy(bytes + rows[i].count, rows[i].then);
        const size_t length = rows[i].count + strlen(rows[i].then);
        const size_t first = chunk_length(bytes, length);
        const size_t second = chunk_length(bytes + first, length - first);
        ck_assert_uint_eq(first, rows[i].first);
        ck_assert_uint_eq(second, rows[i].second);
        ck_assert_uint_eq(chunk_length(bytes + first + second, length - first - second),
                          rows[i].third);
    }
}
END_TEST

/* After BPE_LEARNT bytes of distinct chunks, new ones are ignored. */
START_TEST(test_different_chunks_are_limited)
{
    char text[64];
    text_buffer t = {.length = 0};
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "%d\n", i % 50);
        text_append(&t, text, strlen(text));
    }
    vocabulary all = chunks_of_text(t.bytes, t.length, 1000);
    vocabulary some = chunks_of_text(t.bytes, t.length, 20);
    ck_assert_int_eq(all.count, 51);
    ck_assert_int_lt(some.count, 12);
    ck_assert_int_eq(some.entries[0].uses, 2);
    ck_assert_int_eq(some.entries[1].uses, 100); /* the newline, counted from the beginning */
    vocabulary_free(&all);
    vocabulary_free(&some);
    text_free(&t);
}
END_TEST

Suite *chunks_suite(void)
{
    Suite *suite = suite_create("chunks");
    TCase *chunks = heed_case(suite, "chunks");
    tcase_add_loop_test(chunks, test_chunks, 0, sizeof chunk_rows / sizeof *chunk_rows);
    tcase_add_test(chunks, test_long_chunks);
    tcase_add_test(chunks, test_different_chunks_are_limited);
    return suite;
}
