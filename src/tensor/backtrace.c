/* Where an error occurred, and where an operation was called: backtraces of debug builds. Apart
 * from debug.c, whose checks report errors themselves. */
#include <stdio.h>
#include <unistd.h>

#if defined __has_include
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define HAS_BACKTRACE
#endif
#endif

#include "debug.h"

/* Not inlined: heed_debug_print_error counts its frame. */
__attribute__((noinline)) int heed_backtrace(void **callers, int most)
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

void heed_debug_print_error(const char *status, const char *message)
{
    static int printed; /* set atomically */
    if (__atomic_exchange_n(&printed, 1, __ATOMIC_RELAXED) != 0) {
        return;
    }
    fprintf(stderr, "heed: the first error, %s: %s\n", status, message);
    enum { OWN = 3 }; /* heed_backtrace, this function and heed_fail */
    void *callers[HEED_MOST_CALLERS];
    const int count = heed_backtrace(callers, HEED_MOST_CALLERS);
    if (count > OWN) {
        heed_backtrace_print(callers + OWN, count - OWN);
    }
}
