/* The norm of many tensors, and scaling them, in one pass each. */
#include "optim_update.h"

#include <math.h>

#include "blocks.h"
#include "check.h"
#include "grain.h"
#include "handle.h"
#include "kernels/kernels.h"
#include "parallel.h"
#include "read.h"
#include "shape.h"
#include "thread.h"

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
        return heed_fail(HEED_ERR_SHAPE, "%s: %s %s must be contiguous; heed_contiguous copies it",
                         function, name, HEED_TEXT(t));
    }
    return HEED_OK;
}

/* Norms of tensors; each norm is computed by a single thread. */
typedef struct norm_job {
    const heed_tensor *const *tensors;
    heed_norm_args args;
    double *of;
} norm_job;

static void run_norms(void *context, int64_t first, int64_t end)
{
    const norm_job *n = context;
    for (int64_t i = first; i < end; i++) {
        const heed_tensor *t = n->tensors[i];
        float single = 0;
        if (t->dtype == HEED_F64) {
            heed_kernels_for(HEED_F64)->norm(t->numel, t->data, &n->args, &n->of[i]);
        } else {
            heed_kernels_for(HEED_F32)->norm(t->numel, t->data, &n->args, &single);
            n->of[i] = (double)single;
        }
    }
}

/* The norm of the tensors' norms, skipping empty tensors. */
double heed_get_total_norm(const heed_tensor *const *tensors, int count, double p)
{
    if (heed_blocked()) {
        return (double)NAN;
    }
    if (isnan(p) || count < 0) {
        heed_fail(HEED_ERR_VALUE, "get_total_norm: the %g-norm of %d tensors is not defined", p,
                  count);
        return (double)NAN;
    }
    if (tensors == NULL && count > 0) {
        heed_fail(HEED_ERR_NULL, "get_total_norm: the list of tensors is NULL");
        return (double)NAN;
    }
    int64_t elements = 0, some = 0;
    for (int i = 0; i < count; i++) {
        if (check_floats("get_total_norm", "a tensor", tensors[i]) != HEED_OK) {
            return (double)NAN;
        }
        elements += tensors[i]->numel;
    }
    const size_t size = (size_t)count * sizeof(double);
    norm_job n = {tensors, {p}, heed_alloc_sized(size)};
    if (n.of == NULL) {
        return (double)NAN;
    }
    double total = 0;
    heed_parallel_for(count, elements < 2 * HEED_GRAIN_OF_SUMS ? count : 1, run_norms, &n);
    for (int i = 0; i < count; i++) {
        if (tensors[i]->numel > 0) {
            n.of[some++] = n.of[i];
        }
    }
    if (some > 0) {
        heed_kernels_for(HEED_F64)->norm(some, n.of, &n.args, &total);
    }
    heed_free_sized(n.of, size);
    return total;
}

typedef struct scale_job {
    const heed_tensor *t;
    double factor;
} scale_job;

static void run_scale(void *context, int64_t first, int64_t end)
{
    const scale_job *s = context;
    char *data = s->t->data;
    heed_kernels_for(s->t->dtype)
        ->scale(end - first, data + (size_t)first * heed_dtype_size(s->t->dtype), s->factor);
}

/* One tensor after the other, because tensors may share elements. */
heed_status heed_scale_all_into(heed_tensor *const *tensors, int count, double factor)
{
    if (!heed_blocked() && tensors == NULL && count > 0) {
        heed_fail(HEED_ERR_NULL, "scale_into: the list of tensors is NULL");
    }
    for (int i = 0; i < count && !heed_blocked(); i++) {
        check_floats("scale_into", "t", tensors[i]);
    }
    for (int i = 0; i < count && !heed_blocked(); i++) {
        scale_job job = {tensors[i], factor};
        heed_parallel_for(tensors[i]->numel, HEED_GRAIN_OF_UPDATES, run_scale, &job);
        heed_raise_version(tensors[i]);
    }
    return heed_self.error;
}

heed_status heed_scale_into(heed_tensor *t, double factor)
{
    return heed_scale_all_into(&t, 1, factor);
}
