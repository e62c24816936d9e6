/* Flattens parameters and gradients into one tensor, and copies parameters back. */
#include "flatten.h"

#include "../../autograd/grad.h"
#include "../../autograd/ops/slice.h"
#include "../../autograd/ops/view.h"
#include "../../tensor/alloc.h"
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "../arguments.h"
#include "optimizer_private.h"

/* Checks that the parameters, all or only those that require a gradient, can share a flat tensor.
 * *first is the first of them, *numel their total number of elements. */
static heed_status check_layout(const char *function, heed_tensor_list parameters,
                                bool trained_only, const heed_tensor **first, int64_t *numel)
{
    *first = NULL;
    *numel = 0;
    if (heed_check_parameters(function, parameters) != HEED_OK) {
        return heed_error_pending();
    }
    for (int i = 0; i < parameters.count; i++) {
        const heed_tensor *p = parameters.tensors[i];
        if (trained_only && !p->requires_grad) {
            continue;
        }
        *first = *first != NULL ? *first : p;
        if (p->dtype != (*first)->dtype) {
            return heed_fail(
                HEED_ERR_DTYPE,
                "%s: parameter %d %s is %s, but those before it are %s; pass a list of one dtype, "
                "or cast with heed_module_to",
                function, i, heed_shape_text(p->ndim, p->shape).text, heed_dtype_name(p->dtype),
                heed_dtype_name((*first)->dtype));
        }
        if (p->numel > INT64_MAX - *numel) {
            return heed_fail(HEED_ERR_OVERFLOW, "%s: the parameters have too many elements",
                             function);
        }
        *numel += p->numel;
    }
    return *first == NULL
               ? heed_fail(HEED_ERR_VALUE, "%s: no parameters%s", function,
                           trained_only ? " that require a gradient; call heed_set_requires_grad"
                                        : "")
               : HEED_OK;
}

/* p's part of `flat`, starting at *at, in p's shape; advances *at. */
static heed_tensor *part_of(heed_tensor *flat, const heed_tensor *p, int64_t *at)
{
    heed_tensor *part = heed_narrow(flat, 0, *at, p->numel);
    *at += p->numel;
    return heed_reshape(part, heed_shape_of_tensor(p));
}

heed_tensor *heed_flatten_grads(heed_tensor_list parameters)
{
    const heed_tensor *first;
    int64_t numel, at = 0;
    if (check_layout("flatten_grads", parameters, true, &first, &numel) != HEED_OK ||
        heed_check_scope("flatten_grads") != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_tensor *flat = heed_empty(HEED_SHAPE(numel), first->dtype);
    for (int i = 0; i < parameters.count && !heed_error_pending(); i++) {
        heed_tensor *p = parameters.tensors[i];
        if (p->requires_grad) {
            heed_tensor *part = part_of(flat, p, &at);
            p->grad != NULL ? heed_copy_into(part, p->grad) : heed_fill_into(part, 0);
            heed_set_grad(p, part);
        }
    }
    return heed_scope_end_with(&scope, flat);
}

heed_tensor *heed_parameters_to_vector(heed_tensor_list parameters)
{
    const heed_tensor *first;
    int64_t numel;
    if (check_layout("parameters_to_vector", parameters, false, &first, &numel) != HEED_OK ||
        heed_check_scope("parameters_to_vector") != HEED_OK) {
        return NULL;
    }
    const size_t size = (size_t)parameters.count * sizeof(heed_tensor *);
    heed_tensor **parts = heed_alloc(size);
    if (parts == NULL) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    for (int i = 0; i < parameters.count; i++) {
        parts[i] = heed_reshape(parameters.tensors[i], HEED_SHAPE(-1));
    }
    heed_tensor *vec = heed_cat(parts, parameters.count, 0);
    heed_free(parts);
    return heed_scope_end_with(&scope, vec);
}

heed_status heed_vector_to_parameters(heed_tensor *vec, heed_tensor_list parameters)
{
    const heed_tensor *first;
    int64_t numel, at = 0;
    static const char function[] = "vector_to_parameters";
    if (check_layout(function, parameters, false, &first, &numel) != HEED_OK ||
        heed_check_not_null(function, "vec", vec) != HEED_OK) {
        return heed_error_pending();
    }
    if (vec->ndim != 1 || vec->numel != numel) {
        return heed_fail(HEED_ERR_SHAPE, "%s: vec is %s, but the parameters need (%lld)", function,
                         heed_shape_text(vec->ndim, vec->shape).text, (long long)numel);
    }
    if (heed_check_dtype(function, "vec", vec, first->dtype) != HEED_OK) {
        return heed_error_pending();
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    for (int i = 0; i < parameters.count && !heed_error_pending(); i++) {
        heed_copy_into(parameters.tensors[i], part_of(vec, parameters.tensors[i], &at));
    }
    return heed_scope_end(&scope);
}
