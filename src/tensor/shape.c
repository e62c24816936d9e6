/* Shape arithmetic: sizes, dims, strides and broadcasting; names of dtypes. Broadcasting errors
 * name both shapes.
 *
 * Uses only shapes and strides; never reads or writes elements. */
#include "tensor.h"

#include <string.h>

const char *heed_dtype_name(heed_dtype dtype)
{
    static const char *const names[] = {"f32", "f64", "i64", "bool"};
    return (unsigned)dtype < HEED_DTYPES ? names[dtype] : "no dtype";
}

heed_text heed_shape_text(int ndim, const int64_t *shape)
{
    heed_text text = {"("};
    size_t at = 1;
    /* 8 is HEED_MAX_DIMS. A larger ndim is the caller's mistake. */
    for (int i = 0; shape != NULL && i < ndim && i < 8 && at < sizeof text.text; i++) {
        at += (size_t)snprintf(text.text + at, sizeof text.text - at, i > 0 ? ", %lld" : "%lld",
                               (long long)shape[i]);
    }
    if (at + 1 < sizeof text.text) {
        strcpy(text.text + at, ")");
    }
    return text;
}

int64_t heed_count_elements(const char *function, int ndim, const int64_t *shape, heed_dtype dtype)
{
    if (ndim < 0 || ndim > HEED_MAX_DIMS) {
        heed_raise(HEED_ERR_SHAPE, "%s: %d dims; a tensor has 0 to %d", function, ndim,
                   HEED_MAX_DIMS);
    }
    if ((unsigned)dtype >= HEED_DTYPES) {
        heed_raise(HEED_ERR_DTYPE, "%s: %d is not a dtype", function, (int)dtype);
    }
    uint64_t count = 1, bits = 0;
    for (int i = 0; i < ndim; i++) {
        count *= (uint64_t)shape[i];
        bits |= (uint64_t)shape[i];
    }
    if (bits < 1 << 7) { /* small sizes, none negative: 8 of them cannot overflow */
        return (int64_t)count;
    }
    bool is_empty = false, is_negative = false;
    int64_t reach = 1; /* skips zeros: strides must not overflow either */
    for (int i = 0; i < ndim; i++) {
        if (shape[i] <= 0) {
            is_empty = true;
            is_negative = is_negative || shape[i] < 0;
        } else if (__builtin_mul_overflow(reach, shape[i], &reach)) {
            reach = INT64_MAX;
        }
    }
    const int64_t most_bytes = PTRDIFF_MAX / 4;
    if (is_negative || (reach > most_bytes / 8 && /* no division for ordinary sizes */
                        reach > most_bytes / (int64_t)heed_dtype_size(dtype))) {
        heed_raise(is_negative ? HEED_ERR_SHAPE : HEED_ERR_OVERFLOW,
                   is_negative ? "%s: negative size in %s"
                               : "%s: %s has more elements than memory can address",
                   function, heed_shape_text(ndim, shape).text);
    }
    return is_empty ? 0 : reach;
}

int heed_wrap_dim(const char *function, int dim, int ndim)
{
    int count = ndim == 0 ? 1 : ndim; /* a scalar accepts 0 and -1 */
    if (dim < -count || dim >= count) {
        heed_raise(HEED_ERR_DIM, "%s: dim %d is outside [%d, %d) for a tensor with %d dims",
                   function, dim, -count, count, ndim);
    }
    return dim < 0 ? dim + count : dim;
}

unsigned heed_wrap_dims(const char *function, heed_dims dims, int ndim)
{
    unsigned set = 0;
    if (dims.count < 0 || dims.count > HEED_MAX_DIMS) {
        heed_raise(HEED_ERR_DIM, "%s: a list of %d dims; it takes 0 to %d", function, dims.count,
                   HEED_MAX_DIMS);
    }
    for (int i = 0; i < dims.count; i++) {
        const int dim = heed_wrap_dim(function, dims.dim[i], ndim);
        if (set & 1u << dim) {
            heed_raise(HEED_ERR_DIM, "%s: dim %d is given twice", function, dim);
        }
        set |= 1u << dim;
    }
    return set;
}

/* Positive if dim a of x is outside dim b in memory order: a has the larger stride, or an equal
 * stride and a larger size. 0 if one has stride 0: such dims cannot be ordered. */
static int compare_dims(const heed_tensor *x, int a, int b)
{
    if (x->strides[a] == 0 || x->strides[b] == 0) {
        return 0;
    }
    if (x->strides[a] != x->strides[b]) {
        return x->strides[a] > x->strides[b] ? 1 : -1;
    }
    return x->shape[a] > x->shape[b];
}

/* The sort order is torch's: dims that compare_dims cannot order are skipped. */
void heed_dense_strides(const heed_tensor *x, int64_t *strides)
{
    int dims[HEED_MAX_DIMS]; /* innermost first */
    for (int i = 0; i < x->ndim; i++) {
        dims[i] = x->ndim - 1 - i;
        for (int moved = i, at = i - 1; at >= 0; at--) {
            const int order = compare_dims(x, dims[at], dims[moved]);
            if (order < 0) {
                break;
            }
            if (order > 0) {
                const int dim = dims[moved];
                dims[moved] = dims[at];
                dims[at] = dim;
                moved = at;
            }
        }
    }
    int64_t stride = 1;
    for (int i = 0; i < x->ndim; i++) {
        strides[dims[i]] = stride;
        stride *= x->shape[dims[i]] > 1 ? x->shape[dims[i]] : 1;
    }
}

bool heed_broadcast(const char *function, const heed_shape *a, const heed_shape *b, heed_shape *out)
{
    int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    out->ndim = ndim;
    for (int i = 0; i < ndim; i++) { /* counted from the last dim */
        int64_t size_a = i < a->ndim ? a->size[a->ndim - 1 - i] : 1;
        int64_t size_b = i < b->ndim ? b->size[b->ndim - 1 - i] : 1;
        if (size_a != size_b && size_a != 1 && size_b != 1) {
            if (function == NULL) {
                return false;
            }
            heed_raise(HEED_ERR_SHAPE,
                       "%s: shapes %s and %s do not broadcast: sizes %lld and %lld in dim %d "
                       "from the end; make them equal, or one of them 1",
                       function, heed_shape_text(a->ndim, a->size).text,
                       heed_shape_text(b->ndim, b->size).text, (long long)size_a, (long long)size_b,
                       i + 1);
        }
        out->size[ndim - 1 - i] = size_a == 1 ? size_b : size_a;
    }
    return true;
}

void heed_broadcast_strides(const heed_tensor *t, int ndim, const int64_t *shape, int64_t *strides)
{
    int added = ndim - t->ndim;
    for (int i = 0; i < ndim; i++) {
        bool repeated = i < added || (t->shape[i - added] == 1 && shape[i] != 1);
        strides[i] = repeated ? 0 : t->strides[i - added];
    }
}
