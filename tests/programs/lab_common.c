/* What the programs of the lab share: tables of flags, UTF-8, and output to terminals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/flags.h"
#include "examples/lab/common/text.h"
#include "tests/common/test_util.h"

/* ---- flags ---- */

/* clang-format off */
#define FLAGS(X)                                                                                   \
    X(BARE,   model,    "FILE", 0, 0,  0,          "the model")                                    \
    X(SWITCH, no_cache, "",     0, 0,  0,          "recompute everything")                         \
    X(BARE,   prompt,   "TEXT", 0, 0,  0,          "the prompt")                                   \
    X(WHOLE,  length,   "N",    0, 1e9, 1000000,   "tokens to generate")                           \
    X(WHOLE,  width,    "N",    0, 9,  (FLAG_NONE), "no default")                                  \
    X(REAL,   share,    "X",    0, 1,  (0.5),      "how much")                                     \
    X(CHOICE, pace,     "slow|fast", 0, 1, (1),    "how fast")
/* clang-format on */

typedef struct options {
    FLAG_FIELDS(FLAGS);
} options;

#define ROW(kind, field, ...) FLAG_ROW(options, kind, field, __VA_ARGS__)
static const flag_row flag_rows[] = {FLAGS(ROW)};
static const flag_table table = {.flags = flag_rows, .count = 7};

enum { MOST = 5 };

static bool read_list(options *into, const char *const list[MOST])
{
    char *argv[MOST + 1] = {(char *)"program"};
    int argc = 1;
    for (; argc <= MOST && list[argc - 1] != NULL; argc++) {
        argv[argc] = (char *)list[argc - 1];
    }
    return flags_read(&table, into, argc, argv);
}

START_TEST(wrong_flags_are_named)
{
    static const struct {
        const char *list[MOST];
        const char *error;
    } rows[] = {
        {{"m", "--prompt=p", "x"}, "unexpected argument 'x'"},
        {{"--model"}, "no value after --model"},
        {{"--length", "--no-cache"}, "no value after --length"},
        {{"--no_cache"}, "unknown flag --no_cache"},
        {{"--no-cache=1"}, "--no-cache: takes no value"},
        {{"--length", "-1"}, "--length: '-1' is not a whole number from 0 to 1000000000"},
        {{"--length", "1e3"}, "--length: '1e3' is not a whole number"},
        {{"--length", "99999999999999999999"}, "--length: '99999999999999999999'"},
        {{"--share", "nan"}, "--share: 'nan' is not a number from 0 to 1"},
        {{"--pace", "fas"}, "--pace: 'fas' is not one of slow|fast"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        options o = {.model = NULL};
        ck_assert(!read_list(&o, rows[i].list));
        expect_error(HEED_ERR_VALUE, rows[i].error);
    }
    options o = {.model = NULL};
    flags_set(&table, &o, "nope", "1");
    expect_error(HEED_ERR_VALUE, "no flag is called nope");
}
END_TEST

/* Flags that may be omitted are positional; those that were not given get their defaults. */
START_TEST(flags_are_read)
{
    options o = {.model = NULL};
    ck_assert(!read_list(&o, (const char *const[MOST]){"-", "--no-cache", "b c", "--length=5"}));
    ck_assert_str_eq(o.model, "-");
    ck_assert_str_eq(o.prompt, "b c");
    ck_assert(o.no_cache && o.given.no_cache && o.given.prompt && o.length == 5 && o.share == 0);
    flags_complete(&table, &o);
    ck_assert(o.length == 5 && o.share == 0.5 && !o.given.share && o.pace == 1 && o.width == 0);
    ck_assert(read_list(&o, (const char *const[MOST]){"-h", "--nope"}));
    expect_no_error();
}
END_TEST

/* Values kept in files are restored exactly. */
START_TEST(values_are_written_and_read_back)
{
    static const char *const kept[][2] = {
        {"length", "1000000000"}, {"share", "0.10000000000000001"}, {"pace", "fast"}};
    options o = {.model = NULL};
    for (int i = 0; i < 3; i++) {
        flags_set(&table, &o, kept[i][0], kept[i][1]);
        expect_no_error();
    }
    for (int i = 0; i < table.count; i++) {
        const flag_row *f = &flag_rows[i];
        for (int k = 0; k < 3; k++) {
            if (strcmp(f->name, kept[k][0]) == 0) {
                const flag_value text = flags_text(f, &o);
                ck_assert_str_eq(text.text, kept[k][1]);
                ck_assert(flags_given(f, &o));
            }
        }
    }
    ck_assert(o.length == 1000000000 && o.share == 0.1 && o.pace == 1 && !o.given.model);
}
END_TEST

START_TEST(errors_name_their_flag)
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

/* ---- text ---- */

/* The first character, its length, and the bytes that are whole characters, or are known to be
 * invalid. Code 0: not UTF-8. */
static const struct {
    const char *bytes;
    size_t length;
    uint32_t code;
    size_t complete;
} utf8_rows[] = {
    {"a", 1, 'a', 1},
    {"\xC2\x80", 2, 0x80, 2},
    {"\xC3\xA9\xA9", 2, 0xE9, 3},
    {"\xE0\xA0\x80", 3, 0x800, 3},
    {"\xED\x9F\xBF", 3, 0xD7FF, 3},
    {"\xEE\x80\x80", 3, 0xE000, 3},
    {"\xF0\x90\x80\x80", 4, 0x10000, 4},
    {"\xF4\x8F\xBF\xBF", 4, 0x10FFFF, 4},
    {"\xA9\xA9\xA9\xA9", 1, 0, 4}, /* a continuation byte first */
    {"\xC1\xBF", 1, 0, 2},         /* overlong */
    {"\xE0\x9F\xBF", 1, 0, 3},
    {"\xF0\x8F\xBF\xBF", 1, 0, 4},
    {"\xC3", 1, 0, 0}, /* truncated */
    {"\xE2\x82", 1, 0, 0},
    {"\xF0\x9F\x98", 1, 0, 0},
    {"\xC3z", 1, 0, 2},            /* not followed by a continuation byte */
    {"\xED\xA0\x80", 1, 0, 3},     /* UTF-16 surrogates */
    {"\xF4\x90\x80\x80", 1, 0, 4}, /* above U+10FFFF */
    {"\xFF", 1, 0, 1},
    {"z\xE2", 1, 'z', 1},
};

START_TEST(utf8_is_read)
{
    for (size_t i = 0; i < sizeof utf8_rows / sizeof *utf8_rows; i++) {
        const char *bytes = utf8_rows[i].bytes;
        uint32_t code = 0;
        ck_assert_uint_eq(utf8_next(bytes, strlen(bytes), &code), utf8_rows[i].length);
        ck_assert_uint_eq(code, utf8_rows[i].code);
        ck_assert_uint_eq(utf8_complete(bytes, strlen(bytes)), utf8_rows[i].complete);
        for (size_t left = 1; left < utf8_rows[i].length; left++) { /* no byte past it is read */
            ck_assert_uint_eq(utf8_next(bytes, left, &code), 1);
            ck_assert_uint_eq(code, 0);
        }
    }
}
END_TEST

/* On terminals control characters are replaced; files get every byte. */
START_TEST(terminals_get_no_control_characters)
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

void add_lab_common_cases(Suite *suite)
{
    TCase *common = heed_case(suite, "common");
    tcase_add_test(common, wrong_flags_are_named);
    tcase_add_test(common, flags_are_read);
    tcase_add_test(common, values_are_written_and_read_back);
    tcase_add_test(common, errors_name_their_flag);
    tcase_add_test(common, utf8_is_read);
    tcase_add_test(common, terminals_get_no_control_characters);
}
