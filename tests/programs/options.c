/* next_token's command line, and combinations of options that are rejected. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/next_token/setup.h"
#include "tests/common/next_token_util.h"

typedef struct arguments {
    const char *list[MOST_ARGUMENTS];
    const char *error; /* NULL: none */
} arguments;

/* ---- the command line ---- */

static const arguments option_rows[] = {
    {{"--steps", "0", "--heads", "16", "--d-model=4096", "--lr", "1e-3"}, NULL},
    {{"--seed", "9223372036854775807", "--temperature", "0"}, NULL},
    {{"--steps", "+5", "--lr=.5", "--lr", "10"}, NULL},
    {{"--prompt=--save", "--save", "a=b", "--level", "word"}, NULL},
    {{"--prompt", "--nope", "--text", "-"}, NULL}, /* the value after a flag may begin with -- */
    {{"--nope"}, "unknown flag --nope"},
    {{"--step", "5"}, "unknown flag --step"},
    {{"--stepss=5"}, "unknown flag --stepss=5"},
    {{"--d_model", "5"}, "unknown flag --d_model"},
    {{"--"}, "unknown flag --"},
    {{"-s"}, "unknown flag -s"},
    {{"-"}, "unexpected argument '-'"},
    {{""}, "unexpected argument ''"},
    {{"--steps", "5", "book.txt"}, "unexpected argument 'book.txt'; use --text FILE for a text"},
    {{"--steps"}, "no value after --steps"},
    {{"--save", "--steps", "5"}, "no value after --save"},
    {{"--save", "--steps=5"}, "no value after --save"},
    {{"--load="}, "--load: the file name is empty"},
    {{"--save", ""}, "--save: the file name is empty"},
    {{"--prompt", ""}, NULL}, /* options_read accepts it */
    {{"--steps", ""}, "--steps: '' is not a whole number from 0 to 1000000000"},
    {{"--steps="}, "--steps: ''"},
    {{"--steps", "1000000001"}, "--steps: '1000000001'"},
    {{"--steps", "99999999999999999999"}, "--steps: '99999999999999999999'"},
    {{"--steps", "-1"}, "--steps: '-1'"},
    {{"--steps", "5 "}, "--steps: '5 '"},
    {{"--steps", " 5"}, "--steps: ' 5'"},
    {{"--steps", "5x"}, "--steps: '5x'"},
    {{"--steps", "5.0"}, "--steps: '5.0'"},
    {{"--steps", "1e3"}, "--steps: '1e3'"},
    {{"--steps", "0x10"}, "--steps: '0x10'"},
    {{"--steps", "+"}, "--steps: '+'"},
    {{"--heads", "0"}, "--heads: '0' is not a whole number from 1 to 16"},
    {{"--heads", "17"}, "--heads: '17'"},
    {{"--d-model", "4097"}, "--d-model: '4097'"},
    {{"--context", "0"}, "--context: '0'"},
    {{"--batch", "0"}, "--batch: '0'"},
    {{"--seed", "-1"}, "--seed: '-1' is not a whole number from 0 to 9223372036854775807"},
    {{"--seed", "9223372036854775808"}, "--seed: '9223372036854775808'"},
    {{"--lr", "0"}, "--lr: '0' is not a number above 0, at most 10"},
    {{"--lr", "1e-999"}, "--lr: '1e-999'"},
    {{"--lr", "-0.1"}, "--lr: '-0.1'"},
    {{"--lr", "10.1"}, "--lr: '10.1'"},
    {{"--lr", "nan"}, "--lr: 'nan'"},
    {{"--lr", "inf"}, "--lr: 'inf'"},
    {{"--lr", "1e999"}, "--lr: '1e999'"},
    {{"--lr", "0x1p-3"}, "--lr: '0x1p-3'"},
    {{"--lr", "1e"}, "--lr: '1e'"},
    {{"--lr", "0,1"}, "--lr: '0,1'"},
    {{"--temperature", "-1"}, "--temperature: '-1' is not a number from 0 to 100"},
    {{"--temperature", "nan"}, "--temperature: 'nan'"},
    {{"--level", "words"}, "--level: 'words' is not one of char|word"},
    {{"--level", "wor"}, "--level: 'wor'"},
    {{"--level", ""}, "--level: ''"},
    {{"--level", "char|word"}, "--level: 'char|word'"},
};

START_TEST(test_options)
{
    const arguments *row = &option_rows[_i];
    read_arguments(row->list);
    if (row->error != NULL) {
        expect_error(HEED_ERR_VALUE, row->error);
    }
    expect_no_error();
}
END_TEST

START_TEST(test_option_values)
{
    options o = read_arguments((const char *const[]){"--steps", "7", "--steps=8", "--lr", "0.25",
                                                     "--prompt", "", "--level", "word", NULL});
    ck_assert_int_eq(o.steps, 8);
    ck_assert(o.lr == 0.25);
    ck_assert_str_eq(o.prompt, "");
    ck_assert_int_eq(o.level, TEXT_WORD);
    ck_assert(o.given.steps && o.given.lr && o.given.prompt && !o.given.heads && !o.given.text);
    options_complete(&o, TASK_WORD);
    ck_assert_int_eq(o.steps, 8);
    ck_assert_int_eq(o.heads, 4);
    ck_assert_int_eq(o.context, 32);
    ck_assert(o.temperature == 0.8);
    ck_assert_ptr_null(o.text);
    ck_assert(!o.given.heads);
}
END_TEST

/* The toy demo's defaults stay as they are. */
START_TEST(test_toy_defaults)
{
    options o = {.help = false};
    options_complete(&o, TASK_TOY);
    ck_assert(o.steps == 2000 && o.lr == 2e-2 && o.d_model == 32 && o.heads == 1);
    ck_assert(o.context == TOY_LENGTH - 1 && o.batch == 32 && o.seed == 0 && o.temperature == 0);
}
END_TEST

START_TEST(test_help)
{
    static const char *const flags[] = {
#define NAME(kind, field, ...) #field,
        OPTIONS(NAME)
#undef NAME
            "help"};
    char *help = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&help, &size);
    options_help(stream);
    fclose(stream);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        char name[32];
        snprintf(name, sizeof name, "\n  --%s", flags[i]);
        for (char *c = name; *c != '\0'; c++) {
            *c = *c == '_' ? '-' : *c;
        }
        ck_assert_msg(strstr(help, name) != NULL, "--help does not list %s", name);
    }
    for (const char *line = help; *line != '\0'; line += strcspn(line, "\n") + 1) {
        ck_assert_uint_le(strcspn(line, "\n"), 100);
    }
    free(help);
    ck_assert(read_arguments((const char *const[]){"--steps", "5", "--help", "--nope", NULL}).help);
    ck_assert(read_arguments((const char *const[]){"-h", NULL}).help);
}
END_TEST

/* ---- setups: options that exclude each other, texts that are too short ---- */

static const arguments setup_rows[] = {
    {{"--text", "@", "--context", "4"}, NULL},
    {{"--text", "@", "--context", "3", "--level", "word", "--prompt", "one two"}, NULL},
    {{"--heads", "2", "--d-model", "6"}, NULL},
    {{"--heads", "2", "--d-model", "7"}, "--d-model 7: not divisible by --heads 2"},
    {{"--heads", "3", "--d-model", "7"}, "--d-model 7: not divisible by --heads 3"},
    {{"--heads", "4", "--d-model", "2"}, "--d-model 2: not divisible"},
    {{"--text", "@", "--context", "15"}, "it has 16 characters; --context 15 needs 17"},
    {{"--text", "@", "--context", "14"}, NULL},
    {{"--text", "@", "--level", "word", "--context", "4"}, "it has 5 words; --context 4 needs 6"},
    {{"--text", "@", "--context", "4", "--prompt", "z"},
     "'z' is not among the model's 10 characters"},
    {{"--text", "@", "--context", "4", "--prompt", ""}, "--prompt: empty"},
    {{"--text", "@", "--context", "4", "--prompt", "o\xFF"}, "--prompt: not UTF-8"},
    {{"--prompt", "the pizza"}, NULL},
    {{"--prompt", "the pasta"}, "'pasta' is not among the model's 93 words"},
    {{"--level", "char"}, "--level: only with --text"},
    {{"--context", "11"}, "--context: only with --text"},
    {{"--text", "@", "--context", "4", "--save", "@"}, "--save is --text"},
    {{"--text", "@", "--context", "4", "--log", "@"}, "--log is --text"},
    {{"--save", "/tmp/heed-none", "--log", "/tmp/heed-none"}, "--log is --save"},
    {{"--save", "/no/such/file"}, "--save: cannot write /no/such/file"},
    {{"--text", "@", "--context", "4", "--logits", "@"}, "--logits is --text"},
    {{"--logits", "/tmp/heed-none", "--save", "/tmp/heed-none"}, "--logits is --save"},
    {{"--logits", "/tmp/heed-none", "--log", "/tmp/heed-none"}, "--log is --logits"},
    {{"--logits", "/dev/null"}, "--logits: cannot write /dev/null: it is not a file"},
    {{"--log", "/no/such/file"}, "--log: cannot write /no/such/file"},
    {{"--load", "/no/such/file"}, "--load: /no/such/file"},
    {{"--load", "@"}, "--load: "}, /* a text, not a model */
    {{"--text", "@", "--context", "14", "--batch", "4096", "--d-model", "4096"}, NULL},
};

START_TEST(test_setups)
{
    static toy_language language;
    arguments row = setup_rows[_i];
    for (int i = 0; i < MOST_ARGUMENTS && row.list[i] != NULL; i++) {
        row.list[i] = strcmp(row.list[i], "@") == 0 ? path_of_test : row.list[i];
    }
    write_file("one two six two\n");
    setup s;
    options o = read_arguments(row.list);
    setup_prepare(&s, &o, &language);
    if (row.error != NULL) {
        expect_error(HEED_ERR_VALUE, row.error);
    }
    expect_no_error();
    setup_free(&s);
}
END_TEST

START_TEST(test_held_out)
{
    static toy_language language;
    char words[1001] = "";
    memset(words, 'a', 1000);
    write_file(words);
    setup s;
    options o =
        read_arguments((const char *const[]){"--text", path_of_test, "--context", "20", NULL});
    setup_prepare(&s, &o, &language);
    expect_no_error();
    ck_assert_int_eq(s.training.count, 900 - 20);
    ck_assert_ptr_eq(s.held_out.tokens, s.text.ids + 900);
    ck_assert_int_eq(s.held_out.count, 4); /* 80 of the 99 possible targets */
    int64_t count = 0;
    ck_assert_ptr_eq(setup_sample(&s, 10, &count), s.held_out.tokens);
    ck_assert_int_eq(count, 10);
    setup_sample(&s, 100, &count);
    ck_assert_int_eq(count, 20);
    setup_free(&s);
    o = read_arguments((const char *const[]){"--text", path_of_test, "--context", "100", NULL});
    setup_prepare(&s, &o, &language);
    ck_assert_int_eq(s.held_out.count, 0); /* a tenth of the text is too short */
    ck_assert_int_eq(s.training.count, 900);
    setup_free(&s);
}
END_TEST

/* A loaded model sets its sizes; flags may repeat but not contradict them. */
START_TEST(test_loaded_setups)
{
    static const arguments rows[] = {
        {{"--prompt", "two"}, NULL},
        {{"--prompt", "two", "--steps", "0", "--heads", "3", "--d-model", "6"}, NULL},
        {{"--prompt", "two", "--level", "char", "--context", "5"}, NULL},
        {{"--log", "/dev/null"}, "nothing to do without --text FILE or --prompt TEXT"},
        {{"--prompt", "two", "--steps", "1"}, "--steps 1: no --text FILE to train on"},
        {{"--prompt", "two", "--heads", "1"}, "--heads 1: the model of --load has 3"},
        {{"--prompt", "two", "--d-model", "3"}, "--d-model 3: the model of --load has 6"},
        {{"--prompt", "two", "--context", "4"}, "--context 4: the model of --load has 5"},
        {{"--prompt", "two", "--level", "word"}, "a token of the model of --load is a character"},
        {{"--prompt", "TWO"}, "'T' is not among"},
    };
    static toy_language language;
    vocabulary v = vocabulary_of_list(TEXT_CHAR, true, "two");
    heed_manual_seed(0);
    struct token_model *m = model_new((model_sizes){4, 5, 6, 3});
    model_save(path_of_test, m, TASK_CHAR, &v);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *list[MOST_ARGUMENTS] = {"--load", path_of_test};
        memcpy(list + 2, rows[i].list, (MOST_ARGUMENTS - 2) * sizeof *list);
        setup s;
        options o = read_arguments(list);
        setup_prepare(&s, &o, &language);
        if (rows[i].error != NULL) {
            expect_error(HEED_ERR_VALUE, rows[i].error);
        } else {
            expect_no_error();
            ck_assert(s.options.steps == 0 && s.options.heads == 3 && s.options.context == 5);
        }
        setup_free(&s);
    }
    heed_module_free(m);
    vocabulary_free(&v);
}
END_TEST

void add_options_cases(Suite *suite)
{
    TCase *flags = heed_case(suite, "flags");
    tcase_add_loop_test(flags, test_options, 0, sizeof option_rows / sizeof *option_rows);
    tcase_add_test(flags, test_option_values);
    tcase_add_test(flags, test_toy_defaults);
    tcase_add_test(flags, test_help);
    TCase *setups = path_case(suite, "setups");
    tcase_add_loop_test(setups, test_setups, 0, sizeof setup_rows / sizeof *setup_rows);
    tcase_add_test(setups, test_held_out);
    tcase_add_test(setups, test_loaded_setups);
}
