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
#include "tests/oom/oom.h"

static reader_language language; /* too large for a stack */

/* ---- helpers ---- */

static void end_page(void)
{
    page_end();
}

static void expect_sentence(const char *words)
{
    const char *message = page_error();
    ck_assert_msg(message != NULL, "no error, instead of: %s", words);
    ck_assert_msg(strstr(message, words) != NULL, "\"%s\" does not contain \"%s\"", message, words);
}

/* The story's numbers after a few steps, opened. The caller frees them. */
static float *open_few(int *count)
{
    *count = page_story_numbers();
    float *numbers = calloc((size_t)*count, sizeof *numbers);
    ck_assert(page_story_make(numbers, 2));
    ck_assert_ptr_nonnull(page_story_open(numbers, *count));
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

/* ---- the reader ---- */

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

/* It finds the noun in every sentence that it has not seen, and looks at it. */
START_TEST(reader_finds_the_noun)
{
    double least = 0;
    reader_language_make(&language);
    struct reader *m = reader_train(&language, (uint64_t)_i, READER_STEPS, false);
    ck_assert_double_eq(reader_accuracy(m, language.held_out, language.held_out_count, &least), 1);
    ck_assert_double_gt(least, 0.6);
    heed_module_free(m);
    expect_no_error();
}
END_TEST

/* Words in another order: without positions their shares go with them, with positions they change;
 * both readers read sentences in order. */
START_TEST(positions_make_order_matter)
{
    const int64_t order[READER_LENGTH] = {10, 6, 0, 7, 1, 8, 3, 2, 5, 9, 4};
    enum { AT = 5 }; /* of *it* */
    HEED_SCOPE(scope);
    reader_language_make(&language);
    for (int positions = 0; positions < 2; positions++) {
        struct reader *m = reader_train(&language, 0, READER_STEPS, positions == 1);
        ck_assert_double_eq(reader_accuracy(m, language.held_out, language.held_out_count, NULL),
                            1);
        int64_t mixed[READER_LENGTH];
        const int64_t *right = language.held_out[0].token;
        for (int i = 0; i < READER_LENGTH; i++) {
            mixed[i] = right[order[i]];
        }
        heed_tensor *was =
            reader_forward(m, heed_from_i64(right, HEED_SHAPE(1, READER_LENGTH)), READER_AT_IT)
                .percents;
        heed_tensor *is =
            reader_forward(m, heed_from_i64(mixed, HEED_SHAPE(1, READER_LENGTH)), AT).percents;
        double most = 0;
        for (int i = 0; i < READER_LENGTH; i++) {
            most = fmax(most,
                        fabs((double)heed_data_f32(is)[i] - (double)heed_data_f32(was)[order[i]]));
        }
        if (positions == 0) {
            ck_assert_double_lt(most, 1e-6);
        } else {
            ck_assert_double_gt(most, 0.5);
        }
        heed_module_free(m);
    }
    expect_no_error();
}
END_TEST

/* ---- heads ---- */

START_TEST(two_heads_solve_what_one_cannot)
{
    struct heads_model *one = heads_train(1, (uint64_t)_i, HEADS_STEPS);
    struct heads_model *two = heads_train(2, (uint64_t)_i, HEADS_STEPS);
    ck_assert_int_eq(story_weight_count(one), story_weight_count(two));
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
    int count = 0;
    float *numbers = open_few(&count), *again = calloc((size_t)count, sizeof *again);
    ck_assert(page_story_make(again, 2));
    ck_assert_mem_eq(numbers, again, (size_t)count * sizeof *numbers);
    const int32_t ids[READER_LENGTH] = {0, 3, 19, 20, 21, 0, 7, 1, 2, 30, 31};
    const char *json = page_story_read(ids, READER_LENGTH, READER_AT_IT, false);
    double sum = 0;
    for (int i = 0; i < READER_LENGTH; i++) {
        sum += number_in(json, "\"percents\"", i);
    }
    ck_assert_double_eq_tol(sum, 1, 1e-6);
    ck_assert_double_eq_tol(number_in(page_story_places(3), "\"places\"", READER_WIDE), sin(1),
                            1e-6);
    ck_assert_double_eq_tol(number_in(page_story_words(), "\"embedding\"", 1), (double)numbers[1],
                            1e-6);
    json = page_story_heads(2, 1, 0, 2);
    ck_assert_double_lt(number_in(json, "\"who\"", 0), 1);

    /* Trained again, for as long, it would be the same; the whole training is longer. */
    ck_assert_ptr_nonnull(page_story_train(1, 3));
    free(numbers);
    free(again);
    expect_no_error();
}
END_TEST

START_TEST(dragged_numbers)
{
    const float q[2] = {2, 0}, k[4] = {1, 5, -1, 5}, v[4] = {1, 0, 0, 1};
    const char *json = page_story_attend(q, k, v, 2);
    ck_assert_double_eq_tol(number_in(json, "\"dots\"", 0), 2, 1e-6);
    ck_assert_double_eq_tol(number_in(json, "\"scores\"", 1), -sqrt(2), 1e-6);
    const double share = 1 / (1 + exp(-2 * sqrt(2)));
    ck_assert_double_eq_tol(number_in(json, "\"percents\"", 0), share, 1e-6);
    ck_assert_double_eq_tol(number_in(json, "\"mix\"", 1), 1 - share, 1e-6);
    const float scores[2] = {1, 0}, weights[2] = {1, 3};
    ck_assert_double_eq_tol(number_in(page_story_weigh(scores, NULL, 2), "\"percents\"", 0),
                            1 / (1 + exp(-1)), 1e-6);
    ck_assert_double_eq_tol(number_in(page_story_mix(weights, v, 2), "\"mix\"", 1), 0.75, 1e-6);
    json = page_story_dots(1, 64, 2000);
    ck_assert_double_eq_tol(number_in(json, "\"spread\"", 0), 8, 0.5);
    ck_assert_double_eq_tol(number_in(json, "\"spread\"", 1), 1, 0.06);
}
END_TEST

START_TEST(misuse_gives_a_sentence)
{
    const int32_t ids[READER_LENGTH] = {0};
    const float few[4] = {0};
    ck_assert_ptr_null(page_story_read(ids, READER_LENGTH, READER_AT_IT, false));
    expect_sentence("not been opened");
    ck_assert_ptr_null(page_story_heads(1, 0, 0, 1));
    expect_sentence("not been opened");
    ck_assert_ptr_null(page_story_words());
    expect_sentence("not been opened");
    ck_assert_ptr_null(page_story_open(few, 4));
    expect_sentence("4 numbers");
    int count = 0;
    free(open_few(&count));
    ck_assert_ptr_null(page_story_read(ids, 3, READER_AT_IT, false));
    expect_sentence("3 words");
    const int32_t unknown[READER_LENGTH] = {0, 99};
    ck_assert_ptr_null(page_story_read(unknown, READER_LENGTH, READER_AT_IT, false));
    expect_sentence("99");
    ck_assert_ptr_null(page_story_read(ids, READER_LENGTH, READER_LENGTH, false));
    expect_sentence("position 11");
    ck_assert_ptr_null(page_story_places(0));
    expect_sentence("0 positions");
    ck_assert_ptr_null(page_story_heads(3, 0, 0, 1));
    expect_sentence("3 heads");
    ck_assert_ptr_null(page_story_heads(1, -1, 0, 1));
    expect_sentence("out of range");
    ck_assert_ptr_null(page_story_train(5, 0));
    expect_sentence("5 heads");
    ck_assert_ptr_null(page_story_train(1, 0.5));
    expect_sentence("whole number");
    ck_assert_ptr_null(page_story_attend(few, few, few, 0));
    expect_sentence("1 to 64");
    ck_assert_ptr_null(page_story_weigh(few, NULL, 65));
    expect_sentence("65");
    ck_assert_ptr_null(page_story_mix(few, few, -1));
    expect_sentence("-1");
    ck_assert_ptr_null(page_story_dots(0, 0, 10));
    expect_sentence("0 numbers");
    ck_assert_ptr_null(page_story_dots(-1, 2, 10));
    expect_sentence("whole number");
}
END_TEST

/* ---- memory ---- */

static uint64_t whole_story(const void *context)
{
    (void)context;
    uint64_t sum = FNV_BASIS;
    float numbers[10000] = {0};
    const int32_t ids[READER_LENGTH] = {0, 3, 19, 20, 21, 0, 7, 1, 2, 30, 31};
    const float some[4] = {1, 2, 3, 4};
    const int count = page_story_numbers();
    if (page_story_make(numbers, 1) && page_story_open(numbers, count) != NULL) {
        const char *json = page_story_read(ids, READER_LENGTH, READER_AT_IT, false);
        sum = json != NULL ? fnv(json, strlen(json), sum) : sum;
        json = page_story_words();
        sum = json != NULL ? fnv(json, strlen(json), sum) : sum;
        json = page_story_places(2);
        sum = json != NULL ? fnv(json, strlen(json), sum) : sum;
        json = page_story_heads(2, 0, 0, 1);
        sum = json != NULL ? fnv(json, strlen(json), sum) : sum;
        page_story_attend(some, some, some, 2);
        page_story_mix(some, some, 2);
        json = page_story_dots(1, 2, 8);
        sum = json != NULL ? fnv(json, strlen(json), sum) : sum;
    }
    page_end();
    return sum;
}

START_TEST(out_of_memory)
{
    starve("page_story", whole_story, NULL, FEW);
}
END_TEST

void add_page_story_cases(Suite *suite)
{
    TCase *models = heed_case(suite, "models");
    tcase_add_checked_fixture(models, NULL, end_page);
    tcase_add_test(models, sentences_name_their_noun);
    tcase_add_loop_test(models, reader_finds_the_noun, 0, 3);
    tcase_add_test(models, positions_make_order_matter);
    tcase_add_loop_test(models, two_heads_solve_what_one_cannot, 0, 3);
    TCase *functions = heed_case(suite, "functions");
    tcase_add_checked_fixture(functions, NULL, end_page);
    tcase_add_test(functions, numbers_open);
    tcase_add_test(functions, dragged_numbers);
    tcase_add_test(functions, misuse_gives_a_sentence);
    TCase *memory = oom_case(suite, "memory");
    tcase_add_checked_fixture(memory, NULL, end_page);
    tcase_add_test(memory, out_of_memory);
}
