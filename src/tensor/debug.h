/* What a debug build adds (make DEBUG=1); in other builds HEED_IS_DEBUG is 0, and none of it is
 * called (internal).
 *
 * - The first error prints a backtrace.
 * - Freed blocks are filled with HEED_POISON (blocks.h), which is NaN in floats and -1 in integers.
 * - Handles of freed tensors are buried for a while rather than reused, so that a tensor used after
 *   the end of its scope is recognised, with the function that made it.
 * - A derivative sees only the values that its operation declares in .saves (autograd/saved.h).
 * - A thread whose live tensors only grow from one backward to the next gets a warning.
 */
#ifndef HEED_TENSOR_DEBUG_H
#define HEED_TENSOR_DEBUG_H

#include "tensor.h"
#include "thread.h"

/* Handles are allocated with HEED_TRACE bytes more, where heed_debug_made notes the function that
 * made them. heed_debug_bury: keeps the memory of a freed handle, and returns the handle that has
 * been kept longest if it is to be freed instead, or NULL. */
enum { HEED_TRACE = HEED_IS_DEBUG ? sizeof(const char *) : 0 };
void heed_debug_made(heed_tensor *t, const char *function);
heed_tensor *heed_debug_bury(heed_tensor *t);

/* heed_debug_hide: fills `proxy`, which stands for `t` where its value must not be read; `reason`
 * becomes the error if it is. */
void heed_debug_hide(heed_tensor *proxy, const heed_tensor *t, const char *reason);

/* heed_debug_fail_freed: the error of a tensor without a value.
 * HEED_ERR_GRAPH: it is hidden. HEED_ERR_SCOPE: its scope has ended. */
heed_status heed_debug_fail_freed(const char *function, const char *argument, const heed_tensor *t);

/* heed_debug_count_step: called at the end of each backward. */
void heed_debug_count_step(void);

#endif
