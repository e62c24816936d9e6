/* Ids, indices and classes: the one place that says whether they are inside their range. */
#include "autograd/ids.h"

#include "autograd/shape.h"

const int64_t *heed_checked_ids(const char *function, const char *what, heed_tensor *ids,
                                int64_t count)
{
    const int64_t *id = heed_const_data_i64(heed_contiguous(ids));
    for (int64_t i = 0; id != NULL && i < ids->numel; i++) {
        if (id[i] < 0 || id[i] >= count) {
            heed_fail(HEED_ERR_INDEX, "%s: %s %lld at place %lld is outside [0, %lld)", function,
                      what, (long long)id[i], (long long)i, (long long)count);
            return NULL;
        }
    }
    return id;
}
