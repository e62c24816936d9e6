/* The updates of optimisers: checks, then one kernel. */
#include "tensor/update.h"

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
