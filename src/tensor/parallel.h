/* Several threads for one piece of work: a pool that starts with the first work that is worth it, waits
 * spinning for a moment and then asleep, and ends with the process.
 */
#ifndef HEED_TENSOR_PARALLEL_H
#define HEED_TENSOR_PARALLEL_H

#include <stdint.h>

#include "error.h"

HEED_BEGIN_DECLS

/* heed_set_num_threads: how many threads compute together, the calling one included, as
 * torch.set_num_threads; at first as many as the environment variable HEED_NUM_THREADS says, else as the
 * process may use processors. No result depends on it.
 * HEED_ERR_VALUE: not in 1 ... 256. heed_get_num_threads: that number. */
heed_status heed_set_num_threads(int count);
int heed_get_num_threads(void);

/* heed_parallel_for: calls work(context, first, end) for ranges that together are [0, count), on the calling
 * thread and those of the pool; returns when all is done. For operations of one's own, as at::parallel_for.
 *
 *   grain   the least that is worth another thread: some 10 microseconds of work
 *
 * It is one call for all, here, where count is less than two grains, inside of such work, and while the pool
 * works for another thread. How a count is cut differs from time to time, so results must not depend on it:
 * split what is independent, and where a sum is wanted count chunks of it, whose number the shape decides,
 * and add their totals in order afterwards. Work has nothing of the library to call, and cannot fail: what
 * it needs is made before. */
typedef void heed_parallel_work(void *context, int64_t first, int64_t end);
void heed_parallel_for(int64_t count, int64_t grain, heed_parallel_work *work, void *context);

HEED_END_DECLS
#endif
