/* The models of the page's story (examples/page/story*.c), natively: their languages, what they
 * learn, the file of their numbers, and errors. tests/page/story.py tests the story in a browser.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/page/engine.h"
#include "examples/page/story.h"
#include "examples/page/story_heads.h"
#include "examples/page/story_reader.h"
#include "examples/page/story_train.h"
#include "tests/common/test_util.h"

static reader_language language; /* too large for a stack */

/* ---- helpers ---- */

static void expect_sentence(const char *words)
{
    const char *message = page_error();
    ck_assert_msg(message != NULL, "no error, instead of: %s", words);
    ck_assert_msg(strstr(message, words) != NULL, "\"%s\" does not contain \"%s\"", message, words);
}

/* The story's numbers after a few steps, opened. The caller frees them. */
static float *open_few(void)
{
    const int count = page_story_numbers();
    float *numbers = calloc((size_t)count, sizeof *numbers);
    ck_assert(page_story_make(numbers, 2));
    ck_assert_ptr_nonnull(page_story_open(numbers, count));
    return numbers;
}

/* Number i of the list that follows `name` in a JSON text. */
static double number_in(const char *json, const char *name, int i)
{
    const char *at = strstr(json, name);
    ck_assert_msg(at != NULL, "no %s in %s", name, json);
    at += strlen(name);
    for (; i > 0; i--) {
        at = strchr(at, ',') + 1;
    }
    return strtod(at + strspn(at, ":["), NULL);
}

/* ---- the models ---- */

static bool has_both(const reader_sentence *s, int64_t a, int64_t b)
{
    const int64_t first = s->token[READER_AT_FIRST], second = s->token[READER_AT_SECOND];
    return (first == a && second == b) || (first == b && second == a);
}

START_TEST(sentences_name_their_noun)
{
    reader_language_make(&language);
    ck_assert_int_eq(language.word_count, 54);
    ck_assert_int_eq(language.train_count + language.held_out_count, READER_MOST_SENTENCES);
    ck_assert_int_eq(language.held_out_count, 816);
    enum { PIZZA = READER_FIRST_NOUN, OVEN = READER_FIRST_NOUN + READER_KIND };
    ck_assert_str_eq(language.words[PIZZA], "pizza");
    ck_assert_str_eq(language.words[OVEN], "oven");
    int famous = 0;
    for (int i = 0; i < READER_MOST_SENTENCES; i++) {
        const bool trained = i < language.train_count;
        const reader_sentence *s =
            trained ? &language.train[i] : &language.held_out[i - language.train_count];
        ck_assert_int_eq(s->token[s->at], READER_FIRST_NOUN + s->answer);
        ck_assert(!trained || !has_both(s, PIZZA, OVEN));
        famous += has_both(s, PIZZA, OVEN);
    }
    ck_assert_int_eq(famous, 48); /* two orders, four verbs, six ends */
}
END_TEST

/* The reader finds the noun in every sentence that it has not seen. Nobody has told it where to
 * look: its second look finds that noun, and its first one the ending, without which it cannot
 * know. Two heads solve what one cannot. */
START_TEST(models_learn)
{
    reader_language_make(&language);
    double mean = 0;
    struct reader *m = reader_train(&language, READER_SEED, READER_STEPS);
    ck_assert_double_eq(reader_accuracy(m, language.held_out, language.held_out_count, &mean), 1);
    ck_assert_double_gt(mean, 0.9);
    for (int i = 0; i < 48; i++) { /* of the pizza and the oven */
        HEED_SCOPE_NO_GRAD(scope);
        const reader_result r = reader_forward(
            m, heed_from_i64(language.held_out[i].token, HEED_SHAPE(1, READER_LENGTH)),
            READER_AT_IT);
        const float *first = heed_data_f32(r.first);
        ck_assert_double_gt((double)(first[READER_LENGTH - 2] + first[READER_LENGTH - 1]), 0.5);
    }
    heed_module_free(m);
    struct heads_model *one = heads_train(1, 1, HEADS_STEPS);
    struct heads_model *two = heads_train(2, 1, HEADS_STEPS);
    ck_assert_int_eq(story_weights(one, NULL, false), story_weights(two, NULL, false));
    ck_assert_double_gt(heads_accuracy(one, false), 0.9); /* what it has seen */
    ck_assert_double_lt(heads_accuracy(one, true), 0.5);
    ck_assert_double_gt(heads_accuracy(two, true), 0.9);
    heed_module_free(one);
    heed_module_free(two);
    expect_no_error();
}
END_TEST

/* ---- the page's functions ---- */

START_TEST(numbers_open)
{
    float *numbers = open_few();
    const int32_t ids[READER_LENGTH] = {0, 3, 19, 20, 21, 0, 7, 1, 2, 30, 31};
    const char *json = page_story_read(ids, READER_LENGTH, READER_AT_IT);
    double sum = 0;
    for (int i = 0; i < READER_LENGTH; i++) {
        sum += number_in(json, "\"percents\"", i);
    }
    ck_assert_double_eq_tol(sum, 1, 1e-6);
    ck_assert_double_eq_tol(number_in(page_story_places(3), "\"places\"", READER_WIDE), sin(1),
                            1e-6);
    ck_assert_double_eq_tol(number_in(page_story_words(), "\"embedding\"", 1), (double)numbers[1],
                            1e-6);
    json = page_story_heads(2, 1, 2);
    ck_assert_double_lt(number_in(json, "\"who\"", 0), 1);
    free(numbers);
    expect_no_error();
}
END_TEST

START_TEST(dragged_numbers)
{
    const float q[2] = {2, 0}, k[4] = {1, 5, -1, 5}, v[4] = {1, 0, 0, 1};
    const char *json = page_story_attend(q, k, 2);
    ck_assert_double_eq_tol(number_in(json, "\"scores\"", 1), -sqrt(2), 1e-6);
    ck_assert_double_eq_tol(number_in(json, "\"percents\"", 0), 1 / (1 + exp(-2 * sqrt(2))), 1e-6);
    const float scores[2] = {1, 0}, weights[2] = {1, 3};
    ck_assert_double_eq_tol(number_in(page_story_weigh(scores, 2), "\"percents\"", 0),
                            1 / (1 + exp(-1)), 1e-6);
    ck_assert_double_eq_tol(number_in(page_story_mix(weights, v, 2), "\"mix\"", 1), 0.75, 1e-6);
    json = page_story_dots(1, 64, 1000);
    ck_assert_double_eq_tol(number_in(json, "\"spread\"", 0), 8, 0.5);
    ck_assert_double_eq_tol(number_in(json, "\"spread\"", 1), 1, 0.06);
    double most = 2, sum = 0; /* six shares, the largest first */
    for (int i = 0; i < STORY_KEYS; i++) {
        const double next = number_in(json, "\"shares\"", i);
        ck_assert_double_lt(next, most);
        most = next;
        sum += next;
    }
    ck_assert_double_eq_tol(sum, 1, 1e-5);
    ck_assert_double_eq_tol(number_in(json, "\"shares\"", 0), 0.89, 0.02);
    ck_assert_double_eq_tol(number_in(json, "\"shares\"", STORY_KEYS), 0.42, 0.02);
}
END_TEST

START_TEST(misuse_gives_a_sentence)
{
    const int32_t ids[READER_LENGTH] = {0}, unknown[READER_LENGTH] = {0, 99};
    const float few[4] = {0};
    ck_assert_ptr_null(page_story_read(ids, READER_LENGTH, READER_AT_IT));
    expect_sentence("not been opened");
    ck_assert_ptr_null(page_story_open(few, 4));
    expect_sentence("4 numbers");
    free(open_few());
    ck_assert_ptr_null(page_story_read(ids, 3, READER_AT_IT));
    expect_sentence("words: 3");
    ck_assert_ptr_null(page_story_read(unknown, READER_LENGTH, READER_AT_IT));
    expect_sentence("99");
    ck_assert_ptr_null(page_story_read(ids, READER_LENGTH, READER_LENGTH));
    expect_sentence("position 11");
    ck_assert_ptr_null(page_story_places(0));
    expect_sentence("positions: 0");
    ck_assert_ptr_null(page_story_heads(3, 0, 1));
    expect_sentence("heads: 3");
    ck_assert_ptr_null(page_story_heads(1, -1, 1));
    expect_sentence("animal -1");
    ck_assert_ptr_null(page_story_mix(few, few, 65));
    expect_sentence("values: 65");
    ck_assert_ptr_null(page_story_dots(0, 0, 10));
    expect_sentence("numbers: 0");
}
END_TEST

void add_page_story_cases(Suite *suite)
{
    TCase *models = heed_case(suite, "models");
    tcase_add_checked_fixture(models, NULL, page_end);
    tcase_add_test(models, sentences_name_their_noun);
    tcase_add_test(models, models_learn);
    tcase_add_test(models, numbers_open);
    tcase_add_test(models, dragged_numbers);
    tcase_add_test(models, misuse_gives_a_sentence);
}
