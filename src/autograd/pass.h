/* A backward pass: its parameters, the order in which it visits nodes, the tensors that need a
 * gradient, the gradients of one node's inputs, and their sums (internal). */
#ifndef HEED_AUTOGRAD_PASS_H
#define HEED_AUTOGRAD_PASS_H

#include <assert.h>

#include "../tensor/alloc.h"
#include "../tensor/check.h"
#include "../tensor/debug.h"
#include "../tensor/handle.h"
#include "../tensor/shape.h"
#include "op.h"

typedef struct heed_pass {
    const char *function; /* the caller, for errors */
    heed_tensor *y;
    const heed_tensor *upstream; /* dL/dy; NULL: 1 */
    heed_tensor *const *xs;      /* differentiate with respect to these; NULL: all leaves */
    int count;
    heed_tensor **grads; /* one per x */
    bool create_graph, retain_graph;
} heed_pass;

/* heed_run_backward (backward.c): same errors as heed_backward and heed_grad, but y may have any
 * number of elements. The caller sets all elements of pass->grads to NULL. */
heed_status heed_run_backward(const heed_pass *pass);

/* heed_running_pass: the function that runs a pass in this thread, or NULL. heed_set_running_pass:
 * sets it, and returns the previous one. */
const char *heed_running_pass(void);
const char *heed_set_running_pass(const char *function);

/* ---- the order ---- */

typedef struct heed_topo {
    heed_tensor **nodes; /* `capacity` pointers, from heed_alloc */
    int64_t count, capacity;
} heed_topo;

/* heed_is_node: true for the result of a recorded operation. A pass treats all other tensors as
 * leaves. */
static inline bool heed_is_node(const heed_tensor *t)
{
    return t->op != NULL && t->requires_grad;
}

/* heed_topo_sort: lists y and the nodes that it depends on, each after all of its consumers. The
 * engine_mark of every node is 0 before and after. HEED_ERR_MEMORY: out of memory for the list. */
heed_status heed_topo_sort(heed_topo *topo, heed_tensor *y);

/* heed_topo_free: frees the list. For nodes from index `visited` on, which a failed pass did not
 * reach, also resets engine_mark and drops the gradient collected so far. */
void heed_topo_free(heed_topo *topo, int64_t visited);

/* ---- which gradients ---- */

/* heed_mark_needed: sets engine_mark to 1 in nodes that lead to a requested tensor, and to 0 in all
 * others. HEED_ERR_GRAPH: an earlier pass has used up a node that is needed. */
heed_status heed_mark_needed(const heed_pass *pass, const heed_topo *nodes);

/* heed_find_x: the last index of t in pass->xs; -1 if it is not in xs. */
static inline int heed_find_x(const heed_pass *pass, const heed_tensor *t)
{
    int i = pass->count - 1; /* xs is empty in most passes */
    while (i >= 0 && pass->xs[i] != t) {
        i--;
    }
    return i;
}

/* heed_is_wanted: true if the pass needs the gradient of this input of a node. */
static inline bool heed_is_wanted(const heed_pass *pass, const heed_tensor *input)
{
    return input->requires_grad &&
           (pass->xs == NULL || input->engine_mark > 0 || heed_find_x(pass, input) >= 0);
}

/* heed_gradient_slot: where the gradients of t are summed during the pass; NULL: in t->grad. A
 * node's sum is complete when the node is visited, the sum of a leaf x when the pass ends. */
static inline heed_tensor **heed_gradient_slot(const heed_pass *pass, heed_tensor *t)
{
    if (heed_is_node(t)) {
        return &t->gradient_in_flight;
    }
    if (pass->xs == NULL) {
        return NULL;
    }
    const int i = heed_find_x(pass, t);
    assert(i >= 0); /* heed_is_wanted: only leaves among xs receive gradients */
    return &pass->grads[i];
}

/* heed_return_grads: moves the gradients of xs to the innermost scope: zeros for an x that received
 * none, NULL for all after an error. */
heed_status heed_return_grads(const heed_pass *pass, heed_status status);

/* ---- the gradients of a node's inputs ---- */

enum { HEED_FEW_INPUTS = 4 };

typedef struct heed_input_grads {
    heed_tensor **grads; /* one per input; NULL: none, or not computed yet */
    bool *wanted;
    heed_tensor *const *inputs, *y;    /* passed to the derivative; the node's own, except in debug
                                          builds */
    heed_tensor *few[HEED_FEW_INPUTS]; /* used for up to HEED_FEW_INPUTS inputs */
    bool few_wanted[HEED_FEW_INPUTS];
} heed_input_grads;

/* heed_input_grads_alloc: heap storage for nodes with many inputs. */
heed_status heed_input_grads_alloc(heed_input_grads *in, const heed_tensor *node);

/* heed_input_grads_hide (debug builds only; unsaved.c): sets in->inputs and in->y to the node's, or
 * to stand-ins for those whose values are not saved. */
heed_status heed_input_grads_hide(heed_input_grads *in, heed_tensor *node);

/* heed_input_grads_begin: provides storage and sets `wanted`. */
static inline heed_status heed_input_grads_begin(heed_input_grads *in, const heed_pass *pass,
                                                 heed_tensor *node)
{
    in->grads = in->few;
    in->wanted = in->few_wanted;
    for (int j = 0; j < HEED_FEW_INPUTS; j++) {
        in->few[j] = NULL;
    }
    if (node->input_count > HEED_FEW_INPUTS && heed_input_grads_alloc(in, node) != HEED_OK) {
        return HEED_ERR_MEMORY;
    }
    for (int j = 0; j < node->input_count; j++) {
        in->wanted[j] = heed_is_wanted(pass, node->inputs[j]);
    }
    in->inputs = node->inputs;
    in->y = node;
    return HEED_IS_DEBUG ? heed_input_grads_hide(in, node) : HEED_OK;
}

/* heed_input_grads_end: frees the storage. After an error, also releases the gradients still in
 * `grads` (not set to NULL). */
static inline void heed_input_grads_end(heed_input_grads *in, const heed_tensor *node,
                                        heed_status status)
{
    for (int j = 0; status != HEED_OK && j < node->input_count; j++) {
        if (in->grads[j] != NULL) {
            heed_unref(in->grads[j]);
        }
    }
    if (in->grads != in->few) {
        heed_free(in->grads);
    }
    if (HEED_IS_DEBUG) {
        heed_free((void *)in->inputs);
    }
}

/* heed_any_wanted: true if the derivative must still compute a gradient. */
static inline bool heed_any_wanted(const heed_input_grads *in, const heed_tensor *node)
{
    bool any = false;
    for (int j = 0; j < node->input_count; j++) {
        any = any || in->wanted[j];
    }
    return any;
}

/* heed_fit_gradient: g summed to the shape of the input. NULL on error.
 * HEED_ERR_DTYPE: the dtype of g is not that of the input. */
heed_tensor *heed_fit_gradient(heed_tensor *g, const heed_tensor *node, const heed_tensor *input);

/* heed_input_grads_take: takes the wanted gradients out of the derivative's scope and drops the
 * others. Undoes broadcasting: each is summed to the shape of its input. */
static inline void heed_input_grads_take(heed_input_grads *in, const heed_tensor *node)
{
    for (int j = node->input_count - 1; j >= 0; j--) { /* the newest is first in the scope's list */
        const heed_tensor *input = node->inputs[j];
        heed_tensor *g = in->wanted[j] && !heed_blocked() ? in->grads[j] : NULL;
        if (g != NULL && g->storage == NULL) { /* a value that .saves does not list */
            heed_check_tensor(node->op->name, "a gradient", g);
            g = NULL;
        }
        if (g != NULL &&
            (g->dtype != input->dtype || !heed_has_sizes(g, input->ndim, input->shape))) {
            g = heed_fit_gradient(g, node, input);
        }
        in->grads[j] = g;
        if (g != NULL) {
            heed_take_from_scope(g);
        }
    }
}

/* ---- sums of the gradients that a tensor receives (accumulate.c) ---- */

/* Both functions consume g.
 *
 * heed_add_gradient: *sum += g; a NULL *sum counts as 0. *sum owns a reference and a use. With
 * create_graph, the sum has a graph.
 * heed_add_to_grad: t->grad += g. Threads may add to the same t concurrently. */
heed_status heed_add_gradient(heed_tensor **sum, heed_tensor *g, bool create_graph);
heed_status heed_add_to_grad(heed_tensor *t, heed_tensor *g);

/* heed_add_in_place: some operations can add directly to a gradient that an input has already
 * received, without allocating their own (heed_op.add_gradient). Clears `wanted` for the inputs
 * handled this way. Skips inputs whose sum is visible elsewhere. */
heed_status heed_add_all_in_place(const heed_pass *pass, const heed_vjp *vjp, bool *wanted);

static inline heed_status heed_add_in_place(const heed_pass *pass, const heed_vjp *vjp,
                                            bool *wanted)
{
    /* Observers see gradients before they are added. */
    const bool can =
        vjp->y->op->add_gradient != NULL && !pass->create_graph && heed_self.observers == NULL;
    return can ? heed_add_all_in_place(pass, vjp, wanted) : HEED_OK;
}

/* heed_retain_gradient: stores the complete gradient g = dL/dnode: in pass->grads if the node is
 * one of pass->xs, or in .grad if heed_retain_grad was called on it. */
heed_status heed_retain_gradient(const heed_pass *pass, heed_tensor *node, heed_tensor *g);

#endif
