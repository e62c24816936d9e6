/* For tests (internal): allocations that fail, and counts of requests to the system.
 *
 * heed_fail_allocation: makes this thread's next request (n = 0), or the n-th one after it, fail
 * once; -1 cancels this. heed_fail_allocations: the same for `count` consecutive requests, counted
 * from the n-th; INT64_MAX: this one and all later ones.
 * heed_allocation_failures: the number of this thread's requests that were made to fail.
 * heed_system_requests: the number of blocks this thread has requested from the system.
 * heed_allocator_keeps_blocks: false if every block comes from the system and is returned to it at
 * once, as in sanitizer builds.
 */
#ifndef HEED_TENSOR_FAIL_ALLOCATION_H
#define HEED_TENSOR_FAIL_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

void heed_fail_allocation(int64_t n);
void heed_fail_allocations(int64_t n, int64_t count);
int64_t heed_allocation_failures(void);
int64_t heed_system_requests(void);
bool heed_allocator_keeps_blocks(void);

#endif
