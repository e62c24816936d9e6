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

/* Observers of a thread's operations: bits of heed_thread.observers. Operations test all bits at
 * once, so observers cost nothing when off. */
enum { HEED_ANOMALY_MODE = 1, HEED_TRACING = 2, HEED_RECORDING = 4 };

enum { HEED_SIZE_CLASSES = 4 * 42, HEED_TRACKED_SCOPES = 64 };

typedef struct heed_free_list {
    struct heed_block *first; /* blocks.h */
    size_t bytes;
} heed_free_list;

/* The fields that every operation touches come first, so that they share cache lines. */
typedef struct heed_thread {
    unsigned error; /* the pending heed_status (error.c) */
    int unread;     /* process in which an unread pending error occurred, else 0 (error.c) */
    int depth;      /* of the innermost open scope; 0: none is open (scope_list.h) */
    struct heed_tensor *tensors;      /* of all open scopes, innermost first (scope_list.c) */
    const char *operation;            /* in progress; named in out-of-memory errors */
    const char *pass;                 /* the `operation` of the running backward pass, or NULL */
    int64_t scopes_begun;             /* scope_list.h */
    int64_t fail_countdown;           /* allocations until one fails; 0: off (alloc.c) */
    int64_t live_tensors, live_bytes; /* written by this thread, read by all */
    bool grad_disabled;
    uint8_t observers;              /* autograd/anomaly.c, trace.c, recording.c */
    bool registered;                /* counted by heed_sum_live, cleaned up when it ends */
    const struct heed_place *place; /* of the module that is running (autograd/module_path.c) */

    heed_free_list free[HEED_SIZE_CLASSES]; /* alloc.c */
    int64_t serials[HEED_TRACKED_SCOPES];   /* of the open scopes, by depth (scope_list.h) */
    char *slab, *slab_end;                  /* small blocks are cut from here (alloc.c) */
    int64_t system_requests;
    int64_t failures_left, failures; /* injected: still to come, so far (alloc.c) */
    int unread_depth, unread_scopes; /* scope of the unread error; scopes begun since (error.c) */
    struct heed_thread *next;
} heed_thread;

/* Use heed_self directly: TLS relaxation breaks UBSan's null check on a pointer to it. */
extern _Thread_local heed_thread heed_self;

/* heed_blocked: true if an error is pending; nothing is then computed. */
static inline bool heed_blocked(void)
{
    return heed_self.error != 0; /* HEED_OK */
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
    HEED_LOCK_GRADS, /* accumulate.c */
    HEED_LOCK_POOL,  /* parallel.c, like the next */
    HEED_LOCK_SLEEP,
    HEED_LOCK_ISA,     /* isa.c */
    HEED_LOCK_BURIED,  /* debug.c */
    HEED_LOCK_MEMORY,  /* alloc.c */
    HEED_LOCK_THREADS, /* thread.c */
    HEED_LOCKS
};
extern pthread_mutex_t heed_locks[HEED_LOCKS];
bool heed_at_fork(void (*in_child)(void));

#endif
