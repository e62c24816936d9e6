/* cumsum: sums on the way along a dim. */
#include "../../tensor/shape.h"
#include "reduce.h"
#include "reduction.h"
#include "shape.h"

static heed_status cumsum_rule(const heed_call *call, heed_result *result)
{
    int dim;
    result->dtype = heed_is_float(result->dtype) ? result->dtype : HEED_I64;
    return heed_wrap_dim("cumsum", *(const int *)call->args, result->shape.ndim, &dim);
}

static heed_status cumsum_forward(const heed_call *call, heed_tensor *y)
{
    return heed_map_along(call, heed_kernels_for(y->dtype)->cumsum, y);
}

/* x_i counts in every sum from the i-th on: sums from the other end. */
static void cumsum_backward(const heed_vjp *v)
{
    const int dim = *(const int *)v->args;
    v->grads[0] = heed_flip(heed_cumsum(heed_flip(v->g, dim), dim), dim);
}

HEED_OPERATION(cumsum) = {.name = "cumsum",
                          .inputs = 1,
                          .rule = cumsum_rule,
                          .forward = cumsum_forward,
                          .backward = cumsum_backward};

heed_tensor *heed_cumsum(heed_tensor *x, int dim)
{
    return heed_apply(&op_cumsum, &x, 1, &dim, sizeof dim);
}
