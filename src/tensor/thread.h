/* The state of a thread, and the registry of all threads (internal).
 *
 * This is the lowest level: it includes no other Heed header. A field is written only by the file
 * named in its comment. The fields are in one struct because one operation touches most of them.
 */
#ifndef HEED_TENSOR_THREAD_H
#define HEED_TENSOR_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef HEED_DEBUG
enum { HEED_IS_DEBUG = 1 }; /* a debug build: debug.h */
#else
enum { HEED_IS_DEBUG = 0 };
#endif

/* heed_debug_print_error: prints the first error of the process, and where it occurred; called by
 * heed_fail in debug builds (backtrace.c). */
void heed_debug_print_error(const char *status, const char *message);

enum {
    HEED_SIZE_CLASSES = 4 * 42,
    HEED_SMALL_CLASSES = 9, /* blocks of up to 256 bytes: handles and small tensors */
    HEED_TRACKED_SCOPES = 32,
    HEED_MOST_OF_A_MESSAGE = 8192,
    HEED_GENERATOR_SIZE = 2528 /* a heed_generator */
};

typedef struct heed_free_list {
    struct heed_block *first; /* blocks.h */
    size_t bytes;
} heed_free_list;

/* The large part of a thread's state, allocated with its first block or error, until it ends. */
typedef struct heed_thread_rest {
    heed_free_list free[HEED_SIZE_CLASSES - HEED_SMALL_CLASSES]; /* alloc.c */
    char message[HEED_MOST_OF_A_MESSAGE];                        /* error.c */
    _Alignas(8) char generator[HEED_GENERATOR_SIZE];             /* random/random.c */
    struct heed_thread *thread;    /* once it is registered (thread.c), like the next */
    struct heed_thread_rest *next; /* of all threads, so that leak checkers find them */
} heed_thread_rest;

/* The fields that every operation touches come first, so that they share cache lines. The shared
 * library keeps all variables of a thread in static TLS, of which glibc leaves about 1.6 KB to
 * libraries loaded by dlopen: what is large belongs in the rest. */
typedef struct heed_thread {
    unsigned error; /* the pending heed_status (error.c) */
    int unread;     /* process in which an unread pending error occurred, else 0 (error.c) */
    int depth;      /* of the innermost open scope; 0: none is open (handle.h) */
    struct heed_tensor *tensors;      /* of all open scopes, innermost first (scope.c) */
    const char *operation;            /* in progress; named in out-of-memory errors */
    const char *derivative;           /* of this operation; named in errors (backward.c) */
    int64_t scopes_begun;             /* handle.h */
    int64_t fail_countdown;           /* allocations until one fails; 0: off */
    int64_t live_tensors, live_bytes; /* written by this thread, read by all */
    const struct heed_observer_table *observers; /* NULL: none (autograd/notify.h) */
    bool grad_disabled;
    bool registered; /* counted by heed_sum_live, cleaned up when it ends */

    heed_free_list free[HEED_SMALL_CLASSES]; /* alloc.c */
    heed_thread_rest *rest;                /* NULL: not needed yet, or memory ran out (thread.c) */
    uint32_t serials[HEED_TRACKED_SCOPES]; /* of the open scopes, by depth (handle.h) */
    char *slab, *slab_end;                 /* small blocks are cut from here (alloc.c) */
    int64_t system_requests;
    int64_t failures_left, failures; /* injected: still to come, so far */
    int unread_depth, unread_scopes; /* scope of the unread error; scopes begun since (error.c) */
    char short_message[128];         /* of an error without memory for the rest (error.c) */
} heed_thread;

/* Use heed_self directly: TLS relaxation breaks UBSan's null check on a pointer to it. */
extern _Thread_local heed_thread heed_self;

/* heed_blocked: true if an error is pending; nothing is then computed. */
static inline bool heed_blocked(void)
{
    return heed_self.error != 0; /* HEED_OK */
}

/* heed_fails_allocation: called before each allocation; true if a test makes it fail. */
static inline bool heed_fails_allocation(void)
{
    if (heed_self.fail_countdown == 0 || --heed_self.fail_countdown > 0) {
        return false;
    }
    heed_self.failures++;
    heed_self.fail_countdown = --heed_self.failures_left > 0;
    return true;
}

static inline void heed_count_live(int64_t tensors, int64_t bytes)
{
    if (tensors != 0) {
        __atomic_store_n(&heed_self.live_tensors, heed_self.live_tensors + tensors,
                         __ATOMIC_RELAXED);
    }
    if (bytes != 0) {
        __atomic_store_n(&heed_self.live_bytes, heed_self.live_bytes + bytes, __ATOMIC_RELAXED);
    }
}

/* heed_sum_live: the totals over all threads, including those that have ended. A forked child
 * starts with its parent's totals. */
void heed_sum_live(int64_t *tensors, int64_t *bytes);

/* heed_report_unread: prints the pending error if it is unread (error.c). Called when a caller's
 * scope begins. */
void heed_report_unread(void);

/* heed_rest_of_thread: the rest of this thread's state; NULL, without an error, without memory. */
heed_thread_rest *heed_rest_of_thread(void);

/* heed_register_thread: called after a thread's first allocation, and on its errors. If the system
 * refuses, the thread stays unregistered: it works and is counted, but its state is not cleaned up.
 * heed_at_thread_end: sets, before main, the function that cleans up one part of a registered
 * thread's state when the thread ends. Parts are cleaned up in the order of the enum. */
enum heed_thread_part {
    HEED_THREAD_ERROR,
    HEED_THREAD_SCOPES,
    HEED_THREAD_MEMORY,
    HEED_THREAD_PARTS
};
void heed_register_thread(void);
void heed_at_thread_end(enum heed_thread_part part, void (*clean_up)(void));

/* The locks, in the order in which a thread acquires several of them. A fork acquires them all, so
 * that no lock in the child is held by a thread that exists only in the parent.
 * heed_at_fork: sets the function that a forked child calls before it unlocks them. False if
 * pthread_atfork failed, so that forks do not acquire the locks. */
enum heed_lock {
    HEED_LOCK_POOL, /* parallel.c, like the next */
    HEED_LOCK_SLEEP,
    HEED_LOCK_ISA,     /* processor.c */
    HEED_LOCK_BURIED,  /* debug.c */
    HEED_LOCK_MEMORY,  /* alloc.c */
    HEED_LOCK_THREADS, /* thread.c */
    HEED_LOCKS
};
extern pthread_mutex_t heed_locks[HEED_LOCKS];
bool heed_at_fork(void (*in_child)(void));

/* ---- the floating-point mode of the calling thread ----
 *
 * Whether subnormal numbers are flushed to 0, the rounding direction, and which exceptions trap. A
 * job of the pool runs in the mode of its caller, however that was set, so that results do not
 * depend on the number of threads. */

/* FLUSH_MODE: the bits that flush subnormal operands and results to 0; 0: not supported.
 * heed_float_mode excludes the flags of past exceptions; heed_set_float_mode preserves them. */
#if defined __x86_64__
enum { FLUSH_MODE = 1 << 15 | 1 << 6, EXCEPTION_FLAGS = 0x3f }; /* FTZ and DAZ */
static inline uint64_t heed_float_mode(void)
{
    return __builtin_ia32_stmxcsr() & ~(unsigned)EXCEPTION_FLAGS;
}

static inline void heed_set_float_mode(uint64_t mode)
{
    const unsigned now = __builtin_ia32_stmxcsr();
    if ((now & ~(unsigned)EXCEPTION_FLAGS) != mode) {
        __builtin_ia32_ldmxcsr((unsigned)mode | (now & EXCEPTION_FLAGS));
    }
}
#elif defined __aarch64__
enum { FLUSH_MODE = 1 << 24 }; /* FZ */
static inline uint64_t heed_float_mode(void)
{
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}

static inline void heed_set_float_mode(uint64_t mode)
{
    if (heed_float_mode() != mode) {
        __asm__ volatile("msr fpcr, %0" : : "r"(mode));
    }
}
#else
enum { FLUSH_MODE = 0 };
static inline uint64_t heed_float_mode(void)
{
    return 0;
}

static inline void heed_set_float_mode(uint64_t mode)
{
    (void)mode;
}
#endif

#endif
