/* The pool of threads that compute one operation together, and the floating-point mode in which
 * they do. The first job that is large enough starts the pool; it ends with the process.
 */
#ifndef HEED_TENSOR_PARALLEL_H
#define HEED_TENSOR_PARALLEL_H

#include <stdint.h>

#include "error.h"

HEED_BEGIN_DECLS

/* heed_set_num_threads: sets the number of threads that compute together, including the calling
 * one, like torch.set_num_threads. The default is the environment variable HEED_NUM_THREADS, else
 * the number of processors available to the process. If that variable is not in 1 ... 256, creating
 * a tensor fails with HEED_ERR_VALUE. Results do not depend on the number of threads.
 * HEED_ERR_VALUE: count is not in 1 ... 256.
 * heed_get_num_threads: the current number. */
heed_status heed_set_num_threads(int count);
int heed_get_num_threads(void);

/* heed_parallel_for: calls work(context, first, end) on ranges that together cover [0, count), on
 * the calling thread and the pool's; returns when all calls have finished. Like at::parallel_for;
 * your own operations can use it.
 *
 *   grain   the minimum count per thread: a few microseconds of work
 *
 * A single call on the calling thread covers everything if count is less than two grains, in a
 * nested call, or while the pool is working for another thread. Ranges differ from run to run, and
 * results must not depend on them: split only independent work. For a sum, split into chunks whose
 * number depends on the shape alone, and add their totals in order afterwards. `work` must not call
 * the library and cannot fail; allocate what it needs beforehand. It runs in the caller's
 * floating-point mode: rounding, and flushing of subnormal numbers. */
typedef void heed_parallel_work(void *context, int64_t first, int64_t end);
void heed_parallel_for(int64_t count, int64_t grain, heed_parallel_work *work, void *context);

/* heed_set_flush_denormal: makes the calling thread's arithmetic treat subnormal numbers as 0, as
 * torch.set_flush_denormal(enabled); off by default. Subnormal numbers are below 1.2e-38 in f32 and
 * 2.2e-308 in f64; arithmetic on them takes up to a hundred times as long on many processors.
 * Returns false if the machine does not support it: x86-64 and aarch64 do. The mode applies to all
 * of the thread's arithmetic, not only to Heed's. */
bool heed_set_flush_denormal(bool enabled);

HEED_END_DECLS
#endif
