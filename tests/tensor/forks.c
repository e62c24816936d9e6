/* Forks while other threads hold the library's locks, and system calls that fail before main. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/tensor/thread.h"
#include "tests/common/test_util.h"

enum { SECONDS = 60 };

/* Runs `works` in a child, which is killed if it hangs. */
static void expect_in_child(bool (*works)(void))
{
    int status = 0;
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        alarm(SECONDS);
        _exit(works() ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "status %x", (unsigned)status);
}

/* ---- children that are forked while threads work ---- */

enum { CHILDREN = 1000, BUSY = 2, SIZE = 20000 };

static bool stop;
static heed_tensor *weight; /* shared by the threads, which add to its gradient */

static heed_tensor *parameter(void)
{
    return heed_share(heed_set_requires_grad(heed_ones(HEED_SHAPE(SIZE), HEED_F32), true));
}

/* Adds to weight->grad, and allocates in all size classes. */
static void *train_once(void *unused)
{
    (void)unused;
    HEED_SCOPE(scope);
    heed_tensor *x = heed_ones(HEED_SHAPE(SIZE), HEED_F32);
    heed_backward(heed_sum(heed_mul(x, weight)));
    for (size_t size = 1; size < 100000; size *= 3) {
        heed_free(heed_alloc(size));
    }
    return NULL;
}

static void *work_until_stopped(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        pthread_t brief;
        const bool began = pthread_create(&brief, NULL, train_once, NULL) == 0;
        for (int i = 0; i < 20; i++) {
            train_once(unused);
            heed_empty_cache();
            for (int j = 0; j < 200; j++) {
                heed_live_bytes();
            }
        }
        if (began) {
            pthread_join(brief, NULL);
        }
    }
    return NULL;
}

static void count_call(void *calls, int64_t first, int64_t end)
{
    (void)first, (void)end;
    __atomic_add_fetch((int *)calls, 1, __ATOMIC_RELAXED);
}

/* Uses every lock. New threads reuse the memory of the parent's threads. */
static bool child_works(void)
{
    heed_set_num_threads(2);
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    pthread_t thread;
    bool good = pthread_create(&thread, NULL, train_once, NULL) == 0;
    if (good) {
        pthread_join(thread, NULL);
    }
    HEED_SCOPE(scope);
    train_once(NULL);
    heed_empty_cache();
    heed_scope_end(&scope);
    int calls = 0;
    heed_parallel_for(100, 1, count_call, &calls);
    return good && calls > 1 /* the pool is free */ && !heed_error_pending() &&
           heed_live_tensors() == tensors && heed_live_bytes() == bytes;
}

START_TEST(children_of_busy_threads_compute)
{
    pthread_t threads[BUSY];
    heed_set_num_threads(2);
    weight = parameter();
    train_once(NULL); /* makes its gradient */
    for (int i = 0; i < BUSY; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work_until_stopped, NULL), 0);
    }
    for (int i = 0; i < CHILDREN; i++) {
        expect_in_child(child_works);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < BUSY; i++) {
        pthread_join(threads[i], NULL);
    }
}
END_TEST

/* ---- tensors of the parent's threads ---- */

static int64_t tensors_in_parent;
static heed_tensor *kept;
static pthread_barrier_t barrier;

static bool child_counts_and_releases(void)
{
    heed_set_num_threads(1); /* ThreadSanitizer does not support new threads in such a child */
    bool good = heed_live_tensors() == tensors_in_parent;
    heed_release(kept);
    good = good && heed_live_tensors() == tensors_in_parent - 1;
    train_once(NULL);
    return good && heed_live_tensors() == tensors_in_parent - 1;
}

static void *keep_a_tensor(void *unused)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    kept = heed_retain(heed_share(heed_ones(HEED_SHAPE(SIZE), HEED_F32)));
    heed_scope_end(&scope);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* the main thread has forked */
    return unused;
}

START_TEST(children_count_the_tensors_of_all_threads)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    weight = parameter();
    train_once(NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, keep_a_tensor, NULL), 0);
    pthread_barrier_wait(&barrier);
    tensors_in_parent = heed_live_tensors();
    expect_in_child(child_counts_and_releases);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    heed_release(kept);
}
END_TEST

/* ---- system calls that fail before main: REFUSED=keys or REFUSED=atfork ---- */

static bool refuses_fork_handlers;
static pthread_key_t keys[PTHREAD_KEYS_MAX];
static int key_count;

/* Runs before the library's constructors, which have no priority. */
__attribute__((constructor(101))) static void refuse(void)
{
    const char *refused = getenv("REFUSED");
    refuses_fork_handlers = refused != NULL && strcmp(refused, "atfork") == 0;
    const bool refuses_keys = refused != NULL && strcmp(refused, "keys") == 0;
    while (refuses_keys && pthread_key_create(&keys[key_count], NULL) == 0) {
        pthread_setspecific(keys[key_count], &keys[key_count]);
        key_count++;
    }
}

/* The library must not touch other code's keys. */
__attribute__((destructor)) static void check_all_keys(void)
{
    for (int i = 0; i < key_count; i++) {
        if (pthread_getspecific(keys[i]) != &keys[i]) {
            _exit(EXIT_FAILURE);
        }
    }
}

typedef void handler(void);
int __real_pthread_atfork(handler *before, handler *in_parent, handler *in_child);
int __wrap_pthread_atfork(handler *before, handler *in_parent, handler *in_child);
int __wrap_pthread_atfork(handler *before, handler *in_parent, handler *in_child)
{
    return refuses_fork_handlers ? ENOMEM : __real_pthread_atfork(before, in_parent, in_child);
}

/* Runs a case of a suite of this program in a process in which these calls fail. */
static bool passes_without(const char *refused, const char *suite_and_case)
{
    setenv("REFUSED", refused, 1);
    execl("/proc/self/exe", "test_heed", suite_and_case, (char *)NULL);
    return false;
}

static bool threads_without_keys(void)
{
    return passes_without("keys", "thread:threads");
}

static bool memory_without_keys(void)
{
    return passes_without("keys", "alloc:memory");
}

static bool parallel_without_fork_handlers(void)
{
    return passes_without("atfork", "parallel");
}

START_TEST(threads_without_a_key_are_counted)
{
    expect_in_child(threads_without_keys);
    expect_in_child(memory_without_keys);
}
END_TEST

START_TEST(parallel_work_is_done_without_fork_handlers)
{
    expect_in_child(parallel_without_fork_handlers);
}
END_TEST

void add_forks_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "forks");
    tcase_add_test(tests, children_count_the_tensors_of_all_threads);
    if (!HAS_SANITIZER) { /* the sanitizers' own allocators hold locks during a fork */
        tcase_add_test(tests, children_of_busy_threads_compute);
    }
    const bool is_named = access("/proc/self/exe", X_OK) == 0;
    required(is_named, "/proc/self/exe is missing; mount /proc");
    if (!HAS_TSAN) { /* these suites run with ThreadSanitizer anyway */
        tcase_add_test(tests, threads_without_a_key_are_counted);
    }
    if (is_named) {
        required(CAN_WRAP, "the linker has no --wrap");
    }
    if (!HAS_TSAN) {
        tcase_add_test(tests, parallel_work_is_done_without_fork_handlers);
    }
}
