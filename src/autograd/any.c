/* any and all: is one element true, are all of them? */
#include "autograd/reduce.h"
#include "autograd/reduction.h"
#include "tensor/iterate.h"

static heed_status any_rule(const heed_call *call, heed_result *result)
{
    result->dtype = HEED_BOOL;
    return heed_reduction_rule(call, result);
}

static heed_status fold(const heed_call *call, heed_fold_kernel *kernel, heed_tensor *y)
{
    const heed_tensor *x = call->inputs[0];
    unsigned set;
    if (heed_reduced_dims(call, &set) != HEED_OK) {
        return heed_self.error;
    }
    return heed_fold(kernel, NULL, x->dtype, x, set, y);
}

static heed_status any_forward(const heed_call *call, heed_tensor *y)
{
    return fold(call, heed_kernels_for(call->inputs[0]->dtype)->any, y);
}

static heed_status all_forward(const heed_call *call, heed_tensor *y)
{
    return fold(call, heed_kernels_for(call->inputs[0]->dtype)->all, y);
}

HEED_OPERATION(any) = {.name = "any", .inputs = 1, .rule = any_rule, .forward = any_forward};
HEED_OPERATION(all) = {.name = "all", .inputs = 1, .rule = any_rule, .forward = all_forward};

HEED_REDUCTION_FORMS(any)
HEED_REDUCTION_FORMS(all)
