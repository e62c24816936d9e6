/* Gradient checks: compares what derivatives say with what differences say, in f64.
 *
 * For each input the whole Jacobian is taken twice: by central differences, and row by row through
 * the backward pass, on a graph in which only those values are left that derivatives have declared
 * to read. */

#include "gradcheck.h"

#include <math.h>
#include <string.h>

#include "../tensor/alloc.h"
#include "../tensor/check.h"
#include "../tensor/create.h"
#include "../tensor/handle.h"
#include "../tensor/random/random.h"
#include "../tensor/read.h"
#include "../tensor/scope.h"
#include "../tensor/shape.h"
#include "../tensor/thread.h"
#include "backward.h"
#include "grad.h"
#include "op.h"
#include "ops/elementwise.h"
#include "ops/rearrange.h"
#include "ops/reductions.h"
#include "ops/view.h"

enum { MAX_INPUTS = 16 };

typedef struct check {
    const char *name;
    heed_function *f;
    void *context;
    heed_tensor *const *inputs;
    int count;
    heed_gradcheck_options options;
    const char *operation;    /* the last one of the function under test */
    heed_generator generator; /* as it was, so that each call draws the same */
} check;

/* The Jacobian of one input, (outputs, elements), row by row. */
typedef struct jacobian {
    int64_t outputs, elements;
    double *numeric, *analytic;
} jacobian;

/* ---- calling the function ---- */

/* f of fresh aliases of the inputs, which belong to the open scope. */
static heed_tensor *call(const check *c, heed_tensor **aliases)
{
    heed_set_generator(&c->generator);
    for (int i = 0; i < c->count; i++) {
        aliases[i] = heed_expand(c->inputs[i], heed_shape_of_tensor(c->inputs[i]));
    }
    heed_tensor *y = heed_blocked() ? NULL : c->f(aliases, c->context);
    if (y == NULL) { /* unless it has said why */
        heed_fail(HEED_ERR_NULL, "%s: the function returned NULL", c->name);
    } else if (y->dtype != HEED_F64) {
        heed_fail(HEED_ERR_DTYPE, "%s: the function returned %s, not f64", c->name,
                  heed_dtype_name(y->dtype));
    }
    return heed_blocked() ? NULL : y;
}

/* The graph of f: y and the alias of input `number` as mere handles, whose references the caller
 * drops. Of all values only those are left that derivatives have declared to read. NULL on error.
 */
static heed_tensor *record(const check *c, int number, heed_tensor **alias)
{
    heed_tensor *aliases[MAX_INPUTS];
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *y = call(c, aliases);
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
static heed_status sample(const check *c, double *place, double value, int64_t outputs, double *to)
{
    heed_tensor *aliases[MAX_INPUTS];
    heed_scope scope;
    const double was = *place;
    *place = value;
    heed_scope_begin(&scope);
    heed_tensor *y = call(c, aliases);
    if (y != NULL) {
        heed_copy_out(y, to, outputs);
    }
    *place = was;
    return heed_scope_end(&scope);
}

/* The numeric Jacobian by x, from central differences. */
static heed_status differentiate_numerically(const check *c, const heed_tensor *x, jacobian *j)
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

/* u^T J for the alias, into `to`: by derivatives that have a graph, or by those that have none. */
static heed_status pull_back(const check *c, heed_tensor *y, const heed_tensor *u,
                             heed_tensor *alias, bool create_graph, double *to)
{
    heed_tensor *g = NULL;
    heed_scope scope;
    heed_scope_begin(&scope);
    const heed_pass pass = {.function = c->name,
                            .y = y,
                            .upstream = u,
                            .xs = &alias,
                            .count = 1,
                            .grads = &g,
                            .create_graph = create_graph,
                            .retain_graph = true};
    if (heed_run_backward(&pass) == HEED_OK) {
        heed_copy_out(g, to, g->numel);
    }
    return heed_scope_end(&scope);
}

static const char *last_operation(const heed_tensor *y)
{
    return y != NULL && y->op != NULL ? y->op->name : "nothing";
}

/* Numbers in +-[0.5, 1.5] from a small generator of our own (Lehmer's, 48271 mod 2^31 - 1). */
static void fill_upstream(heed_tensor *u)
{
    uint32_t state = 1;
    for (int64_t i = 0; i < u->numel; i++) {
        state = (uint32_t)((uint64_t)state * 48271u % 2147483647u);
        const double x = (double)state / 2147483647.0;
        ((double *)u->data)[i] = x < 0.5 ? -0.5 - 2 * x : 0.5 + 2 * (x - 0.5);
    }
}

/* ---- comparing ---- */

/* The indices of the i-th element, as text. */
static heed_text index_text(const heed_tensor *t, int64_t i)
{
    int64_t at[HEED_MAX_DIMS] = {0};
    for (int d = t->ndim - 1; d >= 0 && t->numel > 0; d--) {
        at[d] = i % t->shape[d];
        i /= t->shape[d];
    }
    return heed_shape_text(t->ndim, at);
}

/* Names the element and both values where they differ most; output -1 is the sum of all, with a
 * random upstream. */
static heed_status report(const check *c, int input, const heed_tensor *y, int64_t output,
                          int64_t element, double analytic, double numeric)
{
    const heed_tensor *x = c->inputs[input];
    return heed_fail(HEED_ERR_GRADCHECK,
                     "%s: the gradient through %s by input %d %s at %s, of output %s: analytic "
                     "%.10g, numeric %.10g, off by %.3g",
                     c->name, c->operation, input, HEED_TEXT(x), index_text(x, element).text,
                     output < 0 ? "(random upstream)" : index_text(y, output).text, analytic,
                     numeric, fabs(analytic - numeric));
}

static bool differs(const check *c, double analytic, double numeric, double *by)
{
    double error = fabs(analytic - numeric) - c->options.rtol * fabs(numeric);
    *by = isnan(error) ? (double)INFINITY : error;
    return !(error <= c->options.atol); /* NaN differs */
}

static heed_status compare(const check *c, int input, const heed_tensor *y, const jacobian *j)
{
    bool all_zero = true;
    double worst = -1, by;
    int64_t at = -1;
    for (int64_t i = 0; i < j->outputs * j->elements; i++) {
        all_zero = all_zero && j->numeric[i] == 0;
        if (differs(c, j->analytic[i], j->numeric[i], &by) && by > worst) {
            worst = by;
            at = i;
        }
    }
    if (at >= 0) {
        return report(c, input, y, at / j->elements, at % j->elements, j->analytic[at],
                      j->numeric[at]);
    }
    if (all_zero && !c->options.allow_zero) {
        return heed_fail(HEED_ERR_GRADCHECK,
                         "%s: the function does not change with input %d %s, so the check proves "
                         "nothing; set allow_zero if that is meant",
                         c->name, input, HEED_TEXT(c->inputs[input]));
    }
    return HEED_OK;
}

/* The gradient for a random upstream against the same sum of numeric rows. */
static heed_status check_upstream(const check *c, int input, heed_tensor *y, heed_tensor *alias,
                                  bool create_graph, const jacobian *j)
{
    heed_tensor *u = heed_empty(heed_shape_of_tensor(y), HEED_F64);
    if (u == NULL) {
        return heed_self.error;
    }
    fill_upstream(u);
    double *analytic = j->analytic; /* the rows have been compared and can be overwritten */
    if (pull_back(c, y, u, alias, create_graph, analytic) != HEED_OK) {
        return heed_self.error;
    }
    for (int64_t e = 0; e < j->elements; e++) {
        double numeric = 0, scale = 0, by;
        for (int64_t k = 0; k < j->outputs; k++) {
            double term = ((double *)u->data)[k] * j->numeric[k * j->elements + e];
            numeric += term;
            scale += fabs(term);
        }
        if (differs(c, analytic[e], numeric, &by) && !(by <= c->options.rtol * scale)) {
            return report(c, input, y, -1, e, analytic[e], numeric);
        }
    }
    return HEED_OK;
}

static heed_status check_rows(const check *c, int input, jacobian *j)
{
    heed_tensor *alias, *y = record(c, input, &alias);
    if (y == NULL) {
        return heed_self.error;
    }
    heed_tensor *one = heed_zeros(heed_shape_of_tensor(y), HEED_F64);
    for (int64_t k = 0; one != NULL && k < j->outputs && y->requires_grad && !heed_blocked(); k++) {
        ((double *)one->data)[k] = 1;
        pull_back(c, y, one, alias, false, j->analytic + k * j->elements);
        ((double *)one->data)[k] = 0;
    }
    if (!heed_blocked() && compare(c, input, y, j) == HEED_OK && y->requires_grad &&
        check_upstream(c, input, y, alias, false, j) == HEED_OK) {
        check_upstream(c, input, y, alias, true, j);
    }
    heed_drop_reference(y);
    heed_drop_reference(alias);
    return heed_self.error;
}

static heed_status check_input(const check *c, int input, int64_t outputs)
{
    const heed_tensor *x = c->inputs[input];
    jacobian j = {.outputs = outputs, .elements = x->numel};
    /* at least one row: the random upstream needs it */
    const size_t size = 2 * (size_t)(outputs + 1) * (size_t)x->numel * sizeof(double);
    j.numeric = heed_alloc_zeroed(size);
    if (j.numeric == NULL) {
        return heed_self.error;
    }
    j.analytic = j.numeric + (outputs + 1) * x->numel;
    heed_scope scope;
    heed_scope_begin(&scope);
    if (differentiate_numerically(c, x, &j) == HEED_OK) {
        check_rows(c, input, &j);
    }
    heed_scope_end(&scope);
    heed_free(j.numeric, size);
    return heed_self.error;
}

/* ---- the checks ---- */

static heed_status check_inputs(const check *c)
{
    bool any = false;
    if (c->f == NULL || c->inputs == NULL || c->count < 1 || c->count > MAX_INPUTS) {
        return heed_fail(HEED_ERR_NULL, "%s: needs a function and 1 to %d inputs", c->name,
                         MAX_INPUTS);
    }
    for (int i = 0; i < c->count; i++) {
        const heed_tensor *x = c->inputs[i];
        if (heed_check_tensor(c->name, "an input", x) != HEED_OK) {
            return heed_self.error;
        }
        any = any || x->requires_grad;
        if (x->requires_grad && x->dtype != HEED_F64) {
            return heed_fail(HEED_ERR_DTYPE,
                             "%s: input %d is %s, in which differences say nothing; "
                             "heed_to(x, HEED_F64)",
                             c->name, i, heed_dtype_name(x->dtype));
        }
        if (x->requires_grad && heed_is_expanded(x)) {
            return heed_fail(HEED_ERR_SHAPE, "%s: input %d %s is expanded; expand it inside f",
                             c->name, i, HEED_TEXT(x));
        }
    }
    return any ? HEED_OK : heed_fail(HEED_ERR_GRAPH, "%s: no input requires a gradient", c->name);
}

static heed_status run_check(check *c)
{
    if (heed_blocked() || check_inputs(c) != HEED_OK) {
        return heed_self.error;
    }
    c->options.eps = c->options.eps > 0 ? c->options.eps : 1e-6;
    c->options.atol = c->options.atol > 0 ? c->options.atol : 1e-7;
    c->options.rtol = c->options.rtol > 0 ? c->options.rtol : 1e-5;
    c->generator = heed_get_generator();
    heed_tensor *aliases[MAX_INPUTS];
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_set_grad_enabled(true);
    heed_tensor *y = call(c, aliases);
    int64_t outputs = y != NULL ? y->numel : 0;
    c->operation = c->operation != NULL ? c->operation : last_operation(y);
    for (int i = 0; y != NULL && i < c->count && !heed_blocked(); i++) {
        if (c->inputs[i]->requires_grad) {
            check_input(c, i, outputs);
        }
    }
    heed_set_generator(&c->generator);
    return heed_scope_end(&scope);
}

heed_status heed_gradcheck(heed_function *f, void *context, heed_tensor *const *inputs, int count,
                           heed_gradcheck_options options)
{
    check c = {"gradcheck", f, context, inputs, count, options, .operation = NULL};
    return run_check(&c);
}

/* ---- second derivatives ---- */

typedef struct gradient_of {
    heed_function *f;
    void *context;
    int count; /* of f's inputs; the upstream is one more */
} gradient_of;

/* All gradients of sum(f(inputs) u), flattened and joined. */
static heed_tensor *gradient(heed_tensor *const *inputs, void *context)
{
    const gradient_of *of = context;
    heed_tensor *xs[MAX_INPUTS], *grads[MAX_INPUTS];
    int wanted = 0;
    for (int i = 0; i < of->count; i++) {
        if (inputs[i]->requires_grad) {
            xs[wanted++] = inputs[i];
        }
    }
    heed_tensor *loss = heed_sum(heed_mul(of->f(inputs, of->context), inputs[of->count]));
    if (loss == NULL || heed_grad(loss, xs, wanted, grads, true) != HEED_OK) {
        return NULL;
    }
    for (int i = 0; i < wanted; i++) {
        grads[i] = heed_reshape(grads[i], HEED_SHAPE(-1));
    }
    return heed_cat(grads, wanted, 0);
}

heed_status heed_gradgradcheck(heed_function *f, void *context, heed_tensor *const *inputs,
                               int count, heed_gradcheck_options options)
{
    const char *name = "gradgradcheck";
    check c = {name, f, context, inputs, count, options, .operation = NULL};
    if (heed_blocked() || check_inputs(&c) != HEED_OK) {
        return heed_self.error;
    }
    if (count >= MAX_INPUTS) {
        return heed_fail(HEED_ERR_VALUE, "%s: %d inputs; at most %d", name, count, MAX_INPUTS - 1);
    }
    heed_tensor *all[MAX_INPUTS], *aliases[MAX_INPUTS];
    heed_scope scope;
    heed_scope_begin(&scope);
    c.generator = heed_get_generator();
    heed_tensor *y = call(&c, aliases);
    if (y != NULL) {
        memcpy(all, inputs, (size_t)count * sizeof *all);
        all[count] = heed_empty(heed_shape_of_tensor(y), HEED_F64);
    }
    if (!heed_blocked()) {
        fill_upstream(all[count]);
        heed_set_requires_grad(all[count], true);
        gradient_of of = {f, context, count};
        check second = {
            name, gradient, &of, all, count + 1, options, .operation = last_operation(y)};
        run_check(&second);
    }
    heed_set_generator(&c.generator);
    return heed_scope_end(&scope);
}
