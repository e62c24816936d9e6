/* The memory of this machine. */
#include "examples/common/memory.h"

#include <unistd.h>

heed_status memory_check(double bytes, const char *needs_less)
{
    double memory = 64e9;
#ifdef _SC_PHYS_PAGES
    memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
#endif
    if (bytes <= memory) {
        return heed_error_pending();
    }
    return heed_fail(
        HEED_ERR_VALUE,
        "a training step would need about %.0f GB, and there are %.0f; make %s smaller",
        bytes / 1e9, memory / 1e9, needs_less);
}
