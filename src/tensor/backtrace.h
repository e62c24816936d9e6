/* Backtraces for the reports of debug builds (internal). */
#ifndef HEED_TENSOR_BACKTRACE_H
#define HEED_TENSOR_BACKTRACE_H

enum { HEED_MOST_CALLERS = 32 };

/* heed_backtrace: the return addresses of at most `most` callers, innermost first; returns their
 * number, 0 where the C library has no backtrace. heed_backtrace_print: prints them to stderr. */
int heed_backtrace(void **callers, int most);
void heed_backtrace_print(void *const *callers, int count);

#endif
