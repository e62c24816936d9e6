/* Where gradients go. The gradients that a tensor receives are summed: for a node in
 * gradient_in_flight, until the node is visited; for a leaf in its .grad, or for heed_grad in
 * pass->grads. A sum is changed in place where nothing else can see it. */
#include <assert.h>
#include <string.h>

#include "../tensor/create.h"
#include "../tensor/elements.h"
#include "../tensor/handle.h"
#include "../tensor/read.h"
#include "../tensor/scope.h"
#include "../tensor/shape.h"
#include "backward.h"
#include "ops/operations.h"

/* True if t is contiguous and no other handle, view or graph can see a change to it. */
static bool is_ours_alone(const heed_tensor *t)
{
    return t->references == 1 && t->storage->references == 1 && t->op == NULL &&
           heed_is_row_major(t);
}

/* Where the gradients of t are summed in this pass; NULL: in its .grad. */
static heed_tensor **sum_of(const heed_pass *pass, heed_tensor *t)
{
    if (heed_is_node(t)) {
        return &t->gradient_in_flight;
    }
    if (pass->xs == NULL) {
        return NULL;
    }
    const int x = heed_find_x(pass, t);
    assert(x >= 0); /* the only leaves that heed_grad wants */
    return &pass->grads[x];
}

heed_tensor *heed_fit_gradient(heed_tensor *g, const heed_tensor *node, int j)
{
    const heed_tensor *input = node->inputs[j];
    if (heed_check_tensor(node->op->name, "a gradient", g) != HEED_OK) {
        return NULL; /* g is a value that .saves does not list */
    }
    const heed_shape shape = heed_shape_of_tensor(g);
    if (g->dtype != input->dtype || !heed_broadcasts_to(input, &shape)) {
        heed_fail(g->dtype != input->dtype ? HEED_ERR_DTYPE : HEED_ERR_SHAPE,
                  "the gradient of %s is %s %s, but the input is %s %s",
                  heed_input_name(node->op, j).text, heed_dtype_name(g->dtype), HEED_TEXT(g),
                  heed_dtype_name(input->dtype), HEED_TEXT(input));
        return NULL;
    }
    return heed_sum_to_size(g, heed_shape_of_tensor(input));
}

/* ---- .grad ---- */

/* Adds g to t->grad and returns true. If there is none, makes `first` .grad, unless it is NULL, and
 * returns false. */
static bool add_or_set(heed_tensor *t, const heed_tensor *g, heed_tensor *first)
{
    const bool any = t->grad != NULL;
    if (any) {
        heed_add_elements(g, t->grad);
        heed_raise_version(t->grad);
    } else {
        t->grad = first;
    }
    return any;
}

/* t->grad += g. Consumes g, which becomes the first .grad unless something else holds it. */
static heed_status add_to_grad(heed_tensor *t, heed_tensor *g)
{
    heed_tensor *first = g;
    if (!is_ours_alone(g)) {
        first = add_or_set(t, g, NULL) ? NULL : heed_tensor_like(g);
        if (first != NULL) {
            heed_copy_elements(g, first);
        }
        heed_unref(g);
    }
    if (first != NULL && add_or_set(t, first, first)) {
        heed_unref(first);
    }
    return heed_self.error;
}

/* ---- sums ---- */

/* *sum += g. Consumes g. The first gradient is moved, not added. */
static heed_status add(heed_tensor **sum, heed_tensor *g, bool create_graph)
{
    if (*sum == NULL) {
        *sum = g;
        return HEED_OK;
    }
    if (!create_graph && is_ours_alone(*sum)) {
        heed_add_elements(g, *sum);
        heed_unref(g);
        return HEED_OK;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *both = heed_add(*sum, g);
    if (both != NULL) {
        heed_ref(both);
        heed_unref(*sum);
        *sum = both;
    }
    heed_unref(g);
    return heed_scope_end(&scope);
}

heed_status heed_accumulate(const heed_pass *pass, heed_tensor *t, heed_tensor *g)
{
    heed_tensor **sum = sum_of(pass, t);
    return sum != NULL ? add(sum, g, pass->create_graph) : add_to_grad(t, g);
}

/* ---- complete gradients ---- */

heed_status heed_keep_gradient(const heed_pass *pass, heed_tensor *node, heed_tensor *g)
{
    const int x = heed_find_x(pass, node);
    if (x >= 0) {
        heed_ref(g);
        pass->grads[x] = g;
    } else if (pass->xs == NULL && node->retain_grad) {
        heed_ref(g);
        return add_to_grad(node, g);
    }
    return HEED_OK;
}

/* The gradient of xs[i], taken from pass->grads[i], as a handle in the innermost scope. */
static heed_tensor *hand_out(const heed_pass *pass, int i)
{
    heed_tensor *x = pass->xs[i], *g = pass->grads[i];
    if (g == NULL) {
        return heed_zeros(heed_shape_of_tensor(x), x->dtype);
    }
    if (g->references == 1) {
        return heed_join_scope(pass->function, g);
    }
    /* the handle has another owner, such as a scope */
    heed_tensor *own = heed_reshape(g, heed_shape_of_tensor(g));
    heed_unref(g);
    return own;
}

/* With create_graph, a gradient that depends on no x, as of a piecewise linear function, becomes a
 * function of x whose derivative is 0. */
heed_status heed_return_grads(const heed_pass *pass, heed_status status)
{
    const bool enabled = heed_set_grad_enabled(pass->create_graph);
    for (int i = pass->count - 1; i >= 0; i--) {
        heed_tensor *x = pass->xs[i], *g = pass->grads[i];
        if (status == HEED_OK) {
            const int last = heed_find_x(pass, x); /* of the places where x is listed */
            g = last > i ? pass->grads[last] : hand_out(pass, i);
            const bool is_constant = pass->create_graph && g != NULL && !g->requires_grad;
            pass->grads[i] = is_constant && x->storage != NULL
                                 ? heed_where(heed_zeros(HEED_SCALAR, HEED_BOOL), x, g)
                                 : g;
        } else if (g != NULL) {
            heed_unref(g);
        }
    }
    heed_set_grad_enabled(enabled);
    if (pass->count > 0 && heed_blocked()) { /* the pass has failed, or hand_out */
        memset(pass->grads, 0, (size_t)pass->count * sizeof *pass->grads);
    }
    return status == HEED_OK ? heed_self.error : status;
}
