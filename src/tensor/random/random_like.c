/* rand_like and randn_like. */
#include "../check.h"
#include "../elements.h"
#include "../handle.h"
#include "../read.h"
#include "../shape.h"
#include "generator.h"
#include "random.h"

/* torch's result has the memory layout of x and is filled in memory order. Ours is contiguous:
 * numbers are drawn into memory laid out like torch's, then copied. Reads only the shape, strides
 * and dtype of x, whose value may have been freed. */
static heed_tensor *draw_like(const char *function, const heed_tensor *x, bool is_normal)
{
    if (heed_blocked() || heed_check_scope(function) != HEED_OK) {
        return NULL;
    }
    if (x == NULL) {
        heed_fail(HEED_ERR_NULL, "%s: x is NULL", function);
        return NULL;
    }
    if (!heed_is_float(x->dtype)) {
        heed_fail(HEED_ERR_DTYPE, "%s: x is %s; it must be f32 or f64; cast it with heed_to",
                  function, heed_dtype_name(x->dtype));
        return NULL;
    }
    heed_tensor *y = heed_tensor_create(function, heed_shape_of_tensor(x), x->dtype);
    if (y != NULL && heed_is_row_major(x)) {
        heed_fill_standard(y, is_normal);
        return y;
    }
    heed_tensor *drawn = y != NULL ? heed_tensor_like(NULL, y) : NULL;
    if (drawn == NULL) {
        return NULL;
    }
    heed_dense_strides(x, drawn->strides);
    heed_fill_standard(drawn, is_normal);
    heed_copy_elements(drawn, y);
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
