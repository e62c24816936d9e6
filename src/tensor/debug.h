/* Checks added by debug builds (make DEBUG=1); in other builds HEED_IS_DEBUG is 0, and none of
 * these functions is called (internal).
 *
 * - The first error prints a backtrace.
 * - Freed blocks are filled with HEED_POISON (blocks.h), which is NaN in floats and -1 in integers.
 * - Handles of freed tensors are kept for a while rather than reused, so that the use of a tensor
 *   after the end of its scope is detected, and the error names the function that made the tensor.
 * - A derivative sees only the values that its operation declares in .saves (autograd/saved.h).
 * - A warning is printed if the number of live tensors grows in many backward passes in a row.
 */
#ifndef HEED_TENSOR_DEBUG_H
#define HEED_TENSOR_DEBUG_H

#include "tensor.h"
#include "thread.h"

/* Handles have HEED_TRACE extra bytes, in which heed_debug_made records the function that made
 * them. heed_debug_bury: keeps the memory of a freed handle; returns the oldest handle kept if it
 * must be freed now, else NULL. */
enum { HEED_TRACE = HEED_IS_DEBUG ? sizeof(const char *) : 0 };
void heed_debug_made(heed_tensor *t, const char *function);
heed_tensor *heed_debug_bury(heed_tensor *t);

/* heed_debug_hide: fills `proxy`, which replaces `t` where t's value must not be read; reading the
 * proxy fails with the message `reason`. */
void heed_debug_hide(heed_tensor *proxy, const heed_tensor *t, const char *reason);

/* heed_debug_fail_freed: fails with the error for a tensor without a value.
 * HEED_ERR_GRAPH: t is hidden. HEED_ERR_SCOPE: its scope has ended. */
heed_status heed_debug_fail_freed(const char *function, const char *argument, const heed_tensor *t);

enum { HEED_MOST_CALLERS = 32 };

/* heed_backtrace: the return addresses of at most `most` callers, innermost first; returns their
 * number, 0 where the C library has no backtrace. heed_backtrace_print: prints them to stderr. Both
 * are in backtrace.c. */
int heed_backtrace(void **callers, int most);
void heed_backtrace_print(void *const *callers, int count);

/* heed_debug_count_step: called at the end of each backward pass. */
void heed_debug_count_step(void);

#endif
