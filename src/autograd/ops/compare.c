/* Comparisons of whole tensors: allclose and equal. */

#include "operations.h"

#include <math.h>
#include <string.h>

#include "../../tensor/elements.h"
#include "../../tensor/handle.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "operand_checks.h"

/* A contiguous f64 copy of t, broadcast to `shape`; the caller releases it. */
static heed_tensor *as_doubles(const char *function, const heed_tensor *t, const heed_shape *shape)
{
    heed_tensor *copy = heed_tensor_new(function, shape->ndim, shape->size, HEED_F64);
    if (copy != NULL) {
        heed_copy_elements(t, copy);
    }
    return copy;
}

static bool is_close(double a, double b, double rtol, double atol, bool equal_nan)
{
    if (isnan(a) || isnan(b)) {
        return equal_nan && isnan(a) && isnan(b);
    }
    return a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= atol + rtol * fabs(b));
}

bool heed_allclose(heed_tensor *a, heed_tensor *b, double rtol, double atol, bool equal_nan)
{
    if (heed_blocked() || heed_check_tensor("allclose", "a", a) != HEED_OK ||
        heed_check_tensor("allclose", "b", b) != HEED_OK) {
        return false;
    }
    heed_dtype dtype;
    heed_shape shape_a = heed_shape_of_tensor(a), shape_b = heed_shape_of_tensor(b), shape;
    if (heed_common_dtype("allclose", a->dtype, b->dtype, &dtype) != HEED_OK ||
        heed_broadcast("allclose", &shape_a, &shape_b, &shape) != HEED_OK) {
        return false;
    }
    if (!(rtol >= 0) || !(atol >= 0)) {
        heed_fail(HEED_ERR_VALUE, "allclose: tolerances rtol %g, atol %g; both must be 0 or more",
                  rtol, atol);
        return false;
    }
    heed_tensor *x = as_doubles("allclose", a, &shape), *y = as_doubles("allclose", b, &shape);
    bool close = x != NULL && y != NULL;
    for (int64_t i = 0; close && i < x->numel; i++) {
        close = is_close(((double *)x->data)[i], ((double *)y->data)[i], rtol, atol, equal_nan);
    }
    if (x != NULL) {
        heed_unref(x);
    }
    if (y != NULL) {
        heed_unref(y);
    }
    return close;
}

bool heed_equal(heed_tensor *a, heed_tensor *b)
{
    if (heed_blocked() || heed_check_tensor("equal", "a", a) != HEED_OK ||
        heed_check_tensor("equal", "b", b) != HEED_OK || a->dtype != b->dtype ||
        !heed_same_shape(a, b)) {
        return false;
    }
    heed_tensor *same = heed_tensor_new("equal", a->ndim, a->shape, HEED_BOOL);
    if (same == NULL) {
        return false;
    }
    const heed_operand in[] = {{.tensor = a, .as = a->dtype}, {.tensor = b, .as = a->dtype}};
    heed_map(heed_kernels_for(a->dtype)->elementwise[HEED_OP_eq].forward, in, 2, same);
    bool equal = memchr(same->data, 0, (size_t)same->numel) == NULL;
    heed_unref(same);
    return equal;
}
