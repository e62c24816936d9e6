/* Gradient checks: analytic derivatives against finite differences, in f64.
 *
 * The whole Jacobian with respect to each input is computed twice: from central differences, and
 * row by row with the backward pass. The graph of that pass keeps only the values that derivatives
 * declare as saved. */

#include "gradcheck.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
#include "ops/reductions.h"
#include "ops/slice.h"
#include "ops/view.h"

enum { MAX_INPUTS = 16, MAX_ALIASES = MAX_INPUTS + 1 }; /* the gradient of f has one input more */

typedef struct check {
    const char *name;
    heed_function *f;
    void *context;
    heed_tensor *const *inputs;
    int count;
    heed_gradcheck_options options;
    const struct check *first; /* the check itself; in a second-order check, f is the gradient of
                                  first->f, and its last input is the upstream gradient */
    const heed_op *operation;  /* the last one of first->f; NULL: that of the recorded graph */
    heed_generator generator;  /* the initial state: every call draws the same numbers */
} check;

/* The derivatives with respect to one input, of shape (outputs, elements), row by row. */
typedef struct jacobian {
    int input;
    heed_tensor *y, *alias; /* the recorded graph: handles without values */
    int64_t outputs, elements;
    double *numeric, *analytic;
} jacobian;

/* `count` zeros, which belong to the open scope. NULL on error. */
static double *zeros(int64_t count)
{
    return heed_data_f64(heed_zeros(HEED_SHAPE(count), HEED_F64));
}

/* The indices of the i-th element. */
static heed_shape indices(const heed_tensor *t, int64_t i)
{
    heed_shape at = {.ndim = t->ndim};
    for (int d = t->ndim - 1; d >= 0; d--) {
        at.size[d] = i % t->shape[d];
        i /= t->shape[d];
    }
    return at;
}

/* A tensor of y's shape with numbers in +-[0.5, 1.5] from Lehmer's generator (48271 mod 2^31 - 1),
 * which leaves the thread's generator untouched. NULL on error. */
static heed_tensor *random_like(const heed_tensor *y)
{
    heed_tensor *u = heed_empty(heed_shape_of_tensor(y), HEED_F64);
    uint64_t state = 1;
    for (int64_t i = 0; u != NULL && i < u->numel; i++) {
        state = state * 48271 % 2147483647;
        const double x = (double)state / 2147483647.0;
        ((double *)u->data)[i] = x < 0.5 ? -0.5 - 2 * x : 2 * x - 0.5;
    }
    return u;
}

/* ---- calling the function ---- */

/* Calls f with fresh aliases of the inputs. The aliases belong to the open scope. */
static heed_tensor *call(const check *c, heed_tensor **aliases)
{
    heed_set_generator(&c->generator);
    const char *outer = heed_self.operation;
    heed_self.operation = c->name; /* observers do not see the steps of an operation */
    for (int i = 0; i < c->count; i++) {
        aliases[i] = heed_expand(c->inputs[i], heed_shape_of_tensor(c->inputs[i]));
    }
    heed_self.operation = outer;
    heed_tensor *y = heed_blocked() ? NULL : c->f(aliases, c->context);
    if (y == NULL) { /* an error reported by f takes precedence */
        heed_fail(HEED_ERR_NULL, "%s: the function returned NULL", c->name);
    } else if (y->dtype != HEED_F64) {
        heed_fail(HEED_ERR_DTYPE, "%s: the function returned %s, not f64", c->name,
                  heed_dtype_name(y->dtype));
    }
    return heed_blocked() ? NULL : y;
}

/* Records the graph of f: sets j->y and j->alias, whose references the caller drops. Only the
 * values that derivatives declare as saved are kept. */
static heed_status record(const check *c, jacobian *j)
{
    heed_tensor *aliases[MAX_ALIASES];
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *y = call(c, aliases);
    if (y != NULL) {
        j->y = y;
        j->alias = aliases[j->input];
        j->outputs = y->numel;
        heed_add_reference(j->y);
        heed_add_reference(j->alias);
    }
    return heed_scope_end(&scope);
}

/* ---- the Jacobian ---- */

/* Evaluates f with *place set to `value`; writes y's `outputs` elements to `to` in row-major
 * order. */
static heed_status sample(const check *c, double *place, double value, int64_t outputs, double *to)
{
    heed_tensor *aliases[MAX_ALIASES];
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

/* The Jacobian with respect to input x, from central differences. NULL on error. */
static double *differentiate_numerically(const check *c, const heed_tensor *x, int64_t outputs)
{
    double *numeric = zeros(outputs * x->numel), *above = zeros(outputs), *below = zeros(outputs);
    for (int64_t e = 0; e < x->numel && !heed_blocked(); e++) {
        const heed_shape at = indices(x, e);
        double *place = x->data;
        for (int d = 0; d < x->ndim; d++) {
            place += at.size[d] * x->strides[d];
        }
        const double up = *place + c->options.eps, down = *place - c->options.eps;
        sample(c, place, up, outputs, above);
        sample(c, place, down, outputs, below);
        for (int64_t k = 0; k < outputs; k++) {
            numeric[k * x->numel + e] = (above[k] - below[k]) / (up - down);
        }
    }
    return heed_blocked() ? NULL : numeric;
}

/* Writes u^T J to `to`. With create_graph the derivatives record a graph too; many operations then
 * take a different code path. */
static heed_status pull_back(const check *c, const jacobian *j, const heed_tensor *u,
                             bool create_graph, double *to)
{
    heed_tensor *alias = j->alias, *g = NULL;
    heed_scope scope;
    heed_scope_begin(&scope);
    const heed_pass pass = {.function = c->name,
                            .y = j->y,
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

/* ---- comparing ---- */

/* The ratio of analytic to numeric if it is the same for all `count` elements, else NaN. If only
 * one numeric value exceeds atol, a common ratio proves nothing. */
static double common_ratio(const check *c, const double *analytic, const double *numeric,
                           int64_t count)
{
    double products = 0, squares = 0;
    int64_t significant = 0;
    for (int64_t i = 0; i < count; i++) {
        products += analytic[i] * numeric[i];
        squares += numeric[i] * numeric[i];
        significant += fabs(numeric[i]) > c->options.atol;
    }
    const double ratio = products / squares;
    for (int64_t i = 0; i < count; i++) {
        const double error = fabs(analytic[i] - ratio * numeric[i]);
        if (!(error <= c->options.atol + c->options.rtol * fabs(numeric[i]))) {
            return (double)NAN;
        }
    }
    return significant >= 2 ? ratio : (double)NAN;
}

/* Compares two Jacobians, whose elements may differ by atol + rtol |scale|. `output` names the only
 * row; NULL: rows are outputs. */
static heed_status compare(const check *c, const jacobian *j, const double *scale,
                           const char *output)
{
    const int64_t count = j->outputs * j->elements;
    double widest = c->options.atol, *worst = c->options.worst;
    int64_t at = -1;
    for (int64_t i = 0; i < count; i++) {
        const double off = fabs(j->analytic[i] - j->numeric[i]);
        const double difference = isnan(off) ? (double)INFINITY : off; /* NaN never passes */
        if (worst != NULL && !(difference <= *worst)) {
            *worst = difference;
        }
        const double allowed = isinf(difference) ? 0 : c->options.rtol * fabs(scale[i]);
        if (difference - allowed > widest) {
            widest = difference - allowed;
            at = i;
        }
    }
    if (at < 0) {
        return HEED_OK;
    }
    const heed_tensor *x = c->inputs[j->input];
    const heed_op *operation = c->operation != NULL ? c->operation : j->y->op;
    const heed_shape row = indices(j->y, at / j->elements);
    const heed_shape place = indices(x, at % j->elements);
    const double analytic = j->analytic[at], numeric = j->numeric[at];
    const double ratio = common_ratio(c, j->analytic, j->numeric, count);
    heed_text input = {"the upstream gradient"}, factor = {""};
    if (j->input < c->first->count) {
        snprintf(input.text, sizeof input.text, "input %d", j->input);
    }
    if (!isnan(ratio)) {
        snprintf(factor.text, sizeof factor.text, "; analytic / numeric is %.7g everywhere",
                 ratio == 0 ? 0 : ratio); /* no "-0" */
    }
    return heed_fail(
        HEED_ERR_GRADCHECK,
        "%s: the gradient through %s with respect to %s %s at %s, of output %s: analytic %.10g, "
        "numeric %.10g, off by %.3g%s",
        c->name, operation != NULL ? operation->name : "nothing", input.text, HEED_TEXT(x),
        heed_shape_text(place.ndim, place.size).text,
        output != NULL ? output : heed_shape_text(row.ndim, row.size).text, analytic, numeric,
        fabs(analytic - numeric), factor.text);
}

/* Compares the gradients for a random upstream gradient with the sum of the numeric rows, weighted
 * by it. */
static heed_status compare_random_upstream(const check *c, const jacobian *j)
{
    const int64_t n = j->elements;
    const heed_tensor *u = random_like(j->y);
    double *numeric = zeros(n), *scale = zeros(n), *analytic = zeros(n);
    for (int64_t i = 0; !heed_blocked() && i < j->outputs * n; i++) {
        const double term = ((const double *)u->data)[i / n] * j->numeric[i];
        numeric[i % n] += term;
        scale[i % n] += fabs(term);
    }
    jacobian sum = *j;
    sum.outputs = 1;
    sum.numeric = numeric;
    sum.analytic = analytic;
    if (pull_back(c, j, u, false, analytic) == HEED_OK &&
        compare(c, &sum, scale, "(random upstream)") == HEED_OK &&
        pull_back(c, j, u, true, analytic) == HEED_OK) {
        compare(c, &sum, scale, "(random upstream, create_graph)");
    }
    return heed_self.error;
}

/* ---- inputs that have no effect ---- */

/* False on error, when there is no Jacobian. */
static bool is_zero(const double *numeric, int64_t count)
{
    bool zero = numeric != NULL;
    for (int64_t i = 0; zero && i < count; i++) {
        zero = numeric[i] == 0;
    }
    return zero;
}

/* A check of an input that has no effect compares zeros with zeros and proves nothing, so it fails
 * unless the options list the input. */
static heed_status check_no_effect(const check *c, int input)
{
    const check *first = c->first;
    const char *what = "function", *option = "unused";
    unsigned declared = first->options.unused;
    if (input == first->count) { /* the upstream gradient: f has to be constant in all inputs */
        for (int i = 0; i < first->count; i++) {
            if (first->inputs[i]->requires_grad && (declared & HEED_INPUT(i)) == 0) {
                return heed_fail(HEED_ERR_GRADCHECK,
                                 "%s: the gradient is 0 for every upstream gradient, so the check "
                                 "proves nothing",
                                 c->name);
            }
        }
        return HEED_OK;
    }
    const heed_tensor *x = c->inputs[input];
    if (c != first) {
        const int64_t outputs = c->inputs[first->count]->numel;
        if (!is_zero(differentiate_numerically(first, x, outputs), outputs * x->numel)) {
            what = "gradient";
            option = "linear";
            declared = first->options.linear;
        }
    }
    if ((declared & HEED_INPUT(input)) == 0) {
        heed_fail(HEED_ERR_GRADCHECK,
                  "%s: the %s does not change with input %d %s, so the check proves nothing; "
                  "if this is intended, set .%s = HEED_INPUT(%d)",
                  c->name, what, input, HEED_TEXT(x), option, input);
    }
    return heed_self.error;
}

/* ---- the checks ---- */

static void check_graph(const check *c, jacobian *j)
{
    const int64_t n = j->elements;
    heed_tensor *one = heed_zeros(heed_shape_of_tensor(j->y), HEED_F64);
    j->analytic = zeros(j->outputs * n);
    j->numeric = differentiate_numerically(c, c->inputs[j->input], j->outputs);
    for (int64_t k = 0; !heed_blocked() && j->y->requires_grad && k < j->outputs; k++) {
        ((double *)one->data)[k] = 1;
        pull_back(c, j, one, false, j->analytic + k * n);
        ((double *)one->data)[k] = 0;
    }
    if (heed_blocked() || compare(c, j, j->numeric, NULL) != HEED_OK) {
        return;
    }
    if (is_zero(j->numeric, j->outputs * n)) {
        check_no_effect(c, j->input);
    }
    if (j->y->requires_grad && !heed_blocked()) {
        compare_random_upstream(c, j);
    }
}

static void check_input(const check *c, int input)
{
    jacobian j = {.input = input, .elements = c->inputs[input]->numel};
    heed_scope scope;
    heed_scope_begin(&scope);
    if (record(c, &j) == HEED_OK) {
        check_graph(c, &j);
    }
    if (j.y != NULL) {
        heed_drop_reference(j.y);
        heed_drop_reference(j.alias);
    }
    heed_scope_end(&scope);
}

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
                             "%s: input %d is %s, too coarse for finite differences; "
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

static void check_derivatives(const check *c)
{
    for (int i = 0; i < c->count && !heed_blocked(); i++) {
        if (c->inputs[i]->requires_grad) {
            check_input(c, i);
        }
    }
}

/* The gradients of sum(f(inputs) * u), where u is the upstream gradient, with respect to all
 * inputs of f that require gradients, flattened and concatenated. The context is f's check. */
static heed_tensor *gradient(heed_tensor *const *inputs, void *context)
{
    const check *first = context;
    heed_tensor *xs[MAX_INPUTS], *grads[MAX_INPUTS];
    int wanted = 0;
    for (int i = 0; i < first->count; i++) {
        if (inputs[i]->requires_grad) {
            xs[wanted++] = inputs[i];
        }
    }
    heed_tensor *y = first->f(inputs, first->context);
    heed_grad(heed_sum(heed_mul(y, inputs[first->count])), xs, wanted, grads, true);
    for (int i = 0; i < wanted; i++) {
        grads[i] = heed_reshape(grads[i], HEED_SHAPE(-1));
    }
    return heed_cat(grads, wanted, 0);
}

static void check_second_derivatives(check *first)
{
    heed_tensor *aliases[MAX_ALIASES], *inputs[MAX_ALIASES];
    heed_tensor *y = call(first, aliases);
    heed_tensor *u = heed_set_requires_grad(random_like(y), true);
    if (u != NULL) {
        memcpy(inputs, first->inputs, (size_t)first->count * sizeof *inputs);
        inputs[first->count] = u;
        check second = *first;
        second.f = gradient;
        second.context = first;
        second.inputs = inputs;
        second.count = first->count + 1;
        second.operation = y->op;
        check_derivatives(&second);
    }
}

static heed_status run(int order, heed_function *f, void *context, heed_tensor *const *inputs,
                       int count, heed_gradcheck_options options)
{
    check c = {.name = order == 1 ? "gradcheck" : "gradgradcheck",
               .f = f,
               .context = context,
               .inputs = inputs,
               .count = count,
               .options = options,
               .first = &c,
               .generator = heed_get_generator()};
    c.options.eps = options.eps > 0 ? options.eps : 1e-6;
    c.options.atol = options.atol > 0 ? options.atol : 1e-7;
    c.options.rtol = options.rtol > 0 ? options.rtol : 1e-5;
    if (options.worst != NULL) {
        *options.worst = (double)NAN; /* nothing compared yet */
    }
    if (check_inputs(&c) != HEED_OK) {
        return heed_self.error;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_set_grad_enabled(true);
    if (order == 1) {
        check_derivatives(&c);
    } else {
        check_second_derivatives(&c);
    }
    heed_set_generator(&c.generator);
    return heed_scope_end(&scope);
}

heed_status heed_gradcheck_with(heed_function *f, void *context, heed_tensor *const *inputs,
                                int count, heed_gradcheck_options options)
{
    return run(1, f, context, inputs, count, options);
}

heed_status heed_gradcheck(heed_function *f, void *context, heed_tensor *const *inputs, int count)
{
    return run(1, f, context, inputs, count, (heed_gradcheck_options){0});
}

heed_status heed_gradgradcheck_with(heed_function *f, void *context, heed_tensor *const *inputs,
                                    int count, heed_gradcheck_options options)
{
    return run(2, f, context, inputs, count, options);
}

heed_status heed_gradgradcheck(heed_function *f, void *context, heed_tensor *const *inputs,
                               int count)
{
    return run(2, f, context, inputs, count, (heed_gradcheck_options){0});
}
