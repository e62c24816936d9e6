/* Gradient clipping: selects the tensors and the factor; tensor/total_norm.c computes the norm
 * and scales the gradients. */
#include "clip.h"

#include <math.h>

#include "../../autograd/ops/elementwise.h"
#include "../../tensor/alloc.h"
#include "../../tensor/create.h"
#include "../../tensor/optim_update.h"
#include "optimizer_private.h"

heed_status heed_check_parameters(const char *function, heed_tensor_list parameters)
{
    for (int i = 0; i < parameters.count && !heed_error_pending(); i++) {
        if (parameters.tensors == NULL || parameters.tensors[i] == NULL) {
            return heed_fail(HEED_ERR_NULL, "%s: parameter %d is NULL", function, i);
        }
    }
    return heed_error_pending();
}

static heed_status check_list(const char *function, heed_tensor_list parameters, const char *what,
                              double most)
{
    return most >= 0 ? heed_check_parameters(function, parameters)
                     : heed_fail(HEED_ERR_VALUE, "%s: %s is %g; it must be 0 or more", function,
                                 what, most);
}

double heed_clip_grad_norm_with(heed_tensor_list parameters, double max_norm,
                                heed_clip_options options)
{
    if (check_list("clip_grad_norm", parameters, "max_norm", max_norm) != HEED_OK) {
        return (double)NAN;
    }
    if (isnan(options.norm_type)) {
        heed_fail(HEED_ERR_VALUE,
                  "clip_grad_norm: norm_type is NaN; use 2 or INFINITY, for example");
        return (double)NAN;
    }
    const size_t size = (size_t)parameters.count * sizeof(heed_tensor *);
    heed_tensor **gradients = heed_alloc(size);
    if (gradients == NULL) {
        return (double)NAN;
    }
    int count = 0;
    for (int i = 0; i < parameters.count; i++) {
        if (parameters.tensors[i]->grad != NULL) {
            gradients[count++] = parameters.tensors[i]->grad;
        }
    }
    const double p = options.norm_type != 0 ? options.norm_type : 2;
    const double norm = heed_get_total_norm((const heed_tensor *const *)gradients, count, p);
    if (options.error_if_nonfinite && !isfinite(norm) && !heed_error_pending()) {
        heed_fail(HEED_ERR_VALUE,
                  "clip_grad_norm: the norm of all gradients is %g; to scale by it anyway, clear "
                  "error_if_nonfinite",
                  norm);
    }
    const double factor = max_norm / (norm + 1e-6);
    if (!(factor >= 1)) {
        heed_scale_all_into(gradients, count, factor);
    }
    heed_free(gradients);
    return heed_error_pending() ? (double)NAN : norm;
}

double heed_clip_grad_norm(heed_tensor_list parameters, double max_norm)
{
    return heed_clip_grad_norm_with(parameters, max_norm, (heed_clip_options){0});
}

heed_status heed_clip_grad_value(heed_tensor_list parameters, double clip_value)
{
    if (check_list("clip_grad_value", parameters, "clip_value", clip_value) != HEED_OK) {
        return heed_error_pending();
    }
    for (int i = 0; i < parameters.count; i++) {
        heed_tensor *grad = parameters.tensors[i]->grad;
        heed_scope scope;
        heed_scope_begin_no_grad(&scope);
        if (grad != NULL) {
            heed_copy_into(grad, heed_clamp(grad, -clip_value, clip_value));
        }
        heed_scope_end(&scope);
    }
    return heed_error_pending();
}
