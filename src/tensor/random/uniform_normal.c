/* Tensors of uniform and normal numbers: checks arguments, walks memory in torch's order and draws
 * the numbers that generator.c generates.
 *
 * Everything that can fail comes before the first draw, so a
 * failing call leaves the generator unchanged. */
#include <float.h>
#include <math.h>

#include "../broadcast_walk.h"
#include "../check.h"
#include "../create.h"
#include "../handle.h"
#include "../read.h"
#include "../shape.h"
#include "generator.h"

/* ---- fills ---- */

static heed_random_fills uniform = {
    [HEED_F32] = heed_fill_uniform_f32, [HEED_F64] = heed_fill_uniform_f64};
static heed_random_fills normal = {
    [HEED_F32] = heed_fill_normal_f32, [HEED_F64] = heed_fill_normal_f64};
static heed_random_fills normal_block = {
    [HEED_F32] = heed_fill_normal_block_f32, [HEED_F64] = heed_fill_normal_block_f64};

enum { BLOCK = 16 }; /* this many contiguous normal numbers or more are drawn in blocks */

/* torch fills a non-contiguous target in memory order, by descending stride, so a transposed matrix
 * receives the same numbers as the matrix it is a view of. */
void heed_fill_random(const heed_tensor *t, heed_random_fill *fill, double a, double b)
{
    heed_generator *g = heed_generator_of_thread();
    if (heed_is_row_major(t)) {
        fill(g, t->data, t->numel, 1, a, b);
        return;
    }
    int64_t size[HEED_MAX_DIMS], stride[HEED_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) {
        int at = i;
        for (; at > 0 && stride[at - 1] < t->strides[i]; at--) {
            size[at] = size[at - 1];
            stride[at] = stride[at - 1];
        }
        size[at] = t->shape[i];
        stride[at] = t->strides[i];
    }
    walk w = {0};
    heed_walk_lane(&w, t->data, stride, t->dtype, t->ndim);
    if (!heed_walk_begin(&w, t->ndim, size)) {
        return;
    }
    int64_t step = run_stride(&w, 0) / (int64_t)heed_dtype_size(t->dtype);
    do {
        fill(g, w.lane[0].at, run_length(&w), step, a, b);
    } while (heed_walk_next(&w));
}

static void fill_normal(const heed_tensor *t, double mean, double std)
{
    bool blocks = t->numel >= BLOCK && heed_is_row_major(t);
    heed_fill_random(t, (blocks ? normal_block : normal)[t->dtype], mean, std);
}

/* ---- new tensors: created before anything is drawn ---- */

heed_status heed_check_random_dtype(const char *function, heed_dtype dtype)
{
    if (!heed_is_float(dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "%s: dtype %s; use f32 or f64, or heed_randint for i64",
                         function, heed_dtype_name(dtype));
    }
    return HEED_OK;
}

void heed_fill_standard(const heed_tensor *t, bool is_normal)
{
    if (is_normal) {
        fill_normal(t, 0.0, 1.0);
    } else {
        heed_fill_random(t, uniform[t->dtype], 0.0, 1.0);
    }
}

heed_tensor *heed_draw_standard(const char *function, heed_shape shape, heed_dtype dtype,
                                bool is_normal)
{
    if (heed_blocked() || heed_check_random_dtype(function, dtype) != HEED_OK) {
        return NULL;
    }
    heed_tensor *t = heed_tensor_create(function, shape, dtype);
    if (t != NULL) {
        heed_fill_standard(t, is_normal);
    }
    return t;
}

heed_tensor *heed_rand(heed_shape shape, heed_dtype dtype)
{
    return heed_draw_standard("rand", shape, dtype, false);
}

heed_tensor *heed_randn(heed_shape shape, heed_dtype dtype)
{
    return heed_draw_standard("randn", shape, dtype, true);
}

/* ---- in place ---- */

heed_status heed_check_random_target(const char *function, const heed_tensor *t,
                                     heed_random_fills fill)
{
    if (heed_check_tensor(function, "t", t) != HEED_OK) {
        return heed_self.error;
    }
    if (fill[t->dtype] == NULL) {
        return heed_check_random_dtype(function, t->dtype);
    }
    if (heed_is_expanded(t)) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: t %s is expanded, so its elements share memory; fill the tensor "
                         "it is a view of, or a copy",
                         function, HEED_TEXT(t));
    }
    return heed_generator_of_thread() != NULL ? HEED_OK : heed_self.error;
}

/* True if the dtype of t can represent both numbers. */
static bool fits(const heed_tensor *t, double a, double b)
{
    double largest = t->dtype == HEED_F32 ? (double)FLT_MAX : DBL_MAX;
    return fabs(a) <= largest && fabs(b) <= largest; /* false for NaN */
}

heed_status heed_uniform_into(heed_tensor *t, double low, double high)
{
    if (heed_blocked() || heed_check_random_target("uniform_into", t, uniform) != HEED_OK) {
        return heed_self.error;
    }
    if (!(low <= high) || !fits(t, low, high) || !fits(t, high - low, 0.0)) {
        return heed_fail(HEED_ERR_VALUE,
                         "uniform_into: from %g to %g in %s; low must not be above high, and low, "
                         "high and high - low must be finite",
                         low, high, heed_dtype_name(t->dtype));
    }
    heed_raise_version(t);
    heed_fill_random(t, uniform[t->dtype], low, high);
    return HEED_OK;
}

heed_status heed_normal_into(heed_tensor *t, double mean, double std)
{
    if (heed_blocked() || heed_check_random_target("normal_into", t, normal) != HEED_OK) {
        return heed_self.error;
    }
    if (!(std >= 0.0) || !fits(t, mean, std)) {
        return heed_fail(HEED_ERR_VALUE,
                         "normal_into: mean %g and std %g in %s; both must be finite, and std "
                         "must not be negative",
                         mean, std, heed_dtype_name(t->dtype));
    }
    heed_raise_version(t);
    fill_normal(t, mean, std);
    return HEED_OK;
}
