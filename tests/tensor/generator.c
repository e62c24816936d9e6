/* The random generator: seeds, saved state, threads. */
#include "heed.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "tests/common/random_util.h"
#include "tests/common/test_util.h"

/* A readable subset of random_numbers.c. */
START_TEST(seed_42_gives_what_torch_prints)
{
    heed_manual_seed(42);
    EXPECT_F32(heed_rand(HEED_SHAPE(4), HEED_F32), 0x1.c3b8ccp-1f, 0x1.d47b66p-1f, 0x1.880d70p-2f,
               0x1.eb2a1cp-1f);
    heed_manual_seed(42);
    EXPECT_F32(heed_randn(HEED_SHAPE(4), HEED_F32), 0x1.58c55cp-2f, 0x1.07cd3ap-3f, 0x1.e02dcep-3f,
               0x1.d7b8d8p-3f);
    heed_manual_seed(42);
    heed_tensor *t = heed_randn(HEED_SHAPE(2, 8), HEED_F32);
    EXPECT_F32(view(t, HEED_SHAPE(8), HEED_SHAPE(1)), 0x1.ed4a52p+0f, 0x1.7cbea6p+0f,
               0x1.cd2acep-1f, -0x1.0d81b6p+1f, 0x1.5b59aap-1f, -0x1.3c0b22p+0f, -0x1.60cf0cp-5f,
               -0x1.9acb74p+0f);
    heed_manual_seed(42);
    EXPECT_I64(heed_randperm(10), 2, 6, 1, 8, 4, 5, 0, 9, 3, 7);
    heed_manual_seed(42);
    EXPECT_I64(heed_randint(0, 100, HEED_SHAPE(10)), 42, 67, 76, 14, 26, 35, 20, 24, 50, 13);
}
END_TEST

/* ---- the generator ---- */

/* The state includes the position among the drawn words, and the second of a pair of normal
 * numbers.
 */
START_TEST(a_saved_state_continues)
{
    for (int drawn = 0; drawn < 6; drawn++) {
        heed_manual_seed(7);
        heed_rand(HEED_SHAPE(621 + drawn), HEED_F32);
        heed_randn(HEED_SHAPE(drawn % 3), HEED_F32);
        heed_tensor *state = heed_get_rng_state();
        heed_tensor *normal = heed_randn(HEED_SHAPE(3), HEED_F32);
        heed_tensor *next = heed_rand(HEED_SHAPE(700), HEED_F32);
        heed_manual_seed(8);
        ck_assert_int_eq(heed_set_rng_state(state), HEED_OK);
        expect_close(heed_randn(HEED_SHAPE(3), HEED_F32), normal, 0);
        expect_close(heed_rand(HEED_SHAPE(700), HEED_F32), next, 0);
    }
}
END_TEST

static void *draw_first(void *out)
{
    heed_scope inner;
    heed_scope_begin(&inner);
    heed_copy_out(heed_rand(HEED_SHAPE(2), HEED_F32), out, 2);
    heed_scope_end(&inner);
    return NULL;
}

START_TEST(unseeded_it_is_a_fresh_torch_generator)
{
    static const float expected[] = {0x1.11b5d8p-2f, 0x1.bebc08p-1f};
    float numbers[2];
    pthread_t thread;
    heed_manual_seed(1);
    ck_assert_int_eq(pthread_create(&thread, NULL, draw_first, numbers), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_mem_eq(numbers, expected, sizeof expected);
    ck_assert_int_eq(heed_set_generator(&unseeded), HEED_OK);
    draw_first(numbers);
    ck_assert_mem_eq(numbers, expected, sizeof expected);
    heed_manual_seed(67280421310721);
    draw_first(numbers);
    ck_assert_mem_eq(numbers, expected, sizeof expected);
}
END_TEST

START_TEST(only_the_lower_half_of_a_seed_counts)
{
    heed_manual_seed(UINT64_C(42) << 32 | 7);
    heed_generator a = heed_get_generator();
    heed_manual_seed(7);
    heed_generator b = heed_get_generator();
    ck_assert(same_generator(&a, &b));
}
END_TEST

START_TEST(a_saved_generator_goes_on_where_it_was)
{
    heed_manual_seed(3);
    heed_randn(HEED_SHAPE(701), HEED_F32);
    heed_randn(HEED_SHAPE(3), HEED_F32);
    heed_generator saved = heed_get_generator();
    ck_assert(saved.has_normal);
    float first[20], second[20];
    heed_copy_out(heed_randn(HEED_SHAPE(4, 5), HEED_F32), first, 20);
    heed_manual_seed(4);
    ck_assert(!heed_get_generator().has_normal);
    ck_assert_int_eq(heed_set_generator(&saved), HEED_OK);
    heed_copy_out(heed_randn(HEED_SHAPE(4, 5), HEED_F32), second, 20);
    ck_assert_mem_eq(first, second, sizeof first);
}
END_TEST

START_TEST(what_is_no_generator_is_refused)
{
    heed_generator g = heed_get_generator();
    EXPECT_ERROR(heed_set_generator(NULL), HEED_ERR_NULL, "set_generator: not a value");
    g.next = 625;
    EXPECT_ERROR(heed_set_generator(&g), HEED_ERR_VALUE, "set_generator: not a value");
    g.next = -1;
    EXPECT_ERROR(heed_set_generator(&g), HEED_ERR_VALUE, "set_generator: not a value");
}
END_TEST

enum { THREADS = 4, DRAWS = 700 };

typedef struct drawer {
    int number;
    float numbers[DRAWS];
} drawer;

/* Draws from several distributions, with the thread's own seed. */
static void *draw_in_thread(void *argument)
{
    drawer *self = argument;
    heed_scope inner;
    heed_scope_begin(&inner);
    heed_manual_seed((uint64_t)self->number);
    for (float *to = self->numbers; to < self->numbers + DRAWS; to += 35) {
        heed_tensor *rest = heed_empty(HEED_SHAPE(9), HEED_F32);
        heed_uniform_into(rest, 0.5, 2);
        heed_copy_out(heed_randn(HEED_SHAPE(21), HEED_F32), to, 21);
        heed_copy_out(heed_randn(HEED_SHAPE(5), HEED_F32), to + 21, 5);
        heed_copy_out(rest, to + 26, 9);
        to[26] = (float)heed_item_i64(heed_multinomial(rest, 1));
        to[27] = (float)heed_item_i64(heed_randint(0, 1 << 20, HEED_SCALAR));
    }
    heed_scope_end(&inner);
    return NULL;
}

START_TEST(each_thread_has_a_generator_of_its_own)
{
    static drawer together[THREADS], alone[THREADS];
    pthread_t threads[THREADS];
    heed_manual_seed(5);
    heed_generator before = heed_get_generator();
    for (int i = 0; i < THREADS; i++) {
        together[i].number = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, draw_in_thread, &together[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
    heed_generator after = heed_get_generator();
    ck_assert(same_generator(&before, &after));
    for (int i = 0; i < THREADS; i++) {
        alone[i].number = i;
        draw_in_thread(&alone[i]);
        ck_assert_mem_eq(&alone[i], &together[i], sizeof alone[i]);
        ck_assert(i == 0 || memcmp(alone[i].numbers, alone[0].numbers, 21 * sizeof(float)) != 0);
    }
}
END_TEST

void add_generator_cases(Suite *suite)
{
    TCase *tests = tcase_create("random");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, seed_42_gives_what_torch_prints);
    tcase_add_test(tests, unseeded_it_is_a_fresh_torch_generator);
    tcase_add_test(tests, a_saved_state_continues);
    tcase_add_test(tests, only_the_lower_half_of_a_seed_counts);
    tcase_add_test(tests, a_saved_generator_goes_on_where_it_was);
    tcase_add_test(tests, what_is_no_generator_is_refused);
    tcase_add_test(tests, each_thread_has_a_generator_of_its_own);
    suite_add_tcase(suite, tests);
}
