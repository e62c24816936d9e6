/* Names and sizes of dtypes. Any value is taken: one that is no dtype has a name and size 0. */
#include "dtype.h"

const char *heed_dtype_name(heed_dtype dtype)
{
    static const char *const names[] = {"f32", "f64", "i64", "bool"};
    return (unsigned)dtype < HEED_DTYPES ? names[dtype] : "no dtype";
}

size_t heed_dtype_size(heed_dtype dtype)
{
    static const size_t sizes[] = {sizeof(float), sizeof(double), sizeof(int64_t), sizeof(bool)};
    return (unsigned)dtype < HEED_DTYPES ? sizes[dtype] : 0;
}
