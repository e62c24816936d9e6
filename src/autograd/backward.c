/* The backward pass: runs the derivative of each node behind y once.
 *
 * 1. Put the nodes in order, each behind all of its consumers (order.c).
 * 2. Where only some gradients are wanted, mark the nodes that lead to one.
 * 3. Walk the order. A node's gradient is complete when its turn comes: run its derivative, and
 *    hand the results to its inputs: nodes sum them up, leaves and wanted tensors keep them. Where
 *    something has come before, an operation may add to it instead of making a result.
 *
 * Each derivative runs in a scope of its own, so what it computes on the way is gone behind it. */
#include <string.h>

#include "../tensor/alloc.h"
#include "../tensor/create.h"
#include "../tensor/frame.h"
#include "../tensor/iterate.h"
#include "../tensor/read.h"
#include "../tensor/scope.h"
#include "../tensor/shape.h"
#include "accumulate.h"
#include "op.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "pass.h"
#include "topo.h"

typedef struct run {
    const char *function;
    const heed_pass *pass;
    heed_order order;
} run;

/* The place of t among the tensors whose gradients are wanted; -1: it is none. */
static int find_wanted(const heed_pass *pass, const heed_tensor *t)
{
    for (int i = 0; i < pass->count; i++) {
        if (pass->xs[i] == t) {
            return i;
        }
    }
    return -1;
}

/* ---- 2: what leads to a wanted tensor ---- */

static bool leads_to_wanted(const run *r, const heed_tensor *node)
{
    bool leads = r->pass->xs == NULL; /* every leaf is wanted */
    for (int j = 0; j < node->input_count && !leads; j++) {
        const heed_tensor *input = node->inputs[j];
        leads = (heed_is_node(input) && input->engine_mark > 0) || find_wanted(r->pass, input) >= 0;
    }
    return leads;
}

/* Marks the nodes that lead to a wanted tensor, none of which an earlier pass may have used up. */
static heed_status mark_needed(run *r)
{
    const heed_tensor *used_up = NULL;
    for (int64_t i = r->order.count - 1; i >= 0; i--) {
        heed_tensor *node = r->order.nodes[i];
        node->engine_mark = leads_to_wanted(r, node);
        if (node->used_up && node->engine_mark > 0) {
            used_up = node;
        }
    }
    if (used_up != NULL) {
        return heed_fail(HEED_ERR_GRAPH,
                         "%s: the graph through %s %s was used up by an earlier backward; call "
                         "heed_backward_retain the first time",
                         r->function, used_up->op->name, HEED_TEXT(used_up));
    }
    return HEED_OK;
}

/* ---- 3: gradients on their way ---- */

/* Where dL/dt is summed up; NULL: in t->grad, or nowhere. */
static heed_tensor **sum_of(const run *r, heed_tensor *t)
{
    const heed_pass *pass = r->pass;
    if (heed_is_node(t) && t->engine_mark > 0) {
        return &t->gradient_in_flight;
    }
    int wanted = pass->xs != NULL ? find_wanted(pass, t) : -1;
    if (wanted < 0) {
        return NULL;
    }
    return heed_is_node(t) ? &t->gradient_in_flight : &pass->grads[wanted];
}

/* Hands dL/dt to t, taking g over. */
static heed_status deliver(const run *r, heed_tensor *t, heed_tensor *g)
{
    heed_tensor **sum = sum_of(r, t);
    if (sum != NULL) {
        return heed_add_gradient(sum, g, r->pass->create_graph);
    }
    if (r->pass->xs == NULL && t->requires_grad) {
        return heed_add_to_grad(t, g);
    }
    heed_unref(g);
    return HEED_OK;
}

/* ---- 3: nodes ---- */

static heed_status fail_version(const run *r, const heed_tensor *node)
{
    const heed_tensor *last = node->inputs[node->input_count - 1];
    return heed_fail(HEED_ERR_VERSION,
                     "%s: a value that the derivative of %s reads (of %s%s%s -> %s) was changed "
                     "in place since; change a heed_clone of it, or after the backward",
                     r->function, node->op->name, HEED_TEXT(node->inputs[0]),
                     node->input_count > 1 ? ", " : "",
                     node->input_count > 1 ? HEED_TEXT(last) : "", HEED_TEXT(node));
}

static heed_status fail_kept(const run *r, const heed_tensor *node)
{
    int j = 0;
    while (!node->inputs[j]->requires_grad || (node->op->saves[j] & ~node->saved) == 0) {
        j++;
    }
    return heed_fail(HEED_ERR_GRAPH,
                     "%s: input %d %s of %s began to require a gradient after it was used; "
                     "heed_set_requires_grad comes first",
                     r->function, j, HEED_TEXT(node->inputs[j]), node->op->name);
}

/* Does the node still have what the derivative of each input reads, and unchanged? Not of one that began
 * to require a gradient after the node was made. */
static heed_status check_saved(const run *r, const heed_tensor *node)
{
    const unsigned saved = node->saved;
    uint32_t versions = saved & HEED_SAVED_OUTPUT ? node->storage->version : 0;
    unsigned read = 0;
    for (int j = 0; j < node->input_count && j < 7; j++) {
        const heed_tensor *input = node->inputs[j];
        read |= j < HEED_SAVES && input->requires_grad ? node->op->saves[j] : 0;
        versions += saved >> j & 1 ? input->storage->version : 0;
    }
    return (read & ~saved) != 0              ? fail_kept(r, node)
           : versions != node->saved_version ? fail_version(r, node)
                                             : HEED_OK;
}

/* Ends the uses of the values that the derivative has read. */
static void use_up(heed_tensor *node)
{
    unsigned saved = node->saved;
    node->used_up = true;
    node->saved = 0;
    for (int j = 0; j < node->input_count && j < 7; j++) {
        if (saved >> j & 1) {
            heed_drop_use(node->inputs[j]);
        }
    }
    if (saved & HEED_SAVED_OUTPUT) {
        heed_drop_use(node);
    }
}

/* Brings the gradient that a derivative gave to the shape of its input, and checks it. */
static heed_tensor *fit_gradient(const heed_tensor *node, const heed_tensor *input, heed_tensor *g)
{
    heed_tensor *fitted = heed_has_sizes(g, input->ndim, input->shape)
                              ? g
                              : heed_sum_to(g, heed_shape_of_tensor(input));
    if (fitted != NULL && fitted->dtype != input->dtype) {
        heed_fail(HEED_ERR_DTYPE, "%s: its derivative gave %s for an input of %s", node->op->name,
                  heed_dtype_name(fitted->dtype), heed_dtype_name(input->dtype));
        return NULL;
    }
    return fitted;
}

/* The gradients of a node's inputs, on their way from its derivative. */
typedef struct input_gradients {
    heed_tensor *grads[4], **at; /* room for few; else of heed_alloc */
    bool few_wanted[4], *wanted;
} input_gradients;

/* Does the pass go on to this input? */
static bool is_wanted(const heed_pass *pass, const heed_tensor *input)
{
    return input->requires_grad &&
           (pass->xs == NULL || input->engine_mark > 0 || find_wanted(pass, input) >= 0);
}

static heed_status make_room(const run *r, const heed_tensor *node, input_gradients *g)
{
    const size_t count = node->input_count;
    g->at = g->grads;
    g->wanted = g->few_wanted;
    for (size_t j = 0; j < 4; j++) {
        g->grads[j] = NULL;
    }
    if (count > 4) {
        g->at = heed_alloc_zeroed(count * (sizeof *g->at + sizeof *g->wanted));
        if (g->at == NULL) {
            return heed_self.error;
        }
        g->wanted = (bool *)(g->at + count);
    }
    for (size_t j = 0; j < count; j++) {
        g->wanted[j] = is_wanted(r->pass, node->inputs[j]);
    }
    return HEED_OK;
}

/* Runs the derivative of a node; at[j] is then held for each input that is wanted and has one. */
static heed_status differentiate(heed_tensor *node, heed_tensor *g, const input_gradients *to)
{
    const heed_frame frame = heed_frame_begin(false);
    const heed_vjp vjp = {node, g, node->inputs, node->args, to->wanted, to->at};
    node->op->backward(&vjp);
    for (int j = node->input_count - 1; j >= 0; j--) { /* the last made is the first on the list */
        heed_tensor **grad = &to->at[j];
        const bool given = *grad != NULL && to->wanted[j] && !heed_blocked();
        *grad = given ? fit_gradient(node, node->inputs[j], *grad) : NULL;
        if (*grad != NULL) {
            heed_take_from_scope(*grad);
        }
    }
    return heed_frame_end(frame);
}

/* What is added in place needs no gradient of its own: it is no longer wanted. */
static heed_status add_what_can_be(const run *r, heed_tensor *node, heed_tensor *g,
                                   const input_gradients *to)
{
    if (node->op->add_gradient == NULL || r->pass->create_graph) {
        return HEED_OK;
    }
    const heed_vjp vjp = {node, g, node->inputs, node->args, to->wanted, to->at};
    for (int j = 0; j < node->input_count && !heed_blocked(); j++) {
        to->wanted[j] = to->wanted[j] && !heed_add_in_place(&vjp, j, sum_of(r, node->inputs[j]));
    }
    return heed_self.error;
}

static bool any_wanted(const heed_tensor *node, const input_gradients *to)
{
    bool any = false;
    for (int j = 0; j < node->input_count; j++) {
        any = any || to->wanted[j];
    }
    return any;
}

static heed_status run_node(const run *r, heed_tensor *node, heed_tensor *g)
{
    input_gradients to;
    if (check_saved(r, node) != HEED_OK || make_room(r, node, &to) != HEED_OK) {
        return heed_self.error;
    }
    heed_status status = add_what_can_be(r, node, g, &to);
    if (status == HEED_OK && any_wanted(node, &to)) {
        status = differentiate(node, g, &to);
    }
    for (int j = 0; j < node->input_count; j++) {
        if (to.at[j] != NULL && status == HEED_OK) {
            status = deliver(r, node->inputs[j], to.at[j]);
        } else if (to.at[j] != NULL) {
            heed_unref(to.at[j]);
        }
    }
    if (to.at != to.grads) {
        heed_free(to.at, node->input_count * (sizeof *to.at + sizeof *to.wanted));
    }
    return status;
}

/* A node's turn: its gradient is complete. After a failure the rest is only tidied up. */
static heed_status take_turn(const run *r, heed_tensor *node, heed_status status)
{
    const heed_pass *pass = r->pass;
    heed_tensor *g = node->gradient_in_flight;
    const bool needed = node->engine_mark > 0 && status == HEED_OK;
    node->gradient_in_flight = NULL;
    node->engine_mark = 0;
    if (status == HEED_OK && g != NULL) {
        int wanted = pass->xs != NULL ? find_wanted(pass, node) : -1;
        if (wanted >= 0) {
            heed_ref(g);
            pass->grads[wanted] = g;
        } else if (pass->xs == NULL && node->retain_grad) {
            heed_ref(g);
            status = heed_add_to_grad(node, g);
        }
        if (needed && status == HEED_OK) {
            status = run_node(r, node, g);
        }
    }
    if (g != NULL) {
        heed_unref(g);
    }
    if (needed && !pass->retain_graph && !pass->create_graph) {
        use_up(node);
    }
    return status;
}

/* ---- the pass ---- */

static heed_tensor *seed_of(const heed_pass *pass)
{
    const heed_tensor *y = pass->y;
    heed_tensor *seed = heed_tensor_like(y);
    if (seed != NULL && pass->upstream != NULL) {
        heed_copy_elements(pass->upstream, seed);
    } else if (seed != NULL) {
        heed_fill_elements(seed, 1);
    }
    return seed;
}

static heed_status run_order(run *r)
{
    heed_tensor *y = r->pass->y, *seed = seed_of(r->pass);
    if (seed == NULL) {
        return heed_self.error;
    }
    if (!heed_is_node(y)) { /* a leaf is its own gradient's end */
        return deliver(r, y, seed);
    }
    heed_status status = heed_order_nodes(&r->order, y);
    if (status != HEED_OK) {
        heed_unref(seed);
        return status;
    }
    status = mark_needed(r);
    y->gradient_in_flight = seed;
    for (int64_t i = 0; i < r->order.count; i++) {
        status = take_turn(r, r->order.nodes[i], status);
    }
    return status;
}

/* Gives the gradients to the innermost scope: zeros where nothing came, one handle for each. */
static heed_status hand_out(const heed_pass *pass)
{
    for (int i = 0; i < pass->count; i++) {
        heed_tensor *g = pass->grads[i];
        const int first = find_wanted(pass, pass->xs[i]);
        if (first < i) { /* asked for twice */
            pass->grads[i] = pass->grads[first];
        } else if (g == NULL) {
            pass->grads[i] = heed_zeros(heed_shape_of_tensor(pass->xs[i]), pass->xs[i]->dtype);
        } else if (g->references == 1) {
            pass->grads[i] = heed_join_scope("grad", g);
        } else { /* somebody else holds it, a scope perhaps */
            pass->grads[i] =
                pass->create_graph ? heed_reshape(g, heed_shape_of_tensor(g)) : heed_detach(g);
            heed_unref(g);
        }
    }
    if (heed_blocked()) {
        memset(pass->grads, 0, (size_t)pass->count * sizeof *pass->grads);
    }
    return heed_self.error;
}

heed_status heed_run_pass(const char *function, const heed_pass *pass)
{
    run r = {.function = function, .pass = pass};
    if (pass->count > 0) {
        memset(pass->grads, 0, (size_t)pass->count * sizeof *pass->grads);
    }
    const char *outer = heed_self.operation;
    heed_self.operation = function;
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_set_grad_enabled(pass->create_graph);
    heed_status status = run_order(&r);
    heed_self.operation = outer;
    heed_free(r.order.nodes, (size_t)r.order.capacity * sizeof *r.order.nodes);
    heed_scope_end(&scope);
    for (int i = 0; i < pass->count && status != HEED_OK; i++) {
        if (pass->grads[i] != NULL) {
            heed_unref(pass->grads[i]);
            pass->grads[i] = NULL;
        }
    }
    return status == HEED_OK ? hand_out(pass) : status;
}
