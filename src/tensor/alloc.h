/* Memory for modules, operations and programs, from the allocator that tensors use, and counts of
 * live tensors and bytes. Freed blocks stay in the thread's free lists, so reusing one costs little
 * more than a function call.
 */
#ifndef HEED_TENSOR_ALLOC_H
#define HEED_TENSOR_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

HEED_BEGIN_DECLS

/* heed_alloc: `size` bytes, uninitialised, aligned to 16 bytes. NULL on failure, with
 * HEED_ERR_MEMORY pending. heed_alloc_zeroed: filled with zeros.
 *
 * heed_realloc: a block of `size` bytes with the content of `block` (NULL: none), which is freed.
 * NULL on failure; the old block is then unchanged. heed_grow: an array with space for one more
 * element of `size` bytes after the first `count`: `array`, or its content in a block of twice the
 * *capacity. NULL on failure, as heed_realloc.
 *
 * heed_free: frees a block that these functions returned; NULL is a no-op. */
void *heed_alloc(size_t size);
void *heed_alloc_zeroed(size_t size);
void *heed_realloc(void *block, size_t size);
void *heed_grow(void *array, int64_t count, int64_t *capacity, size_t size);
void heed_free(void *block);

/* heed_empty_cache: returns the free memory of this thread to the system, like
 * torch.cuda.empty_cache(). */
void heed_empty_cache(void);

/* heed_live_tensors, heed_live_bytes: the number of existing tensors, and the number of bytes
 * requested and not yet freed, in this thread, including what threads left when they ended. */
int64_t heed_live_tensors(void);
int64_t heed_live_bytes(void);

HEED_END_DECLS
#endif
