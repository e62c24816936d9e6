/* dropout: x times a random mask. The mask has torch's memory layout, so that the draws come in
 * torch's order. */
#include "operations.h"

#include "../../tensor/create.h"
#include "../../tensor/elements.h"
#include "../../tensor/handle.h"
#include "../../tensor/random/random.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"

/* A mask of x's shape: 1 / kept with probability `kept`, else 0. */
static heed_tensor *draw_mask(const heed_tensor *x, double kept)
{
    heed_tensor *mask = heed_empty(heed_shape_of_tensor(x), x->dtype);
    if (mask == NULL) {
        return NULL;
    }
    heed_fill_mask(mask, kept);
    int64_t strides[HEED_MAX_DIMS];
    heed_dense_strides(x, strides);
    heed_tensor *view = heed_tensor_view("dropout", mask, x->ndim, x->shape, strides, 0);
    return view != NULL ? heed_join_scope("dropout", view) : NULL;
}

heed_tensor *heed_dropout(heed_tensor *x, double p, bool training)
{
    if (heed_check_operand("dropout", "x", x) != HEED_OK ||
        heed_check_probability("dropout", "p", p) != HEED_OK) {
        return NULL;
    }
    if (!training || p == 0 || x->numel == 0) {
        return x;
    }
    if (!heed_is_float(x->dtype)) {
        heed_fail(HEED_ERR_DTYPE, "dropout: x is %s, not a float; heed_to(x, HEED_F32)",
                  heed_dtype_name(x->dtype));
        return NULL;
    }
    if (p == 1) {
        return heed_mul_scalar(x, 0);
    }
    const heed_generator before = heed_get_generator();
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *mask = draw_mask(x, 1 - p);
    heed_tensor *y = heed_scope_end_with(&scope, heed_mul(x, mask));
    if (y == NULL) {
        heed_set_generator(&before); /* a failed call does not advance the generator */
    }
    return y;
}
