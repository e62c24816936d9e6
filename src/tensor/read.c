/* Reading a tensor: sizes, single elements, and pointers to its memory. */
#include "tensor.h"

#include <math.h>

/* ---- the shape ---- */

static bool is_given(const char *function, const heed_tensor *t)
{
    if (!heed_blocked() && t == NULL) {
        heed_fail(HEED_ERR_NULL, "%s: t is NULL", function);
    }
    return !heed_blocked();
}

int64_t heed_size(const heed_tensor *t, int dim)
{
    HEED_DOOR(0);
    is_given("size", t);
    if (t->ndim == 0) {
        heed_raise(HEED_ERR_DIM, "size: a tensor without dims has no sizes");
    }
    return t->shape[heed_wrap_dim("size", dim, t->ndim)];
}

heed_shape heed_shape_of_tensor(const heed_tensor *t)
{
    heed_shape shape = {0};
    if (is_given("shape_of_tensor", t)) {
        heed_get_shape(t, &shape);
    }
    return shape;
}

bool heed_is_contiguous(const heed_tensor *t)
{
    return is_given("is_contiguous", t) && heed_is_row_major(t);
}

/* ---- elements ---- */

static bool one_element(const char *function, const heed_tensor *t)
{
    if (heed_check_tensor(function, "t", t) == HEED_OK && t->numel != 1) {
        heed_fail(HEED_ERR_SHAPE, "%s: %s has %lld elements, not one; heed_at reads one of several",
                  function, HEED_TEXT(t), (long long)t->numel);
    }
    return !heed_blocked();
}

double heed_item(const heed_tensor *t)
{
    return one_element("item", t) ? heed_number_at(t, 0) : (double)NAN;
}

int64_t heed_item_i64(const heed_tensor *t)
{
    HEED_DOOR(0);
    one_element("item_i64", t);
    if (heed_is_float(t->dtype)) {
        heed_raise(HEED_ERR_DTYPE, "item_i64: t is %s; use heed_item", heed_dtype_name(t->dtype));
    }
    return t->dtype == HEED_I64 ? *(const int64_t *)t->data : *(const bool *)t->data;
}

double heed_at(const heed_tensor *t, heed_shape index)
{
    HEED_DOOR((double)NAN);
    heed_check_tensor("at", "t", t);
    if (index.ndim != t->ndim) {
        heed_raise(HEED_ERR_SHAPE, "at: %d indices for a tensor %s; give one per dim", index.ndim,
                   HEED_TEXT(t));
    }
    int64_t offset = 0;
    for (int i = 0; i < t->ndim; i++) {
        int64_t at = index.size[i] < 0 ? index.size[i] + t->shape[i] : index.size[i];
        if (at < 0 || at >= t->shape[i]) {
            heed_raise(HEED_ERR_INDEX, "at: index %lld in dim %d is out of range for a tensor %s",
                       (long long)index.size[i], i, HEED_TEXT(t));
        }
        offset += at * t->strides[i];
    }
    return heed_number_at(t, offset);
}

/* ---- pointers to the elements ---- */

static void *data_of(const char *function, const heed_tensor *t, heed_dtype dtype)
{
    if (heed_check_tensor(function, "t", t) == HEED_OK && t->dtype != dtype) {
        heed_fail(HEED_ERR_DTYPE, "%s: t is %s; cast it with heed_to", function,
                  heed_dtype_name(t->dtype));
    } else if (!heed_blocked() && !heed_is_row_major(t)) {
        heed_fail(HEED_ERR_SHAPE,
                  "%s: t %s is not contiguous; copy it with heed_contiguous, or write through it "
                  "with heed_copy_into",
                  function, HEED_TEXT(t));
    }
    return heed_blocked() ? NULL : t->data;
}

#define DATA_DOORS(name, type, dtype)                                                              \
    type *heed_data_##name(heed_tensor *t)                                                         \
    {                                                                                              \
        type *data = data_of("data_" #name, t, dtype);                                             \
        if (data != NULL) {                                                                        \
            heed_raise_version(t);                                                                 \
        }                                                                                          \
        return data;                                                                               \
    }                                                                                              \
    const type *heed_const_data_##name(const heed_tensor *t)                                       \
    {                                                                                              \
        return data_of("const_data_" #name, t, dtype);                                             \
    }
DATA_DOORS(f32, float, HEED_F32)
DATA_DOORS(f64, double, HEED_F64)
DATA_DOORS(i64, int64_t, HEED_I64)
DATA_DOORS(bool, bool, HEED_BOOL)
