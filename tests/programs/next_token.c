/* The next-token model of `make demo`: attention must learn to look from *it* back at its subject.
 * tests/programs/programs.sh runs the program, which saves and loads models. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "examples/lab/next_token/toy.h"
#include "tests/common/test_util.h"

static toy_language language; /* too large for a stack */

enum { STEPS = 20, D_MODEL = 32, CONTEXT = TOY_LENGTH - 1 };

/* For every seed each subject and each place is held out, and no sentence is in both parts. */
START_TEST(test_sentences)
{
    static const char *const pizza[TOY_LENGTH] = {
        "the", "pizza", "came", "out", "of", "the", "oven", "and", "it", "tasted", "good", "<eos>"};
    toy_language_make(&language, (uint64_t)_i);
    ck_assert_int_eq(language.word_count, 93);
    ck_assert_int_eq(language.train_count, 465);
    ck_assert_int_eq(language.held_out_count, 93);
    for (int i = 0; i < TOY_LENGTH && _i == 0; i++) {
        ck_assert_str_eq(language.words[language.held_out[0].token[i]], pizza[i]);
    }
    bool subjects[TOY_MOST_WORDS] = {false}, places[TOY_MOST_WORDS] = {false};
    int held_subjects = 0, held_places = 0;
    for (int i = 0; i < language.held_out_count; i++) {
        const int64_t *token = language.held_out[i].token;
        held_subjects += !subjects[token[TOY_AT_SUBJECT]];
        held_places += !places[token[TOY_AT_IT - 2]];
        subjects[token[TOY_AT_SUBJECT]] = places[token[TOY_AT_IT - 2]] = true;
        for (int j = 0; j < language.train_count; j++) {
            ck_assert(memcmp(token, language.train[j].token, sizeof language.train[j]) != 0);
        }
    }
    ck_assert_int_eq(held_subjects, TOY_SUBJECTS);
    ck_assert_int_eq(held_places, TOY_PLACES);
}
END_TEST

static struct token_model *make_model(uint64_t seed, int heads)
{
    toy_language_make(&language, seed);
    heed_manual_seed(seed);
    return model_new((model_sizes){language.word_count, CONTEXT, D_MODEL, heads});
}

/* 1, 2 or 4 heads, and three seeds. */
START_TEST(test_training)
{
    struct token_model *m = make_model((uint64_t)_i / 3, 1 << _i % 3);
    const toy_score before = toy_evaluate(m, &language);
    train(m, &language, &(train_options){2000, 32, 2e-2}, NULL, NULL);
    const toy_score after = toy_evaluate(m, &language);
    heed_module_free(m);
    expect_no_error();
    ck_assert_msg(before.attention < 0.2, "attention before training is %.3f", before.attention);
    ck_assert_msg(after.accuracy == 1, "accuracy is %.3f", after.accuracy);
    ck_assert_msg(after.attention >= 0.9, "attention is %.3f", after.attention);
}
END_TEST

/* The same seed, weights, batches and optimiser as the PyTorch twin. */
static const double losses_of_pytorch[3][STEPS] = {
#include "tests/fixtures/toy.h"
};

static bool compare_loss(void *context, struct token_model *m, int64_t step, double loss)
{
    const double expected = ((const double *)context)[step - 1];
    (void)m;
    ck_assert_msg(fabs(loss - expected) <= 5e-6, "step %d: loss %.7f, not %.7f", (int)step, loss,
                  expected);
    return step < STEPS;
}

START_TEST(test_losses_are_those_of_pytorch)
{
    struct token_model *m = make_model(0, 1 << _i);
    train(m, &language, &(train_options){2000, 32, 2e-2}, compare_loss,
          (void *)losses_of_pytorch[_i]);
    heed_module_free(m);
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

/* Files from other sources: their metadata, and the expected error. */
START_TEST(test_strange_models)
{
    static const char ours[] = "heed next_token 1", path[] = "/tmp/heed-next-token";
    static const struct {
        const char *format, *heads, *words, *error;
    } rows[] = {{"pt", "1", "a b", "not a model written by --save"},
                {ours, "17", "a b", "not a model written by --save"},
                {ours, "1x", "a b", "not a model written by --save"},
                {ours, "1", "a b", "not of the toy's sentences"}};
    struct token_model *m = make_model(0, 1);
    for (int i = 0; i < 4; i++) {
        const heed_metadata about[] = {
            {"format", rows[i].format}, {"heads", rows[i].heads},      {"context", "11"},
            {"d_model", "32"},          {"vocabulary", rows[i].words}, {NULL, NULL}};
        heed_save_state_dict(m, path, about);
        model_sizes_in(path, &language);
        expect_error(HEED_ERR_VALUE, rows[i].error);
    }
    heed_module_free(m);
    remove(path);
}
END_TEST

void add_next_token_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "next_token");
    tcase_set_timeout(tests, 600); /* for sanitizer builds, where one run covers all of the code */
    tcase_add_loop_test(tests, test_sentences, 0, 6);
    tcase_add_loop_test(tests, test_losses_are_those_of_pytorch, 0, 3);
    tcase_add_loop_test(tests, test_training, 0, heed_allocator_keeps_blocks() ? 9 : 1);
    tcase_add_test(tests, test_diverging_stops);
    tcase_add_test(tests, test_strange_models);
}
