/* Sorts the nodes of a graph, marks those that a pass must differentiate, fits the gradients that
 * derivatives return to the shapes of the inputs, and returns those that heed_grad requested. */

#include "pass.h"

#include <string.h>

#include "../tensor/create.h"
#include "../tensor/read.h"
#include "ops/reductions.h"
#include "ops/view.h"
#include "saved.h"

static _Thread_local const char *running;

const char *heed_running_pass(void)
{
    return heed_self.operation != NULL ? running : NULL; /* else a longjmp has left it */
}

const char *heed_set_running_pass(const char *function)
{
    const char *outer = running;
    running = function;
    return outer;
}

/* ---- the order: a topological sort (Kahn, 1962), without recursion ---- */

static heed_status append(heed_topo *topo, heed_tensor *node)
{
    if (topo->count == topo->capacity) {
        int64_t larger = topo->capacity > 0 ? 2 * topo->capacity : 64;
        heed_tensor **nodes = heed_realloc(topo->nodes, (size_t)larger * sizeof *nodes);
        if (nodes == NULL) {
            return heed_self.error;
        }
        topo->nodes = nodes;
        topo->capacity = larger;
    }
    topo->nodes[topo->count++] = node;
    return HEED_OK;
}

/* Lists every node that y depends on, in any order; a node's engine_mark then counts its
 * consumers. */
static heed_status discover(heed_topo *topo, heed_tensor *y)
{
    heed_status status = append(topo, y);
    for (int64_t i = 0; status == HEED_OK && i < topo->count; i++) {
        const heed_tensor *node = topo->nodes[i];
        for (int j = 0; status == HEED_OK && j < node->input_count; j++) {
            heed_tensor *input = node->inputs[j];
            if (!heed_is_node(input) || input->engine_mark++ > 0) {
                continue;
            }
            status = append(topo, input);
            if (status != HEED_OK) {
                input->engine_mark = 0; /* not on the list, so the loop below does not reach it */
            }
        }
    }
    for (int64_t i = 0; status != HEED_OK && i < topo->count; i++) {
        topo->nodes[i]->engine_mark = 0;
    }
    return status;
}

heed_status heed_topo_sort(heed_topo *topo, heed_tensor *y)
{
    heed_status status = discover(topo, y);
    int64_t placed = 1; /* y stays first; the rest of the list is overwritten in order */
    for (int64_t i = 0; status == HEED_OK && i < placed; i++) {
        const heed_tensor *node = topo->nodes[i];
        for (int j = 0; j < node->input_count; j++) {
            heed_tensor *input = node->inputs[j];
            if (heed_is_node(input) && --input->engine_mark == 0) {
                topo->nodes[placed++] = input;
            }
        }
    }
    return status;
}

void heed_topo_free(heed_topo *topo, int64_t visited)
{
    for (int64_t i = visited; i < topo->count; i++) {
        heed_tensor *node = topo->nodes[i];
        node->engine_mark = 0;
        if (node->gradient_in_flight != NULL) {
            heed_unref(node->gradient_in_flight);
            node->gradient_in_flight = NULL;
        }
    }
    heed_free(topo->nodes);
}

/* ---- which gradients ---- */

static bool leads_to_wanted(const heed_pass *pass, const heed_tensor *node)
{
    bool leads = pass->xs == NULL; /* every leaf is wanted */
    for (int j = 0; j < node->input_count && !leads; j++) {
        leads = heed_is_wanted(pass, node->inputs[j]);
    }
    return leads;
}

heed_status heed_mark_needed(const heed_pass *pass, const heed_topo *topo)
{
    const heed_tensor *used_up = NULL;
    for (int64_t i = topo->count - 1; i >= 0; i--) {
        heed_tensor *node = topo->nodes[i];
        node->engine_mark = leads_to_wanted(pass, node);
        if (node->used_up && node->engine_mark > 0) {
            used_up = node;
        }
    }
    if (used_up != NULL) {
        return heed_fail(HEED_ERR_GRAPH,
                         "%s: the graph through %s %s was used up by an earlier backward; call "
                         "heed_backward_retain the first time",
                         pass->function, used_up->op->name, HEED_TEXT(used_up));
    }
    return HEED_OK;
}

/* ---- the gradients of a node's inputs ---- */

heed_status heed_input_grads_alloc(heed_input_grads *in, const heed_tensor *node)
{
    in->grads = heed_alloc_zeroed(node->input_count * (sizeof *in->grads + sizeof *in->wanted));
    if (in->grads == NULL) {
        return heed_self.error;
    }
    in->wanted = (bool *)(in->grads + node->input_count);
    return HEED_OK;
}

heed_tensor *heed_fit_gradient(heed_tensor *g, const heed_tensor *node, const heed_tensor *input)
{
    heed_tensor *fitted = heed_has_sizes(g, input->ndim, input->shape)
                              ? g
                              : heed_sum_to(g, heed_shape_of_tensor(input));
    if (fitted != NULL && fitted->dtype != input->dtype) {
        heed_fail(HEED_ERR_DTYPE, "%s: its derivative returned %s for an %s input", node->op->name,
                  heed_dtype_name(fitted->dtype), heed_dtype_name(input->dtype));
        return NULL;
    }
    return fitted;
}

/* ---- the result of heed_grad ---- */

/* The gradient of xs[i], taken from pass->grads[i], as a handle in the innermost scope. */
static heed_tensor *hand_out_one(const heed_pass *pass, int i)
{
    heed_tensor *x = pass->xs[i], *g = pass->grads[i];
    if (g == NULL) {
        return heed_zeros(heed_shape_of_tensor(x), x->dtype);
    }
    if (g->references == 1) {
        return heed_join_scope(pass->function, g);
    }
    /* The handle has another owner, such as a scope: return a new one. */
    heed_tensor *own = NULL;
    if (pass->create_graph) {
        own = heed_reshape(g, heed_shape_of_tensor(g));
    } else if (!heed_blocked()) {
        own = heed_tensor_view(pass->function, g, g->ndim, g->shape, g->strides, 0);
        own = own != NULL ? heed_join_scope(pass->function, own) : NULL;
    }
    heed_unref(g);
    return own;
}

heed_status heed_return_grads(const heed_pass *pass, heed_status status)
{
    for (int i = pass->count - 1; i >= 0; i--) {
        if (status == HEED_OK) {
            /* if an x is listed twice, its last entry has the gradient */
            const int last = heed_find_x(pass, pass->xs[i]);
            pass->grads[i] = last > i ? pass->grads[last] : hand_out_one(pass, i);
        } else if (pass->grads[i] != NULL) {
            heed_unref(pass->grads[i]);
        }
    }
    if (pass->count > 0 && heed_blocked()) {
        memset(pass->grads, 0, (size_t)pass->count * sizeof *pass->grads);
    }
    return status == HEED_OK ? heed_self.error : status;
}
