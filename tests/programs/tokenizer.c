/* Tokenizers: how a text is split into chunks, which byte pairs are learnt, encoding, decoding, and
 * saving as text with a model. */
#include <stdio.h>
#include <string.h>

#include "examples/lab/gpt/tokenizer.h"
#include "tests/common/test_util.h"

/* ---- chunks ---- */

static const struct {
    const char *text, *chunks; /* separated by | */
} chunk_rows[] = {
    {"", ""},
    {"don't!", "don|'|t|!"},
    {"a1b22 c3", "a|1|b|22| c|3"},
    {"x = (y+1);", "x| =| (|y|+|1|);"},
    {"one  two   three", "one| | two|  | three"},
    {"\n\n  next\n", "\n\n | next|\n"},
    {"a\tb \tc\t d", "a|\t|b| \t|c|\t| d"},
    {"na\xC3\xAFve \xE6\x9D\xB1\xE4\xBA\xAC", "na\xC3\xAFve| \xE6\x9D\xB1\xE4\xBA\xAC"},
};

START_TEST(texts_are_cut_into_chunks)
{
    for (size_t i = 0; i < sizeof chunk_rows / sizeof *chunk_rows; i++) {
        const char *text = chunk_rows[i].text;
        const size_t length = strlen(text);
        char found[80] = "";
        size_t step;
        for (size_t at = 0; (step = chunk_length(text + at, length - at)) > 0; at += step) {
            strcat(found, at > 0 ? "|" : "");
            strncat(found, text + at, step);
        }
        ck_assert_str_eq(found, chunk_rows[i].chunks);
    }
}
END_TEST

/* Long runs are split at the longest chunk; a single space before a word belongs to its chunk. */
START_TEST(chunks_have_a_longest)
{
    static const struct {
        char run;
        size_t count;
        const char *then;
        size_t first, second;
    } rows[] = {{'a', 127, "b", 128, 0},
                {'a', 300, "", 128, 128},
                {'-', 130, " a", 128, 2},
                {' ', 128, "a", 127, 2},
                {' ', 129, "a", 128, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char bytes[512];
        memset(bytes, rows[i].run, rows[i].count);
        strcpy(bytes + rows[i].count, rows[i].then);
        const size_t length = strlen(rows[i].then) + rows[i].count;
        const size_t first = chunk_length(bytes, length);
        ck_assert_uint_eq(first, rows[i].first);
        ck_assert_uint_eq(chunk_length(bytes + first, length - first), rows[i].second);
    }
}
END_TEST

/* ---- byte pairs ---- */

/* The words of the paper: low 5 times, lower 2, newest 6, widest 3. By hand: es 9, est 9, lo 7, low
 * 7, then ew, new and newest 6 (ties: the smaller left id first), dest, idest, widest 3, er and
 * lower 2. */
START_TEST(the_pairs_of_the_paper)
{
    static const char paper[] = "low\nlow\nlow\nlow\nlow\nlower\nlower\nnewest\nnewest\nnewest\n"
                                "newest\nnewest\nnewest\nwidest\nwidest\nwidest\n";
    bpe b = bpe_train(paper, sizeof paper - 1, BPE_MOST);
    text_buffer saved = bpe_saved(&b);
    ck_assert_str_eq(saved.bytes,
                     "101 115\n256 116\n108 111\n258 119\n101 119\n110 260\n261 257\n100 257\n"
                     "105 263\n119 264\n101 114\n259 266\n");
    int32_t ids[CHUNK_LONGEST];
    ck_assert_int_eq(bpe_encode_chunk(&b, "lowest", 6, ids), 2);
    ck_assert(ids[0] == 259 && ids[1] == 257);
    ck_assert_int_eq(bpe_encode_chunk(&b, "wider", 5, ids), 4);
    ck_assert(ids[0] == 'w' && ids[1] == 'i' && ids[2] == 'd' && ids[3] == 266);
    text_free(&saved);
    bpe_free(&b);
}
END_TEST

enum { PLAIN_BYTES = 400, PLAIN_TOKENS = 300 };

/* A sequence of tokens; -1 ends a chunk. */
typedef struct plain {
    int32_t ids[2 * PLAIN_BYTES];
    int count;
} plain;

static plain plain_of(const char *bytes, size_t length)
{
    plain p = {.count = 0};
    size_t step;
    for (size_t at = 0; (step = chunk_length(bytes + at, length - at)) > 0; at += step) {
        for (size_t i = 0; i < step; i++) {
            p.ids[p.count++] = (unsigned char)bytes[at + i];
        }
        p.ids[p.count++] = -1;
    }
    return p;
}

/* The next pair to learn, by counting all pairs; false if none occurs twice. */
static bool plain_best(const plain *p, int32_t *left, int32_t *right)
{
    int best = 1;
    for (int i = 0; i + 1 < p->count; i++) {
        const int32_t l = p->ids[i], r = p->ids[i + 1];
        int count = 0;
        for (int j = 0; j + 1 < p->count && l >= 0 && r >= 0; j++) {
            count += p->ids[j] == l && p->ids[j + 1] == r;
        }
        if (count > best ||
            (count == best && best > 1 && (l < *left || (l == *left && r < *right)))) {
            best = count;
            *left = l;
            *right = r;
        }
    }
    return best > 1;
}

static void plain_merge(plain *p, int32_t left, int32_t right, int32_t token)
{
    int to = 0;
    for (int i = 0; i < p->count; i++) {
        const bool here = i + 1 < p->count && p->ids[i] == left && p->ids[i + 1] == right;
        p->ids[to++] = here ? token : p->ids[i];
        i += here;
    }
    p->count = to;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* The learnt merges and the encoding of a text, compared with a plain implementation. The text has
 * few distinct letters and spaces, so that many pairs repeat, with runs of one letter. */
START_TEST(pairs_are_those_of_a_plain_implementation)
{
    uint64_t state = (uint64_t)_i;
    char bytes[PLAIN_BYTES];
    const size_t length = next_random(&state) % PLAIN_BYTES;
    const uint32_t kinds = 1 + next_random(&state) % 4;
    for (size_t i = 0; i < length; i++) {
        const uint32_t kind = next_random(&state) % (kinds + 1);
        bytes[i] = kind == kinds ? ' ' : (char)('a' + kind);
    }
    bpe b = bpe_train(bytes, length, PLAIN_TOKENS);
    plain p = plain_of(bytes, length);
    int32_t left = 0, right = 0;
    int64_t id = BPE_BYTES;
    for (; id < PLAIN_TOKENS && plain_best(&p, &left, &right); id++) {
        ck_assert_int_lt(id, b.count);
        ck_assert(b.tokens[id].left == left && b.tokens[id].right == right);
        plain_merge(&p, left, right, (int32_t)id);
    }
    ck_assert_int_eq(b.count, id);
    int at = 0;
    size_t step;
    for (size_t from = 0; (step = chunk_length(bytes + from, length - from)) > 0; from += step) {
        int32_t ids[CHUNK_LONGEST];
        const int count = bpe_encode_chunk(&b, bytes + from, step, ids);
        ck_assert_mem_eq(ids, p.ids + at, (size_t)count * sizeof *ids);
        ck_assert_int_eq(p.ids[at + count], -1);
        at += count + 1;
    }
    bpe_free(&b);
}
END_TEST

START_TEST(broken_pairs_are_refused)
{
    static const struct {
        const char *saved;
        int line;
    } rows[] = {
        {"1", 1},
        {"1 2\n3", 2},
        {"1  2\n", 1},
        {"1 2 \n", 1},
        {"1 2\n\n", 2},
        {"-1 2\n", 1},
        {"01 2\n", 1},
        {"1 99999999999999999999999\n", 1},
        {"256 1\n", 1}, /* a later token */
        {"1 2\n256 257\n", 2},
        {"1 2\n2 1\n1 2\n", 3}, /* twice */
        {"0 0\n256 256\n257 257\n258 258\n259 259\n260 260\n261 261\n262 262\n", 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char error[80];
        snprintf(error, sizeof error, "byte pairs: line %d is not a merge of two earlier tokens",
                 rows[i].line);
        bpe b = bpe_of_saved(rows[i].saved);
        expect_error(HEED_ERR_VALUE, error);
        ck_assert_int_eq(b.count, 0);
    }
}
END_TEST

/* ---- tokenizers ---- */

static tokenizer of_text(token_level level, const char *text, size_t length)
{
    return tokenizer_of_text(level, "it", text, length, 300);
}

/* As in Python: s = sorted(set(text)); s.index(c). */
START_TEST(characters_are_numbered_as_in_python)
{
    static const char text[] = "na\u00EFve \u20AC\U0001F600";
    static const int64_t ids[] = {3, 1, 5, 4, 2, 0, 6, 7};
    tokenizer t = of_text(LEVEL_CHAR, text, strlen(text));
    token_list list = tokenizer_encode(&t, "it", text, strlen(text));
    ck_assert_int_eq(t.count, 8);
    ck_assert_int_eq(list.count, 8);
    ck_assert_mem_eq(list.ids, ids, sizeof ids);
    token_list_free(&list);
    tokenizer_free(&t);
}
END_TEST

/* Encodes and decodes with the tokenizer, and with the one that its text makes again. */
static void expect_inverse(token_level level, const char *bytes, size_t length)
{
    tokenizer t = of_text(level, bytes, length);
    text_buffer saved = tokenizer_saved(&t);
    tokenizer again = tokenizer_of_saved(level, saved.bytes);
    expect_no_error();
    ck_assert_int_eq(again.count, t.count);
    for (int i = 0; i < 2; i++) {
        const tokenizer *of = i == 0 ? &t : &again;
        token_list list = tokenizer_encode(of, "it", bytes, length);
        text_buffer back = {.length = 0};
        for (int64_t n = 0; n < list.count; n++) {
            tokenizer_decode(of, list.ids[n], &back);
        }
        tokenizer_decode(of, of->count, &back); /* not a token: nothing */
        tokenizer_decode(of, -1, &back);
        ck_assert_uint_eq(back.length, length);
        ck_assert_mem_eq(back.bytes, bytes, length);
        text_free(&back);
        token_list_free(&list);
    }
    text_free(&saved);
    tokenizer_free(&t);
    tokenizer_free(&again);
}

START_TEST(decoding_is_the_inverse_of_encoding)
{
    static const char mixed[] =
        "Zo\u00E9 \u20AC5,\n\ttab ~ na\u00EFve \u6771\u4EAC \U0001F600 \x7Fo\u00A0b\uFEFF";
    expect_inverse(LEVEL_CHAR, mixed, strlen(mixed));
    expect_inverse(LEVEL_BPE, mixed, strlen(mixed));
    for (uint64_t kinds = 2; kinds <= 256; kinds *= 2) { /* any bytes */
        char bytes[5000];
        uint64_t state = kinds;
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (char)(37 * kinds + next_random(&state) % kinds);
        }
        expect_inverse(LEVEL_BPE, bytes, sizeof bytes);
    }
}
END_TEST

START_TEST(other_texts_are_refused)
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
    tokenizer t = of_text(LEVEL_CHAR, "abc", 3);
    tokenizer_encode(&t, "it", "a\u20ACb", 5);
    expect_error(HEED_ERR_VALUE,
                 "it: the character '\u20AC' (U+20AC) at offset 1 is not in the vocabulary of 3");
    tokenizer_free(&t);
    static const char *const saved[][2] = {{"", "not in order, or there are none"},
                                           {"aba", "not in order, or there are none"},
                                           {"a\xFF", "the characters: not UTF-8: byte 0xFF"}};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(tokenizer_of_saved(LEVEL_CHAR, saved[i][0]).count, 0);
        expect_error(HEED_ERR_VALUE, saved[i][1]);
    }
}
END_TEST

void add_tokenizer_cases(Suite *suite)
{
    TCase *tokens = heed_case(suite, "tokens");
    tcase_add_test(tokens, texts_are_cut_into_chunks);
    tcase_add_test(tokens, chunks_have_a_longest);
    tcase_add_test(tokens, the_pairs_of_the_paper);
    tcase_add_loop_test(tokens, pairs_are_those_of_a_plain_implementation, 0, 60);
    tcase_add_test(tokens, broken_pairs_are_refused);
    tcase_add_test(tokens, characters_are_numbered_as_in_python);
    tcase_add_test(tokens, decoding_is_the_inverse_of_encoding);
    tcase_add_test(tokens, other_texts_are_refused);
}
