/* The backward pass: reverse-mode differentiation of a graph of tensors.
 *
 * Every result of an operation is a node: it knows its operation and its inputs, which leads back to the
 * leaves. From L at the end, a pass computes dL/dt for all t on the way, in four steps:
 *
 *   order   list the nodes behind L so that each comes after all of its consumers (topo.c)
 *   seed    dL/dL = 1
 *   walk    visit the nodes in that order. All consumers of a node have been visited before, so what it
 *           has collected is the whole of dL/dnode
 *   hand    its derivative turns that into dL/dinput = dL/dnode dnode/dinput for each input; a node adds
 *           it to what it has collected, a leaf to its .grad (accumulate.c)
 *
 * What can be asked for beside that, and which nodes it needs, is in pass.c; the values that derivatives
 * read are in saved.c; what derivatives leave to the engine is in input_grads.c. */
#include "backward.h"

#include "../tensor/map.h"
#include "../tensor/scope.h"
#include "accumulate.h"
#include "input_grads.h"
#include "saved.h"

/* dL/dt += g, where that is wanted. The caller's g is taken over. */
static heed_status hand(const heed_pass *pass, heed_tensor *t, heed_tensor *g)
{
    heed_tensor **sum = heed_sum_of(pass, t);
    return sum != NULL ? heed_add_gradient(sum, g, pass->create_graph) : heed_add_to_grad(t, g);
}

/* The chain rule at one node, of which g = dL/dnode. */
static heed_status differentiate(const heed_pass *pass, heed_tensor *node, heed_tensor *g)
{
    heed_input_grads in;
    if (heed_saved_intact(pass->function, node) != HEED_OK ||
        heed_input_grads_begin(&in, pass, node) != HEED_OK) {
        return heed_error_pending();
    }
    const heed_vjp vjp = {node, g, node->inputs, node->args, in.wanted, in.grads};
    heed_status status = heed_add_in_place(pass, &vjp, in.wanted);

    if (status == HEED_OK && heed_any_wanted(&in, node)) {
        const heed_frame frame = heed_frame_begin(false); /* owns what the derivative computes */
        node->op->backward(&vjp);
        heed_input_grads_hold(&in, node);
        status = heed_frame_end(frame);
    }
    for (int j = 0; j < node->input_count && status == HEED_OK; j++) {
        heed_tensor *grad = in.grads[j];
        if (grad != NULL) {
            in.grads[j] = NULL;
            status = hand(pass, node->inputs[j], grad);
        }
    }
    heed_input_grads_end(&in, node);
    return status;
}

static heed_status visit(const heed_pass *pass, heed_tensor *node)
{
    heed_tensor *g = node->gradient_in_flight; /* NULL: no derivative gave it one */
    const bool needed = node->engine_mark > 0;
    heed_status status = HEED_OK;
    node->gradient_in_flight = NULL;
    node->engine_mark = 0;
    if (g != NULL) {
        status = heed_keep_gradient(pass, node, g);
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

/* dL/dL: 1, or what the caller says. */
static heed_tensor *make_seed(const heed_pass *pass)
{
    heed_tensor *seed = heed_tensor_like(pass->y);
    if (seed != NULL && pass->upstream != NULL) {
        heed_copy_elements(pass->upstream, seed);
    } else if (seed != NULL) {
        heed_fill_elements(seed, 1);
    }
    return seed;
}

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
    const char *outer = heed_self.operation;
    heed_self.operation = pass->function;
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_set_grad_enabled(pass->create_graph); /* derivatives are operations: are they recorded? */

    heed_tensor *seed = make_seed(pass);
    heed_status status = heed_error_pending();
    if (seed != NULL && heed_is_node(pass->y)) {
        status = walk(pass, seed);
    } else if (seed != NULL && heed_is_wanted(pass, pass->y)) {
        status = hand(pass, pass->y, seed); /* L is a leaf */
    } else if (seed != NULL) {
        heed_unref(seed);
    }
    heed_scope_end(&scope);
    heed_self.operation = outer;
    return heed_hand_out(pass, status);
}
