/* The calling thread's mode for subnormal numbers. */
#include "denormal.h"

#include "thread.h"

bool heed_set_flush_denormal(bool enabled)
{
    const uint64_t mode = heed_float_mode(), flush = FLUSH_MODE;
    heed_set_float_mode(enabled ? mode | flush : mode & ~flush);
    return flush != 0;
}

bool heed_flush_denormal(void)
{
    const uint64_t flush = FLUSH_MODE;
    return flush != 0 && (heed_float_mode() & flush) == flush;
}
