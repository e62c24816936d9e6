/* Tokenizers of every level: their tokens, encoding, decoding, and saving as text with a model. */
#include <stdlib.h>
#include <string.h>

#include "examples/lab/gpt/tokenizer.h"
#include "tests/common/test_util.h"

static tokenizer of_text(token_level level, const char *text, int64_t size)
{
    return tokenizer_of_text(level, "it", text, strlen(text), size);
}

static token_list encode(const tokenizer *t, const char *text, token_span *unknown)
{
    return tokenizer_encode(t, text, strlen(text), unknown);
}

static text_buffer decode(const tokenizer *t, const token_list *list)
{
    text_buffer to = {.length = 0};
    text_joint joint = {.tight = true};
    for (int64_t i = 0; i < list->count; i++) {
        tokenizer_decode(t, &joint, list->ids[i], &to);
    }
    text_append(&to, "", 1);
    return to;
}

START_TEST(test_names)
{
    token_level level = LEVEL_BYTE;
    static const char *const names[TOKEN_LEVELS] = {"byte", "char", "word", "bpe"};
    for (int i = 0; i < TOKEN_LEVELS; i++) {
        ck_assert_str_eq(token_level_name((token_level)i), names[i]);
        ck_assert(token_level_named(names[i], &level));
        ck_assert_int_eq(level, i);
    }
    ck_assert(!token_level_named("letter", &level) && !token_level_named("", &level));
}
END_TEST

/* ---- tokens ---- */

static const char mixed[] = "Zo\u00E9 \u20AC5,\n\ttab ~ na\u00EFve \u2014 \u6771\u4EAC \U0001F600 "
                            "\x7F\U0001D11E a\u00A0b\uFEFF\u00FF\u0800";

/* As in Python: s = sorted(set(text)); [s.index(c) for c in text]. */
START_TEST(test_characters_are_numbered_as_in_python)
{
    static const int64_t ids[] = {5,  10, 16, 2,  21, 4,  3,  1, 0,  11, 6,  7,  2,
                                  13, 2,  9,  6,  17, 12, 8,  2, 20, 2,  23, 22, 2,
                                  26, 2,  14, 25, 2,  6,  15, 7, 24, 18, 19};
    static const char *const some[] = {"\t", "\n", " ", ",", "5", "Z", "a", "b"};
    tokenizer t = of_text(LEVEL_CHAR, mixed, 0);
    ck_assert_int_eq(t.count, 27);
    ck_assert_int_eq(t.vocabulary.unknown, VOCABULARY_NONE);
    for (int i = 0; i < 8; i++) {
        ck_assert_str_eq(vocabulary_token(&t.vocabulary, i), some[i]);
    }
    ck_assert_str_eq(vocabulary_token(&t.vocabulary, 26), "\U0001F600");
    token_span unknown;
    token_list list = encode(&t, mixed, &unknown);
    ck_assert_ptr_null(unknown.bytes);
    ck_assert_int_eq(list.count, (int64_t)(sizeof ids / sizeof *ids));
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
    token_list list = tokenizer_encode(&all, t.bytes, t.length, NULL);
    ck_assert_int_eq(list.count, count);
    for (int64_t i = 0; i < count; i++) {
        ck_assert_int_eq(list.ids[i], count - 1 - i);
    }
    token_list_free(&list);
    tokenizer_free(&all);
    text_free(&t);
}
END_TEST

START_TEST(test_other_tokens)
{
    tokenizer bytes = of_text(LEVEL_BYTE, "a", 0);
    tokenizer words = of_text(LEVEL_WORD, "b a c a b a\nd c", 4);
    tokenizer pairs = of_text(LEVEL_BPE, "the then the", 300);
    ck_assert_int_eq(bytes.count, 256);
    ck_assert_int_eq(words.count, 4);
    ck_assert_str_eq(vocabulary_token(&words.vocabulary, 0), "<unknown>");
    ck_assert_str_eq(vocabulary_token(&words.vocabulary, 1), "a");
    ck_assert_int_eq(pairs.count, 259); /* he, the, " the" */
    token_list list = encode(&bytes, "\xFF z", NULL), more = encode(&pairs, "the hat", NULL);
    ck_assert(list.count == 3 && list.ids[0] == 255 && list.ids[1] == ' ' && list.ids[2] == 'z');
    ck_assert(more.count == 5 && more.ids[0] == 257 && more.ids[1] == ' ' && more.ids[2] == 'h');
    token_list_free(&list);
    token_list_free(&more);
    tokenizer_free(&bytes);
    tokenizer_free(&words);
    tokenizer_free(&pairs);
}
END_TEST

START_TEST(test_texts_that_are_none)
{
    static const struct {
        token_level level;
        const char *bytes;
        size_t length;
        int64_t size;
        const char *error;
    } rows[] = {
        {LEVEL_BYTE, "", 0, 0, "it: empty"},
        {LEVEL_CHAR, "", 0, 0, "it: empty"},
        {LEVEL_WORD, "", 0, 8, "it: empty"},
        {LEVEL_BPE, "", 0, 300, "it: empty"},
        {LEVEL_CHAR, "ab\xE9 c", 5, 0, "it: not UTF-8: byte 0xE9 at offset 2"},
        {LEVEL_WORD, "ab\xE9 c", 5, 8, "it: not UTF-8: byte 0xE9 at offset 2"},
        {LEVEL_CHAR, "ab\0c", 4, 0, "it: not a text: a NUL byte at offset 2"},
        {LEVEL_WORD, "ab\0c", 4, 8, "it: not a text: a NUL byte at offset 2"},
        {LEVEL_WORD, "a", 1, 1, "a vocabulary of 1 words"},
        {LEVEL_BPE, "a", 1, 200, "a vocabulary of 200 tokens; it must have from 256"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tokenizer t =
            tokenizer_of_text(rows[i].level, "it", rows[i].bytes, rows[i].length, rows[i].size);
        expect_error(HEED_ERR_VALUE, rows[i].error);
        ck_assert_int_eq(t.count, 0);
    }
}
END_TEST

/* ---- encoding and decoding ---- */

START_TEST(test_decode)
{
    tokenizer t = of_text((token_level)_i, mixed, 300);
    token_list list = encode(&t, mixed, NULL);
    text_joint joint = {.tight = true};
    text_buffer back = decode(&t, &list);
    expect_no_error();
    if (_i == LEVEL_WORD) {
        ck_assert_str_eq(back.bytes, "Zo\u00E9 \u20AC5,\ntab ~ na\u00EFve\u2014\u6771\u4EAC "
                                     "\U0001F600 \U0001D11E a b \u00FF\u0800");
    } else {
        ck_assert_str_eq(back.bytes, mixed);
    }
    const size_t length = back.length;
    tokenizer_decode(&t, &joint, t.count, &back);
    tokenizer_decode(&t, &joint, -1, &back);
    ck_assert_uint_eq(back.length, length);
    text_free(&back);
    token_list_free(&list);
    tokenizer_free(&t);
}
END_TEST

START_TEST(test_unknown_tokens)
{
    tokenizer t = of_text(LEVEL_CHAR, "abc \u20AC", 0), words = of_text(LEVEL_WORD, "a b", 9);
    static const struct {
        const char *text;
        size_t offset;
        const char *error;
    } rows[] = {{"ab\u20AC\u00E9z", 5, "p: the character '\u00E9' (U+00E9) at offset 5"},
                {"z", 0, "p: the character 'z' (U+007A) at offset 0 is not in the vocabulary of 5"},
                {"a\x1B[", 1, "p: the character (U+001B) at offset 1"},
                {"a\xC2\x9B", 1, "p: the character (U+009B) at offset 1"},
                {"a\U0001F600", 1, "(U+1F600) at offset 1"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        token_span unknown = {NULL, 0};
        token_list list = encode(&t, rows[i].text, &unknown);
        ck_assert_ptr_eq(unknown.bytes, rows[i].text + rows[i].offset);
        ck_assert_int_eq(tokenizer_refuse(&t, "p", rows[i].text, unknown), HEED_ERR_VALUE);
        expect_error(HEED_ERR_VALUE, rows[i].error);
        token_list_free(&list);
    }
    token_span unknown = {NULL, 0};
    token_list list = encode(&words, "a  c b d", &unknown);
    static const int64_t ids[] = {1, 0, 2, 0};
    ck_assert_int_eq(list.count, 4);
    ck_assert_mem_eq(list.ids, ids, sizeof ids);
    ck_assert(*unknown.bytes == 'c' && unknown.length == 1);
    token_list_free(&list);
    list = encode(&t, "ab\xC3", &unknown);
    expect_error(HEED_ERR_VALUE, "not UTF-8: byte 0xC3 at offset 2");
    ck_assert_int_eq(list.count, 0);
    tokenizer_free(&t);
    tokenizer_free(&words);
}
END_TEST

/* ---- saved as text ---- */

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
    token_list list = encode(&t, mixed, NULL), other = encode(&again, mixed, NULL);
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
        {LEVEL_BYTE, "x", "saved without a list, but a list is present"},
        {LEVEL_CHAR, "", "the vocabulary is empty"},
        {LEVEL_WORD, "", "the vocabulary is empty"},
        {LEVEL_CHAR, "aba", "duplicate token"},
        {LEVEL_WORD, "a b a", "duplicate token"},
        {LEVEL_CHAR, "a\xFF", "the characters: not UTF-8: byte 0xFF at offset 1"},
        {LEVEL_WORD, "a\xFF", "the words: not UTF-8"},
        {LEVEL_BPE, "1 2 3\n", "line 1 is not two token ids"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tokenizer t = tokenizer_of_saved(rows[i].level, rows[i].saved);
        expect_error(HEED_ERR_VALUE, rows[i].error);
        ck_assert_int_eq(t.count, 0);
    }
    tokenizer_of_saved(LEVEL_CHAR, NULL);
    expect_error(HEED_ERR_NULL, "the vocabulary is NULL");
}
END_TEST

/* Each allocation fails in turn: the error is pending, and nothing is lost or leaked. */
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
            list = encode(&t, mixed, NULL);
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
    tcase_add_test(tokens, test_names);
    tcase_add_test(tokens, test_characters_are_numbered_as_in_python);
    tcase_add_test(tokens, test_all_characters);
    tcase_add_test(tokens, test_other_tokens);
    tcase_add_test(tokens, test_texts_that_are_none);
    tcase_add_loop_test(tokens, test_decode, 0, TOKEN_LEVELS);
    tcase_add_test(tokens, test_unknown_tokens);
    tcase_add_loop_test(tokens, test_saved_tokens_are_the_same, 0, TOKEN_LEVELS);
    tcase_add_test(tokens, test_broken_tokens);
    tcase_add_loop_test(tokens, test_no_memory, 0, TOKEN_LEVELS);
}
