/* Memory for modules, operations and programs, from the allocator that tensors use, and counts of
 * what is alive.
 *
 * Blocks come from free lists per thread, so a block that was used before costs little more than a
 * function call. They may be freed by any thread.
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
 * On failure NULL, and the old block is unchanged.
 *
 * heed_free: frees a block of these functions; NULL is a no-op.
 * HEED_ERR_VALUE: the block came from elsewhere or has been freed, as far as can be told. */
void *heed_alloc(size_t size);
void *heed_alloc_zeroed(size_t size);
void *heed_realloc(void *block, size_t size);
void heed_free(void *block);

/* heed_empty_cache: returns the free memory of this thread to the system, as
 * torch.cuda.empty_cache(). */
void heed_empty_cache(void);

/* heed_live_tensors, heed_live_bytes: the tensors that exist, and the bytes requested and not yet
 * freed, over all threads. Exact while no other thread is working. */
int64_t heed_live_tensors(void);
int64_t heed_live_bytes(void);

HEED_END_DECLS
#endif
