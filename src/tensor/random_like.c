/* rand_like and randn_like: which numbers torch draws for a tensor that lies in memory like another.
 *
 * torch's result lies as x does, and is filled in the order of its memory. Ours is contiguous: the
 * numbers are drawn into memory like torch's, then put in their places. */
#include "tensor/core.h"
#include "tensor/iterate.h"
#include "tensor/random.h"

/* Above 0 where dim a of x comes after dim b, counted from the innermost: its stride is larger, or
 * as large and it has more elements. A stride of 0 says nothing. */
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

/* The strides that torch gives a tensor made like x: without gaps, its dims in the order in which
 * those of x lie. */
static void dense_strides(const heed_tensor *x, int64_t *strides)
{
    int dims[HEED_MAX_DIMS]; /* the innermost first */
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
    dense_strides(x, drawn->strides);
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
