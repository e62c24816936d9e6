/* The pool: each index once, whatever the count, the grain and the number of threads; nested, from several
 * threads at once, and in the child of a fork. */
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/test_util.h"

Suite *parallel_suite(void);

enum { MOST = 5000 };

typedef struct visits {
    int times[MOST];
    int calls;
} visits;

static void visit(void *context, int64_t first, int64_t end)
{
    visits *v = context;
    __atomic_add_fetch(&v->calls, 1, __ATOMIC_RELAXED);
    for (int64_t i = first; i < end; i++) {
        __atomic_add_fetch(&v->times[i], 1, __ATOMIC_RELAXED);
    }
}

/* Says whether each index was visited once, in no more calls than grains. */
static bool each_once(int64_t count, int64_t grain)
{
    static _Thread_local visits v;
    v = (visits){.calls = 0};
    heed_parallel_for(count, grain, visit, &v);
    const int64_t grains = count / (grain > 0 ? grain : 1);
    bool good = v.calls <= (grains > 1 ? grains : 1);
    for (int64_t i = 0; i < MOST; i++) {
        good = good && v.times[i] == (i < count);
    }
    return good && (v.calls > 0) == (count > 0);
}

START_TEST(test_each_index_once)
{
    static const int64_t counts[] = {0, 1, 2, 3, 7, 100, 101, 4999, MOST};
    static const int64_t grains[] = {1, 2, 3, 50, 2499, 2500, 5000, INT64_MAX, 0};
    for (int threads = 1; threads <= 5; threads++) {
        ck_assert_int_eq(heed_set_num_threads(threads), HEED_OK);
        ck_assert_int_eq(heed_get_num_threads(), threads);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            for (size_t j = 0; j < sizeof grains / sizeof *grains; j++) {
                ck_assert(each_once(counts[i], grains[j]));
            }
        }
    }
    ck_assert(!heed_error_pending());
}
END_TEST

START_TEST(test_thousands_of_jobs)
{
    heed_set_num_threads(3);
    for (int i = 0; i < 20000; i++) {
        visits v = {.calls = 0};
        heed_parallel_for(8, 1, visit, &v);
        for (int j = 0; j < 8; j++) {
            ck_assert_int_eq(v.times[j], 1);
        }
        if (i % 5000 == 0) {
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* the workers fall asleep */
        }
    }
}
END_TEST

static void visit_nested(void *context, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++) {
        heed_parallel_for(MOST, 1, visit, context);
    }
}

START_TEST(test_nested_work_runs_in_place)
{
    heed_set_num_threads(4);
    visits v = {.calls = 0};
    heed_parallel_for(10, 1, visit_nested, &v);
    ck_assert_int_eq(v.calls, 10);
    for (int i = 0; i < MOST; i++) {
        ck_assert_int_eq(v.times[i], 10);
    }
}
END_TEST

static void *work_often(void *argument)
{
    bool good = true;
    for (int i = 0; i < 200; i++) {
        good = good && each_once(1000 + i, 10);
    }
    *(bool *)argument = good;
    return NULL;
}

START_TEST(test_several_threads_at_once)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    bool good[THREADS];
    heed_set_num_threads(3);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work_often, &good[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert(good[i]);
    }
}
END_TEST

START_TEST(test_a_forked_child_starts_its_own)
{
    heed_set_num_threads(2);
    ck_assert(each_once(MOST, 1));
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        bool good = true;
        for (int i = 0; i < 100; i++) {
            good = good && each_once(MOST, 1);
        }
        _exit(good ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert(each_once(MOST, 1));
}
END_TEST

START_TEST(test_number_of_threads)
{
    ck_assert_int_ge(heed_get_num_threads(), 1);
    const int before = heed_get_num_threads();
    heed_set_num_threads(0);
    expect_error(HEED_ERR_VALUE, "0 threads; 1 to 256");
    heed_set_num_threads(257);
    expect_error(HEED_ERR_VALUE, "257 threads; 1 to 256");
    ck_assert_int_eq(heed_get_num_threads(), before);
}
END_TEST

Suite *parallel_suite(void)
{
    Suite *suite = suite_create("parallel");
    TCase *tests = heed_case(suite, "parallel");
    tcase_add_test(tests, test_each_index_once);
    tcase_add_test(tests, test_thousands_of_jobs);
    tcase_add_test(tests, test_nested_work_runs_in_place);
    tcase_add_test(tests, test_several_threads_at_once);
    tcase_add_test(tests, test_a_forked_child_starts_its_own);
    tcase_add_test(tests, test_number_of_threads);
    return suite;
}
