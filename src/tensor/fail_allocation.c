/* Sets and reads what alloc.c counts: the allocations that tests make fail. */
#include "fail_allocation.h"

#include "blocks.h"

bool heed_allocator_keeps_blocks(void)
{
#ifdef HEED_SYSTEM_ALLOCATOR
    return false;
#else
    return !HEED_IS_DEBUG; /* debug builds do not reuse handles at once */
#endif
}

void heed_fail_allocations(int64_t n, int64_t count)
{
    heed_self.fail_countdown = n + 1;
    heed_self.failures_left = count;
}

void heed_fail_allocation(int64_t n)
{
    heed_fail_allocations(n, 1);
}

int64_t heed_allocation_failures(void)
{
    return heed_self.failures;
}

int64_t heed_system_requests(void)
{
    return heed_self.system_requests;
}
