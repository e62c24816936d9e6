/* The thread pool: each index is visited once, for any count, grain and number of threads; nested,
 * and from several threads at once. */
#ifdef __linux__
#define _GNU_SOURCE /* for sched_setaffinity */
#endif
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tensor/tensor.h"
#include "tests/common/test_util.h"

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

/* Was each index visited once, in at most count / grain calls? */
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
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* workers fall asleep */
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            for (size_t j = 0; j < sizeof grains / sizeof *grains; j++) {
                ck_assert(each_once(counts[i], grains[j]));
            }
        }
    }
    ck_assert(!heed_error_pending());
}
END_TEST

/* With a grain of 1, indices are handed out one by one, so that threads that finish early take over
 * work from slower ones. */
START_TEST(test_ranges_are_no_larger_than_needed)
{
    for (int threads = 2; threads <= 4; threads++) {
        visits v = {.calls = 0};
        heed_set_num_threads(threads);
        heed_parallel_for(8 * (int64_t)threads, 1, visit, &v);
        ck_assert_int_eq(v.calls, 8 * threads);
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

static void *change_number(void *stop)
{
    for (int i = 0; !__atomic_load_n((bool *)stop, __ATOMIC_RELAXED); i++) {
        heed_set_num_threads(1 + i % 5);
    }
    return NULL;
}

START_TEST(test_the_number_of_threads_may_change_during_work)
{
    pthread_t thread;
    bool stop = false, good = true;
    ck_assert_int_eq(pthread_create(&thread, NULL, change_number, &stop), 0);
    for (int i = 0; i < 1000; i++) {
        good = good && each_once(100 + i, 10);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert(good);
}
END_TEST

/* ---- signals, and the number of threads ---- */

static volatile sig_atomic_t caught;

static void catch (int number)
{
    caught = number;
}

/* This thread blocks the signal, and no worker accepts it, so it stays pending. */
START_TEST(test_workers_take_no_signals)
{
    heed_set_num_threads(3);
    ck_assert(each_once(MOST, 1));
    const struct sigaction action = {.sa_handler = catch};
    sigset_t usr1, pending;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    kill(getpid(), SIGUSR1);
    ck_assert(each_once(MOST, 1));
    ck_assert_int_eq(caught, 0);
    ck_assert(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1));
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    ck_assert_int_eq(caught, SIGUSR1);
}
END_TEST

START_TEST(test_number_of_threads)
{
    ck_assert_int_ge(heed_get_num_threads(), 1);
    const int before = heed_get_num_threads();
    heed_set_num_threads(0);
    expect_error(HEED_ERR_VALUE, "count is 0; it must be 1 to 256");
    heed_set_num_threads(257);
    expect_error(HEED_ERR_VALUE, "count is 257; it must be 1 to 256");
    ck_assert_int_eq(heed_get_num_threads(), before);
}
END_TEST

/* The default number of threads of a fresh process, with this HEED_NUM_THREADS. */
static int threads_by_default(const char *said)
{
    const pid_t child = fork();
    if (child == 0) {
        if (said != NULL) {
            setenv("HEED_NUM_THREADS", said, 1);
        } else {
            unsetenv("HEED_NUM_THREADS");
        }
        _exit(heed_get_num_threads() % 256);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Each test runs in its own process, which has not determined the number yet. */
START_TEST(test_default_number_of_threads)
{
    ck_assert_int_eq(threads_by_default("3"), 3);
    ck_assert_int_eq(threads_by_default("255"), 255);
    ck_assert_int_eq(threads_by_default("256"), 0);
    ck_assert_int_eq(threads_by_default("1"), 1);
    const int processors = threads_by_default(NULL);
    ck_assert_int_ge(processors, 1);
    ck_assert_int_eq(threads_by_default(""), processors);
#ifdef __linux__
    cpu_set_t all, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    ck_assert_int_eq(processors, CPU_COUNT(&all) % 256);
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
        }
    }
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_int_eq(threads_by_default(NULL), 1);
#endif
}
END_TEST

/* ---- the same bits for any number of threads ---- */

/* Results of kernels that are split into rows or columns, and of their derivatives. */
static heed_tensor *of_rows(int operation, heed_tensor *x, heed_tensor *weight)
{
    switch (operation) {
    case 0:
        return heed_softmax(x, -1);
    case 1:
        return heed_safe_softmax(x, 0);
    case 2:
        return heed_log_softmax(x, -1);
    case 3:
        return heed_layer_norm(x, heed_shape_of_tensor(weight), weight, weight, 0);
    case 4:
        return heed_cross_entropy(x, heed_zeros(HEED_SHAPE(heed_size(x, 0)), HEED_I64));
    case 5:
        return heed_sum(x);
    case 6:
        return heed_sum_dim(x, 0, false);
    default:
        return heed_sum_dim(heed_transpose(x, 0, 1), 0, false);
    }
}

START_TEST(test_rows_do_not_depend_on_threads)
{
    static const int64_t shapes[][2] = {{1031, 333}, {3, 70001}, {20011, 5}};
    for (int i = 0; i < 3; i++) {
        HEED_SCOPE(scope);
        heed_tensor *xs[] = {heed_randn(HEED_SHAPE(shapes[i][0], shapes[i][1]), HEED_F32),
                             heed_randn(HEED_SHAPE(shapes[i][1]), HEED_F32)};
        heed_set_requires_grad(xs[0], true);
        heed_set_requires_grad(xs[1], true);
        heed_tensor *y[4], *dx[4][2];
        for (int threads = 1; threads <= 3; threads++) {
            heed_set_num_threads(threads);
            y[threads] = of_rows(_i, xs[0], xs[1]);
            heed_grad(heed_sum(heed_square(y[threads])), xs, 2, dx[threads], false);
            expect_same_bits(y[threads], y[1]);
            expect_same_bits(dx[threads][0], dx[1][0]);
            expect_same_bits(dx[threads][1], dx[1][1]);
        }
    }
}
END_TEST

void add_parallel_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "parallel");
    tcase_add_test(tests, test_each_index_once);
    tcase_add_test(tests, test_ranges_are_no_larger_than_needed);
    tcase_add_test(tests, test_nested_work_runs_in_place);
    tcase_add_test(tests, test_several_threads_at_once);
    tcase_add_test(tests, test_the_number_of_threads_may_change_during_work);
    tcase_add_test(tests, test_workers_take_no_signals);
    tcase_add_test(tests, test_number_of_threads);
    tcase_add_test(tests, test_default_number_of_threads);
    tcase_add_loop_test(tests, test_rows_do_not_depend_on_threads, 0, 8);
}
