/* The one allocator: all memory of the library goes through it, and that of modules and operations
 * written outside may.
 *
 * Blocks come from free lists per thread, in size classes a quarter power of two apart; a class
 * that is empty is filled from the system. Callers say the size again when they free, so a block
 * carries no header. Blocks of 256 bytes and more are 64-byte aligned, smaller ones 16-byte.
 */
#ifndef HEED_TENSOR_ALLOC_H
#define HEED_TENSOR_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

HEED_BEGIN_DECLS

/* heed_alloc: `size` bytes of any content; on failure NULL, with HEED_ERR_MEMORY pending.
 * heed_alloc_zeroed: the same, filled with zeros. */
void *heed_alloc(size_t size);
void *heed_alloc_zeroed(size_t size);

/* heed_free: gives a block of heed_alloc(size) back; NULL is fine. */
void heed_free(void *block, size_t size);

/* heed_grow: a block of new_size with the content of the old one, which is freed; NULL and the old
 * one untouched on failure. */
void *heed_grow(void *block, size_t old_size, size_t new_size);

/* heed_empty_cache: gives the memory that this thread keeps for reuse back to the system, as
 * torch.cuda.empty_cache(). */
void heed_empty_cache(void);

/* heed_live_tensors, heed_live_bytes: tensors that exist, and the bytes requested for them and
 * their values, over all threads. Exact when no other thread is working. */
int64_t heed_live_tensors(void);
int64_t heed_live_bytes(void);

/* For tests. heed_allocator_keeps_blocks: false if every block comes straight from the system, as
 * in sanitizer builds. heed_fail_allocation: the n-th request of this thread from now on (0: the
 * next) fails, once; -1 cancels that. heed_system_requests: this thread's requests to
 * the system. */
void heed_fail_allocation(int64_t n);
int64_t heed_system_requests(void);
bool heed_allocator_keeps_blocks(void);

HEED_END_DECLS
#endif
