/* New tensors, and copying values in and out. */

#include "tensor.h"

#include <math.h>
#include <string.h>

heed_tensor *heed_empty(heed_shape shape, heed_dtype dtype)
{
    HEED_DOOR(NULL);
    return heed_tensor_new("empty", &shape, dtype);
}

static heed_tensor *full(const char *function, heed_shape shape, double value, heed_dtype dtype)
{
    HEED_DOOR(NULL);
    heed_tensor *t = heed_tensor_new(function, &shape, dtype);
    heed_check_value(function, value, dtype);
    heed_fill_elements(t, value);
    return t;
}

heed_tensor *heed_zeros(heed_shape shape, heed_dtype dtype)
{
    return full("zeros", shape, 0, dtype);
}

heed_tensor *heed_ones(heed_shape shape, heed_dtype dtype)
{
    return full("ones", shape, 1, dtype);
}

heed_tensor *heed_full(heed_shape shape, double value, heed_dtype dtype)
{
    return full("full", shape, value, dtype);
}

heed_tensor *heed_scalar(double value, heed_dtype dtype)
{
    return full("scalar", HEED_SCALAR, value, dtype);
}

heed_tensor *heed_eye(int64_t n, int64_t m, heed_dtype dtype)
{
    HEED_DOOR(NULL);
    heed_tensor *t = full("eye", HEED_SHAPE(n, m), 0, dtype);
    for (int64_t i = 0; i < n && i < m; i++) {
        heed_set_number_at(t, i * (m + 1), 1);
    }
    return t;
}

/* ---- like another tensor, of which only shape and dtype are read: its value may be freed ---- */

static heed_tensor *like(const char *function, const heed_tensor *x, double value)
{
    HEED_DOOR(NULL);
    if (x == NULL) {
        heed_raise(HEED_ERR_NULL, "%s: x is NULL", function);
    }
    return full(function, heed_shape_of_tensor(x), value, x->dtype);
}

heed_tensor *heed_zeros_like(const heed_tensor *x)
{
    return like("zeros_like", x, 0);
}

heed_tensor *heed_ones_like(const heed_tensor *x)
{
    return like("ones_like", x, 1);
}

heed_tensor *heed_arange(double start, double end, double step, heed_dtype dtype)
{
    HEED_DOOR(NULL);
    const double count = ceil((end - start) / step);
    if (dtype == HEED_BOOL) {
        heed_raise(HEED_ERR_DTYPE, "arange: bool is not supported; use i64 or a float");
    }
    if (dtype == HEED_I64 && (start != floor(start) || step != floor(step))) {
        heed_raise(HEED_ERR_VALUE, "arange: for i64, start %g and step %g must be integers", start,
                   step);
    }
    const bool leads_to_end = step > 0 ? end >= start : end <= start;
    if (step == 0 || !isfinite(step) || !leads_to_end || !(count < 0x1p62)) {
        heed_raise(HEED_ERR_VALUE, "arange: counting from %g in steps of %g never reaches %g",
                   start, step, end);
    }
    heed_check_value("arange", start, dtype);
    heed_check_value("arange", end, dtype);
    heed_check_value("arange", step, dtype);
    heed_tensor *t = heed_tensor_new("arange", &HEED_SHAPE((int64_t)count), dtype);
    for (int64_t i = 0; i < t->numel; i++) {
        if (dtype == HEED_I64) { /* unsigned: the distance may exceed INT64_MAX */
            const uint64_t first = (uint64_t)(int64_t)start, by = (uint64_t)(int64_t)step;
            ((int64_t *)t->data)[i] = (int64_t)(first + (uint64_t)i * by);
        } else {
            heed_set_number_at(t, i, fma(step, (double)i, start));
        }
    }
    return t;
}

/* ---- from values ---- */

heed_tensor *heed_from_values(const void *values, size_t size, heed_shape shape, heed_dtype dtype)
{
    HEED_DOOR(NULL);
    static const char *const functions[] = {"from_f32", "from_f64", "from_i64", "from_bool"};
    const char *function = (unsigned)dtype < HEED_DTYPES ? functions[dtype] : "from_values";
    heed_tensor *t = heed_tensor_new(function, &shape, dtype);
    const size_t element = heed_dtype_size(dtype), needed = (size_t)t->numel * element;
    if (values == NULL && needed > 0) {
        heed_raise(HEED_ERR_NULL, "%s: no values for a tensor %s", function, HEED_TEXT(t));
    }
    if (size < needed) {
        heed_raise(HEED_ERR_SHAPE, "%s: values has %zu elements, but shape %s needs %lld", function,
                   size / element, HEED_TEXT(t), (long long)t->numel);
    }
    if (needed > 0) {
        memcpy(t->data, values, needed);
    }
    return t;
}

/* ---- in place ---- */

static void check_target(const char *function, const heed_tensor *target)
{
    heed_check_tensor(function, "target", target);
    if (heed_is_expanded(target)) {
        heed_raise(HEED_ERR_SHAPE, "%s: the target %s is expanded, so its elements share memory",
                   function, HEED_TEXT(target));
    }
}

heed_status heed_copy_into(heed_tensor *target, const heed_tensor *source)
{
    HEED_DOOR(heed_self.error);
    check_target("copy_into", target);
    heed_check_tensor("copy_into", "source", source);
    const heed_shape to = heed_shape_of_tensor(target);
    if (!heed_broadcasts_to(source, &to)) {
        const char *of = heed_self.derivative == NULL ? heed_self.operation : NULL;
        heed_raise(HEED_ERR_SHAPE, "copy_into: source %s does not broadcast to target %s%s%s%s",
                   HEED_TEXT(source), HEED_TEXT(target),
                   of != NULL ? "; if this is the result of " : "", of != NULL ? of : "",
                   of != NULL ? ", its .rule or .signature must describe the other shape" : "");
    }
    if (source->storage != target->storage) {
        heed_copy_elements(source, target);
    } else { /* the two may overlap */
        const heed_frame frame = heed_frame_begin(false);
        heed_tensor *copy = heed_tensor_like(source);
        heed_copy_elements(source, copy);
        heed_copy_elements(copy, target);
        heed_frame_end(frame);
    }
    heed_raise_version(target);
    return HEED_OK;
}

heed_status heed_fill_into(heed_tensor *target, double value)
{
    HEED_DOOR(heed_self.error);
    check_target("fill_into", target);
    heed_check_value("fill_into", value, target->dtype);
    heed_fill_elements(target, value);
    heed_raise_version(target);
    return HEED_OK;
}

heed_status heed_copy_out(const heed_tensor *t, void *values, int64_t count)
{
    HEED_DOOR(heed_self.error);
    heed_check_tensor("copy_out", "t", t);
    if (count != t->numel || (values == NULL && count > 0)) {
        heed_raise(values == NULL ? HEED_ERR_NULL : HEED_ERR_SHAPE,
                   "copy_out: values has space for %lld elements, but tensor %s has %lld",
                   (long long)(values != NULL ? count : 0), HEED_TEXT(t), (long long)t->numel);
    }
    heed_tensor to = {.data = values, .ndim = t->ndim, .dtype = t->dtype, .shape = t->shape};
    int64_t strides[HEED_MAX_DIMS];
    to.strides = strides;
    heed_row_major(t->ndim, t->shape, strides);
    heed_copy_elements(t, &to);
    return HEED_OK;
}
