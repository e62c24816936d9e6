/* The allocator: free lists per size class and thread, filled from slabs or from the system.
 *
 * Relies on callers that say the right size when they free. Small classes (up to a kilobyte) are
 * cut from slabs of 64 KiB that stay with the process; larger blocks are requested one by one, and
 * heed_empty_cache gives those back. In sanitizer builds free blocks are poisoned, so that a use
 * after free is caught as if malloc had been called. */
#include "tensor/alloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/scope.h"
#include "tensor/thread.h"

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#elif defined __SANITIZE_ADDRESS__
#define HAVE_ASAN 1
#endif

#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(block, size)   ASAN_POISON_MEMORY_REGION(block, size)
#define UNPOISON(block, size) ASAN_UNPOISON_MEMORY_REGION(block, size)
#else
#define POISON(block, size)   ((void)(size))
#define UNPOISON(block, size) ((void)(size))
#endif

enum { SMALLEST = 64, SMALL = 1024, ALIGNED = 256, ALIGNMENT = 64, SLAB = 65536 };

struct heed_block {
    heed_block *next;
};

/* What ended threads left, for the next thread that finds a list empty. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static heed_block *left_behind[HEED_SIZE_CLASSES];
static bool anything_left; /* read without the lock, as a hint */
static heed_block *slabs;  /* those of all threads */

/* ---- size classes: 64, then 80 96 112 128, 160 192 224 256, 320 ... ---- */

static int class_of(size_t size)
{
    if (size <= SMALLEST) {
        return 0;
    }
    int octave = 63 - __builtin_clzll((unsigned long long)(size - 1)); /* 2^octave < size */
    int quarter = (int)((size - 1) >> (octave - 2)) & 3;
    return 4 * (octave - 6) + quarter + 1;
}

static size_t size_of_class(int class)
{
    if (class == 0) {
        return SMALLEST;
    }
    int octave = 6 + (class - 1) / 4, quarter = (class - 1) % 4;
    return (size_t)(quarter + 5) << (octave - 2);
}

/* ---- the system below ---- */

static void *from_system(heed_thread *self, size_t size)
{
    self->system_requests++;
    return aligned_alloc(ALIGNMENT, size);
}

/* A slab for small blocks. All of them are on one list, by which leak checkers find them. */
static char *new_slab(heed_thread *self)
{
    heed_block *slab = from_system(self, SLAB);
    if (slab != NULL) {
        pthread_mutex_lock(&lock);
        slab->next = slabs;
        slabs = slab;
        pthread_mutex_unlock(&lock);
        POISON((char *)slab + ALIGNMENT, SLAB - ALIGNMENT);
    }
    return (char *)slab;
}

/* Cuts a small block off the slab. What is left of a slab too short for it is dropped: at most a
 * kilobyte in 64. */
static void *from_slab(heed_thread *self, size_t size)
{
    size_t alignment = size >= ALIGNED ? ALIGNMENT : 16;
    uintptr_t at = ((uintptr_t)self->slab + alignment - 1) & ~(uintptr_t)(alignment - 1);
    if (self->slab == NULL || at + size > (uintptr_t)self->slab_end) {
        char *slab = new_slab(self);
        if (slab == NULL) {
            return NULL;
        }
        self->slab_end = slab + SLAB;
        at = (uintptr_t)slab + ALIGNMENT; /* behind the link */
    }
    self->slab = (char *)(at + size);
    return (void *)at;
}

static heed_block *take_left_behind(heed_thread *self, int class)
{
    if (!__atomic_load_n(&anything_left, __ATOMIC_ACQUIRE)) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    heed_block *list = left_behind[class];
    left_behind[class] = NULL;
    pthread_mutex_unlock(&lock);
    if (list != NULL) {
        self->free[class] = list->next;
    }
    return list;
}

static void *refill(heed_thread *self, int class)
{
    if (!self->registered) {
        heed_register_thread();
    }
    void *block = take_left_behind(self, class);
    if (block != NULL) {
        return block;
    }
    size_t size = size_of_class(class);
    return size <= SMALL ? from_slab(self, size) : from_system(self, size);
}

/* ---- the interface ---- */

static void *out_of_memory(size_t size)
{
    const char *operation = heed_self.operation;
    heed_fail(HEED_ERR_MEMORY,
              "%s%sout of memory: %zu bytes requested, %lld in use; smaller sizes, or a scope that "
              "ends earlier, would help",
              operation != NULL ? operation : "", operation != NULL ? ": " : "", size,
              (long long)heed_live_bytes());
    return NULL;
}

void *heed_alloc(size_t size)
{
    heed_thread *self = &heed_self;
    if (self->fail_countdown != 0 && --self->fail_countdown == 0) {
        return out_of_memory(size);
    }
    int class = class_of(size);
    if (class >= HEED_SIZE_CLASSES) {
        return out_of_memory(size); /* more than any machine has */
    }
    void *block = self->free[class];
    if (block != NULL) {
        self->free[class] = ((heed_block *)block)->next;
    } else {
        block = refill(self, class);
        if (block == NULL) {
            return out_of_memory(size);
        }
    }
    UNPOISON(block, size);
    heed_count_live(0, (int64_t)size);
    return block;
}

void *heed_alloc_zeroed(size_t size)
{
    void *block = heed_alloc(size);
    return block != NULL ? memset(block, 0, size) : NULL;
}

void heed_free(void *block, size_t size)
{
    if (block == NULL) {
        return;
    }
    heed_thread *self = &heed_self;
    if (!self->registered) {
        heed_register_thread(); /* it frees what another thread made */
    }
    int class = class_of(size);
    UNPOISON(block, sizeof(heed_block)); /* of a block smaller than its link */
    ((heed_block *)block)->next = self->free[class];
    self->free[class] = block;
    POISON((heed_block *)block + 1, size_of_class(class) - sizeof(heed_block)); /* not the link */
    heed_count_live(0, -(int64_t)size);
}

void *heed_grow(void *block, size_t old_size, size_t new_size)
{
    void *grown = heed_alloc(new_size);
    if (grown != NULL && block != NULL) {
        memcpy(grown, block, old_size);
        heed_free(block, old_size);
    }
    return grown;
}

void heed_empty_cache(void)
{
    for (int class = 0; class < HEED_SIZE_CLASSES; class ++) {
        size_t size = size_of_class(class);
        if (size <= SMALL) {
            continue; /* cut from a slab */
        }
        heed_block *block = heed_self.free[class];
        heed_self.free[class] = NULL;
        while (block != NULL) {
            UNPOISON(block, size);
            heed_block *next = block->next;
            free(block);
            block = next;
        }
    }
}

void heed_hand_back_memory(void)
{
    heed_thread *self = &heed_self;
    pthread_mutex_lock(&lock);
    for (int class = 0; class < HEED_SIZE_CLASSES; class ++) {
        heed_block *list = self->free[class];
        if (list == NULL) {
            continue;
        }
        heed_block *last = list;
        while (last->next != NULL) {
            last = last->next;
        }
        last->next = left_behind[class];
        left_behind[class] = list;
        self->free[class] = NULL;
    }
    __atomic_store_n(&anything_left, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    self->slab = self->slab_end = NULL; /* the rest of a slab is not worth handing on */
}

void heed_fail_allocation(int64_t n)
{
    heed_self.fail_countdown = n + 1;
}

int64_t heed_system_requests(void)
{
    return heed_self.system_requests;
}
