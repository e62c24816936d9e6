/* Failing allocations and counts of system requests, for tests (internal). */
#ifndef HEED_TENSOR_ALLOC_FAULTS_H
#define HEED_TENSOR_ALLOC_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* heed_fail_allocation: the n-th request of this thread from now on (0: the next) fails, once; -1
 * cancels that. heed_system_requests: this thread's requests to the system.
 * heed_allocator_keeps_blocks: false if every block comes from the system and is returned to it at
 * once, as in sanitizer builds. */
void heed_fail_allocation(int64_t n);
int64_t heed_system_requests(void);
bool heed_allocator_keeps_blocks(void);

#endif
