/* Tokenizers: their tokens, encoding, decoding, and saving as text with a model. */
#include <string.h>

#include "examples/lab/gpt/tokenizer.h"
#include "tests/common/test_util.h"

static tokenizer of_text(token_level level, const char *text, int64_t size)
{
    return tokenizer_of_text(level, "it", text, strlen(text), size);
}

static token_list encode(const tokenizer *t, const char *text)
{
    return tokenizer_encode(t, "it", text, strlen(text));
}

static const char mixed[] = "Zo\u00E9 \u20AC5,\n\ttab ~ na\u00EFve \u2014 \u6771\u4EAC \U0001F600 "
                            "\x7F\U0001D11E a\u00A0b\uFEFF\u00FF\u0800";

/* As in Python: s = sorted(set(text)); s.index(c). */
START_TEST(test_characters_are_numbered_as_in_python)
{
    tokenizer t = of_text(LEVEL_CHAR, "na\u00EFve \u20AC", 0);
    static const int64_t ids[] = {3, 1, 5, 4, 2, 0, 6};
    token_list list = encode(&t, "na\u00EFve \u20AC");
    ck_assert_int_eq(t.count, 7);
    ck_assert_int_eq(list.count, 7);
    ck_assert_mem_eq(list.ids, ids, sizeof ids);
    token_list_free(&list);
    tokenizer_free(&t);
}
END_TEST

/* Every Unicode character, from the last to the first. */
START_TEST(test_all_characters)
{
    text_buffer t = {.length = 0};
    int64_t count = 0;
    for (uint32_t code = 0x10FFFF; code > 0; code--) {
        char bytes[4];
        if (code < 0xD800 || code > 0xDFFF) {
            text_append(&t, bytes, utf8_write(code, bytes));
            count++;
        }
    }
    tokenizer all = tokenizer_of_text(LEVEL_CHAR, "it", t.bytes, t.length, 0);
    ck_assert_int_eq(all.count, count);
    token_list list = tokenizer_encode(&all, "it", t.bytes, t.length);
    ck_assert_int_eq(list.count, count);
    for (int64_t i = 0; i < count; i++) {
        ck_assert_int_eq(list.ids[i], count - 1 - i);
    }
    token_list_free(&list);
    tokenizer_free(&all);
    text_free(&t);
}
END_TEST

START_TEST(test_decode)
{
    tokenizer t = of_text((token_level)_i, mixed, 300);
    token_list list = encode(&t, mixed);
    text_buffer back = {.length = 0};
    for (int64_t i = 0; i < list.count; i++) {
        tokenizer_decode(&t, list.ids[i], &back);
    }
    tokenizer_decode(&t, t.count, &back);
    tokenizer_decode(&t, -1, &back);
    ck_assert_uint_eq(back.length, strlen(mixed));
    ck_assert_mem_eq(back.bytes, mixed, back.length);
    text_free(&back);
    token_list_free(&list);
    tokenizer_free(&t);
}
END_TEST

START_TEST(test_refused_texts)
{
    static const struct {
        token_level level;
        const char *text;
        size_t length;
        const char *error;
    } rows[] = {
        {LEVEL_CHAR, "", 0, "it: empty"},
        {LEVEL_BPE, "", 0, "it: empty"},
        {LEVEL_CHAR, "ab\xE9 c", 5, "it: not UTF-8: byte 0xE9 at offset 2"},
        {LEVEL_CHAR, "ab\0c", 4, "it: not a text: a NUL byte at offset 2"},
        {LEVEL_BPE, "a", 1, "a vocabulary of 200 tokens; it must have from 256"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tokenizer_of_text(rows[i].level, "it", rows[i].text, rows[i].length, 200);
        expect_error(HEED_ERR_VALUE, rows[i].error);
    }
    tokenizer t = of_text(LEVEL_CHAR, "abc", 0);
    encode(&t, "a\u20ACb");
    expect_error(HEED_ERR_VALUE,
                 "it: the character '\u20AC' (U+20AC) at offset 1 is not in the vocabulary of 3");
    encode(&t, "\x1B");
    expect_error(HEED_ERR_VALUE, "the character (U+001B) at offset 0");
    tokenizer_free(&t);
}
END_TEST

START_TEST(test_saved_tokens_are_the_same)
{
    tokenizer t = of_text((token_level)_i, mixed, 280);
    text_buffer saved = tokenizer_saved(&t);
    ck_assert_uint_eq(strlen(saved.bytes) + 1, saved.length);
    ck_assert(text_check("saved", saved.bytes, saved.length - 1));
    tokenizer again = tokenizer_of_saved((token_level)_i, saved.bytes);
    expect_no_error();
    ck_assert_int_eq(again.count, t.count);
    ck_assert_int_eq(again.level, t.level);
    token_list list = encode(&t, mixed), other = encode(&again, mixed);
    ck_assert_int_eq(list.count, other.count);
    ck_assert_mem_eq(list.ids, other.ids, (size_t)list.count * sizeof *list.ids);
    text_buffer resaved = tokenizer_saved(&again);
    ck_assert_str_eq(resaved.bytes, saved.bytes);
    token_list_free(&list);
    token_list_free(&other);
    text_free(&saved);
    text_free(&resaved);
    tokenizer_free(&t);
    tokenizer_free(&again);
}
END_TEST

START_TEST(test_broken_tokens)
{
    static const struct {
        token_level level;
        const char *saved, *error;
    } rows[] = {
        {LEVEL_CHAR, "", "not in order, or there are none"},
        {LEVEL_CHAR, "aba", "not in order, or there are none"},
        {LEVEL_CHAR, "a\xFF", "the characters: not UTF-8: byte 0xFF at offset 1"},
        {LEVEL_BPE, "1 2 3\n", "line 1 is not a merge of two earlier tokens"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tokenizer t = tokenizer_of_saved(rows[i].level, rows[i].saved);
        expect_error(HEED_ERR_VALUE, rows[i].error);
        ck_assert_int_eq(t.count, 0);
    }
}
END_TEST

START_TEST(test_no_memory)
{
    bool failed = true;
    for (int n = 0; failed; n++) {
        heed_fail_allocation(n);
        tokenizer t = of_text((token_level)_i, mixed, 300), again = {.count = 0};
        text_buffer saved = {.length = 0};
        token_list list = {.count = 0};
        if (!heed_error_pending()) {
            saved = tokenizer_saved(&t);
        }
        if (!heed_error_pending()) {
            again = tokenizer_of_saved(t.level, saved.bytes);
        }
        if (!heed_error_pending()) {
            list = encode(&t, mixed);
        }
        failed = heed_error_pending() == HEED_ERR_MEMORY;
        ck_assert_int_eq(heed_error(), failed ? HEED_ERR_MEMORY : HEED_OK);
        ck_assert_int_eq(list.count > 0, !failed);
        token_list_free(&list);
        text_free(&saved);
        tokenizer_free(&t);
        tokenizer_free(&again);
        ck_assert_int_lt(n, 1000);
    }
    heed_fail_allocation(-1);
}
END_TEST

void add_tokenizer_cases(Suite *suite)
{
    TCase *tokens = heed_case(suite, "tokens");
    tcase_add_test(tokens, test_characters_are_numbered_as_in_python);
    tcase_add_test(tokens, test_all_characters);
    tcase_add_loop_test(tokens, test_decode, 0, 2);
    tcase_add_test(tokens, test_refused_texts);
    tcase_add_loop_test(tokens, test_saved_tokens_are_the_same, 0, 2);
    tcase_add_test(tokens, test_broken_tokens);
    tcase_add_loop_test(tokens, test_no_memory, 0, 2);
}
