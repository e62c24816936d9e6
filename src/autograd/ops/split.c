/* Consecutive parts of a tensor, composed of slices: split, chunk. */

#include <string.h>

#include "../../tensor/check.h"
#include "../../tensor/read.h"
#include "../../tensor/shape.h"
#include "operand_checks.h"
#include "operations.h"

/* Cuts a dim into parts of `size` each; slicing clips the last one. */
static int cut(heed_tensor *x, int dim, int64_t size, int count, heed_tensor **parts)
{
    for (int i = 0; i < count; i++) {
        parts[i] = heed_slice(x, dim, i * size, (i + 1) * size, 1);
        if (parts[i] == NULL) {
            memset(parts, 0, (size_t)i * sizeof *parts);
            return 0;
        }
    }
    return count;
}

/* Wraps dim, gets its size and sets all parts to NULL. */
static heed_status begin_parts(const char *function, const heed_tensor *x, int *dim, int64_t *size,
                               heed_tensor **parts, int count)
{
    if (parts == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: parts is NULL", function);
    }
    for (int i = 0; i < count; i++) {
        parts[i] = NULL;
    }
    return heed_find_size(function, x, dim, size);
}

int heed_split(heed_tensor *x, int64_t split_size, int dim, heed_tensor **parts, int most)
{
    int64_t size;
    if (begin_parts("split", x, &dim, &size, parts, most) != HEED_OK) {
        return 0;
    }
    if (split_size < 0 || (split_size == 0 && size > 0)) {
        heed_fail(HEED_ERR_VALUE,
                  "split: split_size is %lld for dim %d of %s; it must be 1 or more",
                  (long long)split_size, dim, HEED_TEXT(x));
        return 0;
    }
    const int64_t count = size == 0 ? 1 : (size - 1) / split_size + 1;
    if (count > most) {
        heed_fail(HEED_ERR_VALUE,
                  "split: dim %d of %s gives %lld parts of size %lld, but the array `parts` has "
                  "room for only %d",
                  dim, HEED_TEXT(x), (long long)count, (long long)split_size, most);
        return 0;
    }
    return cut(x, dim, split_size, (int)count, parts);
}

int heed_chunk(heed_tensor *x, int chunks, int dim, heed_tensor **parts)
{
    int64_t size;
    if (begin_parts("chunk", x, &dim, &size, parts, chunks) != HEED_OK) {
        return 0;
    }
    if (chunks < 1) {
        heed_fail(HEED_ERR_VALUE, "chunk: chunks is %d; it must be 1 or more", chunks);
        return 0;
    }
    const int64_t each = size == 0 ? 0 : (size - 1) / chunks + 1;
    const int count = size == 0 ? chunks : (int)((size - 1) / each + 1);
    return cut(x, dim, each, count, parts);
}
