/* Calls the function of a gradient check, and takes its Jacobian by central differences and by its
 * derivatives. */
#include "../tensor/alloc.h"
#include "../tensor/create.h"
#include "../tensor/handle.h"
#include "../tensor/read.h"
#include "../tensor/scope.h"
#include "../tensor/thread.h"
#include "check.h"
#include "ops/shape.h"
#include "pass.h"

/* ---- calling the function ---- */

heed_tensor *heed_check_call(const heed_check *c, heed_tensor **aliases)
{
    heed_set_generator(&c->generator);
    for (int i = 0; i < c->count; i++) {
        aliases[i] = heed_expand(c->inputs[i], heed_shape_of_tensor(c->inputs[i]));
    }
    heed_tensor *y = heed_blocked() ? NULL : c->f(aliases, c->context);
    if (heed_blocked()) {
        return NULL;
    }
    if (y == NULL) {
        heed_fail(HEED_ERR_NULL, "%s: the function returned NULL", c->name);
    } else if (y->dtype != HEED_F64) {
        heed_fail(HEED_ERR_DTYPE, "%s: the function returned %s, not f64", c->name,
                  heed_dtype_name(y->dtype));
    }
    return heed_blocked() ? NULL : y;
}

heed_tensor *heed_check_record(const heed_check *c, int number, heed_tensor **alias)
{
    heed_tensor *aliases[HEED_CHECK_INPUTS];
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *y = heed_check_call(c, aliases);
    if (y != NULL) {
        *alias = aliases[number];
        heed_add_reference(y);
        heed_add_reference(*alias);
    }
    if (heed_scope_end(&scope) != HEED_OK && y != NULL) {
        heed_drop_reference(y);
        heed_drop_reference(*alias);
        y = NULL;
    }
    return y;
}

/* ---- the Jacobian ---- */

static double *element_at(const heed_tensor *x, int64_t i)
{
    int64_t offset = 0;
    for (int d = x->ndim - 1; d >= 0; d--) {
        offset += i % x->shape[d] * x->strides[d];
        i /= x->shape[d];
    }
    return (double *)x->data + offset;
}

/* y at x + step, as contiguous doubles in a block of `outputs`. */
static heed_status sample(const heed_check *c, double *place, double value, int64_t outputs,
                          double *to)
{
    heed_tensor *aliases[HEED_CHECK_INPUTS];
    heed_scope scope;
    const double was = *place;
    *place = value;
    heed_scope_begin(&scope);
    heed_tensor *y = heed_check_call(c, aliases);
    if (y != NULL) {
        heed_copy_out(y, to, outputs);
    }
    *place = was;
    return heed_scope_end(&scope);
}

heed_status heed_check_differ(const heed_check *c, const heed_tensor *x, heed_jacobian *j)
{
    const size_t size = 2 * (size_t)j->outputs * sizeof(double);
    double *above = heed_alloc(size);
    if (above == NULL) {
        return heed_self.error;
    }
    double *below = above + j->outputs;
    for (int64_t e = 0; e < j->elements && !heed_blocked(); e++) {
        double *place = element_at(x, e);
        const double up = *place + c->options.eps, down = *place - c->options.eps;
        if (sample(c, place, up, j->outputs, above) == HEED_OK &&
            sample(c, place, down, j->outputs, below) == HEED_OK) {
            for (int64_t k = 0; k < j->outputs; k++) {
                j->numeric[k * j->elements + e] = (above[k] - below[k]) / (up - down);
            }
        }
    }
    heed_free(above, size);
    return heed_self.error;
}

heed_status heed_check_pull_back(const heed_check *c, heed_tensor *y, const heed_tensor *u,
                                 heed_tensor *alias, bool create_graph, double *to)
{
    heed_tensor *g = NULL;
    heed_scope scope;
    heed_scope_begin(&scope);
    const heed_pass pass = {.y = y,
                            .upstream = u,
                            .xs = &alias,
                            .count = 1,
                            .grads = &g,
                            .create_graph = create_graph,
                            .retain_graph = true};
    if (heed_run_pass(c->name, &pass) == HEED_OK) {
        heed_copy_out(g, to, g->numel);
    }
    return heed_scope_end(&scope);
}
