/* The backward pass: reverse-mode differentiation of a graph of tensors.
 *
 * The result of a recorded operation is a node: it points to the operation and to its inputs, so
 * the graph leads back from a result L to the leaves. A pass starts at L and computes dL/dt for
 * every t along the way:
 *
 *   seed         dL/dL = 1
 *   sort         list the nodes of the graph, each after all nodes computed from it
 *   visit        take the nodes in that order. All nodes computed from a node are visited before
 *                it, so the sum of the gradients it has received is dL/dnode
 *   accumulate   the node's derivative turns dL/dnode into dL/dinput for each input. These are
 *                summed: for a node until it is visited, for a leaf in its .grad, or for heed_grad
 *                in the result
 *
 * Read from top to bottom: heed_backward, heed_run_backward, visit_node, differentiate; then how
 * nodes are sorted and gradients accumulated. Nothing is recursive, so no graph is too deep. After
 * an error, which stays pending in the thread (heed_blocked), nothing more is computed. */
#include <string.h>

#include "../tensor/alloc.h"
#include "../tensor/create.h"
#include "../tensor/elements.h"
#include "../tensor/handle.h"
#include "../tensor/read.h"
#include "../tensor/scope.h"
#include "../tensor/shape.h"
#include "../tensor/thread.h"
#include "autograd.h"
#include "grad.h"
#include "hook.h"
#include "ops/operations.h"

static void sort_nodes(heed_pass *pass);
static bool is_wanted(const heed_pass *pass, const heed_tensor *input);
static void visit_node(heed_pass *pass, heed_tensor *node);
static void differentiate(heed_pass *pass, heed_tensor *node, heed_tensor *g);
static void check_saved_values(const char *function, const heed_tensor *node);
static void release_saved_values(heed_tensor *node);
static heed_tensor *take_gradient(heed_tensor *g, const heed_tensor *node, int j);
static void keep_gradient(const heed_pass *pass, heed_tensor *node, heed_tensor *g);
static void accumulate(const heed_pass *pass, heed_tensor *t, heed_tensor *g);
static void return_gradients(const heed_pass *pass);

/* ---- the public functions ---- */

static heed_status check_root(const char *function, heed_tensor *y)
{
    if (heed_blocked() || heed_check_tensor(function, "y", y) != HEED_OK) {
        return heed_self.error;
    }
    if (!y->requires_grad) {
        return heed_fail(
            HEED_ERR_GRAPH, "%s: y %s has no graph: %s", function, HEED_TEXT(y),
            heed_self.grad_disabled
                ? "grad mode is off, as in a no_grad scope"
                : "no tensor it was computed from requires a gradient, or grad mode was off");
    }
    if (y->numel != 1) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: y %s is not a single number; heed_sum or heed_mean it", function,
                         HEED_TEXT(y));
    }
    return HEED_OK;
}

heed_status heed_backward(heed_tensor *y)
{
    heed_pass pass = {.function = "backward", .y = y};
    return check_root(pass.function, y) == HEED_OK ? heed_run_backward(&pass) : heed_self.error;
}

heed_status heed_backward_retain(heed_tensor *y)
{
    heed_pass pass = {.function = "backward_retain", .y = y, .retain_graph = true};
    return check_root(pass.function, y) == HEED_OK ? heed_run_backward(&pass) : heed_self.error;
}

heed_status heed_grad(heed_tensor *y, heed_tensor *const *xs, int count, heed_tensor **grads,
                      bool create_graph)
{
    for (int i = 0; grads != NULL && i < count; i++) {
        grads[i] = NULL;
    }
    if (check_root("grad", y) != HEED_OK) {
        return heed_self.error;
    }
    if (xs == NULL || grads == NULL || count < 1) {
        return heed_fail(HEED_ERR_NULL, "grad: no tensors to differentiate with respect to");
    }
    for (int i = 0; i < count; i++) {
        if (heed_check_tensor("grad", "an x", xs[i]) != HEED_OK) {
            return heed_self.error;
        }
        if (!xs[i]->requires_grad) {
            return heed_fail(HEED_ERR_GRAPH, "grad: x %d %s does not require a gradient", i,
                             HEED_TEXT(xs[i]));
        }
    }
    heed_pass pass = {.function = "grad",
                      .y = y,
                      .xs = xs,
                      .count = count,
                      .grads = grads,
                      .create_graph = create_graph,
                      .retain_graph = create_graph};
    return heed_run_backward(&pass);
}

/* ---- the pass ---- */

static _Thread_local bool runs; /* a pass, in this thread */

bool heed_in_backward(void)
{
    return runs;
}

heed_status heed_run_backward(heed_pass *pass)
{
    const bool outer_runs = runs;
    /* With create_graph, the operations of derivatives are recorded and hooks see them, as if the
     * program applied them. Otherwise they are steps of `function`. */
    const char *outer = heed_self.operation;
    const bool grad_mode = heed_set_grad_enabled(pass->create_graph);
    heed_self.operation = pass->create_graph ? NULL : pass->function;
    runs = true;

    sort_nodes(pass);
    heed_tensor *seed = NULL;
    if (!heed_blocked() && is_wanted(pass, pass->y)) { /* else y depends on none of the xs */
        seed = heed_tensor_like(pass->y);
    }
    if (seed != NULL) {
        if (pass->upstream != NULL) {
            heed_copy_elements(pass->upstream, seed);
        } else {
            heed_fill_elements(seed, 1);
        }
        accumulate(pass, pass->y, seed);
    }
    while (seed != NULL && !heed_blocked() && pass->visited < pass->node_count) {
        visit_node(pass, pass->nodes[pass->visited++]);
    }
    for (int64_t i = pass->visited; i < pass->node_count; i++) {
        heed_tensor *node = pass->nodes[i]; /* not visited, after an error or without a seed */
        node->consumers = 0;
        if (node->gradient_in_flight != NULL) {
            heed_unref(node->gradient_in_flight);
            node->gradient_in_flight = NULL;
        }
    }
    heed_free(pass->input_grads);
    heed_free(pass->nodes);
    return_gradients(pass);
    heed_set_grad_enabled(grad_mode);
    heed_self.operation = outer;
    runs = outer_runs;
    return heed_self.error;
}

static void visit_node(heed_pass *pass, heed_tensor *node)
{
    heed_tensor *g = node->gradient_in_flight; /* NULL: no consumer produced one */
    const bool needed = node->consumers == HEED_NEEDED;
    node->gradient_in_flight = NULL;
    node->consumers = 0;
    if (g != NULL) {
        keep_gradient(pass, node, g);
        if (needed && !heed_blocked()) {
            differentiate(pass, node, g);
        }
        heed_unref(g);
    }
    if (needed && !pass->retain_graph) { /* also after an error */
        release_saved_values(node);
    }
}

/* The chain rule at one node, given g = dL/dnode: dL/dinput = g dnode/dinput, a vector-Jacobian
 * product. */
static void differentiate(heed_pass *pass, heed_tensor *node, heed_tensor *g)
{
    heed_tensor **grads = pass->input_grads;
    bool *wanted = pass->wanted;
    const heed_vjp vjp = {node, g, node->inputs, node->args, wanted, grads};
    check_saved_values(pass->function, node);
    if (heed_blocked()) {
        return;
    }
    for (int j = 0; j < node->input_count; j++) {
        grads[j] = NULL;
        wanted[j] = is_wanted(pass, node->inputs[j]);
    }
    const char *outer = heed_self.derivative;
    heed_self.derivative = node->op->name;
    const heed_frame frame = heed_frame_begin(false); /* for the derivative's temporaries */
    node->op->backward(&vjp);
    for (int j = node->input_count - 1; j >= 0; j--) { /* the scope lists the newest first */
        grads[j] = wanted[j] ? take_gradient(grads[j], node, j) : NULL;
    }
    heed_frame_end(frame);
    heed_self.derivative = outer;
    if (heed_self.hooks != NULL && !heed_blocked()) {
        heed_call_derivative_hooks(&vjp);
    }
    for (int j = 0; j < node->input_count; j++) {
        if (grads[j] != NULL && !heed_blocked()) {
            accumulate(pass, node->inputs[j], grads[j]);
        } else if (grads[j] != NULL) {
            heed_unref(grads[j]);
        }
    }
}

/* ---- sorting: Kahn's topological sort (1962) ---- */

/* The result of a recorded operation. A pass treats all other tensors as leaves. */
static bool is_node(const heed_tensor *t)
{
    return t->op != NULL && t->requires_grad;
}

/* Lists a node, unless it is listed. One with a mark belongs to a pass that has not ended. */
static void list_node(heed_pass *pass, heed_tensor *node)
{
    if (node->consumers < 0) {
        heed_fail(HEED_ERR_GRAPH,
                  "%s: another pass is going through %s %s; heed_detach its inputs and compute a "
                  "new graph",
                  pass->function, node->op->name, HEED_TEXT(node));
    }
    if (node->consumers != 0) {
        return;
    }
    heed_tensor **nodes = heed_grow(pass->nodes, pass->node_count, &pass->capacity, sizeof *nodes);
    if (nodes != NULL) {
        pass->nodes = nodes;
        nodes[pass->node_count++] = node;
        pass->most_inputs =
            node->input_count > pass->most_inputs ? node->input_count : pass->most_inputs;
    }
}

/* Lists every node that y depends on, in any order, and counts the consumers of each. */
static void discover_nodes(heed_pass *pass)
{
    list_node(pass, pass->y);
    for (int64_t i = 0; !heed_blocked() && i < pass->node_count; i++) {
        const heed_tensor *node = pass->nodes[i];
        for (int j = 0; !heed_blocked() && j < node->input_count; j++) {
            heed_tensor *input = node->inputs[j];
            if (is_node(input)) {
                list_node(pass, input);
                input->consumers += !heed_blocked();
            }
        }
    }
}

/* Puts each node after its consumers: overwrites the list, beginning with y, while the counts of
 * consumers that are not in it yet return to 0. */
static void put_in_order(const heed_pass *pass)
{
    int64_t placed = 1;
    for (int64_t i = 0; i < placed; i++) {
        const heed_tensor *node = pass->nodes[i];
        for (int j = 0; j < node->input_count; j++) {
            heed_tensor *input = node->inputs[j];
            if (is_node(input) && --input->consumers == 0) {
                pass->nodes[placed++] = input;
            }
        }
    }
}

/* The index of t in pass->xs; -1 if it is not in xs. */
static int find_x(const heed_pass *pass, const heed_tensor *t)
{
    for (int i = 0; i < pass->count; i++) {
        if (pass->xs[i] == t) {
            return i;
        }
    }
    return -1;
}

/* True if the pass needs the gradient of y or of this input of a node, of which those that are
 * nodes have been marked. */
static bool is_wanted(const heed_pass *pass, const heed_tensor *input)
{
    return input->requires_grad &&
           (pass->xs == NULL || input->consumers == HEED_NEEDED || find_x(pass, input) >= 0);
}

/* Marks the nodes that lead to an x, or to any leaf for heed_backward: their derivatives must run.
 * From the leaves up, so that the inputs of a node are marked before it. */
static void mark_needed(heed_pass *pass)
{
    const heed_tensor *used_up = NULL; /* the one nearest to y */
    for (int64_t i = pass->node_count - 1; i >= 0; i--) {
        heed_tensor *node = pass->nodes[i];
        bool needed = pass->xs == NULL;
        for (int j = 0; j < node->input_count && !needed; j++) {
            needed = is_wanted(pass, node->inputs[j]);
        }
        node->consumers = needed ? HEED_NEEDED : HEED_NOT_NEEDED;
        used_up = node->used_up && needed ? node : used_up;
    }
    if (used_up != NULL) {
        heed_fail(HEED_ERR_GRAPH,
                  "%s: the graph through %s %s was used up by an earlier backward; call "
                  "heed_backward_retain the first time",
                  pass->function, used_up->op->name, HEED_TEXT(used_up));
    }
}

static void sort_nodes(heed_pass *pass)
{
    if (!is_node(pass->y)) {
        return;
    }
    discover_nodes(pass);
    if (heed_blocked()) {
        return;
    }
    put_in_order(pass);
    pass->input_grads =
        heed_alloc((size_t)pass->most_inputs * (sizeof *pass->input_grads + sizeof *pass->wanted));
    if (pass->input_grads != NULL) {
        pass->wanted = (bool *)(pass->input_grads + pass->most_inputs);
        mark_needed(pass);
    }
}

/* ---- saved values: those that derivatives read, declared by heed_op.saves ----
 *
 * A node holds a use of each from its forward (apply.c) until its backward, and the sum of their
 * versions. All other values may be freed as soon as their scope ends. */

static void check_saved_values(const char *function, const heed_tensor *node)
{
    const heed_tensor *const *inputs = (const heed_tensor *const *)node->inputs;
    const unsigned saved = node->saved;
    uint32_t version = saved & HEED_SAVED_OUTPUT ? node->storage->version : 0;
    for (int i = 0; i < node->input_count && i < HEED_SAVED_INPUTS; i++) {
        if (i < HEED_SAVES && inputs[i]->requires_grad && (node->op->saves[i] & ~saved) != 0) {
            heed_fail(HEED_ERR_GRAPH,
                      "%s: input %d %s of %s started to require a gradient after it was used; call "
                      "heed_set_requires_grad first",
                      function, i, HEED_TEXT(inputs[i]), node->op->name);
            return;
        }
        version += saved >> i & 1 ? inputs[i]->storage->version : 0;
    }
    if (version != node->saved_version) {
        const bool more = node->input_count > 1;
        heed_fail(HEED_ERR_VERSION,
                  "%s: a value that the derivative of %s (%s%s%s -> %s) reads was changed in place "
                  "after the forward pass; change a heed_clone of it, or change it after the "
                  "backward pass",
                  function, node->op->name, HEED_TEXT(inputs[0]), more ? ", " : "",
                  more ? HEED_TEXT(inputs[node->input_count - 1]) : "", HEED_TEXT(node));
    }
}

/* The node cannot be differentiated again. */
static void release_saved_values(heed_tensor *node)
{
    const unsigned saved = node->saved;
    node->used_up = true;
    node->saved = 0;
    for (int i = 0; i < node->input_count && i < HEED_SAVED_INPUTS; i++) {
        if (saved >> i & 1) {
            heed_drop_use(node->inputs[i]);
        }
    }
    if (saved & HEED_SAVED_OUTPUT) {
        heed_drop_use(node);
    }
}

/* ---- accumulating ---- */

/* g, which a derivative returned for input j, summed to the shape of the input: that undoes
 * broadcasting. NULL after an error. */
static heed_tensor *fit_gradient(heed_tensor *g, const heed_tensor *node, int j)
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

/* Takes the gradient of input j out of the derivative's scope, in the shape of the input. NULL:
 * none, or an error. */
static heed_tensor *take_gradient(heed_tensor *g, const heed_tensor *node, int j)
{
    const heed_tensor *input = node->inputs[j];
    if (g == NULL || heed_blocked()) {
        return NULL;
    }
    if (g->storage == NULL || g->dtype != input->dtype ||
        !heed_has_sizes(g, input->ndim, input->shape)) {
        g = fit_gradient(g, node, j);
    }
    if (g != NULL) {
        heed_take_from_scope(g);
    }
    return g;
}

/* True if t is contiguous and no other handle, view or graph can see a change to it. */
static bool is_ours_alone(const heed_tensor *t)
{
    return t->references == 1 && t->storage->references == 1 && t->op == NULL &&
           heed_is_row_major(t);
}

/* t->grad += g. Consumes g, which becomes the first .grad unless something else holds it. */
static void add_to_grad(heed_tensor *t, heed_tensor *g)
{
    if (t->grad == NULL && is_ours_alone(g)) {
        t->grad = g;
        return;
    }
    if (t->grad != NULL) {
        heed_add_elements(g, t->grad);
        heed_raise_version(t->grad);
    } else if ((t->grad = heed_tensor_like(g)) != NULL) {
        heed_copy_elements(g, t->grad);
    }
    heed_unref(g);
}

/* *sum += g. Consumes g. The first gradient is moved, not added. */
static void add_to_sum(heed_tensor **sum, heed_tensor *g, bool create_graph)
{
    if (*sum == NULL) {
        *sum = g;
        return;
    }
    if (!create_graph && is_ours_alone(*sum)) {
        heed_add_elements(g, *sum);
    } else {
        const heed_frame frame = heed_frame_begin(false);
        heed_tensor *both = heed_add(*sum, g);
        if (both != NULL) {
            heed_take_from_scope(both);
            heed_unref(*sum);
            *sum = both;
        }
        heed_frame_end(frame);
    }
    heed_unref(g);
}

/* dL/dt += g for a wanted t. Consumes g, even on error. */
static void accumulate(const heed_pass *pass, heed_tensor *t, heed_tensor *g)
{
    if (is_node(t)) {
        add_to_sum(&t->gradient_in_flight, g, pass->create_graph);
    } else if (pass->xs != NULL) { /* heed_grad wants no other leaves than xs */
        add_to_sum(&pass->grads[find_x(pass, t)], g, pass->create_graph);
    } else {
        add_to_grad(t, g);
    }
}

/* Stores the complete g = dL/dnode if the node is an x, or heed_retain_grad was called on it. */
static void keep_gradient(const heed_pass *pass, heed_tensor *node, heed_tensor *g)
{
    const int x = find_x(pass, node);
    if (x >= 0) {
        heed_ref(g);
        pass->grads[x] = g;
    } else if (pass->xs == NULL && node->retain_grad) {
        heed_ref(g);
        add_to_grad(node, g);
    }
}

/* The gradient of xs[i] as a handle that belongs to the innermost scope. */
static heed_tensor *hand_out(const heed_pass *pass, int i)
{
    heed_tensor *x = pass->xs[i], *g = pass->grads[i];
    const int first = find_x(pass, x); /* of the places where x is listed */
    if (first < i) {
        return pass->grads[first];
    }
    if (g == NULL) {
        g = heed_zeros(heed_shape_of_tensor(x), x->dtype);
    } else if (g->references == 1) {
        g = heed_join_scope(pass->function, g);
    } else { /* the handle has another owner, such as a scope */
        heed_tensor *own = heed_reshape(g, heed_shape_of_tensor(g));
        heed_unref(g);
        g = own;
    }
    /* A gradient that depends on no x, as of a piecewise linear function, becomes a function of x
     * whose derivative is 0. */
    const bool is_constant = pass->create_graph && g != NULL && !g->requires_grad;
    return is_constant && x->storage != NULL ? heed_where(heed_zeros(HEED_SCALAR, HEED_BOOL), x, g)
                                             : g;
}

/* Moves the gradients of xs to the innermost scope: zeros for an x that received none, NULL for all
 * after an error. */
static void return_gradients(const heed_pass *pass)
{
    const bool failed = heed_blocked();
    for (int i = 0; i < pass->count; i++) {
        if (!failed) {
            pass->grads[i] = hand_out(pass, i);
        } else if (pass->grads[i] != NULL) {
            heed_unref(pass->grads[i]);
        }
    }
    if (pass->count > 0 && heed_blocked()) { /* the pass has failed, or hand_out */
        memset(pass->grads, 0, (size_t)pass->count * sizeof *pass->grads);
    }
}
