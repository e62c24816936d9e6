/* any and all: is one element true, are all of them? */
#include "reduce.h"
#include "reduction.h"

static heed_status any_rule(const heed_call *call, heed_result *result)
{
    result->dtype = HEED_BOOL;
    return heed_reduction_rule(call, result);
}

static heed_status any_forward(const heed_call *call, heed_tensor *y)
{
    const heed_dtype dtype = call->inputs[0]->dtype;
    return heed_fold_reduced(call, heed_kernels_for(dtype)->any, NULL, dtype, y);
}

static heed_status all_forward(const heed_call *call, heed_tensor *y)
{
    const heed_dtype dtype = call->inputs[0]->dtype;
    return heed_fold_reduced(call, heed_kernels_for(dtype)->all, NULL, dtype, y);
}

HEED_OPERATION(any) = {.name = "any", .inputs = 1, .rule = any_rule, .forward = any_forward};
HEED_OPERATION(all) = {.name = "all", .inputs = 1, .rule = any_rule, .forward = all_forward};

HEED_REDUCTION_FORMS(any)
HEED_REDUCTION_FORMS(all)
