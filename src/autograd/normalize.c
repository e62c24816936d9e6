/* layer_norm and rms_norm, made of other operations. */
#include "autograd/normalize.h"

#include <float.h>
#include <string.h>

#include "autograd/elementwise.h"
#include "autograd/reduce.h"
#include "autograd/shape.h"
#include "tensor/core.h"
#include "tensor/scope.h"

/* ---- checks ---- */

static heed_status check_parameter(const char *function, const char *argument,
                                   const heed_tensor *parameter, const heed_tensor *x,
                                   const heed_shape *shape)
{
    if (parameter == NULL) {
        return HEED_OK;
    }
    if (heed_check_tensor(function, argument, parameter) != HEED_OK) {
        return heed_self.error;
    }
    if (!heed_has_shape(parameter, shape)) {
        return heed_fail(HEED_ERR_SHAPE, "%s: %s %s; it must have the normalized shape, %s",
                         function, argument, HEED_TEXT(parameter),
                         heed_shape_text(shape->ndim, shape->size).text);
    }
    if (parameter->dtype != x->dtype) {
        return heed_fail(HEED_ERR_DTYPE, "%s: x is %s and %s %s; heed_to casts one of them",
                         function, heed_dtype_name(x->dtype), argument,
                         heed_dtype_name(parameter->dtype));
    }
    return HEED_OK;
}

/* Checks x, and says which dims are normalized: the last ones. */
static heed_status check_x(const char *function, const heed_tensor *x, const heed_shape *shape,
                           heed_dims *dims)
{
    if (heed_check_operand(function, "x", x) != HEED_OK) {
        return heed_self.error;
    }
    if (!heed_is_float(x->dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "%s: x is %s, not a float; heed_to(x, HEED_F32)", function,
                         heed_dtype_name(x->dtype));
    }
    if (shape->ndim < 1 || shape->ndim > x->ndim ||
        memcmp(x->shape + x->ndim - shape->ndim, shape->size,
               sizeof *shape->size * (size_t)shape->ndim) != 0) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: x %s does not end in the normalized shape %s; HEED_SHAPE(n) for the "
                         "last dim, of size n",
                         function, HEED_TEXT(x), heed_shape_text(shape->ndim, shape->size).text);
    }
    dims->count = shape->ndim;
    for (int i = 0; i < shape->ndim; i++) {
        dims->dim[i] = i - shape->ndim;
    }
    return HEED_OK;
}

/* ---- what they are made of ---- */

/* x minus its mean. A mean far from 0 is rounded coarsely, to units in its last place; so x is first
 * moved near 0 by the rounded mean, as a constant, which is exact or nearly so, and what remains of
 * the mean is small. Moving changes no derivative. */
static heed_tensor *centred(heed_tensor *x, heed_dims dims)
{
    heed_tensor *near_0 = heed_sub(x, heed_mean_dims(heed_detach(x), dims, true));
    return heed_sub(near_0, heed_mean_dims(near_0, dims, true));
}

/* x / sqrt(mean(x^2) + eps). */
static heed_tensor *scaled_to_1(heed_tensor *x, heed_dims dims, double eps)
{
    heed_tensor *squares = heed_mean_dims(heed_square(x), dims, true);
    return heed_mul(x, heed_rsqrt(heed_add_scalar(squares, eps)));
}

/* ---- the operations ---- */

heed_tensor *heed_layer_norm(heed_tensor *x, heed_shape normalized_shape, heed_tensor *weight,
                             heed_tensor *bias, double eps)
{
    const heed_shape *shape = &normalized_shape;
    heed_dims dims;
    if (check_x("layer_norm", x, shape, &dims) != HEED_OK ||
        check_parameter("layer_norm", "weight", weight, x, shape) != HEED_OK ||
        check_parameter("layer_norm", "bias", bias, x, shape) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *y = scaled_to_1(centred(x, dims), dims, eps != 0 ? eps : 1e-5);
    if (weight != NULL) {
        y = heed_mul(y, weight);
    }
    if (bias != NULL) {
        y = heed_add(y, bias);
    }
    return heed_scope_end_with(&scope, y);
}

heed_tensor *heed_rms_norm(heed_tensor *x, heed_shape normalized_shape, heed_tensor *weight,
                           double eps)
{
    const heed_shape *shape = &normalized_shape;
    heed_dims dims;
    if (check_x("rms_norm", x, shape, &dims) != HEED_OK ||
        check_parameter("rms_norm", "weight", weight, x, shape) != HEED_OK) {
        return NULL;
    }
    if (eps == 0) {
        eps = x->dtype == HEED_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *y = scaled_to_1(x, dims, eps);
    if (weight != NULL) {
        y = heed_mul(y, weight);
    }
    return heed_scope_end_with(&scope, y);
}
