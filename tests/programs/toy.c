/* The toy next-token task: attention must learn to look from *it* back at its subject. */
#include <math.h>

#include "examples/lab/next_token/setup.h"
#include "tests/common/test_util.h"

static toy_language language; /* too large for a stack */

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
            bool same = true;
            for (int k = 0; k < TOY_LENGTH; k++) {
                same = same && language.held_out[i].token[k] == language.train[j].token[k];
            }
            ck_assert(!same);
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

/* The demo's model. */
static struct token_model *make_model(uint64_t seed, int heads)
{
    options o = {.help = false};
    options_complete(&o, TASK_TOY);
    toy_language_make(&language, seed);
    heed_manual_seed(seed);
    return model_new((model_sizes){language.word_count, o.context, o.d_model, heads});
}

static void train_model(struct token_model *m, train_watch *watch, void *context)
{
    options o = {.help = false};
    options_complete(&o, TASK_TOY);
    const pieces learnt = toy_pieces(language.train, language.train_count);
    const pieces held_out = toy_pieces(language.held_out, language.held_out_count);
    const train_options training = {o.steps, o.batch, o.lr};
    train(m, &learnt, &held_out, &training, watch, context);
}

static void expect_learned(uint64_t seed, int heads)
{
    struct token_model *m = make_model(seed, heads);
    toy_score before = toy_evaluate(m, language.held_out, language.held_out_count);
    train_model(m, NULL, NULL);
    toy_score after = toy_evaluate(m, language.held_out, language.held_out_count);
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
enum { STEPS = 20 };
static const double losses_of_pytorch[3][STEPS] = {
#include "tests/fixtures/toy.h"
};

typedef struct comparison {
    const double *expected;
    int steps; /* compared so far */
} comparison;

static bool compare_loss(void *context, struct token_model *m, const train_state *now)
{
    comparison *c = context;
    (void)m;
    ck_assert_int_eq(now->step, ++c->steps);
    const double expected = c->expected[now->step - 1];
    ck_assert_msg(fabs(now->loss - expected) <= 5e-6, "step %d: loss %.7f, not %.7f",
                  (int)now->step, now->loss, expected);
    return now->step < STEPS;
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

void add_toy_cases(Suite *suite)
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
}
