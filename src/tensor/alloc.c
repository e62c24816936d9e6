/* The allocator: free lists per size class and thread, filled from slabs or from the system.
 *
 * Small blocks (up to a kilobyte) are cut from slabs of 64 KiB, which are never returned; larger
 * blocks are requested one by one, and heed_empty_cache returns them. When a thread's list exceeds
 * a limit, its blocks move to the common list of that class; when the thread ends, so do the blocks
 * of all its lists. Threads take blocks from the common lists before they ask the system, so memory
 * that one thread allocates and another frees is reused.
 *
 * Blocks from heed_alloc begin with a header that stores their size; sized blocks (blocks.h) have
 * none.
 *
 * In AddressSanitizer builds, and with -DHEED_SYSTEM_ALLOCATOR (for valgrind), every block comes
 * from the system and is returned to it at once, so that these tools see each one. */
#ifdef __linux__
#define _DEFAULT_SOURCE /* for madvise */
#include <sys/mman.h>
#endif
#include "alloc.h"

#include <stdlib.h>
#include <string.h>

#include "blocks.h"

enum { SMALL = 1024, ALIGNED = 256, ALIGNMENT = 64, SLAB = 65536, HUGE_PAGE = 1 << 21 };

/* The common lists, for threads whose own lists are empty. */
static pthread_mutex_t *const lock = &heed_locks[HEED_LOCK_MEMORY];
static heed_free_list common[HEED_SIZE_CLASSES];
static bool anything_common; /* read without the lock, as a hint */

/* ---- the common lists ---- */

/* Moves a list of a class to the common one; called with the lock held. */
static void hand_over(heed_free_list *list, int class)
{
    heed_block *last = list != NULL ? list->first : NULL;
    if (last == NULL) {
        return;
    }
    while (last->next != NULL) {
        last = last->next;
    }
    last->next = common[class].first;
    common[class].first = list->first;
    common[class].bytes += list->bytes;
    *list = (heed_free_list){0};
    __atomic_store_n(&anything_common, true, __ATOMIC_RELEASE);
}

/* ---- the system's allocator ---- */

/* Large blocks use huge pages if the system has them: fewer page faults and TLB misses. The end of
 * a block that does not fill a huge page uses small pages, so that no memory is wasted. */
static void *from_system(heed_thread *self, size_t size)
{
    void *block = NULL;
    const size_t alignment = size >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
    self->system_requests++;
    if (posix_memalign(&block, alignment, size > 0 ? size : 1) != 0) {
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    if (size >= HUGE_PAGE) {
        madvise(block, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    }
#endif
    return block;
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
/* Cuts a small block from the slab. If the rest of the slab is too short, it is dropped: at most
 * one kilobyte of 64. All slabs are linked in one list, so that leak checkers find them. */
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
        pthread_mutex_lock(lock);
        slab->next = slabs;
        slabs = slab;
        pthread_mutex_unlock(lock);
        self->slab_end = (char *)slab + SLAB;
        at = (uintptr_t)slab + ALIGNMENT; /* after the link */
    }
    self->slab = (char *)(at + size);
    return (void *)at;
}

static void *get_block(heed_thread *self, size_t size, int class)
{
    (void)size;
    heed_free_list *own = heed_blocks_of(class);
    if (own->first == NULL && __atomic_load_n(&anything_common, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(lock);
        *own = common[class];
        common[class] = (heed_free_list){0};
        pthread_mutex_unlock(lock);
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

/* A thread whose state has no rest, because it has not allocated anything, keeps no blocks. */
static void put_block(heed_thread *self, heed_block *block, int class)
{
    heed_free_list one = {0}, *list = self->rest != NULL ? heed_blocks_of(class) : &one;
    block->next = list->first;
    list->first = block;
    list->bytes += heed_size_of_class(class);
    if (list->bytes > HEED_MOST_OF_A_CLASS || list == &one) {
        pthread_mutex_lock(lock);
        hand_over(list, class);
        pthread_mutex_unlock(lock);
    }
}
#endif

/* ---- the interface ---- */

static void *out_of_memory(size_t size)
{
    const char *operation = heed_self.operation;
    heed_fail(HEED_ERR_MEMORY,
              "%s%sout of memory: %zu bytes requested, %lld in use; try smaller sizes, or end a "
              "scope earlier",
              operation != NULL ? operation : "", operation != NULL ? ": " : "", size,
              (long long)heed_live_bytes());
    return NULL;
}

/* A block of header + size bytes. Only `size` of them count as live. */
static inline void *get(size_t size, size_t header)
{
    heed_thread *self = &heed_self;
    if ((self->rest == NULL && heed_rest_of_thread() == NULL) || heed_fails_allocation()) {
        return out_of_memory(size);
    }
    const bool overflows = size > SIZE_MAX - header;
    const int class = overflows ? HEED_SIZE_CLASSES : heed_class_of(header + size);
    void *block = class < HEED_SIZE_CLASSES ? get_block(self, header + size, class) : NULL;
    if (block == NULL) {
        return out_of_memory(size);
    }
    heed_count_live(0, (int64_t)size);
    if (!self->registered) {
        heed_register_thread();
    }
    return block;
}

static inline void put(void *block, size_t size, size_t header)
{
    heed_thread *self = &heed_self;
    if (HEED_IS_DEBUG) {
        memset(block, HEED_POISON, header + size);
    }
    put_block(self, block, heed_class_of(header + size));
    heed_count_live(0, -(int64_t)size);
    if (!self->registered) {
        heed_register_thread(); /* another thread allocated the block */
    }
}

/* ---- blocks without a header ---- */

void *heed_alloc_sized(size_t size)
{
    void *block = size <= SLAB ? heed_pop_block(size) : NULL; /* huge sizes have no class */
    return block != NULL ? block : get(size, 0);
}

void heed_free_sized(void *block, size_t size)
{
    if (block != NULL && !(size <= SLAB && heed_push_block(block, size))) {
        put(block, size, 0);
    }
}

/* ---- blocks with a header ---- */

/* `check` is computed from the size and the address. heed_free clears it, and it stays cleared
 * while the block is free, because free lists overwrite only the first word. */
typedef struct header {
    _Alignas(16) size_t size;
    uintptr_t check;
} header;

static uintptr_t check_of(const header *h, size_t size)
{
    return ~((uintptr_t)h ^ (uintptr_t)size);
}

void *heed_alloc(size_t size)
{
    header *h = get(size, sizeof *h);
    if (h == NULL) {
        return NULL;
    }
    h->size = size;
    h->check = check_of(h, size);
    return h + 1;
}

void *heed_alloc_zeroed(size_t size)
{
    void *block = heed_alloc(size);
    return block != NULL ? memset(block, 0, size) : NULL;
}

/* The header of a block; NULL, with an error pending, if it has none. */
static header *header_of(const char *function, void *block)
{
    header *h = (header *)block - 1;
    if (h->check == check_of(h, h->size)) {
        return h;
    }
    heed_fail(HEED_ERR_VALUE, "%s: this block is not from heed_alloc, or has already been freed",
              function);
    return NULL;
}

void heed_free(void *block)
{
    header *h = block != NULL ? header_of("free", block) : NULL;
    if (h != NULL) {
        h->check = 0;
        put(h, h->size, sizeof *h);
    }
}

void *heed_realloc(void *block, size_t size)
{
    const header *h = block != NULL ? header_of("realloc", block) : NULL;
    if (block != NULL && h == NULL) {
        return NULL;
    }
    void *grown = heed_alloc(size);
    if (grown != NULL && block != NULL) {
        memcpy(grown, block, h->size < size ? h->size : size);
        heed_free(block);
    }
    return grown;
}

void *heed_grow(void *array, int64_t count, int64_t *capacity, size_t size)
{
    if (count < *capacity) {
        return array;
    }
    const int64_t larger = *capacity > 0 ? 2 * *capacity : 16;
    void *grown = heed_realloc(array, (size_t)larger * size);
    *capacity = grown != NULL ? larger : *capacity;
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
        heed_free_list *own = heed_blocks_of(class);
        if (own != NULL) {
            free_list(own);
        }
        pthread_mutex_lock(lock);
        free_list(&common[class]);
        pthread_mutex_unlock(lock);
    }
}

static void hand_over_all(void)
{
    heed_thread *self = &heed_self;
    pthread_mutex_lock(lock);
    for (int class = 0; class < HEED_SIZE_CLASSES; class ++) {
        hand_over(heed_blocks_of(class), class);
    }
    pthread_mutex_unlock(lock);
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
