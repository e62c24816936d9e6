/* Gradient checks: analytic derivatives against finite differences, in f64.
 *
 * The whole Jacobian with respect to each input is computed twice: from central differences, and
 * row by row with the backward pass. The graph of that pass keeps only the values that derivatives
 * declare as saved. */

#include "gradcheck.h"

#include <math.h>
#include <stdio.h>
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
    const char *operation;     /* the last operation of the function under test */
    const struct check *first; /* set in a second-order check: f is the gradient of first->f, and
                                  its last input is the upstream gradient */
    heed_generator generator;  /* the initial state: every call draws the same numbers */
} check;

/* The Jacobian with respect to one input, of shape (outputs, elements), row by row. */
typedef struct jacobian {
    int64_t outputs, elements;
    double *numeric, *analytic;
} jacobian;

/* ---- calling the function ---- */

/* Calls f with fresh aliases of the inputs. The aliases belong to the open scope. */
static heed_tensor *call(const check *c, heed_tensor **aliases)
{
    heed_set_generator(&c->generator);
    for (int i = 0; i < c->count; i++) {
        aliases[i] = heed_expand(c->inputs[i], heed_shape_of_tensor(c->inputs[i]));
    }
    heed_tensor *y = heed_blocked() ? NULL : c->f(aliases, c->context);
    if (y == NULL) { /* an error reported by f takes precedence */
        heed_fail(HEED_ERR_NULL, "%s: the function returned NULL", c->name);
    } else if (y->dtype != HEED_F64) {
        heed_fail(HEED_ERR_DTYPE, "%s: the function returned %s, not f64", c->name,
                  heed_dtype_name(y->dtype));
    }
    return heed_blocked() ? NULL : y;
}

/* Records the graph of f: returns y and sets *alias to the alias of input `number`, both as handles
 * without values. The caller drops their references. Only the values that derivatives declare as
 * saved are kept. NULL on error. */
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

/* Evaluates f with *place set to `value`; writes y's `outputs` elements to `to` in row-major
 * order. */
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

/* The numeric Jacobian with respect to x, from central differences. */
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
    heed_free(above);
    return heed_self.error;
}

/* Writes u^T J to `to`, where J is the Jacobian with respect to the alias. With create_graph the
 * derivatives record a graph too; many operations then take a different code path. */
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

/* Fills u with numbers in +-[0.5, 1.5] from Lehmer's generator (48271 mod 2^31 - 1), which leaves
 * the thread's generator untouched. */
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

/* The input's name in messages: "input 1" or "the upstream gradient". */
static heed_text input_text(const check *c, int input)
{
    heed_text text = {"the upstream gradient"};
    if (c->first == NULL || input < c->first->count) {
        snprintf(text.text, sizeof text.text, "input %d", input);
    }
    return text;
}

/* The error in excess of what rtol allows; INFINITY for NaN, which never passes. */
static double error_of(const check *c, double analytic, double numeric)
{
    const double difference = fabs(analytic - numeric);
    double *worst = c->options.worst;
    if (worst != NULL && !(difference <= *worst)) {
        *worst = isnan(difference) ? (double)INFINITY : difference;
    }
    const double error = difference - c->options.rtol * fabs(numeric);
    return isnan(error) ? (double)INFINITY : error;
}

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

/* Reports the error of element i, one of the `count` elements compared. */
static heed_status report(const check *c, int input, int64_t element, const char *output,
                          const double *analytic, const double *numeric, int64_t count, int64_t i)
{
    const double ratio = common_ratio(c, analytic, numeric, count);
    heed_text factor = {""};
    if (!isnan(ratio)) {
        snprintf(factor.text, sizeof factor.text, "; analytic / numeric is %.7g everywhere",
                 ratio == 0 ? 0 : ratio); /* no "-0" */
    }
    return heed_fail(
        HEED_ERR_GRADCHECK,
        "%s: the gradient through %s with respect to %s %s at %s, of output %s: analytic %.10g, "
        "numeric %.10g, off by %.3g%s",
        c->name, c->operation, input_text(c, input).text, HEED_TEXT(c->inputs[input]),
        index_text(c->inputs[input], element).text, output, analytic[i], numeric[i],
        fabs(analytic[i] - numeric[i]), factor.text);
}

/* ---- inputs that have no effect ---- */

static bool is_zero(const jacobian *j)
{
    bool zero = true;
    for (int64_t i = 0; zero && i < j->outputs * j->elements; i++) {
        zero = j->numeric[i] == 0;
    }
    return zero;
}

/* True if the function of this first-order check changes with the input, or on error. */
static bool function_changes(const check *c, int input)
{
    heed_tensor *aliases[MAX_INPUTS];
    heed_scope scope;
    heed_scope_begin(&scope);
    const heed_tensor *x = c->inputs[input], *y = call(c, aliases);
    bool changes = true;
    if (y != NULL) {
        jacobian j = {.outputs = y->numel, .elements = x->numel};
        const size_t size = (size_t)j.outputs * (size_t)j.elements * sizeof(double);
        j.numeric = heed_alloc(size);
        changes =
            j.numeric == NULL || differentiate_numerically(c, x, &j) != HEED_OK || !is_zero(&j);
        heed_free(j.numeric);
    }
    heed_scope_end(&scope);
    return changes;
}

/* A check of an input that has no effect compares zeros with zeros and proves nothing, so it fails
 * unless the options list the input. */
static heed_status check_no_effect(const check *c, int input)
{
    const check *first = c->first != NULL ? c->first : c;
    const unsigned unused = first->options.unused;
    const char *what = "function", *option = "unused";
    bool declared = (unused & HEED_INPUT(input)) != 0;
    if (input == first->count) { /* the upstream gradient: f has to be constant in all inputs */
        bool constant = true;
        for (int i = 0; i < first->count; i++) {
            constant =
                constant && (!first->inputs[i]->requires_grad || (unused & HEED_INPUT(i)) != 0);
        }
        return constant ? HEED_OK
                        : heed_fail(HEED_ERR_GRADCHECK,
                                    "%s: the gradient is 0 for every upstream gradient, so the "
                                    "check proves nothing",
                                    c->name);
    }
    if (c->first != NULL && function_changes(first, input)) {
        what = "gradient";
        option = "linear";
        declared = (first->options.linear & HEED_INPUT(input)) != 0;
    }
    if (!declared && !heed_blocked()) {
        heed_fail(HEED_ERR_GRADCHECK,
                  "%s: the %s does not change with %s %s, so the check proves nothing; "
                  "if this is intended, set .%s = HEED_INPUT(%d)",
                  c->name, what, input_text(c, input).text, HEED_TEXT(c->inputs[input]), option,
                  input);
    }
    return heed_self.error;
}

/* ---- comparing the Jacobians ---- */

static heed_status compare(const check *c, int input, const heed_tensor *y, const jacobian *j)
{
    const int64_t count = j->outputs * j->elements;
    double widest = c->options.atol;
    int64_t at = -1;
    for (int64_t i = 0; i < count; i++) {
        const double error = error_of(c, j->analytic[i], j->numeric[i]);
        if (error > widest) {
            widest = error;
            at = i;
        }
    }
    if (at >= 0) {
        return report(c, input, at % j->elements, index_text(y, at / j->elements).text, j->analytic,
                      j->numeric, count, at);
    }
    return is_zero(j) ? check_no_effect(c, input) : HEED_OK;
}

/* Compares the gradient for a random upstream gradient u with the sum of the numeric rows, weighted
 * by u. */
static heed_status check_upstream(const check *c, int input, heed_tensor *y, heed_tensor *alias,
                                  bool create_graph, const jacobian *j)
{
    heed_tensor *u = heed_empty(heed_shape_of_tensor(y), HEED_F64);
    if (u == NULL) {
        return heed_self.error;
    }
    fill_upstream(u);
    /* The analytic rows have been compared and can be overwritten; the numeric ones are needed
     * again, and are followed by a spare row. */
    double *analytic = j->analytic, *numeric = j->numeric + j->outputs * j->elements;
    if (pull_back(c, y, u, alias, create_graph, analytic) != HEED_OK) {
        return heed_self.error;
    }
    int64_t at = -1;
    double widest = c->options.atol;
    for (int64_t e = 0; e < j->elements; e++) {
        double scale = 0;
        numeric[e] = 0;
        for (int64_t k = 0; k < j->outputs; k++) {
            const double term = ((double *)u->data)[k] * j->numeric[k * j->elements + e];
            numeric[e] += term;
            scale += fabs(term);
        }
        const double error = error_of(c, analytic[e], numeric[e]);
        if (error > widest && !(error <= c->options.rtol * scale)) {
            at = e;
            widest = error;
        }
    }
    const char *output = create_graph ? "(random upstream, create_graph)" : "(random upstream)";
    return at < 0 ? HEED_OK : report(c, input, at, output, analytic, numeric, j->elements, at);
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
    /* one extra row, for the random upstream gradient */
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
    heed_free(j.numeric);
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

static heed_gradcheck_options with_defaults(heed_gradcheck_options options)
{
    options.eps = options.eps > 0 ? options.eps : 1e-6;
    options.atol = options.atol > 0 ? options.atol : 1e-7;
    options.rtol = options.rtol > 0 ? options.rtol : 1e-5;
    return options;
}

/* What every check begins with. */
static heed_status begin_check(const check *c)
{
    if (c->options.worst != NULL) {
        *c->options.worst = (double)NAN; /* nothing compared yet */
    }
    return heed_blocked() ? heed_self.error : check_inputs(c);
}

static heed_status run_check(check *c)
{
    if (begin_check(c) != HEED_OK) {
        return heed_self.error;
    }
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

heed_status heed_gradcheck_with(heed_function *f, void *context, heed_tensor *const *inputs,
                                int count, heed_gradcheck_options options)
{
    check c = {.name = "gradcheck",
               .f = f,
               .context = context,
               .inputs = inputs,
               .count = count,
               .options = with_defaults(options)};
    return run_check(&c);
}

heed_status heed_gradcheck(heed_function *f, void *context, heed_tensor *const *inputs, int count)
{
    return heed_gradcheck_with(f, context, inputs, count, (heed_gradcheck_options){0});
}

/* ---- second derivatives ---- */

typedef struct gradient_of {
    heed_function *f;
    void *context;
    int count; /* number of f's inputs; the upstream gradient comes after them */
} gradient_of;

/* The gradients of sum(f(inputs) * u), where u is the upstream gradient, with respect to all
 * inputs that require gradients, flattened and concatenated. */
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

heed_status heed_gradgradcheck_with(heed_function *f, void *context, heed_tensor *const *inputs,
                                    int count, heed_gradcheck_options options)
{
    check first = {.name = "gradgradcheck",
                   .f = f,
                   .context = context,
                   .inputs = inputs,
                   .count = count,
                   .options = with_defaults(options)};
    if (begin_check(&first) != HEED_OK) {
        return heed_self.error;
    }
    if (count >= MAX_INPUTS) {
        return heed_fail(HEED_ERR_VALUE, "%s: %d inputs; at most %d are allowed", first.name, count,
                         MAX_INPUTS - 1);
    }
    first.options.worst = NULL; /* the second check sets it */
    heed_tensor *all[MAX_INPUTS], *aliases[MAX_INPUTS];
    heed_scope scope;
    heed_scope_begin(&scope);
    first.generator = heed_get_generator();
    heed_tensor *y = call(&first, aliases);
    if (y != NULL) {
        memcpy(all, inputs, (size_t)count * sizeof *all);
        all[count] = heed_empty(heed_shape_of_tensor(y), HEED_F64);
    }
    if (!heed_blocked()) {
        fill_upstream(all[count]);
        heed_set_requires_grad(all[count], true);
        gradient_of of = {f, context, count};
        check second = {.name = first.name,
                        .f = gradient,
                        .context = &of,
                        .inputs = all,
                        .count = count + 1,
                        .options = with_defaults(options),
                        .operation = last_operation(y),
                        .first = &first};
        run_check(&second);
    }
    heed_set_generator(&first.generator);
    return heed_scope_end(&scope);
}

heed_status heed_gradgradcheck(heed_function *f, void *context, heed_tensor *const *inputs,
                               int count)
{
    return heed_gradgradcheck_with(f, context, inputs, count, (heed_gradcheck_options){0});
}
