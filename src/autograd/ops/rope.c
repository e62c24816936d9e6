/* rope, composed of other operations. */
#include "../autograd.h"

#include <math.h>

OPERATION(rope) = {.name = "rope",
                   .signature = "x (..., d) float, positions? (...) i64 -> (..., d)"};

/* positions (...) -> angles (..., d / 2) in f64 */
static heed_tensor *angles(heed_tensor *positions, int64_t d, double base)
{
    heed_tensor *exponents = heed_div_scalar(heed_arange(0, (double)d, 2, HEED_F64), -(double)d);
    heed_tensor *frequencies = heed_pow(heed_scalar(base, HEED_F64), exponents);
    return heed_mul(heed_unsqueeze(heed_to(positions, HEED_F64), -1), frequencies);
}

heed_tensor *(heed_rope)(heed_rope_args args)
{
    HEED_DOOR(NULL);
    heed_tensor *x = args.x, *positions = args.positions;
    const double base = args.base != 0 ? args.base : 10000;
    heed_result result;
    heed_describe(
        &(heed_call){&op_rope, (heed_tensor *[]){x, positions}, positions != NULL ? 2 : 1, NULL, 0},
        &result);
    if (x->ndim < 2 || x->shape[x->ndim - 1] % 2 != 0) {
        heed_raise(HEED_ERR_SHAPE, "rope: x %s; it must be (..., T, d) with an even d",
                   HEED_TEXT(x));
    }
    if (!(base > 0 && isfinite(base))) {
        heed_raise(HEED_ERR_VALUE, "rope: base is %g; it must be a positive number", base);
    }
    HEED_SCOPE(scope);
    const int64_t d = heed_size(x, -1);
    if (positions == NULL) {
        positions = heed_arange(0, (double)heed_size(x, -2), 1, HEED_I64);
    }
    heed_tensor *by = angles(positions, d, base);
    heed_tensor *cos = heed_to(heed_cos(by), x->dtype), *sin = heed_to(heed_sin(by), x->dtype);
    const bool neighbours = args.interleaved;
    heed_tensor *a = neighbours ? heed_slice(x, -1, 0, d, 2) : heed_narrow(x, -1, 0, d / 2);
    heed_tensor *b = neighbours ? heed_slice(x, -1, 1, d, 2) : heed_narrow(x, -1, d / 2, d / 2);
    heed_tensor *rotated[] = {heed_sub(heed_mul(a, cos), heed_mul(b, sin)),
                              heed_add(heed_mul(a, sin), heed_mul(b, cos))};
    for (int i = 0; i < 2 && neighbours; i++) { /* x may have the most dims */
        rotated[i] = heed_flatten(rotated[i], 0, -2);
    }
    heed_tensor *y = neighbours ? heed_reshape(heed_stack(rotated, 2, -1), result.shape)
                                : heed_cat(rotated, 2, -1);
    return heed_scope_keep(&scope, y);
}
