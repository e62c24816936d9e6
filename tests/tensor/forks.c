/* A forked child can use the library, whatever the parent's threads do during the fork. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/test_util.h"

enum { CHILDREN = 300, BUSY = 2, STEPS = 5, SECONDS = 60 };

/* Trains on the pool, and allocates in all size classes. Returns the last loss. */
static double train(void)
{
    double loss = 0;
    heed_manual_seed(1);
    struct heed_linear *m = heed_linear_new(300, 300);
    heed_optimizer *sgd = heed_sgd_new(heed_parameters(m), 0.1);
    for (int i = 0; i < STEPS; i++) {
        HEED_SCOPE(step);
        heed_tensor *y = heed_linear_forward(m, heed_ones(HEED_SHAPE(100, 300), HEED_F32));
        heed_tensor *mean = heed_mean(heed_mul(y, y));
        heed_backward(mean);
        heed_optimizer_step(sgd);
        heed_optimizer_zero_grad(sgd);
        loss = heed_item(mean);
    }
    heed_optimizer_free(sgd);
    heed_module_free(m);
    for (size_t size = 1; size < 100000; size *= 3) {
        heed_free(heed_alloc(size));
    }
    heed_empty_cache();
    return loss;
}

static bool stop;

static void *train_until_stopped(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        train();
    }
    return unused;
}

static void count_call(void *calls, int64_t first, int64_t end)
{
    (void)first, (void)end;
    __atomic_add_fetch((int *)calls, 1, __ATOMIC_RELAXED);
}

static bool child_trains(double expected)
{
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    const double loss = train();
    int calls = 0;
    heed_parallel_for(100, 1, count_call, &calls);
    return loss == expected && calls > 1 /* the pool is free */ && !heed_error_pending() &&
           heed_live_tensors() == tensors && heed_live_bytes() == bytes;
}

START_TEST(a_forked_child_trains)
{
    pthread_t threads[BUSY];
    heed_set_num_threads(2);
    const double expected = train();
    for (int i = 0; i < BUSY; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, train_until_stopped, NULL), 0);
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status = 0;
        const pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            alarm(SECONDS); /* a child that hangs is killed */
            _exit(child_trains(expected) ? EXIT_SUCCESS : EXIT_FAILURE);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(status == 0, "status %x", (unsigned)status);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < BUSY; i++) {
        pthread_join(threads[i], NULL);
    }
}
END_TEST

void add_forks_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "forks");
    if (!HAS_SANITIZER) { /* the sanitizers' own allocators hold locks during a fork */
        tcase_add_test(tests, a_forked_child_trains);
    }
}
