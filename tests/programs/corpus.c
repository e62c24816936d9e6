/* A text file as a sequence of tokens: random access, large files, files that change, invalid
 * text. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/lab/gpt/corpus.h"
#include "tests/common/files_util.h"

/* Opens a file of this test with these bytes. */
static corpus of_bytes(const void *bytes, size_t length)
{
    corpus c;
    write_bytes(in_folder("text"), bytes, length);
    static char path[512];
    strcpy(path, in_folder("text"));
    corpus_open(&c, path);
    expect_no_error();
    ck_assert_uint_eq(c.length, length);
    return c;
}

static corpus of_text(const char *text)
{
    return of_bytes(text, strlen(text));
}

/* Words of one to nine letters, some with punctuation, digits, newlines and multi-byte
 * characters. */
static text_buffer long_text(int words)
{
    static const char *const between[] = {" ", ", ", ".\n", " \u20AC", "  ", " 12 ", "\n\n", "-"};
    text_buffer t = {.length = 0};
    uint32_t state = 7;
    for (int i = 0; i < words; i++) {
        state = state * 1664525 + 1013904223;
        const char *gap = between[state >> 29];
        const uint32_t length = 1 + (state >> 8) % 9;
        for (uint32_t k = 0; k < length; k++) {
            const char letter = (char)('a' + (state >> (k + 3)) % 26);
            text_append(&t, &letter, 1);
        }
        text_append(&t, gap, strlen(gap));
    }
    return t;
}

/* ---- reading ---- */

/* Reading any range gives the same tokens as encoding the whole text. */
START_TEST(test_tokens_at_any_place)
{
    text_buffer text = long_text(9000);
    corpus c = of_bytes(text.bytes, text.length);
    tokenizer t = tokenizer_of_text((token_level)_i, "it", text.bytes, text.length, 500);
    token_list all = tokenizer_encode(&t, text.bytes, text.length, NULL);
    ck_assert_int_eq(corpus_index(&c, &t), HEED_OK);
    ck_assert_int_eq(c.count, all.count);
    int64_t *read = malloc((size_t)all.count * sizeof *read);
    corpus_read(&c, 0, c.count, read);
    ck_assert_mem_eq(read, all.ids, (size_t)all.count * sizeof *read);
    for (int64_t first = 0; first < c.count; first += 61) {
        const int64_t count = c.count - first < 65 ? c.count - first : 65;
        corpus_read(&c, first, count, read);
        ck_assert_mem_eq(read, all.ids + first, (size_t)count * sizeof *read);
    }
    expect_no_error();
    free(read);
    token_list_free(&all);
    tokenizer_free(&t);
    corpus_close(&c);
    text_free(&text);
}
END_TEST

/* Indexes one file with several tokenizers; trailing blanks are not a token at the word level. */
START_TEST(test_another_index)
{
    corpus c = of_text("to be or not to be \n  ");
    int64_t ids[30];
    for (int level = 0; level < TOKEN_LEVELS; level++) {
        tokenizer t = tokenizer_of_text((token_level)level, "it", c.bytes, c.length, 259);
        corpus_index(&c, &t);
        expect_no_error();
        ck_assert_int_eq(c.count, level == LEVEL_WORD ? 7 : level == LEVEL_BPE ? 16 : 22);
        corpus_read(&c, c.count - 2, 2, ids);
        ck_assert_int_eq(ids[0], level == LEVEL_WORD ? 2 : level == LEVEL_CHAR ? 1 : ' ');
        tokenizer_free(&t);
    }
    corpus_close(&c);
}
END_TEST

START_TEST(test_what_is_not_there)
{
    int64_t ids[8] = {0};
    corpus c = of_text("seven!!");
    tokenizer t = tokenizer_of_text(LEVEL_CHAR, "it", c.bytes, c.length, 0);
    corpus_index(&c, &t);
    static const int64_t rows[][2] = {{0, 8},  {7, 1},         {8, 0},        {-1, 2},
                                      {2, -1}, {INT64_MAX, 1}, {1, INT64_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(corpus_read(&c, rows[i][0], rows[i][1], ids), HEED_ERR_INDEX);
        expect_error(HEED_ERR_INDEX, "there are 7 in ");
    }
    ck_assert_int_eq(corpus_read(&c, 7, 0, ids), HEED_OK);
    ck_assert_int_eq(corpus_read(&c, 0, 7, ids), HEED_OK);
    tokenizer_free(&t);
    corpus_close(&c);
    corpus_close(&c); /* closing twice, or without opening, is fine */
    corpus_close(&(corpus){.length = 0});
}
END_TEST

/* ---- invalid files ---- */

START_TEST(test_files_that_cannot_be_read)
{
    corpus c;
    const char *pipe = in_folder("pipe"), *empty = in_folder("empty");
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    write_bytes(empty, "", 0);
    const struct {
        const char *path;
        heed_status status;
        const char *error;
    } rows[] = {
        {"/no/such/file", HEED_ERR_FILE, "cannot read /no/such/file: No such file"},
        {"/", HEED_ERR_FILE, "cannot read /: it is a directory"},
        {pipe, HEED_ERR_FILE, "pipe: it is not a regular file"},
        {"/dev/zero", HEED_ERR_FILE, "cannot read /dev/zero: it is not a regular file"},
        {empty, HEED_ERR_VALUE, "empty: empty"},
        {NULL, HEED_ERR_NULL, "the path is NULL"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(corpus_open(&c, rows[i].path), rows[i].status);
        expect_error(rows[i].status, rows[i].error);
        ck_assert_ptr_null(c.bytes);
        corpus_close(&c);
    }
}
END_TEST

START_TEST(test_texts_that_are_none)
{
    static const struct {
        token_level level;
        const char *bytes;
        size_t length;
        const char *error;
    } rows[] = {
        {LEVEL_CHAR, "abc\xE9", 4, "text: not UTF-8: byte 0xE9 at offset 3"},
        {LEVEL_WORD, "abc\xE9 d", 6, "text: not UTF-8: byte 0xE9 at offset 3"},
        {LEVEL_WORD, "abc \xE9", 5, "text: not UTF-8: byte 0xE9 at offset 4"},
        {LEVEL_CHAR, "abc\0", 4, "text: not a text: a NUL byte at offset 3"},
        {LEVEL_WORD, "abc\0", 4, "text: not a text: a NUL byte at offset 3"},
        {LEVEL_CHAR, "abc\u00E9z", 6, "the character '\u00E9' (U+00E9) at offset 3"},
        {LEVEL_CHAR, "z\xFF", 2, "text: not UTF-8: byte 0xFF at offset 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tokenizer t = tokenizer_of_text(rows[i].level, "it", "abc ", 4, 10);
        corpus c = of_bytes(rows[i].bytes, rows[i].length);
        ck_assert_int_eq(corpus_index(&c, &t), HEED_ERR_VALUE);
        ck_assert_int_eq(c.count, 0);
        corpus_close(&c);
        expect_error(HEED_ERR_VALUE, rows[i].error);
        tokenizer_free(&t);
    }
}
END_TEST

/* A fault far into the file is found, and its offset reported. */
START_TEST(test_a_fault_far_on)
{
    enum { LENGTH = 3 << 20 };
    char *bytes = malloc(LENGTH), words[64];
    memset(bytes, 'a', LENGTH);
    tokenizer t = tokenizer_of_text(LEVEL_CHAR, "it", "ab", 2, 0);
    for (int offset = 100; offset < LENGTH; offset += LENGTH / 3) {
        bytes[offset] = _i == 0 ? 'x' : '\xFF';
        corpus c = of_bytes(bytes, LENGTH);
        corpus_index(&c, &t);
        snprintf(words, sizeof words, "at offset %d", offset);
        expect_error(HEED_ERR_VALUE, words);
        corpus_close(&c);
        bytes[offset] = 'b';
    }
    tokenizer_free(&t);
    free(bytes);
}
END_TEST

/* ---- files that change ---- */

START_TEST(test_a_file_that_becomes_shorter)
{
    text_buffer text = long_text(3000);
    int64_t ids[4];
    corpus c = of_bytes(text.bytes, text.length);
    tokenizer t = tokenizer_of_text((token_level)_i, "it", c.bytes, c.length, 300);
    corpus_index(&c, &t);
    corpus_read(&c, c.count - 4, 4, ids);
    expect_no_error();
    ck_assert_int_eq(truncate(c.path, 100), 0);
    ck_assert_int_eq(corpus_read(&c, c.count - 4, 4, ids), HEED_ERR_FILE);
    expect_error(HEED_ERR_FILE, "became shorter: it has 100 bytes");
    if (_i != LEVEL_BYTE) { /* it reads no bytes */
        ck_assert_int_eq(corpus_index(&c, &t), HEED_ERR_FILE);
        expect_error(HEED_ERR_FILE, "became shorter: it has 100 bytes");
    }
    tokenizer_free(&t);
    corpus_close(&c);
    text_free(&text);
}
END_TEST

/* Other bytes of the same length give an error, or valid tokens of the new text. */
START_TEST(test_a_file_that_is_overwritten)
{
    text_buffer text = long_text(3000);
    int64_t ids[4] = {0, 0, 0, 0};
    char *other = malloc(text.length);
    corpus c = of_bytes(text.bytes, text.length);
    tokenizer t = tokenizer_of_text((token_level)_i, "it", c.bytes, c.length, 300);
    corpus_index(&c, &t);
    const int file = open(c.path, O_WRONLY);
    memset(other, 0xFF, text.length);
    ck_assert_int_eq(write(file, other, text.length), (ssize_t)text.length);
    close(file);
    if (corpus_read(&c, c.count - 4, 4, ids) == HEED_OK) {
        ck_assert(_i == LEVEL_BYTE || _i == LEVEL_BPE);
        ck_assert(ids[3] >= 0 && ids[3] < t.count);
    } else {
        expect_error(HEED_ERR_FILE, "changed while it was in use");
    }
    tokenizer_free(&t);
    corpus_close(&c);
    text_free(&text);
    free(other);
}
END_TEST

/* ---- large files ---- */

/* A line of /proc/self/status, in KiB. */
static long status_of(const char *name)
{
    char line[256];
    long found = -1;
    FILE *file = fopen("/proc/self/status", "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            found = atol(line + strlen(name));
        }
    }
    fclose(file);
    ck_assert_int_ge(found, 0);
    return found;
}

/* Limits the memory that this process can still allocate. */
static void limit_memory(long kib)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_DATA, &limit), 0);
    limit.rlim_cur = (rlim_t)(status_of("VmData:") + kib) * 1024;
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
}

/* A sparse file of 1 GiB, read with at most 64 MiB of memory. */
START_TEST(test_a_file_of_a_gibibyte)
{
    const char *path = in_folder("large");
    const int64_t length = (int64_t)1 << 30;
    const int file = open(path, O_CREAT | O_WRONLY, 0600);
    int64_t ids[5];
    corpus c;
    ck_assert_int_eq(ftruncate(file, (off_t)length), 0);
    ck_assert_int_eq(pwrite(file, "tail", 4, (off_t)length - 4), 4);
    close(file);
    limit_memory(64 << 10);
    const long before = status_of("RssAnon:");
    tokenizer t = {.level = LEVEL_BYTE, .count = 256};
    corpus_open(&c, path);
    corpus_index(&c, &t);
    ck_assert_int_eq(c.count, length);
    corpus_read(&c, c.count - 5, 5, ids);
    ck_assert(ids[0] == 0 && ids[1] == 't' && ids[4] == 'l');
    corpus_read(&c, length / 2, 5, ids);
    ck_assert_int_eq(ids[4], 0);
    expect_no_error();
    ck_assert_int_lt(status_of("RssAnon:") - before, 16 << 10);
    corpus_close(&c);
}
END_TEST

/* 64 MiB, read completely: the index takes at most one byte per 16 bytes of text. */
START_TEST(test_a_text_of_64_mebibytes)
{
    const size_t length = (size_t)64 << 20;
    const char *path = in_folder("large");
    static char line[1 << 16];
    int64_t ids[3];
    corpus c;
    for (size_t i = 0; i < sizeof line; i++) {
        line[i] = "the cat sat on the mat\n"[i % 23];
    }
    FILE *file = fopen(path, "wb");
    for (size_t i = 0; i < length / sizeof line; i++) {
        ck_assert_uint_eq(fwrite(line, 1, sizeof line, file), sizeof line);
    }
    ck_assert_int_eq(fclose(file), 0);
    tokenizer t = tokenizer_of_text(_i == 0 ? LEVEL_CHAR : LEVEL_BPE, "it", line, sizeof line, 300);
    limit_memory(32 << 10);
    corpus_open(&c, path);
    const long before = status_of("RssAnon:");
    corpus_index(&c, &t);
    expect_no_error();
    ck_assert_int_lt(status_of("RssAnon:") - before, 16 << 10);
    corpus_read(&c, c.count - 3, 3, ids);
    expect_no_error();
    text_buffer end = {.length = 0};
    text_joint joint = {.tight = true};
    for (int i = 0; i < 3; i++) {
        tokenizer_decode(&t, &joint, ids[i], &end);
    }
    ck_assert_mem_eq(end.bytes, line + sizeof line - end.length, end.length);
    text_free(&end);
    tokenizer_free(&t);
    corpus_close(&c);
}
END_TEST

START_TEST(test_no_memory)
{
    text_buffer text = long_text(1000);
    corpus c = of_bytes(text.bytes, text.length);
    tokenizer t = tokenizer_of_text((token_level)_i, "it", c.bytes, c.length, 300);
    bool failed = true;
    for (int n = 0; failed; n++) {
        heed_fail_allocation(n);
        failed = corpus_index(&c, &t) != HEED_OK;
        ck_assert_int_eq(heed_error(), failed ? HEED_ERR_MEMORY : HEED_OK);
        ck_assert_int_eq(c.count == 0, failed);
        ck_assert_int_lt(n, 10);
    }
    heed_fail_allocation(-1);
    tokenizer_free(&t);
    corpus_close(&c);
    text_free(&text);
}
END_TEST

void add_corpus_cases(Suite *suite)
{
    TCase *reading = files_case(suite, "reading");
    tcase_add_loop_test(reading, test_tokens_at_any_place, 0, TOKEN_LEVELS);
    tcase_add_test(reading, test_another_index);
    tcase_add_test(reading, test_what_is_not_there);
    tcase_add_loop_test(reading, test_no_memory, 0, TOKEN_LEVELS);
    TCase *faults = files_case(suite, "faults");
    tcase_add_test(faults, test_files_that_cannot_be_read);
    tcase_add_test(faults, test_texts_that_are_none);
    tcase_add_loop_test(faults, test_a_fault_far_on, 0, 2);
    tcase_add_loop_test(faults, test_a_file_that_becomes_shorter, 0, TOKEN_LEVELS);
    tcase_add_loop_test(faults, test_a_file_that_is_overwritten, 0, TOKEN_LEVELS);
    TCase *large = files_case(suite, "large_files");
    required(access("/proc/self/status", R_OK) == 0, "/proc/self/status is missing; mount /proc");
    tcase_add_test(large, test_a_file_of_a_gibibyte);
    tcase_add_loop_test(large, test_a_text_of_64_mebibytes, 0, 2);
}
