/* Byte pairs: how a text is split into chunks, which pairs are learnt, how they encode, and that
 * decoding inverts encoding. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/gpt/bpe.h"
#include "tests/common/test_util.h"

/* ---- learning ---- */

static bpe learn(const char *text, int64_t size)
{
    return bpe_train(text, strlen(text), size);
}

static void expect_merges(const bpe *b, const char *lines)
{
    expect_no_error();
    text_buffer saved = bpe_saved(b);
    ck_assert_str_eq(saved.bytes, lines);
    text_free(&saved);
}

/* The words of the paper: low 5 times, lower 2, newest 6, widest 3. By hand: es 9, est 9, lo 7, low
 * 7, then ew, new and newest 6 (ties: the smaller left id first), dest, idest, widest 3, er and
 * lower 2. */
static const char paper[] =
    "low\nlow\nlow\nlow\nlow\nlower\nlower\nnewest\nnewest\nnewest\nnewest\n"
    "newest\nnewest\nwidest\nwidest\nwidest\n";
static const char *const learnt[] = {"es",     "est",  "lo",    "low",    "ew", "new",
                                     "newest", "dest", "idest", "widest", "er", "lower"};

START_TEST(test_words_of_the_paper)
{
    bpe b = learn(paper, BPE_MOST);
    expect_merges(&b, "101 115\n256 116\n108 111\n258 119\n101 119\n110 260\n261 257\n100 257\n"
                      "105 263\n119 264\n101 114\n259 266\n");
    for (int64_t i = 0; i < 12; i++) {
        size_t length;
        const char *bytes = bpe_bytes(&b, BPE_BYTES + i, &length);
        ck_assert_uint_eq(length, strlen(learnt[i]));
        ck_assert_mem_eq(bytes, learnt[i], length);
    }
    int32_t ids[CHUNK_LONGEST];
    ck_assert_int_eq(bpe_encode_chunk(&b, "lowest", 6, ids), 2);
    ck_assert(ids[0] == 259 && ids[1] == 257);
    ck_assert_int_eq(bpe_encode_chunk(&b, "wider", 5, ids), 4);
    ck_assert(ids[0] == 'w' && ids[1] == 'i' && ids[2] == 'd' && ids[3] == 266);
    bpe_free(&b);
}
END_TEST

START_TEST(test_what_is_learnt)
{
    static const struct {
        const char *text;
        int64_t size;
        const char *merges;
    } rows[] = {
        {"", 300, ""},
        {"ab", 300, ""}, /* no pair occurs twice */
        {"ab\nab", 256, ""},
        {"ab\nab", 300, "97 98\n"},
        {"ab ab ab", 300, "97 98\n32 256\n"}, /* " ab" occurs twice, then "ab" only once */
        {"aaa", 300, "97 97\n"},              /* adjacent twice, merged once */
        {"aaaa", 300, "97 97\n"},
        {"aaaaaaaa", 300, "97 97\n256 256\n"},
        {"zb\nzb\nac\nac", 300, "97 99\n122 98\n"}, /* a tie: the smaller left id first */
        {"ab\nab\nac\nac", 300, "97 98\n97 99\n"},  /* then the smaller right id */
        {"\xFF\xFE\n\xFF\xFE", 300, "255 254\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bpe b = learn(rows[i].text, rows[i].size);
        expect_merges(&b, rows[i].merges);
        bpe_free(&b);
    }
    bpe_train("a", 1, 255);
    expect_error(HEED_ERR_VALUE, "a vocabulary of 255 tokens; it must have from 256");
    bpe_train("a", 1, BPE_MOST + 1);
    expect_error(HEED_ERR_VALUE, "from 256 to 1048576");
}
END_TEST

/* ---- against a plain implementation ---- */

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

static int plain_count(const plain *p, int32_t left, int32_t right)
{
    int count = 0;
    for (int i = 0; i + 1 < p->count && left >= 0 && right >= 0; i++) {
        count += p->ids[i] == left && p->ids[i + 1] == right;
    }
    return count;
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

/* The next pair to learn, by counting all pairs; false if none occurs twice. */
static bool plain_best(const plain *p, int32_t *left, int32_t *right)
{
    int best = 1;
    for (int i = 0; i + 1 < p->count; i++) {
        const int32_t l = p->ids[i], r = p->ids[i + 1];
        const int count = plain_count(p, l, r);
        if (count > best ||
            (count == best && best > 1 && (l < *left || (l == *left && r < *right)))) {
            best = count;
            *left = l;
            *right = r;
        }
    }
    return best > 1;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Few distinct letters and spaces, so that many pairs repeat, with runs of one letter. */
static size_t random_text(char bytes[PLAIN_BYTES], uint64_t *state)
{
    const size_t length = next_random(state) % PLAIN_BYTES;
    const uint32_t kinds = 1 + next_random(state) % 4;
    for (size_t i = 0; i < length; i++) {
        const uint32_t kind = next_random(state) % (kinds + 1);
        bytes[i] = kind == kinds ? ' ' : (char)('a' + kind);
    }
    return length;
}

/* Compares the learnt merges and the encoding of the text. */
START_TEST(test_against_a_plain_implementation)
{
    uint64_t state = (uint64_t)_i;
    char bytes[PLAIN_BYTES];
    const size_t length = random_text(bytes, &state);
    bpe b = bpe_train(bytes, length, PLAIN_TOKENS);
    plain p = plain_of(bytes, length);
    int32_t left = 0, right = 0;
    int64_t id = BPE_BYTES;
    for (; id < PLAIN_TOKENS && plain_best(&p, &left, &right); id++) {
        ck_assert_int_lt(id, b.count);
        ck_assert_int_eq(b.tokens[id].left, left);
        ck_assert_int_eq(b.tokens[id].right, right);
        plain_merge(&p, left, right, (int32_t)id);
    }
    ck_assert_int_eq(b.count, id);
    int at = 0;
    size_t step;
    for (size_t from = 0; (step = chunk_length(bytes + from, length - from)) > 0; from += step) {
        int32_t ids[CHUNK_LONGEST], again[CHUNK_LONGEST];
        const int count = bpe_encode_chunk(&b, bytes + from, step, ids);
        ck_assert_mem_eq(ids, p.ids + at, (size_t)count * sizeof *ids);
        ck_assert_int_eq(p.ids[at + count], -1);
        ck_assert_int_eq(bpe_encode_chunk(&b, bytes + from, step, again), count);
        ck_assert_mem_eq(ids, again, (size_t)count * sizeof *ids);
        at += count + 1;
    }
    bpe_free(&b);
}
END_TEST

/* ---- arbitrary bytes ---- */

/* Encodes a text and decodes it; returns the number of tokens. */
static int64_t expect_inverse(const bpe *b, const char *bytes, size_t length)
{
    text_buffer back = {.length = 0};
    int64_t tokens = 0;
    size_t step, spelt;
    for (size_t at = 0; (step = chunk_length(bytes + at, length - at)) > 0; at += step) {
        int32_t ids[CHUNK_LONGEST];
        const int count = bpe_encode_chunk(b, bytes + at, step, ids);
        ck_assert(count > 0 && (size_t)count <= step);
        for (int i = 0; i < count; i++) {
            ck_assert(ids[i] >= 0 && ids[i] < b->count);
            const char *token = bpe_bytes(b, ids[i], &spelt);
            text_append(&back, token, spelt);
        }
        tokens += count;
    }
    ck_assert_uint_eq(back.length, length);
    ck_assert_int_eq(memcmp(back.bytes != NULL ? back.bytes : "", bytes, length), 0);
    text_free(&back);
    return tokens;
}

START_TEST(test_decode_is_the_inverse_of_encode)
{
    enum { LENGTH = 5000 };
    char bytes[LENGTH];
    uint64_t state = (uint64_t)_i;
    const uint32_t kinds = (uint32_t[]){256, 2, 17, 90}[_i % 4], lowest = (uint32_t)_i * 37;
    for (int i = 0; i < LENGTH; i++) {
        bytes[i] = (char)(lowest + next_random(&state) % kinds);
    }
    bpe b = bpe_train(bytes, LENGTH / 2, 256 + _i * 40);
    expect_no_error();
    expect_inverse(&b, bytes, LENGTH);
    expect_inverse(&b, bytes + 1, LENGTH - 1);
    expect_inverse(&b, bytes, 0);
    bpe_free(&b);
}
END_TEST

/* One byte a million times: chunks of 128, each of which becomes one token. */
START_TEST(test_a_long_run)
{
    const size_t length = 1 << 20;
    char *bytes = malloc(length);
    for (int byte = 0; byte < 256; byte += 51) {
        memset(bytes, byte, length);
        bpe b = bpe_train(bytes, length, 1000);
        expect_no_error();
        ck_assert_int_eq(b.count, 256 + 7); /* 2, 4, ... 128 */
        ck_assert_int_eq(expect_inverse(&b, bytes, length), (int64_t)length / 128);
        bpe_free(&b);
    }
    free(bytes);
}
END_TEST

/* ---- saved as text ---- */

START_TEST(test_saved_merges_are_the_same)
{
    bpe b = learn(paper, BPE_MOST);
    text_buffer saved = bpe_saved(&b);
    bpe again = bpe_of_saved(saved.bytes);
    expect_merges(&again, saved.bytes);
    ck_assert_int_eq(again.count, b.count);
    ck_assert_uint_eq(again.spelling.length, b.spelling.length);
    ck_assert_mem_eq(again.spelling.bytes, b.spelling.bytes, b.spelling.length);
    bpe none = bpe_of_saved("");
    ck_assert_int_eq(none.count, 256);
    bpe_free(&none);
    bpe_free(&again);
    bpe_free(&b);
    text_free(&saved);
}
END_TEST

START_TEST(test_broken_merges)
{
    static const struct {
        const char *saved;
        int line;
    } rows[] = {
        {"1", 1},
        {"1 2", 1},
        {"1 2\n3", 2},
        {"1  2\n", 1},
        {" 1 2\n", 1},
        {"1 2 \n", 1},
        {"1 2\r\n", 1},
        {"1 2\n\n", 2},
        {"-1 2\n", 1},
        {"+1 2\n", 1},
        {"01 2\n", 1},
        {"1 x\n", 1},
        {"1 99999999999999999999999\n", 1},
        {"256 1\n", 1},
        {"1 256\n", 1},
        {"1 2\n256 257\n", 2},
        {"1 1048576\n", 1},
        {"1 2\n2 1\n1 2\n", 3},
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

/* Each allocation fails in turn: the error is pending, and nothing is lost or leaked. */
START_TEST(test_no_memory)
{
    bool failed = true;
    for (int n = 0; failed; n++) {
        heed_fail_allocation(n);
        bpe b = bpe_train(paper, sizeof paper - 1, 1000), again = {.count = 0};
        text_buffer saved = {.length = 0};
        if (!heed_error_pending()) {
            saved = bpe_saved(&b);
        }
        if (!heed_error_pending()) {
            again = bpe_of_saved(saved.bytes);
        }
        failed = heed_error_pending() == HEED_ERR_MEMORY;
        ck_assert_int_eq(heed_error(), failed ? HEED_ERR_MEMORY : HEED_OK);
        ck_assert_int_eq(again.count, failed ? 0 : 256 + 12);
        bpe_free(&b);
        bpe_free(&again);
        text_free(&saved);
        ck_assert_int_lt(n, 1000);
    }
    heed_fail_allocation(-1);
}
END_TEST

/* ---- how a text is split into chunks ---- */

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

void add_bpe_cases(Suite *suite)
{
    TCase *pairs = heed_case(suite, "byte_pairs");
    tcase_add_test(pairs, test_words_of_the_paper);
    tcase_add_test(pairs, test_what_is_learnt);
    tcase_add_loop_test(pairs, test_against_a_plain_implementation, 0, 60);
    tcase_add_loop_test(pairs, test_decode_is_the_inverse_of_encode, 0, 20);
    tcase_add_test(pairs, test_a_long_run);
    tcase_add_test(pairs, test_saved_merges_are_the_same);
    tcase_add_test(pairs, test_broken_merges);
    tcase_add_test(pairs, test_no_memory);
    TCase *chunks = heed_case(suite, "chunks");
    tcase_add_loop_test(chunks, test_chunks, 0, sizeof chunk_rows / sizeof *chunk_rows);
    tcase_add_test(chunks, test_long_chunks);
}
