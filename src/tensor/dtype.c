/* Names of dtypes; any value is accepted. */
#include "dtype.h"

const char *heed_dtype_name(heed_dtype dtype)
{
    static const char *const names[] = {"f32", "f64", "i64", "bool"};
    return (unsigned)dtype < HEED_DTYPES ? names[dtype] : "no dtype";
}
