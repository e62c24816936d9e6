/* Parts of the program gpt: its settings and windows, and its stream of tokens. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/gpt/sample.h"
#include "examples/lab/gpt/train.h"
#include "tests/common/files_util.h"

/* ---- settings ---- */

/* Flags that affect training are settings, stored in each checkpoint; these are the others. */
START_TEST(test_settings_are_all)
{
    static const char *const others[] = {"text",   "resume", "save",   "save_every",
                                         "best",   "force",  "quiz",   "sample_every",
                                         "prompt", "log",    "report", "log_every"};
    const int count = (int)(sizeof others / sizeof *others);
    ck_assert_int_eq(gpt_train_flags.count, gpt_settings.count + count);
    for (int i = 0; i < count; i++) {
        ck_assert_str_eq(gpt_train_flags.flags[i].name, others[i]);
    }
}
END_TEST

static const struct {
    gpt_train_options options;
    const char *error; /* NULL: none */
} settled[] = {
    {{.n_embd = 6, .n_head = 4}, "--n-embd 6: not divisible by --n-head 4"},
    {{.n_embd = 8, .n_head = 4, .steps = 10, .warmup = 10, .given.warmup = true}, "--warmup 10"},
    {{.n_embd = 8, .n_head = 4, .lr = 0.1, .min_lr = 0.2, .given.min_lr = true}, "--min-lr 0.2"},
    {{.n_embd = 8, .n_head = 4, .level = LEVEL_CHAR, .vocab = 9, .given.vocab = true},
     "--vocab: only"},
    {{.n_embd = 8, .n_head = 4, .level = LEVEL_BPE, .vocab = 300, .given.vocab = true}, NULL},
    {{.n_embd = 8, .n_head = 4, .steps = 0}, NULL},
};

START_TEST(test_settle)
{
    gpt_train_options o = settled[_i].options;
    gpt_options_settle(&o);
    if (settled[_i].error != NULL) {
        expect_error(HEED_ERR_VALUE, settled[_i].error);
    }
    expect_no_error();
}
END_TEST

START_TEST(test_defaults)
{
    gpt_train_options o = {.level = LEVEL_BPE, .given.level = true};
    flags_complete(&gpt_train_flags, &o);
    gpt_options_settle(&o);
    ck_assert(o.vocab == 1024 && o.warmup == 100 && o.min_lr == 1e-4 && o.save_every == 250);
    gpt_train_options few = {.steps = 50, .given.steps = true};
    flags_complete(&gpt_train_flags, &few);
    gpt_options_settle(&few);
    ck_assert(few.level == LEVEL_CHAR && few.vocab == 0 && few.warmup == 5);
    expect_no_error();
}
END_TEST

/* ---- windows ---- */

static const struct {
    int64_t first, count, context, most;
    gpt_windows windows;
} cuts[] = {
    {90, 11, 5, 9, {90, 5, 2}},  {90, 10, 5, 9, {90, 5, 1}}, /* its last token has no target */
    {90, 5, 5, 9, {90, 5, 0}},   {0, 0, 5, 9, {0, 5, 0}},     {7, 101, 5, 9, {7, 10, 9}},
    {7, 101, 5, 20, {7, 5, 20}}, {7, 101, 5, 1, {7, 100, 1}},
};

START_TEST(test_windows)
{
    const gpt_windows w =
        gpt_windows_of(cuts[_i].first, cuts[_i].count, cuts[_i].context, cuts[_i].most);
    ck_assert_int_eq(w.first, cuts[_i].windows.first);
    ck_assert_int_eq(w.apart, cuts[_i].windows.apart);
    ck_assert_int_eq(w.count, cuts[_i].windows.count);
}
END_TEST

START_TEST(test_train_tokens)
{
    ck_assert_int_eq(gpt_train_tokens(237320), 213588);
    ck_assert_int_eq(gpt_train_tokens(10), 9);
    ck_assert_int_eq(gpt_train_tokens(9), 8);
}
END_TEST

/* ---- the stream ---- */

static const struct {
    const char *bytes;
    size_t whole;
} ends[] = {
    {"", 0},
    {"ab", 2},
    {"a\xC3", 1},
    {"a\xC3\xA9", 3},
    {"\xE2\x82", 0},
    {"\xE2\x82\xAC", 3},
    {"\xF0\x9F\x98", 0},
    {"\xF0\x9F\x98\x80", 4},
    {"\xA9", 1},
    {"\xA9\xA9\xA9", 3},
    {"\xA9\xA9\xA9\xA9", 4},
    {"\xC3z", 2},
    {"\xC1", 1},
    {"\xFF", 1},
    {"z\xE2", 1},
    {"\xC3\xA9\xA9", 3},
};

START_TEST(test_whole)
{
    ck_assert_uint_eq(utf8_complete(ends[_i].bytes, strlen(ends[_i].bytes)), ends[_i].whole);
}
END_TEST

/* Bytes are written as complete characters; invalid bytes as soon as they are known to be invalid,
 * or at the end. */
START_TEST(test_stream)
{
    static const struct {
        unsigned char byte;
        const char *written; /* so far */
    } steps[] = {{'a', "\xC3\xA9"
                       "a"},
                 {0xE2, "\xC3\xA9"
                        "a"},
                 {0x82, "\xC3\xA9"
                        "a"},
                 {0xAC, "\xC3\xA9"
                        "a\xE2\x82\xAC"},
                 {0xC3, "\xC3\xA9"
                        "a\xE2\x82\xAC"}};
    FILE *to = fopen(in_folder("out"), "w+");
    size_t size = 0;
    tokenizer bytes = tokenizer_of_text(LEVEL_BPE, "", "any", 3, 256);
    gpt_stream s = gpt_stream_begin(to, &bytes);
    gpt_stream_prompt(&s, "\xC3\xA9");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        gpt_stream_token(&s, steps[i].byte);
        fflush(to);
        char *so_far = read_bytes(in_folder("out"), &size);
        ck_assert_str_eq(so_far, steps[i].written);
        free(so_far);
    }
    gpt_stream_end(&s);
    fclose(to);
    char *all = read_bytes(in_folder("out"), &size);
    ck_assert_str_eq(all, "\xC3\xA9"
                          "a\xE2\x82\xAC\xC3\n");
    free(all);
    tokenizer_free(&bytes);
}
END_TEST

#define ROWS(rows) (int)(sizeof(rows) / sizeof *(rows))

void add_gpt_program_cases(Suite *suite)
{
    TCase *parts = files_case(suite, "parts");
    tcase_add_test(parts, test_settings_are_all);
    tcase_add_loop_test(parts, test_settle, 0, ROWS(settled));
    tcase_add_test(parts, test_defaults);
    tcase_add_loop_test(parts, test_windows, 0, ROWS(cuts));
    tcase_add_test(parts, test_train_tokens);
    tcase_add_loop_test(parts, test_whole, 0, ROWS(ends));
    tcase_add_test(parts, test_stream);
}
