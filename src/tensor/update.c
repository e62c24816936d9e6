/* The updates of optimisers and the norm of gradients: checks, then one kernel. */
#include "tensor/update.h"

#include <math.h>

#include "tensor/alloc.h"
#include "tensor/core.h"
#include "tensor/kernels.h"

/* One of the tensors of an update, beside p. */
static heed_status check_state(const char *function, const char *name, const heed_tensor *p,
                               const heed_tensor *state)
{
    if (heed_check_tensor(function, name, state) != HEED_OK) {
        return heed_self.error;
    }
    if (state->dtype != p->dtype || !heed_is_float(p->dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "%s: p is %s, %s is %s; both must be f32, or both f64",
                         function, heed_dtype_name(p->dtype), name, heed_dtype_name(state->dtype));
    }
    if (!heed_same_shape(p, state) || !heed_is_contiguous(p) || !heed_is_contiguous(state)) {
        return heed_fail(HEED_ERR_SHAPE, "%s: p %s and %s %s must have one shape and be contiguous",
                         function, HEED_TEXT(p), name, HEED_TEXT(state));
    }
    return HEED_OK;
}

heed_status heed_sgd_update(heed_tensor *p, const heed_tensor *g, heed_tensor *b,
                            const heed_sgd_step *step)
{
    const char *name = "sgd_update";
    if (heed_blocked() || heed_check_tensor(name, "p", p) != HEED_OK ||
        check_state(name, "g", p, g) != HEED_OK ||
        (b != NULL && check_state(name, "b", p, b) != HEED_OK)) {
        return heed_self.error;
    }
    if (step == NULL || (b == NULL && step->momentum != 0)) {
        return heed_fail(HEED_ERR_NULL, "%s: %s is NULL", name,
                         step == NULL ? "step" : "b, which momentum needs,");
    }
    heed_kernels_for(p->dtype)->sgd(p->numel, p->data, g->data, b != NULL ? b->data : NULL, step);
    heed_raise_version(p);
    if (b != NULL) {
        heed_raise_version(b);
    }
    return HEED_OK;
}

heed_status heed_adam_update(heed_tensor *p, const heed_tensor *g, heed_tensor *m, heed_tensor *v,
                             const heed_adam_step *step)
{
    const char *name = "adam_update";
    if (heed_blocked() || heed_check_tensor(name, "p", p) != HEED_OK ||
        check_state(name, "g", p, g) != HEED_OK || check_state(name, "m", p, m) != HEED_OK ||
        check_state(name, "v", p, v) != HEED_OK) {
        return heed_self.error;
    }
    if (step == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: step is NULL", name);
    }
    if (step->t < 1) {
        return heed_fail(HEED_ERR_VALUE, "%s: t is %lld; it is 1 at the first step", name,
                         (long long)step->t);
    }
    heed_kernels_for(p->dtype)->adam(p->numel, p->data, g->data, m->data, v->data, step);
    heed_raise_version(p);
    heed_raise_version(m);
    heed_raise_version(v);
    return HEED_OK;
}

/* ---- all gradients ---- */

static heed_status check_floats(const char *function, const char *name, const heed_tensor *t)
{
    if (heed_check_tensor(function, name, t) != HEED_OK) {
        return heed_self.error;
    }
    if (!heed_is_float(t->dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "%s: %s is %s; it must be f32 or f64", function, name,
                         heed_dtype_name(t->dtype));
    }
    if (!heed_is_contiguous(t)) {
        return heed_fail(HEED_ERR_SHAPE, "%s: %s %s must be contiguous; heed_contiguous it",
                         function, name, HEED_TEXT(t));
    }
    return HEED_OK;
}

static double norm_of(const heed_tensor *t, double p)
{
    const heed_norm_args args = {p};
    float single;
    double norm;
    if (t->dtype == HEED_F64) {
        heed_kernels_for(HEED_F64)->norm(t->numel, t->data, &args, &norm);
        return norm;
    }
    heed_kernels_for(HEED_F32)->norm(t->numel, t->data, &args, &single);
    return (double)single;
}

/* The norm of the norms of those that have elements. */
static double total_norm(const heed_tensor *const *tensors, int count, double p, double *norms)
{
    const heed_norm_args args = {p};
    double total = 0;
    int64_t n = 0;
    for (int i = 0; i < count; i++) {
        if (check_floats("total_norm", "a tensor", tensors[i]) != HEED_OK) {
            return (double)NAN;
        }
        if (tensors[i]->numel > 0) {
            norms[n++] = norm_of(tensors[i], p);
        }
    }
    if (n > 0) {
        heed_kernels_for(HEED_F64)->norm(n, norms, &args, &total);
    }
    return total;
}

double heed_total_norm(const heed_tensor *const *tensors, int count, double p)
{
    if (heed_blocked()) {
        return (double)NAN;
    }
    if (isnan(p) || count < 0) {
        heed_fail(HEED_ERR_VALUE, "total_norm: the %g-norm of %d tensors is none", p, count);
        return (double)NAN;
    }
    if (tensors == NULL && count > 0) {
        heed_fail(HEED_ERR_NULL, "total_norm: the list of tensors is NULL");
        return (double)NAN;
    }
    const size_t size = (size_t)count * sizeof(double);
    double *norms = heed_alloc(size);
    if (norms == NULL) {
        return (double)NAN;
    }
    const double total = total_norm(tensors, count, p, norms);
    heed_free(norms, size);
    return total;
}

heed_status heed_scale_into(heed_tensor *t, double factor)
{
    if (heed_blocked() || check_floats("scale_into", "t", t) != HEED_OK) {
        return heed_self.error;
    }
    heed_kernels_for(t->dtype)->scale(t->numel, t->data, factor);
    heed_raise_version(t);
    return HEED_OK;
}
