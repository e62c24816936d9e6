/* The thread pool, and the floating-point mode.
 *
 * It runs one job at a time, described by `job`. Its member `state` records whether the job is open
 * and how many workers are inside; a worker enters and leaves by changing `state`. Once no range is
 * left, the owner closes the job and waits for the workers inside, so it never waits for a sleeping
 * worker.
 *
 *     state = generation of the job | CLOSED | workers inside
 *
 * Each thread has its own share of the count, which is the same in every job, so that its caches
 * still hold what it wrote in the previous job. It takes ranges from its own share first, then from
 * the others' shares. The kernels that run here neither allocate nor use tensors, so workers need
 * no heed_thread. */
#ifdef __linux__
#define _GNU_SOURCE /* for sched_getaffinity */
#endif
#include "tensor.h"

#include <fenv.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "kernels/kernels.h"

enum { MOST_THREADS = 256, RANGES_PER_THREAD = 8, SPIN_NANOSECONDS = 100000 };

static const uint64_t CLOSED = UINT64_C(1) << 31, GENERATION = UINT64_C(1) << 32;

/* Alone in one cache line, so that a worker that joins fetches all of it at once. All members but
 * `state` are written by the owner while the job is closed and empty. */
static struct {
    _Alignas(64) uint64_t state; /* see above */
    heed_parallel_work *work;
    void *context;
    int64_t range;
    int shares; /* also the maximum number of threads */
} job = {.state = UINT64_C(1) << 31};

/* The owner's rounding direction, flushing of subnormal numbers, and traps: a job runs in the mode
 * of its caller, so that results do not depend on the number of threads. */
static fenv_t float_mode;

/* The rest of each thread's share, one per cache line: the owner's first, then the workers'. */
static struct share {
    _Alignas(64) int64_t next;
    int64_t end;
} shares[MOST_THREADS];

static int threads;                                       /* 0: not determined yet */
static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER; /* held while a job runs */
static pthread_t workers[MOST_THREADS];
static int worker_count; /* number started; guarded by owner */
static int most_workers = MOST_THREADS - 1;
static bool ending;

static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static int sleepers;

static _Thread_local bool is_working;

bool heed_set_flush_denormal(bool enabled)
{
#if defined __x86_64__
    const unsigned flush = 1 << 15 | 1 << 6, mode = __builtin_ia32_stmxcsr(); /* FTZ and DAZ */
    __builtin_ia32_ldmxcsr(enabled ? mode | flush : mode & ~flush);
    return true;
#elif defined __aarch64__
    const uint64_t flush = 1 << 24; /* FZ */
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    __asm__ volatile("msr fpcr, %0" : : "r"(enabled ? mode | flush : mode & ~flush));
    return true;
#else
    (void)enabled;
    return false;
#endif
}

/* ---- waiting ---- */

static inline void pause_briefly(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

int64_t heed_nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_open(uint64_t seen, uint64_t done)
{
    return (seen & CLOSED) == 0 && seen / GENERATION != done;
}

/* Waits for a job with a generation other than `done`, or for the end of the process. */
static void wait_for_job(uint64_t done)
{
    const int64_t start = heed_nanoseconds();
    do {
        for (int i = 0; i < 64; i++) {
            if (is_open(__atomic_load_n(&job.state, __ATOMIC_ACQUIRE), done)) {
                return;
            }
            pause_briefly();
        }
    } while (heed_nanoseconds() - start < SPIN_NANOSECONDS);
    pthread_mutex_lock(&sleep_lock);
    __atomic_add_fetch(&sleepers, 1, __ATOMIC_SEQ_CST);
    while (!is_open(__atomic_load_n(&job.state, __ATOMIC_SEQ_CST), done) && !ending) {
        pthread_cond_wait(&wake, &sleep_lock);
    }
    __atomic_sub_fetch(&sleepers, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&sleep_lock);
}

/* ---- working ---- */

static void work_on_ranges(int my_share)
{
    for (int i = 0; i < job.shares; i++) {
        const int share = (my_share + i) % job.shares;
        const int64_t end = shares[share].end;
        for (;;) {
            const int64_t first =
                __atomic_fetch_add(&shares[share].next, job.range, __ATOMIC_RELAXED);
            if (first >= end) {
                break;
            }
            job.work(job.context, first, end - first < job.range ? end : first + job.range);
        }
    }
}

/* Returns false if the job is closed or has no share for this worker. */
static bool join(int my_share, uint64_t *generation)
{
    uint64_t seen = __atomic_load_n(&job.state, __ATOMIC_ACQUIRE);
    do {
        *generation = seen / GENERATION;
        /* A stale share count is harmless: the exchange below fails unless the job stayed open. */
        if ((seen & CLOSED) != 0 || my_share >= __atomic_load_n(&job.shares, __ATOMIC_RELAXED)) {
            return false;
        }
    } while (!__atomic_compare_exchange_n(&job.state, &seen, seen + 1, true, __ATOMIC_ACQUIRE,
                                          __ATOMIC_ACQUIRE));
    return true;
}

static void *run_worker(void *share)
{
    const int my_share = (int)((struct share *)share - shares);
    uint64_t done = 0;
    is_working = true;
    while (!__atomic_load_n(&ending, __ATOMIC_ACQUIRE)) {
        wait_for_job(done);
        if (join(my_share, &done)) {
            fesetenv(&float_mode);
            work_on_ranges(my_share);
            __atomic_sub_fetch(&job.state, 1, __ATOMIC_RELEASE);
        }
    }
    return NULL;
}

/* ---- the pool ---- */

/* A forked child has no workers, and starts its own when it needs them. The parent's other threads
 * may have held the locks, or have been in the middle of a job. */
static void forget_workers(void)
{
    owner = sleep_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    wake = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    job.state = CLOSED;
    worker_count = sleepers = 0;
}

__attribute__((destructor)) static void end_workers(void)
{
    if (pthread_mutex_trylock(&owner) != 0) {
        return; /* the process is exiting in the middle of a job */
    }
    pthread_mutex_lock(&sleep_lock);
    __atomic_store_n(&ending, true, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&sleep_lock);
    for (int i = 0; i < worker_count; i++) {
        pthread_join(workers[i], NULL);
    }
    worker_count = 0;
    pthread_mutex_unlock(&owner); /* a later destructor may fork */
}

/* Workers block all signals except those for their own faults; other threads get the rest. */
static bool start_worker(void)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started =
        pthread_create(&workers[worker_count], NULL, run_worker, &shares[worker_count + 1]) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* Starts the missing workers. If the system refuses some, the existing ones do the work. */
static void start_workers(int wanted)
{
    static bool has_fork_handler; /* guarded by owner */
    has_fork_handler = has_fork_handler || pthread_atfork(NULL, NULL, forget_workers) == 0;
    while (worker_count < wanted && worker_count < most_workers && !ending && has_fork_handler) {
        if (start_worker()) {
            worker_count++;
        } else {
            most_workers = worker_count; /* do not try again */
        }
    }
}

/* Closes the job and returns once all workers have left it. */
static void close_job(void)
{
    __atomic_or_fetch(&job.state, CLOSED, __ATOMIC_ACQ_REL);
    for (int i = 0; __atomic_load_n(&job.state, __ATOMIC_ACQUIRE) % CLOSED > 0; i++) {
        pause_briefly();
        if (i > 1000) {
            sched_yield(); /* a worker may have been descheduled */
        }
    }
}

/* False, having done nothing, if only this thread may work. Not inlined, as most jobs are small. */
static __attribute__((noinline)) bool work_together(int64_t count, int64_t grain,
                                                    heed_parallel_work *work, void *context)
{
    const int wanted = heed_get_num_threads();
    if (wanted < 2 || is_working || pthread_mutex_trylock(&owner) != 0) {
        return false;
    }
    int64_t ranges = count / grain;
    if (ranges > (int64_t)wanted * RANGES_PER_THREAD) {
        ranges = (int64_t)wanted * RANGES_PER_THREAD;
    }
    job.work = work;
    job.context = context;
    fegetenv(&float_mode);
    const int threads_wanted = ranges < wanted ? (int)ranges : wanted;
    const int64_t of_share = ranges / threads_wanted;
    const int64_t most = (count + threads_wanted - 1) / threads_wanted;
    job.range = (most + of_share - 1) / of_share;
    start_workers(threads_wanted - 1);
    __atomic_store_n(&job.shares, threads_wanted, __ATOMIC_RELAXED);
    for (int i = 0; i < threads_wanted; i++) {
        const int64_t each = count / threads_wanted, extra = count % threads_wanted;
        shares[i].next = i * each + (i < extra ? i : extra);
        shares[i].end = shares[i].next + each + (i < extra);
    }
    const uint64_t generation = __atomic_load_n(&job.state, __ATOMIC_ACQUIRE) / GENERATION + 1;
    __atomic_store_n(&job.state, generation * GENERATION, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&sleepers, __ATOMIC_SEQ_CST) > 0) {
        pthread_mutex_lock(&sleep_lock);
        pthread_cond_broadcast(&wake);
        pthread_mutex_unlock(&sleep_lock);
    }
    is_working = true;
    work_on_ranges(0);
    is_working = false;
    close_job();
    pthread_mutex_unlock(&owner);
    return true;
}

void heed_parallel_for(int64_t count, int64_t grain, heed_parallel_work *work, void *context)
{
    grain = grain > 0 ? grain : 1;
    if (count > 0 && (count / 2 < grain || !work_together(count, grain, work, context))) {
        work(context, 0, count);
    }
}

/* ---- number of threads ---- */

static int processors(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* HEED_NUM_THREADS; 0: it is unset or empty; -1: it cannot be used. */
static int number_in_environment(void)
{
    const char *text = getenv("HEED_NUM_THREADS");
    char *end;
    if (text == NULL || *text == '\0') {
        return 0;
    }
    const long count = strtol(text, &end, 10);
    return *end == '\0' && count >= 1 && count <= MOST_THREADS ? (int)count : -1;
}

heed_status heed_check_num_threads(void)
{
    return number_in_environment() >= 0
               ? heed_error_pending()
               : heed_fail(HEED_ERR_VALUE, "HEED_NUM_THREADS=%s: unset it, or use 1 to %d",
                           getenv("HEED_NUM_THREADS"), MOST_THREADS);
}

int heed_get_num_threads(void)
{
    int count = __atomic_load_n(&threads, __ATOMIC_RELAXED);
    if (count == 0) {
        const int wanted = number_in_environment(), found = wanted > 0 ? wanted : processors();
        count = found < 1 ? 1 : found > MOST_THREADS ? MOST_THREADS : found;
        __atomic_store_n(&threads, count, __ATOMIC_RELAXED);
    }
    return count;
}

heed_status heed_set_num_threads(int count)
{
    if (count < 1 || count > MOST_THREADS) {
        heed_fail(HEED_ERR_VALUE, "set_num_threads: count is %d; it must be 1 to %d", count,
                  MOST_THREADS);
    }
    if (!heed_error_pending()) {
        __atomic_store_n(&threads, count, __ATOMIC_RELAXED);
    }
    return heed_error_pending();
}
