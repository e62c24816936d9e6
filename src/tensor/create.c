/* New tensors, and values in and out of them. arange and linspace are in range.c. */

#include "create.h"

#include <string.h>

#include "core.h"
#include "map.h"

static heed_tensor *filled(const char *function, heed_shape shape, double value, heed_dtype dtype)
{
    heed_tensor *t = heed_tensor_create(function, shape, dtype);
    if (t == NULL || heed_check_value(function, value, dtype) != HEED_OK) {
        return NULL;
    }
    heed_fill_elements(t, value);
    return t;
}

heed_tensor *heed_empty(heed_shape shape, heed_dtype dtype)
{
    return heed_tensor_create("empty", shape, dtype);
}

heed_tensor *heed_zeros(heed_shape shape, heed_dtype dtype)
{
    return filled("zeros", shape, 0, dtype);
}

heed_tensor *heed_ones(heed_shape shape, heed_dtype dtype)
{
    return filled("ones", shape, 1, dtype);
}

heed_tensor *heed_full(heed_shape shape, double value, heed_dtype dtype)
{
    return filled("full", shape, value, dtype);
}

heed_tensor *heed_scalar(double value, heed_dtype dtype)
{
    return filled("scalar", HEED_SCALAR, value, dtype);
}

heed_tensor *heed_eye(int64_t n, int64_t m, heed_dtype dtype)
{
    heed_tensor *t = filled("eye", HEED_SHAPE(n, m), 0, dtype);
    if (t == NULL) {
        return NULL;
    }
    int64_t count = n < m ? n : m, step = m + 1;
    heed_tensor diagonal = {
        .data = t->data, .ndim = 1, .dtype = dtype, .shape = &count, .strides = &step};
    heed_fill_elements(&diagonal, 1);
    return t;
}

/* ---- like another tensor ---- */

/* Of x only shape and dtype are read: its value may have been let go. */
static heed_tensor *filled_like(const char *function, const heed_tensor *x, double value)
{
    if (x == NULL) {
        heed_fail(HEED_ERR_NULL, "%s: x is NULL", function);
        return NULL;
    }
    return filled(function, heed_shape_of_tensor(x), value, x->dtype);
}

heed_tensor *heed_empty_like(const heed_tensor *x)
{
    if (x == NULL) {
        heed_fail(HEED_ERR_NULL, "empty_like: x is NULL");
        return NULL;
    }
    return heed_tensor_create("empty_like", heed_shape_of_tensor(x), x->dtype);
}

heed_tensor *heed_zeros_like(const heed_tensor *x)
{
    return filled_like("zeros_like", x, 0);
}

heed_tensor *heed_ones_like(const heed_tensor *x)
{
    return filled_like("ones_like", x, 1);
}

heed_tensor *heed_full_like(const heed_tensor *x, double value)
{
    return filled_like("full_like", x, value);
}

/* ---- in ---- */

static heed_tensor *from(const char *function, const void *values, heed_shape shape,
                         heed_dtype dtype)
{
    heed_tensor *t = heed_tensor_create(function, shape, dtype);
    if (t == NULL) {
        return NULL;
    }
    if (values == NULL && t->numel > 0) {
        heed_fail(HEED_ERR_NULL, "%s: no values for a tensor %s", function, HEED_TEXT(t));
        return NULL;
    }
    if (t->numel > 0) {
        memcpy(t->data, values, (size_t)t->numel * heed_dtype_size(dtype));
    }
    return t;
}

heed_tensor *heed_from_f32(const float *values, heed_shape shape)
{
    return from("from_f32", values, shape, HEED_F32);
}

heed_tensor *heed_from_f64(const double *values, heed_shape shape)
{
    return from("from_f64", values, shape, HEED_F64);
}

heed_tensor *heed_from_i64(const int64_t *values, heed_shape shape)
{
    return from("from_i64", values, shape, HEED_I64);
}

heed_tensor *heed_from_bool(const bool *values, heed_shape shape)
{
    return from("from_bool", values, shape, HEED_BOOL);
}

static heed_status check_target(const char *function, const heed_tensor *target)
{
    if (heed_check_tensor(function, "target", target) != HEED_OK) {
        return heed_self.error;
    }
    if (heed_is_expanded(target)) {
        return heed_fail(HEED_ERR_SHAPE, "%s: the target %s is expanded: its elements share memory",
                         function, HEED_TEXT(target));
    }
    return HEED_OK;
}

/* A copy of x that shares no memory with it, not in any scope. */
static heed_tensor *snapshot(const heed_tensor *x)
{
    heed_tensor *copy = heed_tensor_new("copy_into", x->ndim, x->shape, x->dtype);
    if (copy != NULL) {
        heed_copy_elements(x, copy);
    }
    return copy;
}

heed_status heed_copy_into(heed_tensor *target, const heed_tensor *source)
{
    if (heed_blocked() || check_target("copy_into", target) != HEED_OK ||
        heed_check_tensor("copy_into", "source", source) != HEED_OK) {
        return heed_self.error;
    }
    const heed_shape to = heed_shape_of_tensor(target);
    if (!heed_broadcasts_to(source, &to)) {
        return heed_fail(HEED_ERR_SHAPE, "copy_into: source %s does not broadcast to target %s",
                         HEED_TEXT(source), HEED_TEXT(target));
    }
    heed_tensor *copy = source->storage == target->storage ? snapshot(source) : NULL;
    if (copy == NULL && source->storage == target->storage) {
        return heed_self.error;
    }
    heed_copy_elements(copy != NULL ? copy : source, target);
    if (copy != NULL) {
        heed_unref(copy);
    }
    heed_raise_version(target);
    return HEED_OK;
}

heed_status heed_fill_into(heed_tensor *target, double value)
{
    if (heed_blocked() || check_target("fill_into", target) != HEED_OK ||
        heed_check_value("fill_into", value, target->dtype) != HEED_OK) {
        return heed_self.error;
    }
    heed_fill_elements(target, value);
    heed_raise_version(target);
    return HEED_OK;
}

/* ---- out ---- */

heed_status heed_copy_out(const heed_tensor *t, void *values, int64_t count)
{
    if (heed_blocked() || heed_check_tensor("copy_out", "t", t) != HEED_OK) {
        return heed_self.error;
    }
    if (count != t->numel || (values == NULL && count > 0)) {
        return heed_fail(values == NULL ? HEED_ERR_NULL : HEED_ERR_SHAPE,
                         "copy_out: room for %lld elements, a tensor %s has %lld",
                         (long long)(values != NULL ? count : 0), HEED_TEXT(t),
                         (long long)t->numel);
    }
    heed_tensor to = {.data = values, .ndim = t->ndim, .dtype = t->dtype, .shape = t->shape};
    int64_t strides[HEED_MAX_DIMS];
    to.strides = strides;
    heed_row_major(t->ndim, t->shape, strides);
    heed_copy_elements(t, &to);
    return HEED_OK;
}
