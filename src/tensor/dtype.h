/* Element types and the maximum number of dims: definitions that the kernels use too. */
#ifndef HEED_TENSOR_DTYPE_H
#define HEED_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Heed does not byte-swap its little-endian files: big-endian machines are not supported"
#endif

HEED_BEGIN_DECLS

/* The maximum number of dims of a tensor. */
enum { HEED_MAX_DIMS = 8 };

/* The types of elements. HEED_DTYPES is their number. */
typedef enum heed_dtype {
    HEED_F32,  /* float, the default: torch.float32 */
    HEED_F64,  /* double, for gradient checks: torch.float64 */
    HEED_I64,  /* int64_t, token ids and targets: torch.int64 */
    HEED_BOOL, /* bool, masks: torch.bool */
    HEED_DTYPES
} heed_dtype;

/* heed_is_float: true for f32 and f64. */
static inline bool heed_is_float(heed_dtype dtype)
{
    return dtype == HEED_F32 || dtype == HEED_F64;
}

/* heed_dtype_name: "f32"; "no dtype" for any other value. */
const char *heed_dtype_name(heed_dtype dtype);

/* heed_dtype_size: bytes per element; 0 for an invalid dtype. */
static inline size_t heed_dtype_size(heed_dtype dtype)
{
    const bool is_known = (unsigned)dtype < HEED_DTYPES;
    return dtype == HEED_F32    ? sizeof(float)
           : dtype == HEED_BOOL ? sizeof(bool)
                                : is_known * sizeof(double); /* f64 and i64 */
}

HEED_END_DECLS
#endif
