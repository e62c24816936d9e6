/* The stories of examples/lab/stories: the same bytes on every machine, their size, and quizzes
 * about people who meet in no story. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/stories/grammar.h"
#include "tests/common/test_util.h"

/* What `writes`, stories_text or stories_quiz, writes. */
static char *written_by(void (*writes)(FILE *, uint64_t, int64_t), uint64_t seed, int64_t count,
                        size_t *size)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, size);
    writes(to, seed, count);
    fclose(to);
    expect_no_error();
    return text;
}

/* When these sums were recorded, a reader that followed the events of each story confirmed all
 * answers, and that each pronoun has one meaning. */
START_TEST(the_bytes_are_the_same_everywhere)
{
    static const struct {
        uint64_t seed, text, quiz;
    } sums[] = {{1, 0x5cdc50da73dd653d, 0x59c88193cb510706},
                {1337, 0x6357cc702009da72, 0x36451d22c8d2c405}};
    for (int i = 0; i < 2; i++) {
        size_t size;
        char *text = written_by(stories_text, sums[i].seed, 100000, &size);
        const uint64_t sum = fnv(text, size, FNV_BASIS);
        free(text);
        text = written_by(stories_quiz, sums[i].seed, 300, &size);
        const uint64_t of_quiz = fnv(text, size, FNV_BASIS);
        free(text);
        ck_assert_msg(sum == sums[i].text && of_quiz == sums[i].quiz, "0x%016llx, 0x%016llx",
                      (unsigned long long)sum, (unsigned long long)of_quiz);
    }
}
END_TEST

/* A text ends with a whole story; a shorter one is the beginning of a longer one. */
START_TEST(texts_have_the_size_asked_for)
{
    size_t all;
    char *longest = written_by(stories_text, 7, 12345, &all);
    for (int64_t bytes = 400; bytes <= 12345; bytes += 1493) {
        size_t size;
        char *text = written_by(stories_text, 7, bytes, &size);
        ck_assert_int_le((int64_t)size, bytes);
        ck_assert_int_gt((int64_t)size, bytes - STORY_MOST_BYTES);
        ck_assert_mem_eq(text, longest, size);
        free(text);
    }
    free(longest);
}
END_TEST

/* Marks which girl and boy a story is about, as a number. */
static void mark_pair(const char *text, bool pairs[9])
{
    static const char *const girls[] = {"Ann", "Eva", "Mia"}, *const boys[] = {"Ben", "Dan", "Leo"};
    int count = 0;
    for (int i = 0; i < 9; i++) {
        if (strstr(text, girls[i / 3]) != NULL && strstr(text, boys[i % 3]) != NULL) {
            pairs[i] = true;
            count++;
        }
    }
    ck_assert_int_eq(count, 1);
}

START_TEST(quizzes_are_held_out)
{
    bool in_text[9] = {false}, in_quiz[9] = {false};
    story s;
    heed_manual_seed(3);
    for (int i = 0; i < 1000; i++) {
        story_tell(&s, i % 2 == 1);
        mark_pair(s.text, i % 2 == 1 ? in_quiz : in_text);
    }
    int texts = 0, quizzes = 0;
    for (int i = 0; i < 9; i++) {
        ck_assert(!(in_text[i] && in_quiz[i]));
        texts += in_text[i];
        quizzes += in_quiz[i];
    }
    ck_assert(texts == 6 && quizzes == 3);
}
END_TEST

void add_stories_cases(Suite *suite)
{
    TCase *texts = heed_case(suite, "texts");
    tcase_add_test(texts, the_bytes_are_the_same_everywhere);
    tcase_add_test(texts, texts_have_the_size_asked_for);
    tcase_add_test(texts, quizzes_are_held_out);
}
