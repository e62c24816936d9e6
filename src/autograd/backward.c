/* The backward pass: reverse-mode differentiation of a graph of tensors. heed_backward and
 * heed_grad, in grad.c, check their arguments and call heed_run_backward, at the end of this file.
 *
 * The result of a recorded operation is a node: it points to the operation and to its inputs, so
 * the graph leads back from a result L to the leaves. A pass starts at L and computes dL/dt for
 * every t along the way, in four steps:
 *
 *   seed         dL/dL = 1
 *   sort         list the nodes of the graph, each after all nodes computed from it (pass.c)
 *   visit        take the nodes in that order. All nodes computed from a node are visited before
 *                it, so the sum of the gradients it has received is dL/dnode
 *   accumulate   the node's derivative turns dL/dnode into dL/dinput for each input. These are
 *                summed: for a node until it is visited, for a leaf in its .grad (accumulate.c)
 *
 * Elsewhere: which gradients a pass must compute, and those that derivatives return (pass.c); the
 * values that derivatives read (saved.h). */
#include "../tensor/elements.h"
#include "../tensor/scope.h"
#include "notify.h"
#include "observer.h"
#include "pass.h"
#include "saved.h"

/* dL/dt += g. Consumes the caller's g, even on error. */
static heed_status accumulate(const heed_pass *pass, heed_tensor *t, heed_tensor *g)
{
    heed_tensor **sum = heed_gradient_slot(pass, t); /* NULL: t->grad */
    return sum != NULL ? heed_add_gradient(sum, g, pass->create_graph) : heed_add_to_grad(t, g);
}

/* The chain rule at one node, given g = dL/dnode: dL/dinput = g dnode/dinput, a vector-Jacobian
 * product. */
static heed_status differentiate(const heed_pass *pass, heed_tensor *node, heed_tensor *g)
{
    heed_input_grads in;
    if (heed_saved_intact(pass->function, node) != HEED_OK ||
        heed_input_grads_begin(&in, pass, node) != HEED_OK) {
        return heed_error_pending();
    }
    const heed_vjp vjp = {in.y, g, in.inputs, node->args, in.wanted, in.grads};
    /* Some operations add directly to an existing sum; this clears `wanted` for the inputs they
     * handle. */
    heed_status status = heed_add_in_place(pass, &vjp, in.wanted);

    if (status == HEED_OK && heed_any_wanted(&in, node)) {
        const heed_frame frame =
            heed_frame_begin(false);      /* a scope for the derivative's temporaries */
        node->op->backward(&vjp);         /* sets in.grads */
        heed_input_grads_take(&in, node); /* in.grads outlive the frame */
        status = heed_frame_end(frame);
    }
    if (heed_self.observers != NULL && status == HEED_OK) {
        const heed_derivative derivative = {node, g, in.grads, pass->xs == NULL};
        status = heed_self.observers->derivative(&derivative);
    }
    for (int j = 0; j < node->input_count && status == HEED_OK; j++) {
        heed_tensor *grad = in.grads[j];
        if (grad != NULL) {
            in.grads[j] = NULL;
            status = accumulate(pass, node->inputs[j], grad);
        }
    }
    heed_input_grads_end(&in, node, status);
    return status;
}

/* A node that fails also releases its saved values: the pass cannot be repeated on this graph. */
static heed_status visit(const heed_pass *pass, heed_tensor *node)
{
    heed_tensor *g = node->gradient_in_flight; /* NULL: no consumer produced one */
    const bool needed = node->engine_mark > 0;
    heed_status status = HEED_OK;
    node->gradient_in_flight = NULL;
    node->engine_mark = 0;
    if (g != NULL) {
        status = heed_retain_gradient(pass, node, g);
        if (heed_self.observers != NULL && status == HEED_OK) {
            status = heed_self.observers->gradient(node, g);
        }
        if (status == HEED_OK && needed) {
            status = differentiate(pass, node, g);
        }
        heed_unref(g);
    }
    if (needed && !pass->retain_graph) {
        heed_release_saved(node);
    }
    return status;
}

/* dL/dL: 1, or pass->upstream. The caller owns it. */
static heed_tensor *make_seed(const heed_pass *pass)
{
    heed_tensor *seed = heed_tensor_like(NULL, pass->y);
    if (seed != NULL && pass->upstream != NULL) {
        heed_copy_elements(pass->upstream, seed);
    } else if (seed != NULL) {
        heed_fill_elements(seed, 1);
    }
    return seed;
}

/* Consumes the seed. After an error, heed_topo_free drops the gradients of the nodes that were not
 * visited. */
static heed_status walk(const heed_pass *pass, heed_tensor *seed)
{
    heed_topo topo = {0};
    int64_t visited = 0;
    heed_status status = heed_topo_sort(&topo, pass->y);
    if (status == HEED_OK) {
        status = heed_mark_needed(pass, &topo);
        pass->y->gradient_in_flight = seed;
    } else {
        heed_unref(seed);
    }
    while (status == HEED_OK && visited < topo.count) {
        status = visit(pass, topo.nodes[visited++]);
    }
    heed_topo_free(&topo, visited);
    return status;
}

heed_status heed_run_backward(const heed_pass *pass)
{
    const char *outer = heed_self.operation, *outer_pass = heed_set_running_pass(pass->function);
    heed_self.operation = pass->function;
    heed_scope scope;
    heed_scope_begin(&scope);
    /* Derivatives are operations themselves, recorded only for create_graph. Ending the scope
     * restores grad mode. */
    heed_set_grad_enabled(pass->create_graph);

    heed_tensor *seed = make_seed(pass);
    heed_status status = heed_error_pending();
    if (seed != NULL && heed_is_node(pass->y)) {
        status = walk(pass, seed);
    } else if (seed != NULL && heed_is_wanted(pass, pass->y)) {
        status = accumulate(pass, pass->y, seed); /* L is a leaf */
    } else if (seed != NULL) {
        heed_unref(seed);
    }
    heed_scope_end(&scope);
    if (HEED_IS_DEBUG) {
        heed_debug_count_step();
    }
    status = heed_return_grads(pass, status);
    heed_self.operation = outer;
    heed_set_running_pass(outer_pass);
    return status;
}
