/* Blocks without a header (internal): the caller passes the size again when freeing a block. A
 * wrong size corrupts the free lists; the functions in alloc.h store the size instead.
 *
 * For blocks whose size is a compile-time constant, such as handles, the path to and from a
 * thread's free lists is inlined and takes about ten instructions. All other cases go to alloc.c.
 */
#ifndef HEED_TENSOR_BLOCKS_H
#define HEED_TENSOR_BLOCKS_H

#include <stddef.h>

#include "error.h"
#include "thread.h"

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define HEED_SYSTEM_ALLOCATOR 1
#endif
#elif defined __SANITIZE_ADDRESS__
#define HEED_SYSTEM_ALLOCATOR 1
#endif

enum { HEED_POISON = 0xFF }; /* fills freed blocks in debug builds; reads as NaN or -1 */

typedef struct heed_block {
    struct heed_block *next;
} heed_block;

enum { HEED_SMALLEST_BLOCK = 64 };
enum { HEED_MOST_OF_A_CLASS = 16 << 20 }; /* maximum bytes in a thread's list */

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

static inline size_t heed_size_of_class(int class)
{
    if (class == 0) {
        return HEED_SMALLEST_BLOCK;
    }
    int octave = 6 + (class - 1) / 4, quarter = (class - 1) % 4;
    return (size_t)(quarter + 5) << (octave - 2);
}

/* heed_alloc_sized: `size` bytes, uninitialised, aligned to 64 bytes if `size` is 256 or more, else
 * to 16. NULL on failure, with HEED_ERR_MEMORY pending. heed_free_sized: frees a block from
 * heed_alloc_sized(size); NULL is a no-op. */
void *heed_alloc_sized(size_t size);
void heed_free_sized(void *block, size_t size);

/* heed_blocks_of: this thread's free list of a class; NULL if it has none. */
static inline heed_free_list *heed_blocks_of(int class)
{
    if (class < HEED_SMALL_CLASSES) {
        return &heed_self.free[class];
    }
    return heed_self.rest != NULL ? &heed_self.rest->free[class - HEED_SMALL_CLASSES] : NULL;
}

/* heed_pop_block: heed_alloc_sized from this thread's free list only; short if `size` is constant.
 * If it returns NULL, call heed_alloc_sized. */
static inline void *heed_pop_block(size_t size)
{
    heed_free_list *list = heed_blocks_of(heed_class_of(size));
    heed_block *block = list != NULL ? list->first : NULL;
    if (block == NULL || heed_self.fail_countdown != 0) {
        return NULL;
    }
    list->first = block->next;
    list->bytes -= heed_size_of_class(heed_class_of(size));
    heed_count_live(0, (int64_t)size);
    return block;
}

/* heed_push_block: heed_free_sized to this thread's free list only. If it returns false, call
 * heed_free_sized. */
static inline bool heed_push_block(void *block, size_t size)
{
#if defined HEED_SYSTEM_ALLOCATOR || defined HEED_DEBUG /* debug builds fill freed blocks */
    (void)block, (void)size;
    return false;
#else
    heed_free_list *list = heed_blocks_of(heed_class_of(size));
    if (list == NULL || list->bytes >= HEED_MOST_OF_A_CLASS || !heed_self.registered) {
        return false;
    }
    heed_block *freed = block;
    freed->next = list->first;
    list->first = freed;
    list->bytes += heed_size_of_class(heed_class_of(size));
    heed_count_live(0, -(int64_t)size);
    return true;
#endif
}

#endif
