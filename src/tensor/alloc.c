/* The allocator: free lists per size class and thread, filled from slabs or from the system.
 *
 * Relies on callers that say the right size when they free. Small classes (up to a kilobyte) are
 * cut from slabs of 64 KiB that stay with the process; larger blocks are requested one by one, and
 * heed_empty_cache returns those. A thread keeps a list up to a limit; the excess, and its lists
 * when it ends, go to common lists, from which every thread takes before it asks the system. So
 * memory that one thread takes and another frees is reused.
 *
 * In AddressSanitizer builds, and with -DHEED_SYSTEM_ALLOCATOR (for valgrind), every block comes
 * from the system and is freed at once, so that these tools see each one. */
#include "alloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"

enum { SMALL = 1024, ALIGNED = 256, ALIGNMENT = 64, SLAB = 65536 };

/* The common lists, for threads that find their own empty. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static heed_free_list common[HEED_SIZE_CLASSES];
static bool anything_common; /* read without the lock, as a hint */

/* ---- the common lists ---- */

/* Moves the calling thread's list of a class to the common one; called with the lock held. */
static void hand_over(heed_thread *self, int class)
{
    heed_block *last = self->free[class].first;
    if (last == NULL) {
        return;
    }
    while (last->next != NULL) {
        last = last->next;
    }
    last->next = common[class].first;
    common[class].first = self->free[class].first;
    common[class].bytes += self->free[class].bytes;
    self->free[class].first = NULL;
    self->free[class].bytes = 0;
    __atomic_store_n(&anything_common, true, __ATOMIC_RELEASE);
}

/* ---- the system's allocator ---- */

static void *from_system(heed_thread *self, size_t size)
{
    void *block = NULL;
    self->system_requests++;
    return posix_memalign(&block, ALIGNMENT, size > 0 ? size : 1) == 0 ? block : NULL;
}

#ifdef HEED_SYSTEM_ALLOCATOR
static void *get_block(heed_thread *self, size_t size, int class)
{
    (void)class;
    return from_system(self, size);
}

static void put_block(heed_thread *self, heed_block *block, int class)
{
    (void)self, (void)class;
    free(block);
}
#else
/* Cuts a small block off the slab. The rest of a slab that is too short for it is dropped: at most
 * a kilobyte in 64. All slabs are on one list, so that leak checkers find them. */
static void *from_slab(heed_thread *self, size_t size)
{
    static heed_block *slabs;
    size_t alignment = size >= ALIGNED ? ALIGNMENT : size % 32 == 0 ? 32 : 16;
    uintptr_t at = ((uintptr_t)self->slab + alignment - 1) & ~(uintptr_t)(alignment - 1);
    if (self->slab == NULL || at + size > (uintptr_t)self->slab_end) {
        heed_block *slab = from_system(self, SLAB);
        if (slab == NULL) {
            return NULL;
        }
        pthread_mutex_lock(&lock);
        slab->next = slabs;
        slabs = slab;
        pthread_mutex_unlock(&lock);
        self->slab_end = (char *)slab + SLAB;
        at = (uintptr_t)slab + ALIGNMENT; /* after the link */
    }
    self->slab = (char *)(at + size);
    return (void *)at;
}

static void *get_block(heed_thread *self, size_t size, int class)
{
    (void)size;
    heed_free_list *own = &self->free[class];
    if (own->first == NULL && __atomic_load_n(&anything_common, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&lock);
        *own = common[class];
        common[class] = (heed_free_list){0};
        pthread_mutex_unlock(&lock);
    }
    heed_block *block = own->first;
    size = heed_size_of_class(class);
    if (block == NULL) {
        return size <= SMALL ? from_slab(self, size) : from_system(self, size);
    }
    own->first = block->next;
    own->bytes -= size;
    return block;
}

static void put_block(heed_thread *self, heed_block *block, int class)
{
    block->next = self->free[class].first;
    self->free[class].first = block;
    self->free[class].bytes += heed_size_of_class(class);
    if (self->free[class].bytes > HEED_MOST_OF_A_CLASS) {
        pthread_mutex_lock(&lock);
        hand_over(self, class);
        pthread_mutex_unlock(&lock);
    }
}
#endif

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
    if (!self->registered) {
        heed_register_thread();
    }
    const int class = heed_class_of(size);
    void *block = class < HEED_SIZE_CLASSES ? get_block(self, size, class) : NULL;
    if (block == NULL) {
        return out_of_memory(size);
    }
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
        heed_register_thread(); /* it frees what another thread allocated */
    }
    if (HEED_IS_DEBUG) {
        memset(block, HEED_POISON, size);
    }
    put_block(self, block, heed_class_of(size));
    heed_count_live(0, -(int64_t)size);
}

void *heed_grow(void *block, size_t old_size, size_t new_size)
{
    void *grown = heed_alloc(new_size);
    if (grown != NULL && block != NULL) {
        memcpy(grown, block, old_size < new_size ? old_size : new_size);
        heed_free(block, old_size);
    }
    return grown;
}

static void free_list(heed_free_list *list)
{
    while (list->first != NULL) {
        heed_block *next = list->first->next;
        free(list->first);
        list->first = next;
    }
    list->bytes = 0;
}

void heed_empty_cache(void)
{
    for (int class = 0; class < HEED_SIZE_CLASSES; class ++) {
        if (heed_size_of_class(class) <= SMALL) {
            continue; /* cut from a slab */
        }
        free_list(&heed_self.free[class]);
        pthread_mutex_lock(&lock);
        free_list(&common[class]);
        pthread_mutex_unlock(&lock);
    }
}

static void hand_over_all(void)
{
    heed_thread *self = &heed_self;
    pthread_mutex_lock(&lock);
    for (int class = 0; class < HEED_SIZE_CLASSES; class ++) {
        hand_over(self, class);
    }
    pthread_mutex_unlock(&lock);
    self->slab = self->slab_end = NULL; /* the rest of a slab is not worth handing over */
}

__attribute__((constructor)) static void clean_up_at_thread_end(void)
{
    heed_at_thread_end(HEED_THREAD_MEMORY, hand_over_all);
}

int64_t heed_live_tensors(void)
{
    int64_t tensors = 0, bytes = 0;
    heed_sum_live(&tensors, &bytes);
    return tensors;
}

int64_t heed_live_bytes(void)
{
    int64_t tensors = 0, bytes = 0;
    heed_sum_live(&tensors, &bytes);
    return bytes;
}

bool heed_allocator_keeps_blocks(void)
{
#ifdef HEED_SYSTEM_ALLOCATOR
    return false;
#else
    return !HEED_IS_DEBUG; /* which keeps them, but not for reuse */
#endif
}

void heed_fail_allocation(int64_t n)
{
    heed_self.fail_countdown = n + 1;
}

int64_t heed_system_requests(void)
{
    return heed_self.system_requests;
}
