/* The largest and the smallest: amax, amin, max, min, and their places, argmax, argmin. */
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/scope.h"
#include "elementwise.h"
#include "index.h"
#include "reduce.h"
#include "reduction.h"
#include "shape.h"

static heed_status largest_forward(const heed_call *call, heed_tensor *y)
{
    return heed_fold_reduced(call, heed_kernels_for(y->dtype)->amax, NULL, y->dtype, y);
}

static heed_status smallest_forward(const heed_call *call, heed_tensor *y)
{
    return heed_fold_reduced(call, heed_kernels_for(y->dtype)->amin, NULL, y->dtype, y);
}

/* ---- amax, amin ---- */

/* Ties share the gradient. No element equals NaN, so that nothing is shared there: NaN. */
static void amax_backward(const heed_vjp *v)
{
    v->grads[0] = heed_divide_among(v, heed_eq(v->inputs[0], heed_keep_dims(v, v->y)));
}

HEED_OPERATION(amax) = {.name = "amax",
                        .inputs = 1,
                        .rule = heed_refuse_nothing,
                        .forward = largest_forward,
                        .backward = amax_backward,
                        .saves = {HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT}};

HEED_OPERATION(amin) = {.name = "amin",
                        .inputs = 1,
                        .rule = heed_refuse_nothing,
                        .forward = smallest_forward,
                        .backward = amax_backward,
                        .saves = {HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT}};

HEED_REDUCTION_FORMS(amax)
HEED_REDUCTION_FORMS(amin)

/* ---- max, min of everything ---- */

/* As amax's, but where y is NaN the elements that are NaN share. */
static void max_backward(const heed_vjp *v)
{
    heed_tensor *x = v->inputs[0];
    heed_tensor *chosen = heed_logical_or(heed_eq(x, v->y), heed_isnan(x));
    heed_tensor *share = heed_div(v->g, heed_sum(chosen));
    v->grads[0] = heed_where(chosen, share, heed_scalar(0, v->g->dtype));
}

HEED_OPERATION(max) = {.name = "max",
                       .inputs = 1,
                       .rule = heed_refuse_nothing,
                       .forward = largest_forward,
                       .backward = max_backward,
                       .saves = {HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT}};

HEED_OPERATION(min) = {.name = "min",
                       .inputs = 1,
                       .rule = heed_refuse_nothing,
                       .forward = smallest_forward,
                       .backward = max_backward,
                       .saves = {HEED_SAVES_INPUT(0) | HEED_SAVED_OUTPUT}};

static const heed_reduce_args everything = {{0, {0}}, false};

heed_tensor *heed_max(heed_tensor *x)
{
    return heed_apply(&op_max, &x, 1, &everything, sizeof everything);
}

heed_tensor *heed_min(heed_tensor *x)
{
    return heed_apply(&op_min, &x, 1, &everything, sizeof everything);
}

/* ---- argmax, argmin ---- */

static heed_status argmax_rule(const heed_call *call, heed_result *result)
{
    if (result->dtype == HEED_BOOL) {
        return heed_fail(HEED_ERR_DTYPE, "%s: bool has no such operation; heed_to(x, HEED_I64)",
                         call->op->name);
    }
    result->dtype = HEED_I64;
    return heed_refuse_nothing(call, result);
}

static heed_status argmax_forward(const heed_call *call, heed_tensor *y)
{
    return heed_fold_reduced(call, heed_kernels_for(call->inputs[0]->dtype)->argmax, NULL,
                             call->inputs[0]->dtype, y);
}

static heed_status argmin_forward(const heed_call *call, heed_tensor *y)
{
    return heed_fold_reduced(call, heed_kernels_for(call->inputs[0]->dtype)->argmin, NULL,
                             call->inputs[0]->dtype, y);
}

HEED_OPERATION(argmax) = {
    .name = "argmax", .inputs = 1, .rule = argmax_rule, .forward = argmax_forward};

HEED_OPERATION(argmin) = {
    .name = "argmin", .inputs = 1, .rule = argmax_rule, .forward = argmin_forward};

heed_tensor *heed_argmax_dim(heed_tensor *x, int dim, bool keepdim)
{
    const heed_reduce_args args = {HEED_DIMS(dim), keepdim};
    return heed_apply(&op_argmax, &x, 1, &args, sizeof args);
}

heed_tensor *heed_argmin_dim(heed_tensor *x, int dim, bool keepdim)
{
    const heed_reduce_args args = {HEED_DIMS(dim), keepdim};
    return heed_apply(&op_argmin, &x, 1, &args, sizeof args);
}

heed_tensor *heed_argmax(heed_tensor *x)
{
    return heed_apply(&op_argmax, &x, 1, &everything, sizeof everything);
}

heed_tensor *heed_argmin(heed_tensor *x)
{
    return heed_apply(&op_argmin, &x, 1, &everything, sizeof everything);
}

/* ---- max, min of a dim: what stands at these places ---- */

static heed_tensor *take_extremes(const heed_op *op, const heed_op *places_op, heed_tensor *x,
                                  int dim, bool keepdim, heed_tensor **indices)
{
    heed_scope scope;
    if (indices != NULL) {
        *indices = NULL;
    }
    if (heed_check_operand(op->name, "x", x) != HEED_OK) {
        return NULL;
    }
    heed_scope_begin(&scope);
    const heed_reduce_args args = {HEED_DIMS(dim), true};
    const heed_call call = {op, &x, 1, &args};
    heed_tensor *y = NULL, *places = NULL;
    if (heed_refuse_nothing(&call, &(heed_result){0}) == HEED_OK) {
        heed_tensor *ordered = x->dtype == HEED_BOOL ? heed_to(x, HEED_I64) : x;
        places = heed_apply(places_op, &ordered, 1, &args, sizeof args);
        y = heed_gather(x, dim, places);
    }
    if (!keepdim && x->ndim > 0) {
        y = heed_squeeze(y, dim);
        places = heed_squeeze(places, dim);
    }
    if (indices != NULL) {
        *indices = heed_scope_keep(&scope, places);
    }
    return heed_scope_end_with(&scope, y);
}

heed_tensor *heed_max_dim(heed_tensor *x, int dim, bool keepdim, heed_tensor **indices)
{
    return take_extremes(&op_max, &op_argmax, x, dim, keepdim, indices);
}

heed_tensor *heed_min_dim(heed_tensor *x, int dim, bool keepdim, heed_tensor **indices)
{
    return take_extremes(&op_min, &op_argmin, x, dim, keepdim, indices);
}
