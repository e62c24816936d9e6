/* Shared by the programs: tables of flags, and output to terminals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/flags.h"
#include "tests/common/test_util.h"

/* Each list has its own table, struct and defaults. */
/* clang-format off */
#define WRITE(X)                                                                                   \
    X(BARE,   model,  "FILE", 0, 0,  0,        "the model")                                        \
    X(SWITCH, no_cache, "",   0, 0,  0,        "recompute everything")                             \
    X(BARE,   prompt, "TEXT", 0, 0,  0,        "the prompt")                                       \
    X(WHOLE,  length, "N",    0, 1e9, 1000000, "tokens to generate")                               \
    X(SWITCH, greedy, "",     0, 0,  1,        "always the likeliest token")
#define KEEP(X)                                                                                    \
    X(SWITCH, greedy, "",     0, 0,  (0),      "always the likeliest token")                       \
    X(WHOLE,  length, "N",    0, 1e9, (FLAG_NONE), "tokens to generate")                           \
    X(REAL,   share,  "X",    0, 1,  (0.5),    "how much")                                         \
    X(CHOICE, pace, "slow|fast", 0, 1, (1),    "how fast")
/* clang-format on */

typedef struct keep_flags {
    FLAG_FIELDS(KEEP);
} keep_flags;

typedef struct write_flags {
    FLAG_FIELDS(WRITE);
} write_flags;

#define WRITE_ROW(kind, field, ...) FLAG_ROW(write_flags, kind, field, __VA_ARGS__)
#define KEEP_ROW(kind, field, ...)  FLAG_ROW(keep_flags, kind, field, __VA_ARGS__)
static const flag_row keep_rows[] = {KEEP(KEEP_ROW)};
static const flag_table keep_table = {.flags = keep_rows, .count = 4};
static const flag_row write_rows[] = {WRITE(WRITE_ROW)};
static const flag_table write_table = {.flags = write_rows, .count = 5};

enum { MOST = 8 };

static bool read_list(const flag_table *table, void *into, const char *const list[MOST])
{
    char *argv[MOST + 1] = {(char *)"program"};
    int argc = 1;
    for (; argc <= MOST && list[argc - 1] != NULL; argc++) {
        argv[argc] = (char *)list[argc - 1];
    }
    return flags_read(table, into, argc, argv);
}

static const struct {
    const char *list[MOST];
    const char *error; /* NULL: none */
} rows[] = {
    {{"m", "It was", "--greedy", "--length", "5"}, NULL},
    {{"--greedy", "m", "--no-cache", "It was"}, NULL},
    {{"-", "FILE"}, NULL}, /* flags that may be omitted are positional */
    {{"--prompt", "p", "m"}, NULL},
    {{"m", "--prompt=p", "x"}, "unexpected argument 'x'"},
    {{"m", "It", "was"}, "unexpected argument 'was'"},
    {{"--model"}, "no value after --model"},
    {{"--no_cache"}, "unknown flag --no_cache"},
    {{"--greedy=1"}, "--greedy: takes no value"},
    {{"--greedy="}, "--greedy: takes no value"},
    {{"--length", "--greedy"}, "no value after --length"},
    {{"--share", "1"}, "unknown flag --share"},
    {{"--length", "-1"}, "--length: '-1' is not a whole number from 0 to 1000000000"},
    {{"--length", "9x"}, "--length: '9x'"},
    {{"--length", "1e3"}, "--length: '1e3' is not a whole number"},
    {{"--length", "99999999999999999999"}, "--length: '99999999999999999999'"},
};

START_TEST(test_rows)
{
    write_flags o = {.model = NULL};
    ck_assert(!read_list(&write_table, &o, rows[_i].list));
    if (rows[_i].error != NULL) {
        expect_error(HEED_ERR_VALUE, rows[_i].error);
    }
    expect_no_error();
}
END_TEST

START_TEST(test_values)
{
    write_flags w = {.model = NULL};
    read_list(&write_table, &w, (const char *const[MOST]){"a", "--no-cache", "b c"});
    ck_assert_str_eq(w.model, "a");
    ck_assert_str_eq(w.prompt, "b c");
    ck_assert(w.no_cache && w.given.no_cache && !w.greedy && !w.given.greedy && w.given.prompt);
    flags_complete(&write_table, &w);
    ck_assert(w.length == 1000000 && w.greedy && !w.given.greedy && w.no_cache);
    ck_assert_str_eq(w.model, "a");
    write_flags named = {.model = NULL};
    read_list(&write_table, &named, (const char *const[MOST]){"--prompt", "b c", "a"});
    ck_assert_str_eq(named.model, "a");
    ck_assert_str_eq(named.prompt, "b c");
    ck_assert(read_list(&write_table, &named, (const char *const[MOST]){"-h", "--nope"}));
    expect_no_error();
}
END_TEST

/* Values kept in files are restored exactly; invalid values are rejected. */
static const struct {
    const char *name, *text;
    const char *error; /* NULL: none */
} kept[] = {
    {"length", "1000000000", NULL},
    {"share", "0.10000000000000001", NULL},
    {"share", "4.9406564584124654e-324", NULL},
    {"pace", "slow", NULL},
    {"pace", "fast", NULL},
    {"length", "1e3", "--length: '1e3' is not a whole number from 0 to 1000000000"},
    {"pace", "fas", "--pace: 'fas' is not one of slow|fast"},
    {"no-cache", "true", "no flag is called no-cache"},
};

START_TEST(test_kept)
{
    keep_flags o = {.length = 7}, back = {.length = 7};
    flags_set(&keep_table, &o, kept[_i].name, kept[_i].text);
    for (int i = 0; i < keep_table.count && !heed_error_pending(); i++) {
        const flag_row *f = &keep_table.flags[i];
        const bool is_set = strcmp(f->name, kept[_i].name) == 0;
        ck_assert(flags_given(f, &o) == is_set);
        if (is_set) {
            const flag_value text = flags_text(f, &o);
            ck_assert_str_eq(text.text, kept[_i].text);
            flags_set(&keep_table, &back, f->name, text.text);
            ck_assert_mem_eq((char *)&o + f->offset, (char *)&back + f->offset, 1);
        }
    }
    if (kept[_i].error != NULL) {
        expect_error(HEED_ERR_VALUE, kept[_i].error);
    }
    expect_no_error();
    ck_assert(back.share == o.share && back.length == o.length && back.pace == o.pace);
}
END_TEST

static void expect_help(const flag_table *table, const char *expected)
{
    char *help = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&help, &size);
    flags_help(table, stream);
    fclose(stream);
    ck_assert_str_eq(help, expected);
    free(help);
}

START_TEST(test_help)
{
    expect_help(&write_table, "  [--model] FILE\n      the model\n"
                              "  --no-cache\n      recompute everything\n"
                              "  [--prompt] TEXT\n      the prompt\n"
                              "  --length N: a whole number from 0 to 1000000000; "
                              "default: 1000000\n      tokens to generate\n"
                              "  --greedy\n      always the likeliest token\n"
                              "  --help\n      show this help\n");
}
END_TEST

/* Flags without a default stay zero, and the help shows none. */
START_TEST(test_no_default)
{
    keep_flags o = {.share = 0};
    flags_complete(&keep_table, &o);
    ck_assert(o.length == 0 && !o.given.length && o.pace == 1);
    expect_help(&keep_table, "  --greedy\n      always the likeliest token\n"
                             "  --length N: a whole number from 0 to 1000000000\n"
                             "      tokens to generate\n"
                             "  --share X: a number from 0 to 1; default: 0.5\n      how much\n"
                             "  --pace slow|fast\n      how fast\n"
                             "  --help\n      show this help\n");
}
END_TEST

START_TEST(test_blame)
{
    ck_assert_int_eq(flags_blame("--load", HEED_ERR_VALUE), HEED_OK);
    heed_fail(HEED_ERR_FILE, "load_state_dict: there is no such file");
    ck_assert_int_eq(flags_blame("--load", HEED_ERR_VALUE), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, "--load: there is no such file");
    heed_fail(HEED_ERR_MEMORY, "load_state_dict: out of memory");
    ck_assert_int_eq(flags_blame("--load", HEED_ERR_VALUE), HEED_ERR_MEMORY);
    expect_error(HEED_ERR_MEMORY, "load_state_dict: out of memory");
}
END_TEST

/* On terminals control characters are replaced; files get every byte. */
START_TEST(test_put)
{
    static const char bytes[] = "a\tb\n\x1B[2J \xC2\x9B \xC3\xA9 \xE2\x82 \x7F";
    static const char shown[] = "a\tb\n?[2J ? \xC3\xA9 ?? ?";
    for (int terminal = 0; terminal < 2; terminal++) {
        char *text = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);
        console_put(stream, bytes, strlen(bytes), terminal);
        fclose(stream);
        ck_assert_str_eq(text, terminal ? shown : bytes);
        free(text);
    }
}
END_TEST

void add_flags_cases(Suite *suite)
{
    TCase *flags = heed_case(suite, "flags");
    tcase_add_loop_test(flags, test_rows, 0, sizeof rows / sizeof *rows);
    tcase_add_test(flags, test_values);
    tcase_add_test(flags, test_help);
    tcase_add_loop_test(flags, test_kept, 0, sizeof kept / sizeof *kept);
    tcase_add_test(flags, test_no_default);
    tcase_add_test(flags, test_blame);
    tcase_add_test(flags, test_put);
}
