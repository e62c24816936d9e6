/* The next-token model of `make demo`: attention must learn to look from *it* back at its subject.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/next_token/toy.h"
#include "tests/common/test_util.h"

static toy_language language; /* too large for a stack */

enum { STEPS = 20, D_MODEL = 32, CONTEXT = TOY_LENGTH - 1 };

/* ---- the language ---- */

START_TEST(test_sentences)
{
    toy_language_make(&language, 0);
    ck_assert_int_eq(language.word_count, 93);
    ck_assert_int_eq(language.train_count, 465);
    ck_assert_int_eq(language.held_out_count, 93);
    static const char *const pizza[TOY_LENGTH] = {
        "the", "pizza", "came", "out", "of", "the", "oven", "and", "it", "tasted", "good", "<eos>"};
    for (int i = 0; i < TOY_LENGTH; i++) {
        ck_assert_str_eq(language.words[language.held_out[0].token[i]], pizza[i]);
    }
}
END_TEST

/* For every seed each subject and each place is held out, and no sentence is in both parts. */
START_TEST(test_held_out)
{
    toy_language_make(&language, (uint64_t)_i);
    int subjects[TOY_MOST_WORDS] = {0}, places[TOY_MOST_WORDS] = {0};
    for (int i = 0; i < language.held_out_count; i++) {
        subjects[language.held_out[i].token[TOY_AT_SUBJECT]]++;
        places[language.held_out[i].token[TOY_AT_IT - 2]]++;
        for (int j = 0; j < language.train_count; j++) {
            ck_assert_int_ne(
                memcmp(&language.held_out[i], &language.train[j], sizeof language.train[j]), 0);
        }
    }
    int held_subjects = 0, held_places = 0;
    for (int i = 0; i < TOY_MOST_WORDS; i++) {
        held_subjects += subjects[i] > 0;
        held_places += places[i] > 0;
    }
    ck_assert_int_eq(held_subjects, TOY_SUBJECTS);
    ck_assert_int_eq(held_places, TOY_PLACES);
}
END_TEST

/* ---- training ---- */

static struct token_model *make_model(uint64_t seed, int heads)
{
    toy_language_make(&language, seed);
    heed_manual_seed(seed);
    return model_new((model_sizes){language.word_count, CONTEXT, D_MODEL, heads});
}

static void train_model(struct token_model *m, train_watch *watch, void *context)
{
    train(m, &language, &(train_options){2000, 32, 2e-2}, watch, context);
}

static void expect_learned(uint64_t seed, int heads)
{
    struct token_model *m = make_model(seed, heads);
    const toy_score before = toy_evaluate(m, &language);
    train_model(m, NULL, NULL);
    const toy_score after = toy_evaluate(m, &language);
    heed_module_free(m);
    expect_no_error();
    ck_assert_msg(before.attention < 0.2, "attention before training is %.3f", before.attention);
    ck_assert_msg(after.accuracy == 1, "accuracy is %.3f", after.accuracy);
    ck_assert_msg(after.attention >= 0.9, "attention is %.3f", after.attention);
}

START_TEST(test_one_head)
{
    expect_learned((uint64_t)_i, 1);
}
END_TEST

START_TEST(test_two_heads)
{
    expect_learned((uint64_t)_i, 2);
}
END_TEST

START_TEST(test_four_heads)
{
    expect_learned((uint64_t)_i, 4);
}
END_TEST

/* The same seed, weights, batches and optimiser as the PyTorch twin. */
static const double losses_of_pytorch[3][STEPS] = {
#include "tests/fixtures/toy.h"
};

typedef struct comparison {
    const double *expected;
    int64_t steps; /* compared so far */
} comparison;

static bool compare_loss(void *context, struct token_model *m, int64_t step, double loss)
{
    comparison *c = context;
    (void)m;
    ck_assert_int_eq(step, ++c->steps);
    const double expected = c->expected[step - 1];
    ck_assert_msg(fabs(loss - expected) <= 5e-6, "step %d: loss %.7f, not %.7f", (int)step, loss,
                  expected);
    return step < STEPS;
}

START_TEST(test_losses_are_those_of_pytorch)
{
    static const int heads[] = {1, 2, 4};
    comparison c = {.expected = losses_of_pytorch[_i]};
    struct token_model *m = make_model(0, heads[_i]);
    train_model(m, compare_loss, &c);
    heed_module_free(m);
    ck_assert_int_eq(c.steps, STEPS);
}
END_TEST

START_TEST(test_diverging_stops)
{
    struct token_model *m = make_model(0, 1);
    train(m, &language, &(train_options){1000, 2, 1e38}, NULL, NULL);
    expect_error(HEED_ERR_VALUE, "try a lower learning rate");
    heed_module_free(m);
}
END_TEST

/* ---- generation ---- */

static char *write_after(struct token_model *m, int64_t count, int most)
{
    int64_t tokens[20];
    char *text = NULL;
    size_t size = 0;
    for (int64_t i = 0; i < count; i++) {
        tokens[i] = language.held_out[0].token[i % TOY_LENGTH];
    }
    FILE *stream = open_memstream(&text, &size);
    toy_write(stream, m, &language, tokens, count, most);
    fclose(stream);
    expect_no_error();
    return text;
}

/* Writes `most` words, each after a blank, from more tokens than the context too. */
START_TEST(test_write)
{
    struct token_model *m = make_model(0, 2);
    for (int64_t count = 1; count <= 20; count += 19) {
        char *text = write_after(m, count, 3), *more = write_after(m, count, 30);
        int blanks = 0;
        for (const char *c = text; *c != '\0'; c++) {
            blanks += *c == ' ';
        }
        ck_assert(text[0] == ' ' && blanks <= 3 && strncmp(text, more, strlen(text)) == 0);
        free(text);
        free(more);
    }
    heed_module_free(m);
}
END_TEST

/* ---- files ---- */

static char path[] = "/tmp/heed-next-token";

START_TEST(test_saved_model_is_the_same)
{
    struct token_model *m = make_model(1, _i);
    model_save(path, m, &language);
    expect_no_error();
    const model_sizes sizes = model_sizes_in(path, &language);
    ck_assert(sizes.heads == _i && sizes.context == CONTEXT && sizes.d_model == D_MODEL &&
              sizes.words == 93);
    struct token_model *again = model_new(sizes);
    model_load(path, again);
    expect_no_error();
    heed_tensor *tokens = heed_from_i64(language.train->token, HEED_SHAPE(CONTEXT));
    expect_close(model_forward(again, tokens), model_forward(m, tokens), 0);
    heed_module_free(again);
    heed_module_free(m);
    remove(path);
}
END_TEST

/* Files from other sources: their metadata, and the expected error. */
typedef struct strange_row {
    const char *format, *heads, *words, *error;
} strange_row;

static const char ours[] = "heed next_token 1";
static const strange_row strange_rows[] = {
    {NULL, NULL, NULL, "not a model written by --save"},
    {"pt", "1", NULL, "not a model written by --save"},
    {ours, "0", NULL, "not a model written by --save"},
    {ours, "17", NULL, "not a model written by --save"},
    {ours, "1x", NULL, "not a model written by --save"},
    {ours, NULL, NULL, "not a model written by --save"},
    {ours, "1", "a b", "not of the toy's sentences"},
    {ours, "1", NULL, NULL},
    {ours, "2", NULL, NULL},
};

START_TEST(test_strange_models)
{
    const strange_row *row = &strange_rows[_i];
    struct token_model *m = make_model(0, 1);
    const model_text words = model_words(&language);
    heed_metadata about[8] = {{"context", "11"},
                              {"d_model", "32"},
                              {"vocabulary", row->words != NULL ? row->words : words.text}};
    const heed_metadata more[] = {{"format", row->format}, {"heads", row->heads}};
    for (int i = 0, at = 3; i < 2; i++) {
        if (more[i].value != NULL) {
            about[at++] = more[i];
        }
    }
    heed_save_state_dict(m, path, about);
    heed_module_free(m);
    const model_sizes sizes = model_sizes_in(path, &language);
    if (row->error != NULL) {
        expect_error(HEED_ERR_VALUE, row->error);
    } else {
        m = model_new(sizes);
        model_load(path, m);
        if (sizes.heads == 1) {
            expect_no_error();
        } else {
            expect_error(HEED_ERR_VALUE, "--load: ");
        }
        heed_module_free(m);
    }
    remove(path);
}
END_TEST

void add_next_token_cases(Suite *suite)
{
    TCase *sentences = heed_case(suite, "language");
    tcase_add_test(sentences, test_sentences);
    tcase_add_loop_test(sentences, test_held_out, 0, 6);
    /* Training is slow under sanitizers, where one run with one head covers all of the code. */
    const bool fast = heed_allocator_keeps_blocks();
    const int seeds = fast ? 3 : 1, seeds_of_several = fast ? 3 : 0;
    TCase *training = heed_case(suite, "training");
    tcase_set_timeout(training, 600); /* for sanitizer builds */
    tcase_add_loop_test(training, test_losses_are_those_of_pytorch, 0, 3);
    tcase_add_loop_test(training, test_one_head, 0, seeds);
    tcase_add_loop_test(training, test_two_heads, 0, seeds_of_several);
    tcase_add_loop_test(training, test_four_heads, 0, seeds_of_several);
    tcase_add_test(training, test_diverging_stops);
    tcase_add_test(training, test_write);
    TCase *files = heed_case(suite, "files");
    tcase_add_loop_test(files, test_saved_model_is_the_same, 1, 3);
    tcase_add_loop_test(files, test_strange_models, 0, sizeof strange_rows / sizeof *strange_rows);
}
