/* The backward pass: reverse-mode differentiation of a graph of tensors. heed_backward and
 * heed_grad, in grad.c, check their arguments and call heed_run_backward.
 *
 * The result of a recorded operation is a node: it points to the operation and to its inputs, so
 * the graph leads back from a result L to the leaves. A pass starts at L and computes dL/dt for
 * every t along the way:
 *
 *   seed         dL/dL = 1
 *   sort         list the nodes of the graph, each after all nodes computed from it (order.c)
 *   visit        take the nodes in that order. All nodes computed from a node are visited before
 *                it, so the sum of the gradients it has received is dL/dnode
 *   accumulate   the node's derivative turns dL/dnode into dL/dinput for each input. These are
 *                summed: for a node until it is visited, for a leaf in its .grad, or for heed_grad
 *                in the result (accumulate.c)
 *
 * Read from top to bottom: heed_run_backward, walk, visit, differentiate. */
#include "backward.h"

#include "../tensor/alloc.h"
#include "../tensor/elements.h"
#include "../tensor/handle.h"
#include "../tensor/scope.h"
#include "../tensor/shape.h"
#include "../tensor/thread.h"
#include "notify.h"
#include "observer.h"
#include "saved.h"

static heed_status walk(const heed_pass *pass, heed_order *order);
static heed_status visit(const heed_pass *pass, const heed_order *order, heed_tensor *node);
static heed_status differentiate(const heed_pass *pass, const heed_order *order, heed_tensor *node,
                                 heed_tensor *g);
static heed_tensor *take(heed_tensor *g, const heed_tensor *node, int j);

static _Thread_local const char *running; /* the function whose pass runs in this thread */

heed_status heed_run_backward(const heed_pass *pass)
{
    const char *outer = heed_self.operation, *outer_pass = running;
    heed_self.operation = running = pass->function;
    heed_scope scope;
    heed_scope_begin(&scope);
    /* Derivatives are operations themselves, recorded only for create_graph. Ending the scope
     * restores grad mode. */
    heed_set_grad_enabled(pass->create_graph);

    heed_order order;
    heed_status status = heed_sort_nodes(pass, &order);
    if (status == HEED_OK) {
        status = walk(pass, &order);
    }
    heed_free_order(&order);
    heed_scope_end(&scope);
    status = heed_return_grads(pass, status);
    heed_self.operation = outer;
    running = outer_pass;
    return status;
}

static heed_status walk(const heed_pass *pass, heed_order *order)
{
    if (!heed_is_wanted(pass, pass->y)) {
        return HEED_OK; /* heed_grad only: y depends on none of the xs */
    }
    heed_tensor *seed = heed_tensor_like(pass->y);
    if (seed == NULL) {
        return heed_self.error;
    }
    if (pass->upstream != NULL) {
        heed_copy_elements(pass->upstream, seed);
    } else {
        heed_fill_elements(seed, 1);
    }
    heed_status status = heed_accumulate(pass, pass->y, seed);
    while (order->visited < order->count && status == HEED_OK) {
        status = visit(pass, order, order->nodes[order->visited++]);
    }
    return status;
}

static heed_status visit(const heed_pass *pass, const heed_order *order, heed_tensor *node)
{
    heed_tensor *g = node->gradient_in_flight; /* NULL: no consumer produced one */
    const bool needed = node->consumers == HEED_NEEDED;
    heed_status status = HEED_OK;
    node->gradient_in_flight = NULL;
    node->consumers = 0;
    if (g != NULL) {
        if (pass->xs != NULL || node->retain_grad) {
            status = heed_keep_gradient(pass, node, g);
        }
        if (heed_self.observers != NULL && status == HEED_OK) {
            status = heed_self.observers->gradient(node, g);
        }
        if (status == HEED_OK && needed) {
            status = differentiate(pass, order, node, g);
        }
        heed_unref(g);
    }
    if (needed && !pass->retain_graph) { /* also after an error */
        heed_release_saved(node);
    }
    return status;
}

/* The chain rule at one node, given g = dL/dnode: dL/dinput = g dnode/dinput, a vector-Jacobian
 * product. */
static heed_status differentiate(const heed_pass *pass, const heed_order *order, heed_tensor *node,
                                 heed_tensor *g)
{
    heed_tensor **grads = order->grads;
    bool *wanted = order->wanted, any = false;
    heed_vjp vjp = {node, g, node->inputs, node->args, wanted, grads};
    if (heed_check_saved(pass->function, node) != HEED_OK) {
        return heed_self.error;
    }
    for (int j = 0; j < node->input_count; j++) {
        grads[j] = NULL;
        wanted[j] = heed_is_wanted(pass, node->inputs[j]);
        any = any || wanted[j];
    }
    const char *outer = heed_self.derivative;
    heed_self.derivative = node->op->name;
    heed_status status = heed_self.error;
    if (any && status == HEED_OK) {
        const heed_frame frame = heed_frame_begin(false); /* for the derivative's temporaries */
        node->op->backward(&vjp);
        for (int j = node->input_count - 1; j >= 0; j--) { /* the scope lists the newest first */
            grads[j] = wanted[j] ? take(grads[j], node, j) : NULL;
        }
        status = heed_frame_end(frame);
    }
    heed_self.derivative = outer;
    if (heed_self.observers != NULL && status == HEED_OK) {
        const heed_derivative derivative = {
            .node = node, .g = g, .grads = grads, .adds_to_grad = pass->xs == NULL};
        status = heed_self.observers->derivative(&derivative);
    }
    for (int j = 0; j < node->input_count; j++) {
        if (grads[j] != NULL && status == HEED_OK) {
            status = heed_accumulate(pass, node->inputs[j], grads[j]);
        } else if (grads[j] != NULL) {
            heed_unref(grads[j]);
        }
    }
    return status;
}

/* Takes the gradient of input j out of the derivative's scope, in the shape of the input. NULL:
 * none, or an error. */
static heed_tensor *take(heed_tensor *g, const heed_tensor *node, int j)
{
    const heed_tensor *input = node->inputs[j];
    if (g == NULL || heed_blocked()) {
        return NULL;
    }
    if (g->storage == NULL || g->dtype != input->dtype ||
        !heed_has_sizes(g, input->ndim, input->shape)) {
        g = heed_fit_gradient(g, node, j);
    }
    if (g != NULL) {
        heed_take_from_scope(g);
    }
    return g;
}

const char *heed_running_pass(void)
{
    return heed_self.operation != NULL ? running : NULL; /* else a longjmp has left it */
}
