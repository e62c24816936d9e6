/* The dims that reductions take away and bring back. */
#include "reduction.h"

#include "../../tensor/read.h"
#include "../../tensor/reduce.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "elementwise.h"
#include "reduce.h"
#include "shape.h"

/* ---- rules ---- */

heed_status heed_reduced_dims(const heed_call *call, unsigned *set)
{
    const heed_reduce_args *args = call->args;
    const heed_tensor *x = call->inputs[0];
    if (heed_wrap_dims(call->op->name, args->dims, x->ndim, set) != HEED_OK) {
        return heed_self.error;
    }
    if (args->dims.count == 0) {
        *set = (1u << x->ndim) - 1;
    }
    return HEED_OK;
}

heed_status heed_reduction_rule(const heed_call *call, heed_result *result)
{
    const heed_reduce_args *args = call->args;
    const heed_tensor *x = call->inputs[0];
    unsigned set;
    if (heed_reduced_dims(call, &set) != HEED_OK) {
        return heed_self.error;
    }
    result->shape.ndim = 0;
    for (int i = 0; i < x->ndim; i++) {
        bool reduced = set >> i & 1;
        if (!reduced || args->keepdim) {
            result->shape.size[result->shape.ndim++] = reduced ? 1 : x->shape[i];
        }
    }
    return HEED_OK;
}

heed_status heed_float_reduction_rule(const heed_call *call, heed_result *result)
{
    return heed_expect_float(call, 0) == HEED_OK ? heed_reduction_rule(call, result)
                                                 : heed_self.error;
}

heed_status heed_refuse_nothing(const heed_call *call, heed_result *result)
{
    const heed_tensor *x = call->inputs[0];
    unsigned set;
    if (heed_reduced_dims(call, &set) != HEED_OK) {
        return heed_self.error;
    }
    for (int i = 0; i < x->ndim; i++) {
        if (set >> i & 1 && x->shape[i] == 0) {
            return heed_fail(HEED_ERR_SHAPE,
                             "%s: dim %d of x %s has no elements to choose from; take a dim that "
                             "has some",
                             call->op->name, i, HEED_TEXT(x));
        }
    }
    return heed_reduction_rule(call, result);
}

double heed_count_reduced(const heed_tensor *x, unsigned set)
{
    double count = 1;
    for (int i = 0; i < x->ndim; i++) {
        count *= set >> i & 1 ? (double)x->shape[i] : 1;
    }
    return count;
}

heed_status heed_fold_reduced(const heed_call *call, heed_fold_kernel *kernel, const void *args,
                              heed_dtype as, heed_tensor *y)
{
    unsigned set;
    if (heed_reduced_dims(call, &set) != HEED_OK) {
        return heed_self.error;
    }
    return heed_fold(kernel, args, as, call->inputs[0], set, y);
}

heed_status heed_map_along(const heed_call *call, heed_line_kernel *kernel, heed_tensor *y)
{
    int dim;
    heed_status status = heed_wrap_dim(call->op->name, *(const int *)call->args, y->ndim, &dim);
    return status == HEED_OK ? heed_map_lines(kernel, call->inputs, 1, dim, y) : status;
}

/* ---- the way back ---- */

/* The dims were checked when the node was made. */
static unsigned dims_of_node(const heed_vjp *v)
{
    const heed_call call = {v->y->op, v->inputs, 1, v->args};
    unsigned set = 0;
    heed_reduced_dims(&call, &set);
    return set;
}

heed_tensor *heed_keep_dims(const heed_vjp *v, heed_tensor *t)
{
    const unsigned set = dims_of_node(v);
    heed_shape kept = heed_shape_of_tensor(v->inputs[0]);
    for (int i = 0; i < kept.ndim; i++) {
        kept.size[i] = set >> i & 1 ? 1 : kept.size[i];
    }
    return ((const heed_reduce_args *)v->args)->keepdim ? t : heed_reshape(t, kept);
}

heed_tensor *heed_spread(const heed_vjp *v, heed_tensor *t)
{
    return heed_expand(heed_keep_dims(v, t), heed_shape_of_tensor(v->inputs[0]));
}

heed_tensor *heed_divide_among(const heed_vjp *v, heed_tensor *chosen)
{
    const heed_reduce_args *args = v->args;
    heed_tensor *part = heed_div(v->g, heed_sum_dims(chosen, args->dims, args->keepdim));
    return heed_mul(heed_keep_dims(v, part), chosen);
}

double heed_count_of_node(const heed_vjp *v)
{
    return heed_count_reduced(v->inputs[0], dims_of_node(v));
}
