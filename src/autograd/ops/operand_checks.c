/* Checks of dims, and bounds checks of indices, all in one place. */
#include "operand_checks.h"

#include "../../tensor/check.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "operations.h"

heed_status heed_find_size(const char *function, const heed_tensor *x, int *dim, int64_t *size)
{
    if (heed_check_operand(function, "x", x) != HEED_OK ||
        heed_wrap_dim(function, *dim, x->ndim, dim) != HEED_OK) {
        return heed_self.error;
    }
    if (x->ndim == 0) {
        return heed_fail(HEED_ERR_DIM, "%s: a tensor without dims cannot be sliced", function);
    }
    *size = x->shape[*dim];
    return HEED_OK;
}

heed_status heed_check_index(const char *function, const char *what, int64_t index, int64_t place,
                             int64_t count)
{
    if (index < 0 || index >= count) {
        return heed_fail(HEED_ERR_INDEX, "%s: %s %lld at position %lld is outside [0, %lld)",
                         function, what, (long long)index, (long long)place, (long long)count);
    }
    return HEED_OK;
}

const int64_t *heed_checked_indices(const char *function, const char *what, heed_tensor *indices,
                                    int64_t count)
{
    const int64_t *index = heed_const_data_i64(heed_contiguous(indices));
    for (int64_t i = 0; index != NULL && i < indices->numel; i++) {
        if (heed_check_index(function, what, index[i], i, count) != HEED_OK) {
            return NULL;
        }
    }
    return index;
}
