/* Backtraces by execinfo.h, if the C library has it. */
#include "backtrace.h"

#include <unistd.h>

#if defined __has_include
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define HAS_BACKTRACE
#endif
#endif

int heed_backtrace(void **callers, int most)
{
#ifdef HAS_BACKTRACE
    return backtrace(callers, most);
#else
    (void)callers, (void)most;
    return 0;
#endif
}

void heed_backtrace_print(void *const *callers, int count)
{
#ifdef HAS_BACKTRACE
    backtrace_symbols_fd(callers, count, STDERR_FILENO);
#else
    (void)callers, (void)count;
#endif
}
