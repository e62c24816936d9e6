/* Ids, indices and classes: the one place that says whether they are inside their range. */
#include "ids.h"

#include "../../tensor/read.h"
#include "shape.h"

heed_status heed_check_id(const char *function, const char *what, int64_t id, int64_t place,
                          int64_t count)
{
    if (id < 0 || id >= count) {
        return heed_fail(HEED_ERR_INDEX, "%s: %s %lld at place %lld is outside [0, %lld)", function,
                         what, (long long)id, (long long)place, (long long)count);
    }
    return HEED_OK;
}

const int64_t *heed_checked_ids(const char *function, const char *what, heed_tensor *ids,
                                int64_t count)
{
    const int64_t *id = heed_const_data_i64(heed_contiguous(ids));
    for (int64_t i = 0; id != NULL && i < ids->numel; i++) {
        if (heed_check_id(function, what, id[i], i, count) != HEED_OK) {
            return NULL;
        }
    }
    return id;
}
