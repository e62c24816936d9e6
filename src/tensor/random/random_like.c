/* rand_like and randn_like: which numbers torch draws for a tensor that lies in memory like another.
 *
 * torch's result lies as x does, and is filled in the order of its memory. Ours is contiguous: the
 * numbers are drawn into memory like torch's, then put in their places. */
#include "../core.h"
#include "../map.h"

static heed_status draw_into(heed_tensor *t, bool normal)
{
    return normal ? heed_normal_into(t, 0.0, 1.0) : heed_uniform_into(t, 0.0, 1.0);
}

static heed_tensor *draw(heed_shape shape, heed_dtype dtype, bool normal)
{
    return normal ? heed_randn(shape, dtype) : heed_rand(shape, dtype);
}

/* Of x only shape, strides and dtype are read: its value may have been let go. */
static heed_tensor *draw_like(const char *function, const heed_tensor *x, bool normal)
{
    if (heed_blocked() || heed_check_scope(function) != HEED_OK) {
        return NULL;
    }
    if (x == NULL) {
        heed_fail(HEED_ERR_NULL, "%s: x is NULL", function);
        return NULL;
    }
    if (!heed_is_float(x->dtype)) {
        heed_fail(HEED_ERR_DTYPE, "%s: x is %s; these numbers are f32 or f64, and heed_to casts",
                  function, heed_dtype_name(x->dtype));
        return NULL;
    }
    if (heed_is_row_major(x)) {
        return draw(heed_shape_of_tensor(x), x->dtype, normal);
    }
    heed_tensor *y = heed_tensor_create(function, heed_shape_of_tensor(x), x->dtype);
    heed_tensor *drawn = y != NULL ? heed_tensor_new(function, x->ndim, x->shape, x->dtype) : NULL;
    if (drawn == NULL) {
        return NULL;
    }
    heed_dense_strides(x, drawn->strides);
    if (draw_into(drawn, normal) == HEED_OK) {
        heed_copy_elements(drawn, y);
    }
    heed_unref(drawn);
    return y;
}

heed_tensor *heed_rand_like(const heed_tensor *x)
{
    return draw_like("rand_like", x, false);
}

heed_tensor *heed_randn_like(const heed_tensor *x)
{
    return draw_like("randn_like", x, true);
}
