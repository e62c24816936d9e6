/* Grades task 6: the derivative of softmax. */
#define GRADER
#include "task6.h"

static const struct {
    int rows, columns, dim;
    double x[9], g[9];
} given[] = {
    {2, 3, 1, {1, 2, 3, 0, 2, 0}, {1, 3, -1, 2, -2, 4}},
    {2, 3, 1, {1, 2, 3, 0, 0, 2}, {1, 0, 0, 0.5, -1, 2}},
    {2, 3, 0, {1, 2, 3, 0, 0, 2}, {1, 0, 0, 0.5, -1, 2}},
    {2, 3, -1, {1, 2, 3, 0, 0, 2}, {3, 1, 2, -1, 0, 1}},
    {3, 3, 1, {1, 0, 2, 0, 1, 0, -1, 2, 0}, {1, -1, 2, 0, 3, 1, -2, 1, 1}},
    {2, 2, -2, {-1, 2, 1, 0}, {2, -1, 3, 3}},
    {1, 3, 1, {1, -INFINITY, 2}, {1, 2, 3}},
    {2, 1, 1, {5, -5}, {1, 2}},
};

typedef heed_tensor *softmax_function(heed_tensor *x, int dim);

/* A call of backward, for the node y. */
struct backward_call {
    heed_tensor *y, *y_before, *g_before;
    bool ended;
    bool graph;        /* its result can be differentiated */
    int calls;         /* of operations, in backward; seen under create_graph alone */
    heed_tensor *last; /* result of an operation of backward in the graph */
    bool empty;        /* dx is NULL */
    bool is_cut;       /* dx has the numbers of `last`, and not its graph */
};

static heed_tensor *in_backward(heed_hook *self, const heed_call *called, heed_tensor *y)
{
    struct backward_call *call = self->context;
    (void)called;
    if (!call->ended && heed_in_backward()) { /* of y, or of a node before it */
        call->calls++;
        if (y->requires_grad) {
            heed_release(call->last);
            call->last = heed_retain(y);
        }
    }
    return y;
}

static void after_backward(heed_hook *self, const heed_vjp *vjp)
{
    struct backward_call *call = self->context;
    if (vjp->y == call->y) {
        grade_unchanged("v->g", vjp->g, call->g_before);
        grade_unchanged("v->y", vjp->y, call->y_before);
    }
}

/* dL/dx for L = sum(g * y), or L = sum(y) if g is NULL. */
static heed_tensor *gradient(softmax_function *softmax, heed_tensor *x, int dim, heed_tensor *g)
{
    heed_tensor *leaf = heed_set_requires_grad(heed_clone(x), true), *y = softmax(leaf, dim);
    heed_tensor *L = heed_sum(g != NULL ? heed_mul(g, y) : y);
    struct backward_call call = {
        .y = y, .y_before = heed_clone(y), .g_before = g != NULL ? g : heed_ones_like(y)};
    heed_hook hook = {.context = &call, .derivative = after_backward};
    heed_hook_add(&hook);
    heed_backward(L);
    heed_hook_remove(&hook);
    if (heed_error_pending() == HEED_ERR_SCOPE &&
        strstr(heed_error_message(), "the value of a gradient") != NULL) {
        grade_fail("v->grads[0] belongs to a scope that your code opens, and is freed with it when "
                   "your code returns. Heed has a scope open: open none, or move the result out of "
                   "yours with heed_scope_keep.");
    }
    return leaf->grad;
}

/* What happens to L if the first wrong element of x grows a little. */
static const char *experiment(heed_tensor *yours, heed_tensor *expected, heed_tensor *x, int dim,
                              heed_tensor *g)
{
    static char text[400];
    const double small = 1e-4;
    const double *a = heed_const_data_f64(yours), *b = heed_const_data_f64(expected);
    int64_t i = 0;
    while (i < x->numel - 1 && grade_near(a[i], b[i])) {
        i++;
    }
    if (isnan(a[i])) {
        snprintf(text, sizeof text, "Element %lld of dx is NaN: 0 / 0, or inf - inf.",
                 (long long)i);
        return text;
    }
    heed_tensor *moved = heed_clone(x);
    heed_data_f64(moved)[i] += small;
    heed_tensor *more = heed_sub(heed_softmax(moved, dim), heed_softmax(x, dim));
    const double change = heed_item(heed_sum(heed_mul(g, more)));
    snprintf(text, sizeof text,
             "Try it: if element %lld of x grows by %g, L = sum(g * y) changes by %.4g, so its "
             "gradient is about %.4g; yours is %.4g.",
             (long long)i, small, change, change / small + 0.0, a[i]);
    return text;
}

static void compare(heed_tensor *yours, heed_tensor *x, int dim, heed_tensor *g)
{
    heed_tensor *y = heed_softmax(x, dim), *right = gradient(heed_softmax, x, dim, g);
    heed_tensor *another = heed_randn(heed_shape_of_tensor(x), x->dtype);
    grade_let("x", x);
    grade_let("y", y);
    grade_let("g", g);
    grade_let_number("dim", dim);
    grade_let_number("factor", heed_item(heed_sum(heed_mul(yours, right))) /
                                   heed_item(heed_sum(heed_mul(right, right))));
    if (grade_equal(yours, gradient(my_softmax, x, dim, another))) {
        grade_let("same", yours);
    }
    if (x->ndim > 1) {
        grade_let_number("other", dim == 0 || dim == -x->ndim);
    }
    if (x->ndim == 2 && heed_size(x, 0) == heed_size(x, 1)) {
        grade_let("lost", heed_sum_dim(heed_mul(g, y), dim, false));
    }
    if (!grade_equal(yours, right) && x->ndim <= 2) {
        grade_show_tensor("x", x, NULL);
        grade_show_tensor("y = softmax(x)", y, NULL);
        grade_show_tensor("g", g, NULL);
    }
    grade_compare("dx", yours, right, grade_mistakes("dx", "dx"),
                  experiment(yours, right, x, dim, g));
}

static heed_tensor *checked(heed_tensor *const *inputs, void *dim)
{
    return my_softmax(inputs[0], *(int *)dim);
}

static void end_graph(heed_hook *self, const heed_vjp *vjp)
{
    struct backward_call *call = self->context;
    heed_tensor *dx = vjp->grads[0];
    if (vjp->y == call->y) {
        call->ended = true;
        call->empty = dx == NULL;
        call->graph = dx != NULL && dx->requires_grad;
        call->is_cut = dx != NULL && !call->graph && call->last != NULL &&
                       grade_equal(dx, heed_detach(call->last));
    } else if (!call->ended) {
        call->calls = 0; /* they were those of a node before y */
    }
    heed_release(call->last);
    call->last = NULL;
}

/* What backward does for a second derivative. The result of loops over numbers has no graph. */
static struct backward_call for_second(heed_tensor *x, int dim)
{
    heed_tensor *leaf = heed_set_requires_grad(heed_clone(x), true), *dx = NULL;
    heed_tensor *g = heed_set_requires_grad(heed_randn(heed_shape_of_tensor(x), x->dtype), true);
    heed_tensor *y = my_softmax(leaf, dim);
    struct backward_call call = {.y = y};
    heed_hook hook = {.context = &call, .result = in_backward, .derivative = end_graph};
    heed_hook_add(&hook);
    heed_grad(heed_sum(heed_mul(g, y)), &leaf, 1, &dx, true);
    heed_hook_remove(&hook);
    return call;
}

static void check_begun(heed_tensor *x, int dim)
{
    const struct backward_call call = for_second(x, dim);
    heed_error();
    if (call.empty && call.calls > 0) {
        grade_fail("v->grads[0] is still NULL when backward returns, though your code computes "
                   "something. The gradient of x belongs there.");
    }
    if (call.empty) {
        grade_not_begun("v->grads[0] is NULL when backward returns.");
    }
}

static void check(heed_tensor *x, int dim, heed_tensor *g)
{
    grade_compare("y", heed_detach(my_softmax(x, dim)), heed_softmax(x, dim), NULL,
                  "The forward was given and right; something has changed it.");
    check_begun(x, dim);
    heed_tensor *yours = gradient(my_softmax, x, dim, g);
    grade_returned("dx", yours, heed_shape_of_tensor(x));
    compare(yours, x, dim, g);
}

/* The derivatives of dx by x and by g. A graph that lacks one of them is silently wrong. */
static void check_second(heed_tensor *x, int dim)
{
    heed_tensor *leaf = heed_set_requires_grad(heed_clone(x), true);
    heed_gradcheck_report report = {0};
    const struct backward_call call = for_second(x, dim);
    if (call.is_cut) {
        grade_fail("dx is right, but it is cut out of the graph of its derivative. heed_detach "
                   "does that, and a second derivative (heed_grad with create_graph) goes through "
                   "dx.");
    }
    if (heed_size(x, dim) > 1 && call.graph &&
        heed_gradgradcheck(checked, &dim, &leaf, 1, .report = &report) != HEED_OK) {
        grade_fail("dx is right, but what Heed computes as the derivative of dx is not: your code "
                   "treats %s as a constant. heed_detach cuts it out of the graph, and a second "
                   "derivative (heed_grad with create_graph) goes through it.\n  In Heed's words: "
                   "%s",
                   report.input == 1 ? "v->g" : "v->y", heed_error_message());
    }
}

/* x is the result of another operation, and only y needs its value. */
static void check_saved(void)
{
    grade_case("x is itself computed, and its values are freed after the forward");
    HEED_SCOPE(scope);
    heed_tensor *leaf = heed_from_f64((double[]){1, 2, 3}, HEED_SHAPE(1, 3));
    heed_set_requires_grad(leaf, true);
    heed_tensor *g = heed_from_f64((double[]){1, 0, 2}, HEED_SHAPE(1, 3)), *y;
    {
        HEED_SCOPE(forward);
        y = heed_scope_keep(&forward, my_softmax(heed_mul_scalar(leaf, 2), 1));
    }
    heed_backward(heed_sum(heed_mul(g, y)));
    if (heed_error_pending() == HEED_ERR_SCOPE) {
        grade_fail("Your code reads x, whose values have been freed, because .saves lists only y. "
                   "y has all that is needed. (%s)",
                   heed_error_message());
    }
    heed_tensor *right = gradient(heed_softmax, heed_mul_scalar(heed_detach(leaf), 2), 1, g);
    grade_compare("dx", leaf->grad, heed_mul_scalar(right, 2), NULL,
                  "The derivative is wrong if x is the result of another operation.");
}

static void grade(void)
{
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        const int rows = given[i].rows, columns = given[i].columns;
        grade_case("x has %d row%s and %d column%s, dim %d, L = sum(g * y)", rows,
                   rows == 1 ? "" : "s", columns, columns == 1 ? "" : "s", given[i].dim);
        HEED_SCOPE(scope);
        check(heed_from_f64(given[i].x, HEED_SHAPE(rows, columns)), given[i].dim,
              heed_from_f64(given[i].g, HEED_SHAPE(rows, columns)));
    }
    check_saved();
    heed_manual_seed(1);
    for (int i = 0; i < 32; i++) {
        const int ndim = 1 + i % 4, dim = (i / 4) % (2 * ndim) - ndim;
        heed_shape shape = {.ndim = ndim};
        for (int d = 0; d < ndim; d++) {
            shape.size[d] = 1 + (3 * i + 2 * d) % 5;
        }
        grade_case("x and g are random and have %d dim%s, dim %d of size %d", ndim,
                   ndim == 1 ? "" : "s", dim, (int)shape.size[dim < 0 ? dim + ndim : dim]);
        HEED_SCOPE(scope);
        heed_tensor *x = heed_randn(shape, HEED_F64);
        check(x, dim, heed_randn(shape, HEED_F64));
        check_second(x, dim);
    }
}

const struct task task = {6, grade};
