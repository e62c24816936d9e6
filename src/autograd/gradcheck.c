/* Gradient checks: analytic derivatives against finite differences, in f64.
 *
 * The whole Jacobian with respect to each input is computed twice: from central differences, and
 * row by row with the backward pass. The graph of that pass keeps only the values that derivatives
 * declare as saved. Where the two differ, a second look finds out why; it lets nothing pass. */

#include "autograd.h"

#include <math.h>
#include <string.h>

enum { MAX_INPUTS = 16, MAX_ALIASES = MAX_INPUTS + 1 }; /* the gradient of f has one input more */

/* What must be undone, even after an error. */
typedef struct changes {
    heed_generator generator; /* the initial state: every call draws the same numbers */
    heed_tensor *moved;       /* holds an element that has been moved; NULL: none */
    double *place, value;     /* that element, and what it was */
    heed_tensor *held[4];     /* references to the recorded graphs */
    int held_count;
} changes;

typedef struct check {
    int order;
    const char *name;
    heed_function *f;
    void *context;
    heed_tensor *const *inputs;
    int count;
    heed_gradcheck_args options;
    const struct check *first; /* the check itself; in a second-order check, f is the gradient of
                                  first->f, and its last input is the upstream gradient */
    const heed_op *operation;  /* the last one of first->f; NULL: that of the recorded graph */
    bool is_single;            /* it is the only one */
    bool has_atol;             /* the caller's, which is absolute */
    changes *changes;
    heed_gradcheck_report *report;
} check;

/* The derivatives with respect to one input, of shape (rows, elements), row by row. */
typedef struct jacobian {
    int input;
    heed_tensor *y, *alias; /* the recorded graph: handles without values */
    const heed_tensor *u;   /* NULL: a row per output; else one row, their sum weighted by u */
    bool create_graph;      /* derivatives record a graph too; many then take another code path */
    int64_t rows, elements;
    double *numeric, *analytic;
    double unit; /* of a function of small numbers: atol is relative to it; else 1 */
} jacobian;

static double *zeros(int64_t count)
{
    return heed_data_f64(heed_zeros(HEED_SHAPE(count), HEED_F64));
}

static double largest(const double *values, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        most = fmax(most, fabs(values[i]));
    }
    return most;
}

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
 * which leaves the thread's generator untouched. */
static heed_tensor *random_like(const heed_tensor *y, uint64_t state)
{
    heed_tensor *u = heed_empty(heed_shape_of_tensor(y), HEED_F64);
    for (int64_t i = 0; i < u->numel; i++) {
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
    heed_set_generator(&c->changes->generator);
    const char *outer = heed_self.operation;
    heed_self.operation = c->name; /* hooks do not see the steps of an operation */
    for (int i = 0; i < c->count; i++) {
        aliases[i] = heed_expand(c->inputs[i], heed_shape_of_tensor(c->inputs[i]));
    }
    heed_self.operation = outer;
    const heed_callback before = heed_callback_begin();
    heed_tensor *y = c->f(aliases, c->context);
    heed_callback_end(before);
    if (y == NULL || heed_blocked()) { /* an error reported by f takes precedence */
        heed_raise(HEED_ERR_NULL, "%s: the function returned NULL", c->name);
    }
    if (y->dtype != HEED_F64) {
        heed_raise(HEED_ERR_DTYPE, "%s: the function returned %s, not f64", c->name,
                   heed_dtype_name(y->dtype));
    }
    return y;
}

static void hold(changes *made, heed_tensor *t)
{
    t->references++;
    made->held[made->held_count++] = t;
}

/* Records the graph of f: sets j->y and j->alias, for drop_graph. Only the values that derivatives
 * declare as saved are kept. */
static void record(const check *c, jacobian *j)
{
    heed_tensor *aliases[MAX_ALIASES];
    const heed_frame frame = heed_frame_begin(false);
    j->y = call(c, aliases);
    j->alias = aliases[j->input];
    hold(c->changes, j->y);
    hold(c->changes, j->alias);
    heed_frame_end(frame);
}

static void drop_graph(changes *made)
{
    heed_drop_reference(made->held[--made->held_count]);
    heed_drop_reference(made->held[--made->held_count]);
}

static double *element(const heed_tensor *x, int64_t e)
{
    const heed_shape at = indices(x, e);
    double *place = x->data;
    for (int d = 0; d < x->ndim; d++) {
        place += at.size[d] * x->strides[d];
    }
    return place;
}

static void move_back(changes *made)
{
    *made->place = made->value;
    heed_unref(made->moved);
    made->moved = NULL;
}

/* ---- the Jacobian ---- */

/* Writes f's outputs, with element e of x moved, to `to` in row-major order. */
static void sample(const check *c, heed_tensor *x, int64_t e, double by, int64_t outputs,
                   double *to)
{
    heed_tensor *aliases[MAX_ALIASES];
    const heed_frame frame = heed_frame_begin(false);
    changes *made = c->changes;
    made->place = element(x, e);
    made->value = *made->place;
    made->moved = x;
    heed_ref(x);
    *made->place += by;
    heed_copy_out(call(c, aliases), to, outputs);
    move_back(made);
    heed_frame_end(frame);
}

/* The central difference quotients of f's outputs by element e of x: to[0], to[step], ... */
static void quotients(const check *c, heed_tensor *x, int64_t e, double eps, int64_t outputs,
                      double *to, int64_t step)
{
    const heed_frame frame = heed_frame_begin(false);
    double *above = zeros(outputs), *below = zeros(outputs);
    const double at = *element(x, e);
    sample(c, x, e, eps, outputs, above);
    sample(c, x, e, -eps, outputs, below);
    for (int64_t k = 0; k < outputs; k++) {
        to[k * step] = (above[k] - below[k]) / ((at + eps) - (at - eps));
    }
    heed_frame_end(frame);
}

static double *differentiate_numerically(const check *c, heed_tensor *x, int64_t outputs)
{
    double *numeric = zeros(outputs * x->numel);
    for (int64_t e = 0; e < x->numel; e++) {
        quotients(c, x, e, c->options.eps, outputs, numeric + e, x->numel);
    }
    return numeric;
}

/* Writes u^T J to `to`; zeros if no graph was recorded. */
static void pull_back(const check *c, const jacobian *j, const heed_tensor *u, double *to)
{
    heed_tensor *alias = j->alias, *g[1] = {NULL};
    if (!j->y->requires_grad) {
        memset(to, 0, (size_t)j->elements * sizeof *to);
        return;
    }
    const heed_frame frame = heed_frame_begin(false);
    heed_pass pass = {.function = c->name,
                      .y = j->y,
                      .upstream = u,
                      .xs = &alias,
                      .count = 1,
                      .grads = g,
                      .create_graph = j->create_graph,
                      .retain_graph = true};
    heed_run_backward(&pass);
    heed_copy_out(g[0], to, g[0]->numel);
    heed_frame_end(frame);
}

static void pull_back_row(const check *c, const jacobian *j, int64_t k, double *to)
{
    const heed_frame frame = heed_frame_begin(false);
    heed_tensor *one = heed_zeros(heed_shape_of_tensor(j->y), HEED_F64);
    ((double *)one->data)[k] = 1;
    pull_back(c, j, one, to);
    heed_frame_end(frame);
}

static double tolerance_of(const check *c, const jacobian *j, double scale)
{
    return c->options.atol * j->unit + c->options.rtol * fabs(scale);
}

/* ---- why they differ ---- */

/* Radii of difference quotients, in eps: to the first three, rounding to f32 is no noise. Points
 * beside x at which the gradient is looked at. */
enum { QUOTIENTS = 7, POINTS = 8 };
static const double radii[QUOTIENTS] = {1e5, 1e4, 1e3, 100, 10, 1, 0.1};

/* True if the quotients settle, but not at the gradient. The one of radius r may be off by noise /
 * r: by what changes between smaller radii, or a quantum if f is a staircase to them, as in f32. */
static bool settles_elsewhere(const check *c, const jacobian *j, double tolerance,
                              heed_gradcheck_report *r)
{
    double *slope = zeros(j->rows), q[QUOTIENTS], noise = 0, settled = HUGE_VAL;
    bool agrees = false;
    for (int i = QUOTIENTS - 1; i >= 0; i--) {
        quotients(c, c->inputs[j->input], r->element, radii[i] * c->options.eps, j->rows, slope, 1);
        q[i] = slope[r->output];
        if (i + 2 < QUOTIENTS) {
            const double change = fabs(q[i] - q[i + 1]), before = fabs(q[i + 1] - q[i + 2]);
            noise = fmax(noise, radii[i + 2] * before);
            const double off = fmax(noise, q[i + 1] == 0 ? radii[i + 1] * change : 0) / radii[i];
            agrees = agrees || fabs(r->analytic - q[i]) <= 20 * off + tolerance;
            if (radii[i] <= 100 && change + before < settled) { /* false for NaN */
                settled = change + before;
                r->limit = q[i + 1];
            }
        }
    }
    return !agrees && settled <= fmax(fabs(r->limit) / 10, tolerance) &&
           !(fabs(r->analytic - r->limit) <= 10 * settled + tolerance); /* true for NaN */
}

/* Row k of the Jacobian at a point beside x: element e is moved down and up in turn, and from the
 * third point on the others too. True if the derivative by e agrees there. */
static bool look_beside(const check *c, const jacobian *j, int64_t k, int64_t e, int point,
                        double *row)
{
    HEED_SCOPE(scope);
    const double away = 1000 * c->options.eps;
    heed_tensor *inputs[MAX_ALIASES], *x = c->inputs[j->input];
    heed_tensor *beside = random_like(x, 1 + 10007 * (uint64_t)point);
    for (int64_t i = 0; i < x->numel; i++) {
        double *to = (double *)beside->data + i;
        *to = *element(x, i) + away * (i == e ? 2 * (point % 2) - 1 : point < 2 ? 0 : *to);
    }
    memcpy(inputs, c->inputs, (size_t)c->count * sizeof *inputs);
    inputs[j->input] = heed_set_requires_grad(beside, true);
    check moved = *c;
    moved.inputs = inputs;
    jacobian there = *j;
    record(&moved, &there);
    pull_back_row(&moved, &there, k, row);
    drop_graph(c->changes);
    double *slope = zeros(j->rows);
    quotients(&moved, beside, e, c->options.eps, j->rows, slope, 1);
    return fabs(row[e] - slope[k]) <= tolerance_of(c, j, slope[k]);
}

/* True if the gradient is right beside x, but jumps from point to point, and is no larger at x.
 * Jumps far above the difference are curvature. */
static bool is_kink(const check *c, const jacobian *j, double tolerance, heed_gradcheck_report *r)
{
    const double off = fabs(r->analytic - r->numeric);
    double *row = zeros(j->elements), *low = zeros(j->elements), *high = zeros(j->elements);
    double most = 0;
    int right = 0;
    for (int p = 0; p < POINTS && p - right <= POINTS / 4; p++) {
        right += look_beside(c, j, r->output, r->element, p, row);
        for (int64_t i = 0; i < j->elements; i++) {
            low[i] = p == 0 ? row[i] : fmin(low[i], row[i]);
            high[i] = p == 0 ? row[i] : fmax(high[i], row[i]);
            most = fmax(most, fabs(row[i]));
            if (high[i] - low[i] > r->right - r->left) {
                r->left = low[i];
                r->right = high[i];
            }
        }
    }
    return right >= POINTS - POINTS / 4 && fabs(r->analytic) <= most + tolerance &&
           off <= 10 * (r->right - r->left) && off >= (high[r->element] - low[r->element]) / 1000;
}

/* Judges the derivative by element e that differs most from `scale`'s tolerance. The report keeps
 * the worst verdict, and of equal ones the derivative that differs most, by *most. */
static void judge(const check *c, const jacobian *j, const double *scale, int64_t e, double *most)
{
    HEED_SCOPE(scope);
    heed_gradcheck_report r = {HEED_GRADCHECK_WRONG, .input = j->input, .element = e};
    double worst = 0;
    for (int64_t k = 0; k < j->rows; k++) {
        const double analytic = j->analytic[k * j->elements + e];
        const double numeric = j->numeric[k * j->elements + e], off = fabs(analytic - numeric);
        const double over = isfinite(off)    ? off - tolerance_of(c, j, scale[k * j->elements + e])
                            : isnan(numeric) ? HUGE_VAL
                                             : 1e300; /* NaN never passes */
        if (over > worst) {
            worst = over;
            r.output = k;
            r.analytic = isnan(analytic) ? (double)NAN : analytic; /* no -nan */
            r.numeric = r.limit = isnan(numeric) ? (double)NAN : numeric;
        }
    }
    if (worst > 0 && j->u == NULL) { /* else the gradients of the outputs were right */
        const double tolerance = tolerance_of(c, j, r.numeric);
        r.verdict = is_kink(c, j, tolerance, &r)             ? HEED_GRADCHECK_KINK
                    : settles_elsewhere(c, j, tolerance, &r) ? HEED_GRADCHECK_WRONG
                                                             : HEED_GRADCHECK_NOISE;
    }
    if (worst > 0 &&
        (r.verdict > c->report->verdict || (r.verdict == c->report->verdict && worst > *most))) {
        *c->report = r;
        *most = worst;
    }
}

static heed_text why(const check *c, const heed_gradcheck_report *report, double x)
{
    heed_text text;
    if (isnan(report->numeric)) {
        snprintf(text.text, sizeof text.text,
                 "beside x the function is NaN, outside its domain; move x away from %.5g", x);
    } else if (report->verdict == HEED_GRADCHECK_KINK) {
        snprintf(text.text, sizeof text.text,
                 "kink: slopes beside x differ (%.5g, %.5g); move x away from %.5g", report->left,
                 report->right, x);
    } else if (report->verdict == HEED_GRADCHECK_WRONG) {
        snprintf(text.text, sizeof text.text,
                 "wrong: the quotient converges to %#.5g, the gradient is %#.5g (ratio %.7g)",
                 report->limit, report->analytic, report->analytic / report->limit + 0.0);
    } else {
        snprintf(text.text, sizeof text.text,
                 "noise: the difference quotient does not settle between eps %g and %g; the "
                 "function may jump, be random, round to f32, or be too steep",
                 radii[0] * c->options.eps, radii[QUOTIENTS - 1] * c->options.eps);
    }
    return text;
}

/* ---- comparing ---- */

/* Is y one operation of the inputs, which are views of the caller's? */
static bool is_single(const heed_tensor *y)
{
    bool single = true;
    for (int i = 0; i < y->input_count; i++) {
        for (int k = 0; k < y->inputs[i]->input_count; k++) {
            single = single && y->inputs[i]->inputs[k]->input_count == 0;
        }
    }
    return single;
}

/* Compares two Jacobians, whose elements may differ by atol + rtol |scale|. */
static void compare(const check *c, const jacobian *j, const double *scale)
{
    const heed_gradcheck_report *report = c->report;
    double most = 0;
    for (int64_t e = 0; e < j->elements; e++) {
        judge(c, j, scale, e, &most);
    }
    if (report->verdict == HEED_GRADCHECK_OK) {
        return;
    }
    const heed_tensor *x = c->inputs[j->input];
    const heed_op *operation = c->operation != NULL ? c->operation : j->y->op;
    const heed_shape row = indices(j->y, report->output), place = indices(x, report->element);
    heed_text input = {"the upstream gradient"};
    if (j->input < c->first->count) {
        snprintf(input.text, sizeof input.text, "input %d", j->input);
    }
    heed_raise(
        HEED_ERR_GRADCHECK,
        "%s: the gradient through %s%s with respect to %s %s at %s, of output %s: analytic %.10g, "
        "numeric %.10g, off by %.3g; %s",
        c->name, c->is_single || is_single(j->y) ? "" : "the operations that end with ",
        operation != NULL ? operation->name : "nothing", input.text, HEED_TEXT(x),
        heed_shape_text(place.ndim, place.size).text,
        j->u == NULL      ? heed_shape_text(row.ndim, row.size).text
        : j->create_graph ? "(random upstream, create_graph)"
                          : "(random upstream)",
        report->analytic, report->numeric, fabs(report->analytic - report->numeric),
        why(c, report, *element(x, report->element)).text);
}

/* Compares the gradients for a random upstream gradient with the sum of the numeric rows, weighted
 * by it. */
static void compare_random_upstream(const check *c, const jacobian *j)
{
    const int64_t n = j->elements;
    double *numeric = zeros(n), *scale = zeros(n), *analytic = zeros(n);
    jacobian sum = *j;
    sum.u = random_like(j->y, 1);
    sum.rows = 1;
    sum.numeric = numeric;
    sum.analytic = analytic;
    for (int64_t i = 0; i < j->rows * n; i++) {
        const double term = ((const double *)sum.u->data)[i / n] * j->numeric[i];
        numeric[i % n] += term;
        scale[i % n] += fabs(term);
    }
    for (int graph = 0; graph < 2; graph++) {
        sum.create_graph = graph == 1;
        pull_back(c, &sum, sum.u, analytic);
        compare(c, &sum, scale);
    }
}

/* ---- inputs that have no effect ---- */

/* A check of an input that has no effect compares zeros with zeros and proves nothing, so it fails
 * unless the options list the input. */
static void check_no_effect(const check *c, int input)
{
    const check *first = c->first;
    const char *what = "function", *option = "unused";
    unsigned declared = first->options.unused;
    heed_tensor *x = c->inputs[input];
    if (c != first) {
        const int64_t outputs = c->inputs[first->count]->numel;
        if (largest(differentiate_numerically(first, x, outputs), outputs * x->numel) != 0) {
            what = "gradient";
            option = "linear";
            declared = first->options.linear;
        }
    }
    if ((declared & HEED_INPUT(input)) != 0) {
        return;
    }
    *c->report = (heed_gradcheck_report){HEED_GRADCHECK_NO_EFFECT, .input = input};
    heed_raise(
        HEED_ERR_GRADCHECK,
        "%s: all derivatives of the %s by input %d %s are 0 (it is not used, or x is a point "
        "like 0 of x^2 and |x|), so the check proves nothing; move x away, or set .%s = "
        "HEED_INPUT(%d)",
        c->name, what, input, HEED_TEXT(x), option, input);
}

/* ---- the checks ---- */

/* The largest of y and of its slopes, at most 1, and far above the rounding of what makes y. */
static double unit_of(const check *c, const jacobian *j)
{
    double *y = zeros(j->rows);
    sample(c, c->inputs[j->input], 0, 0, j->rows, y);
    const double most = fmax(largest(y, j->rows), largest(j->numeric, j->rows * j->elements));
    return fmin(1, fmax(1e-3, most));
}

static void check_graph(const check *c, jacobian *j)
{
    const int64_t n = j->elements;
    j->rows = j->y->numel;
    j->analytic = zeros(j->rows * n);
    j->numeric = differentiate_numerically(c, c->inputs[j->input], j->rows);
    j->unit = c->has_atol || c->order == 2 || n == 0 ? 1 : unit_of(c, j);
    for (int64_t k = 0; k < j->rows; k++) {
        pull_back_row(c, j, k, j->analytic + k * n);
    }
    compare(c, j, j->numeric);
    /* If the upstream gradient has none, f is constant, and an input has been reported. */
    if (largest(j->numeric, j->rows * n) == 0 && j->input < c->first->count) {
        check_no_effect(c, j->input);
    }
    if (j->y->requires_grad) {
        compare_random_upstream(c, j);
    }
}

static void check_inputs(const check *c)
{
    bool any = false;
    if (c->f == NULL || c->inputs == NULL || c->count < 1 || c->count > MAX_INPUTS) {
        heed_raise(HEED_ERR_NULL, "%s: needs a function and 1 to %d inputs", c->name, MAX_INPUTS);
    }
    for (int i = 0; i < c->count; i++) {
        const heed_tensor *x = c->inputs[i];
        heed_check_tensor(c->name, "an input", x);
        any = any || x->requires_grad;
        if (x->requires_grad && x->dtype != HEED_F64) {
            heed_raise(
                HEED_ERR_DTYPE,
                "%s: input %d is %s, too coarse for finite differences; heed_to(x, HEED_F64)",
                c->name, i, heed_dtype_name(x->dtype));
        }
        if (x->requires_grad && heed_is_expanded(x)) {
            heed_raise(HEED_ERR_SHAPE, "%s: input %d %s is expanded; expand it inside f", c->name,
                       i, HEED_TEXT(x));
        }
    }
    if (!any) {
        heed_raise(HEED_ERR_GRAPH, "%s: no input requires a gradient", c->name);
    }
}

static void check_derivatives(const check *c)
{
    for (int i = 0; i < c->count; i++) {
        if (c->inputs[i]->requires_grad) {
            HEED_SCOPE(scope);
            jacobian j = {.input = i, .elements = c->inputs[i]->numel};
            record(c, &j);
            check_graph(c, &j);
            drop_graph(c->changes);
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

static void check_second_derivatives(const check *first)
{
    heed_tensor *aliases[MAX_ALIASES], *inputs[MAX_ALIASES];
    heed_tensor *y = call(first, aliases);
    memcpy(inputs, first->inputs, (size_t)first->count * sizeof *inputs);
    inputs[first->count] = heed_set_requires_grad(random_like(y, 1), true);
    check second = *first;
    second.f = gradient;
    second.context = (void *)first;
    second.inputs = inputs;
    second.count = first->count + 1;
    second.operation = y->op;
    second.is_single = is_single(y);
    check_derivatives(&second);
}

static void run_check(void *context)
{
    const check *c = context;
    check_inputs(c);
    heed_set_grad_enabled(true);
    (c->order == 1 ? check_derivatives : check_second_derivatives)(c);
}

static heed_status run(int order, heed_gradcheck_args args)
{
    if (heed_blocked()) {
        return heed_self.error;
    }
    heed_gradcheck_report report = {0};
    changes made = {.generator = heed_get_generator()};
    check c = {.order = order,
               .name = order == 1 ? "gradcheck" : "gradgradcheck",
               .f = args.f,
               .context = args.context,
               .inputs = args.inputs,
               .count = args.count,
               .options = args,
               .first = &c,
               .has_atol = args.atol > 0,
               .changes = &made,
               .report = args.report != NULL ? args.report : &report};
    *c.report = (heed_gradcheck_report){0};
    c.options.eps = args.eps > 0 ? args.eps : 1e-6;
    c.options.atol = args.atol > 0 ? args.atol : 1e-7;
    c.options.rtol = args.rtol > 0 ? args.rtol : 1e-5;
    heed_try(run_check, &c);
    if (made.moved != NULL) {
        move_back(&made);
    }
    while (made.held_count > 0) {
        drop_graph(&made);
    }
    heed_set_generator(&made.generator);
    return heed_pass_on();
}

heed_status(heed_gradcheck)(heed_gradcheck_args args)
{
    return run(1, args);
}

heed_status(heed_gradgradcheck)(heed_gradcheck_args args)
{
    return run(2, args);
}
