/* The allocator: free lists per size class and thread.
 *
 * Blocks come from the system one by one. A freed block goes to the list of the thread that frees
 * it, so that a training step in steady state asks the system for nothing; heed_empty_cache and the
 * end of the thread return the lists to the system.
 *
 * Blocks from heed_alloc begin with a header that stores their size. In AddressSanitizer builds,
 * and with -DHEED_SYSTEM_ALLOCATOR (for valgrind), every block is returned to the system at once,
 * so that these tools see each one. */
#include "tensor.h"

#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>

enum {
    ALIGNED = 256, /* blocks of this size and larger are aligned to ALIGNMENT */
    ALIGNMENT = 64,
    POISON = 0xFF /* fills freed blocks in debug builds; reads as NaN or -1 */
};

/* ---- blocks ---- */

static size_t size_of_class(int class)
{
    if (class < HEED_SMALL_CLASSES) {
        return 32 * (size_t)(class > 0 ? class : 1);
    }
    int octave = 9 + (class - HEED_SMALL_CLASSES) / 4, quarter = (class - HEED_SMALL_CLASSES) % 4;
    return (size_t)(quarter + 5) << (octave - 2);
}

static void *from_system(size_t size)
{
    void *block = NULL;
    heed_self.system_requests++;
    return posix_memalign(&block, size >= ALIGNED ? ALIGNMENT : 16, size > 0 ? size : 1) == 0
               ? block
               : NULL;
}

/* A block of header + size bytes. Only `size` of them count as live. */
static void *get(size_t size, size_t header)
{
    const bool overflows = size > SIZE_MAX - header;
    const int class = overflows ? HEED_SIZE_CLASSES : heed_class_of(header + size);
    heed_block *block = NULL;
    if (heed_rest_of_thread() != NULL && !heed_fails_allocation() && class < HEED_SIZE_CLASSES) {
        heed_block **list = heed_blocks_of(class);
        block = *list;
        if (block != NULL) {
            *list = block->next;
        } else {
            block = from_system(HEED_SYSTEM_ALLOCATOR ? header + size : size_of_class(class));
        }
    }
    if (block == NULL) {
        const char *operation = heed_self.operation;
        heed_fail(HEED_ERR_MEMORY,
                  "%s%sout of memory: %zu bytes requested, %lld in use; try smaller sizes, or end "
                  "a scope earlier",
                  operation != NULL ? operation : "", operation != NULL ? ": " : "", size,
                  (long long)heed_self.live_bytes);
        return NULL;
    }
    heed_self.live_bytes += (int64_t)size;
    return block;
}

static void put(void *memory, size_t size, size_t header)
{
    if (HEED_IS_DEBUG) {
        memset(memory, POISON, header + size);
    }
    heed_self.live_bytes -= (int64_t)size;
    if (heed_rest_of_thread() == NULL || HEED_SYSTEM_ALLOCATOR) {
        free(memory);
        return;
    }
    heed_block **list = heed_blocks_of(heed_class_of(header + size)), *block = memory;
    block->next = *list;
    *list = block;
}

void heed_empty_cache(void)
{
    for (int class = 0; class < HEED_SIZE_CLASSES; class ++) {
        heed_block **list = heed_blocks_of(class);
        while (list != NULL && *list != NULL) {
            heed_block *next = (*list)->next;
            free(*list);
            *list = next;
        }
    }
#ifdef __GLIBC__
    malloc_trim(0); /* free keeps small blocks */
#endif
}

void *heed_alloc_sized(size_t size)
{
    void *block = size < PTRDIFF_MAX >> 20 ? heed_pop_block(size) : NULL; /* it has a class */
    return block != NULL ? block : get(size, 0);
}

void heed_free_sized(void *block, size_t size)
{
    if (block != NULL && !heed_push_block(block, size)) {
        put(block, size, 0);
    }
}

/* ---- blocks with a header ---- */

typedef struct header {
    _Alignas(16) size_t size;
} header;

void *heed_alloc(size_t size)
{
    header *h = get(size, sizeof *h);
    if (h == NULL) {
        return NULL;
    }
    h->size = size;
    return h + 1;
}

void *heed_alloc_zeroed(size_t size)
{
    void *block = heed_alloc(size);
    return block != NULL ? memset(block, 0, size) : NULL;
}

void heed_free(void *block)
{
    if (block != NULL) {
        header *h = (header *)block - 1;
        put(h, h->size, sizeof *h);
    }
}

void *heed_realloc(void *block, size_t size)
{
    void *grown = heed_alloc(size);
    if (grown != NULL && block != NULL) {
        const size_t old = ((header *)block - 1)->size;
        memcpy(grown, block, old < size ? old : size);
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
