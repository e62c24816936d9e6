/* Several threads for one piece of work: a pool that starts with the first work that is worth it.
 * Idle workers spin for a moment, then sleep; the pool ends with the process.
 */
#ifndef HEED_TENSOR_PARALLEL_H
#define HEED_TENSOR_PARALLEL_H

#include <stdint.h>

#include "error.h"

HEED_BEGIN_DECLS

/* heed_set_num_threads: how many threads compute together, the calling one included, as
 * torch.set_num_threads. The default is the environment variable HEED_NUM_THREADS, else the number
 * of processors that the process may use. No result depends on it.
 * HEED_ERR_VALUE: not in 1 ... 256. heed_get_num_threads: that number. */
heed_status heed_set_num_threads(int count);
int heed_get_num_threads(void);

/* heed_parallel_for: calls work(context, first, end) for ranges that together are [0, count), on
 * the calling thread and those of the pool; returns when all is done. For operations of one's own,
 * as at::parallel_for.
 *
 *   grain   the least count that is worth another thread: a few microseconds of work
 *
 * There is one call, on this thread, if count is less than two grains, inside such work, and while
 * the pool works for another thread. The ranges differ from run to run, so results must not depend
 * on them: split what is independent. For a sum, count chunks whose number the shape decides, and
 * add their totals in order afterwards. `work` must not call the library and cannot fail: allocate
 * what it needs before. */
typedef void heed_parallel_work(void *context, int64_t first, int64_t end);
void heed_parallel_for(int64_t count, int64_t grain, heed_parallel_work *work, void *context);

HEED_END_DECLS
#endif
