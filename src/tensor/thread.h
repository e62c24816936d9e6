/* The state of a thread, its free blocks, and how much work is worth another thread (internal).
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

#ifdef HEED_DEBUG /* a debug build: make DEBUG=1 */
enum { HEED_IS_DEBUG = 1 };
#else
enum { HEED_IS_DEBUG = 0 };
#endif

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define HEED_SYSTEM_ALLOCATOR 1
#endif
#elif defined __SANITIZE_ADDRESS__
#define HEED_SYSTEM_ALLOCATOR 1
#endif
#ifndef HEED_SYSTEM_ALLOCATOR
#define HEED_SYSTEM_ALLOCATOR 0
#endif

enum {
    HEED_SIZE_CLASSES = 4 * 42,
    HEED_SMALL_CLASSES = 9, /* blocks of up to 256 bytes: handles and small tensors */
    HEED_SMALLEST_BLOCK = 64,
    HEED_MOST_OF_A_MESSAGE = 8192,
    HEED_GENERATOR_SIZE = 2528 /* a heed_generator */
};

/* A free block, in a list of its size class. */
typedef struct heed_block {
    struct heed_block *next;
} heed_block;

/* The large part of a thread's state, allocated with its first block or error, until it ends. */
typedef struct heed_thread_rest {
    heed_block *free[HEED_SIZE_CLASSES - HEED_SMALL_CLASSES]; /* alloc.c */
    char message[HEED_MOST_OF_A_MESSAGE];                     /* error.c */
    _Alignas(8) char generator[HEED_GENERATOR_SIZE];          /* random/random.c */
} heed_thread_rest;

/* The shared library keeps this struct in static TLS, of which glibc leaves about 1.6 KB to
 * libraries loaded by dlopen: what is large belongs in the rest. */
typedef struct heed_thread {
    unsigned error;                   /* the pending heed_status (error.c) */
    const char *message;              /* of the last error; NULL: none yet */
    int depth;                        /* of the innermost open scope; 0: none is open (scope.c) */
    struct heed_tensor *tensors;      /* of all open scopes, innermost first (scope.c) */
    const char *operation;            /* in progress; named in out-of-memory errors */
    const char *derivative;           /* of this operation; named in errors (backward.c) */
    int64_t fail_countdown;           /* allocations until one fails; 0: off (alloc.c) */
    int64_t live_tensors, live_bytes; /* made by this thread minus freed by it */
    struct heed_hook *hooks;          /* autograd/hook.c */
    bool grad_disabled;
    bool unread;      /* no one has read the pending error (error.c) */
    int unread_depth; /* of the scope in which it occurred */

    heed_block *free[HEED_SMALL_CLASSES]; /* alloc.c */
    heed_thread_rest *rest;               /* NULL: not needed yet, or memory ran out (error.c) */
    int64_t system_requests;              /* blocks requested from the system (alloc.c) */
    int64_t failures_left, failures;      /* injected: still to come, so far (error.c) */
} heed_thread;

/* Use heed_self directly: TLS relaxation breaks UBSan's null check on a pointer to it. */
extern _Thread_local heed_thread heed_self;

/* heed_rest_of_thread: the rest of this thread's state; NULL, without an error, without memory.
 * From then on, the end of the thread is seen through heed_thread_key (scope.c). */
heed_thread_rest *heed_rest_of_thread(void);
extern pthread_key_t heed_thread_key;
extern bool heed_has_thread_key;

/* heed_fails_allocation: called before each allocation; true if a test makes it fail. */
bool heed_fails_allocation(void);

/* heed_blocked: true if an error is pending; nothing is then computed. */
static inline bool heed_blocked(void)
{
    return heed_self.error != 0; /* HEED_OK */
}

/* heed_report_unread: prints the pending error if it is unread (error.c): "heed: `beginning` an
 * error that it never read: ..." */
void heed_report_unread(const char *beginning);

/* ---- blocks without a header ----
 *
 * The caller passes the size again when freeing a block; a wrong size corrupts the free lists. The
 * functions in alloc.h store the size instead. For sizes that are compile-time constants, such as
 * those of handles, the path to and from the free lists is inlined: about ten instructions. */

/* heed_alloc_sized: `size` bytes, uninitialised, aligned to 64 bytes if `size` is 256 or more, else
 * to 16. NULL on failure, with HEED_ERR_MEMORY pending. heed_free_sized: frees a block from
 * heed_alloc_sized(size); NULL is a no-op. */
void *heed_alloc_sized(size_t size);
void heed_free_sized(void *block, size_t size);

/* Size classes: 64, then 80 96 112 128, 160 192 224 256, 320 ... */
static inline int heed_class_of(size_t size)
{
    if (size <= HEED_SMALLEST_BLOCK) {
        return 0;
    }
    int octave = 63 - __builtin_clzll((unsigned long long)(size - 1)); /* 2^octave < size */
    int quarter = (int)((size - 1) >> (octave - 2)) & 3;
    return 4 * (octave - 6) + quarter + 1;
}

/* heed_blocks_of: this thread's free list of a class; NULL if it has none. */
static inline heed_block **heed_blocks_of(int class)
{
    if (class < HEED_SMALL_CLASSES) {
        return &heed_self.free[class];
    }
    return heed_self.rest != NULL ? &heed_self.rest->free[class - HEED_SMALL_CLASSES] : NULL;
}

/* heed_allocator_keeps_blocks: false if freed blocks are not reused at once, as in sanitizer
 * builds, which return them to the system, and in debug builds, which fill them. */
static inline bool heed_allocator_keeps_blocks(void)
{
    return !HEED_SYSTEM_ALLOCATOR && !HEED_IS_DEBUG;
}

/* heed_pop_block: heed_alloc_sized from the free list only. NULL: call heed_alloc_sized.
 * heed_push_block: heed_free_sized to the free list only. False: call heed_free_sized. */
static inline void *heed_pop_block(size_t size)
{
    heed_block **list = heed_blocks_of(heed_class_of(size));
    heed_block *block = list != NULL ? *list : NULL;
    if (block == NULL || heed_self.fail_countdown != 0) {
        return NULL;
    }
    *list = block->next;
    heed_self.live_bytes += (int64_t)size;
    return block;
}

static inline bool heed_push_block(void *block, size_t size)
{
    if (!heed_allocator_keeps_blocks() || heed_self.rest == NULL) {
        return false;
    }
    heed_block **list = heed_blocks_of(heed_class_of(size)), *freed = block;
    freed->next = *list;
    *list = freed;
    heed_self.live_bytes -= (int64_t)size;
    return true;
}

/* ---- for tests ----
 *
 * heed_fail_allocation: makes this thread's next request (n = 0), or the n-th one after it, fail
 * once; -1 cancels this. heed_fail_allocations: the same for `count` consecutive requests, counted
 * from the n-th; INT64_MAX: this one and all later ones. */
static inline void heed_fail_allocations(int64_t n, int64_t count)
{
    heed_self.fail_countdown = n + 1;
    heed_self.failures_left = count;
}

static inline __attribute__((unused)) void heed_fail_allocation(int64_t n)
{
    heed_fail_allocations(n, 1);
}

/* ---- how much work is worth another thread ----
 *
 * A grain is the minimum work per thread, a few microseconds; less would not pay for waking the
 * thread and sharing cache lines. Grains are given in elements, one for each kind of work. Times,
 * per element and per grain, are estimates for one AVX-512 core with data in cache, unless noted.
 */
enum {
    HEED_GRAIN_OF_ELEMENTS = 8192,    /* element-wise work, copies: 0.15 to 0.3 ns each, 2 us */
    HEED_GRAIN_OF_ROWS = 16384,       /* row kernels such as softmax: 0.5 ns each, 8 us */
    HEED_GRAIN_OF_UPDATES = 16384,    /* optimiser steps: 0.1 to 0.35 ns each, 4 us */
    HEED_GRAIN_OF_SUMS = 32768,       /* sums: 0.1 to 0.25 ns each, 5 us */
    HEED_GRAIN_OF_TABLE_ROWS = 32768, /* table rows, read from memory: 0.3 ns each, 10 us */
};

/* Matrix products, in multiply-adds; a core does about 50 per nanosecond in f32. */
enum {
    HEED_GRAIN_OF_PRODUCTS = 1 << 20, /* 20 us */
    HEED_LITTLE_PRODUCT = 1 << 18,    /* below: no workspace; one product stays on its thread */
    HEED_LARGE_PRODUCT = 1 << 24,     /* above: the kernel splits each product */
};

#endif
