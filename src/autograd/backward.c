/* The backward pass: reverse-mode differentiation of a graph of tensors.
 *
 * The result of a recorded operation is a node: it points to its operation and its inputs, so the
 * graph leads from a result y back to the leaves. The consumers of a node are the nodes computed
 * from it. A pass computes dy/dt for every t along the way:
 *
 *   sort         list the nodes, each after its consumers
 *   mark         find the nodes whose derivatives must run
 *   seed         dy/dy = 1, or the caller's upstream gradient
 *   visit        take the nodes in order. The consumers of a node are visited first, so by then
 *                its gradient is complete
 *   accumulate   the derivative of a node turns dy/dnode into dy/dinput for each input. These are
 *                summed: for a node in the node until its visit, for a leaf in its .grad
 *                (heed_backward) or in the caller's grads (heed_grad)
 *
 * A node has two scratch fields, 0 outside a pass. consumers: while sorting, the edges to consumers
 * that are not placed yet; then HEED_NEEDED or HEED_NOT_NEEDED until the visit. gradient_in_flight:
 * the sum of the gradients received so far.
 *
 * Read from top to bottom. Nothing is recursive, so no graph is too deep. After an error, which
 * stays pending in the thread (heed_blocked), nothing more is computed. */
#include "autograd.h"

/* Marks in heed_tensor.consumers from sort to visit: must a pass differentiate the node? */
enum { HEED_NEEDED = -1, HEED_NOT_NEEDED = -2 };

static void prepare_visits(heed_pass *pass);
static void seed(const heed_pass *pass);
static void visit_node(heed_pass *pass, heed_tensor *node);
static void differentiate(heed_pass *pass, heed_tensor *node, heed_tensor *g);
static void check_saved_values(const char *function, const heed_tensor *node);
static void release_saved_values(heed_tensor *node);
static void forget_unvisited(const heed_pass *pass);
static heed_tensor *take_gradient(heed_tensor *g, const heed_tensor *node, int j);
static void keep_gradient(const heed_pass *pass, heed_tensor *node, heed_tensor *g);
static void accumulate(const heed_pass *pass, heed_tensor *t, heed_tensor *g);
static void return_gradients(const heed_pass *pass);

/* ---- the public functions ---- */

static heed_status check_y(const char *function, heed_tensor *y)
{
    if (heed_blocked() || heed_check_tensor(function, "y", y) != HEED_OK) {
        return heed_self.error;
    }
    if (!y->requires_grad) {
        return heed_fail(HEED_ERR_GRAPH,
                         "%s: y %s has no graph: no tensor it was computed from requires a "
                         "gradient, or grad mode was off, as in a no_grad scope",
                         function, HEED_TEXT(y));
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
    if (check_y(pass.function, y) == HEED_OK) {
        heed_run_backward(&pass);
    }
    return heed_self.error;
}

heed_status heed_backward_retain(heed_tensor *y)
{
    heed_pass pass = {.function = "backward_retain", .y = y, .retain_graph = true};
    if (check_y(pass.function, y) == HEED_OK) {
        heed_run_backward(&pass);
    }
    return heed_self.error;
}

heed_status heed_grad(heed_tensor *y, heed_tensor *const *xs, int count, heed_tensor **grads,
                      bool create_graph)
{
    for (int i = 0; grads != NULL && i < count; i++) {
        grads[i] = NULL;
    }
    if (check_y("grad", y) != HEED_OK) {
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

/* The result of a recorded operation. A pass treats all other tensors as leaves. */
static bool is_node(const heed_tensor *t)
{
    return t->op != NULL && t->requires_grad;
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

/* True if the pass needs dy/dt, for an input t of a node or y itself. Nodes have been marked. */
static bool is_wanted(const heed_pass *pass, const heed_tensor *t)
{
    return t->requires_grad &&
           (pass->xs == NULL || t->consumers == HEED_NEEDED || find_x(pass, t) >= 0);
}

static _Thread_local bool in_pass;

bool heed_in_backward(void)
{
    return in_pass;
}

heed_status heed_run_backward(heed_pass *pass)
{
    const bool outer_in_pass = in_pass, outer_grad_mode = heed_set_grad_enabled(pass->create_graph);
    const char *outer_operation = heed_self.operation;
    /* Hooks see only operations applied outside of another (heed_self.operation). With
     * create_graph, derivatives are seen and recorded like the program's own operations. */
    heed_self.operation = pass->create_graph ? NULL : pass->function;
    in_pass = true;

    prepare_visits(pass);
    if (!heed_blocked() && is_wanted(pass, pass->y)) { /* else y depends on none of the xs */
        seed(pass);
        while (!heed_blocked() && pass->visited < pass->node_count) {
            visit_node(pass, pass->nodes[pass->visited++]);
        }
    }
    forget_unvisited(pass);
    heed_free(pass->input_grads);
    heed_free(pass->nodes);
    return_gradients(pass);

    in_pass = outer_in_pass;
    heed_set_grad_enabled(outer_grad_mode);
    heed_self.operation = outer_operation;
    return heed_self.error;
}

static void seed(const heed_pass *pass)
{
    heed_tensor *g = heed_tensor_like(pass->y);
    if (g == NULL) {
        return;
    }
    if (pass->upstream != NULL) {
        heed_copy_elements(pass->upstream, g);
    } else {
        heed_fill_elements(g, 1);
    }
    accumulate(pass, pass->y, g);
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
    if (needed && !pass->retain_graph) { /* even if its derivative has failed */
        release_saved_values(node);
    }
}

/* The chain rule at one node, given g = dy/dnode: dy/dinput = g dnode/dinput, a vector-Jacobian
 * product. */
static void differentiate(heed_pass *pass, heed_tensor *node, heed_tensor *g)
{
    heed_tensor **grads = pass->input_grads;
    bool *wanted = (bool *)(grads + pass->most_inputs);
    const heed_vjp vjp = {.y = node,
                          .g = g,
                          .inputs = node->inputs,
                          .args = node->args,
                          .wanted = wanted,
                          .grads = grads};
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
    const heed_frame frame = heed_frame_begin(false); /* for temporaries, in the same grad mode */
    node->op->backward(&vjp);
    /* The last tensor of a scope is the cheapest to take out of it. */
    for (int j = node->input_count - 1; j >= 0; j--) {
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

/* After an error, or if y is not wanted: clears the scratch fields of the other nodes. */
static void forget_unvisited(const heed_pass *pass)
{
    for (int64_t i = pass->visited; i < pass->node_count; i++) {
        heed_tensor *node = pass->nodes[i];
        node->consumers = 0;
        if (node->gradient_in_flight != NULL) {
            heed_unref(node->gradient_in_flight);
            node->gradient_in_flight = NULL;
        }
    }
}

/* ---- sorting: Kahn's topological sort (1962) ---- */

/* Lists a node, unless it is listed: then its count of consumers is not 0. (y, which has none, is
 * listed first.) */
static void list_node(heed_pass *pass, heed_tensor *node)
{
    if (node->consumers < 0) { /* marked by a pass that has not ended: a derivative runs this one */
        heed_fail(HEED_ERR_GRAPH,
                  "%s: another pass is going through %s %s; heed_detach its inputs and compute a "
                  "new graph",
                  pass->function, node->op->name, HEED_TEXT(node));
        return;
    }
    if (node->consumers > 0) {
        return;
    }
    heed_tensor **nodes = heed_grow(pass->nodes, pass->node_count, &pass->capacity, sizeof *nodes);
    if (nodes != NULL) {
        pass->nodes = nodes;
        nodes[pass->node_count++] = node;
        if (node->input_count > pass->most_inputs) {
            pass->most_inputs = node->input_count;
        }
    }
}

/* Lists every node that y depends on, in any order, and counts the consumers of each. */
static void discover_nodes(heed_pass *pass)
{
    list_node(pass, pass->y);
    for (int64_t i = 0; !heed_blocked() && i < pass->node_count; i++) {
        const heed_tensor *node = pass->nodes[i];
        for (int j = 0; !heed_blocked() && j < node->input_count; j++) {
            if (is_node(node->inputs[j])) {
                list_node(pass, node->inputs[j]);
                if (!heed_blocked()) {
                    node->inputs[j]->consumers++;
                }
            }
        }
    }
}

/* Overwrites the list, starting with y: an input is appended when its last consumer is placed. */
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

/* Marks the nodes that lead to an x, or all nodes for heed_backward: their derivatives must run, so
 * none may be used up. From the leaves up, so that the inputs of a node are marked before it. */
static void mark_needed(const heed_pass *pass)
{
    const heed_tensor *used_up = NULL; /* the one nearest to y */
    for (int64_t i = pass->node_count - 1; i >= 0; i--) {
        heed_tensor *node = pass->nodes[i];
        bool needed = pass->xs == NULL;
        for (int j = 0; j < node->input_count && !needed; j++) {
            needed = is_wanted(pass, node->inputs[j]);
        }
        node->consumers = needed ? HEED_NEEDED : HEED_NOT_NEEDED;
        if (needed && node->used_up) {
            used_up = node;
        }
    }
    if (used_up != NULL) {
        heed_fail(HEED_ERR_GRAPH,
                  "%s: the graph through %s %s was used up by an earlier backward; call "
                  "heed_backward_retain the first time",
                  pass->function, used_up->op->name, HEED_TEXT(used_up));
    }
}

static void prepare_visits(heed_pass *pass)
{
    if (!is_node(pass->y)) {
        return;
    }
    discover_nodes(pass);
    if (heed_blocked()) {
        return;
    }
    put_in_order(pass);
    mark_needed(pass);
    pass->input_grads =
        heed_alloc((size_t)pass->most_inputs * (sizeof(heed_tensor *) + sizeof(bool)));
}

/* ---- saved values: those that derivatives read, declared by heed_op.saves ----
 *
 * A node holds a use of each from its forward (apply.c) until its visit: a value is freed when no
 * scope, retain or node uses it. Every change in place raises the version of a value; the node
 * keeps the sum of the versions at its forward. */

/* Checks all values that the node has saved, as torch does, even if only an input whose gradient is
 * not wanted needs them. */
static void check_saved_values(const char *function, const heed_tensor *node)
{
    const unsigned saved = node->saved;
    uint32_t version = saved & HEED_SAVED_OUTPUT ? node->storage->version : 0;
    for (int i = 0; i < node->input_count && i < HEED_SAVED_INPUTS; i++) {
        const heed_tensor *input = node->inputs[i];
        /* What the gradient of this input reads must have been saved. */
        const unsigned reads = i < HEED_SAVES && input->requires_grad ? node->op->saves[i] : 0;
        if ((reads & ~saved) != 0) {
            heed_fail(HEED_ERR_GRAPH,
                      "%s: input %d %s of %s started to require a gradient after it was used; call "
                      "heed_set_requires_grad first",
                      function, i, HEED_TEXT(input), node->op->name);
            return;
        }
        if (saved >> i & 1) {
            version += input->storage->version;
        }
    }
    if (version != node->saved_version) {
        heed_fail(HEED_ERR_VERSION,
                  "%s: a value that the derivative of %s %s reads was changed in place after the "
                  "forward pass; change a heed_clone of it, or change it after the backward pass",
                  function, node->op->name, HEED_TEXT(node));
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

/* g = dy/dinput j summed to the shape of the input: that undoes broadcasting. NULL: an error. */
static heed_tensor *fit_gradient(heed_tensor *g, const heed_tensor *node, int j)
{
    const heed_tensor *input = node->inputs[j];
    const heed_shape shape = heed_shape_of_tensor(g);
    if (g->storage == NULL) {
        heed_fail(HEED_ERR_SCOPE, "the value of a gradient %s has been freed; declare it in .saves",
                  HEED_TEXT(g));
    } else if (g->dtype != input->dtype || !heed_broadcasts_to(input, &shape)) {
        heed_fail(g->dtype != input->dtype ? HEED_ERR_DTYPE : HEED_ERR_SHAPE,
                  "the gradient of %s is %s %s, but the input is %s %s",
                  heed_input_name(node->op, j).text, heed_dtype_name(g->dtype), HEED_TEXT(g),
                  heed_dtype_name(input->dtype), HEED_TEXT(input));
    }
    return heed_sum_to_size(g, heed_shape_of_tensor(input)); /* NULL after an error */
}

/* Takes the gradient of input j, in the input's shape, out of the derivative's scope. NULL: none,
 * or an error. */
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

/* True if t can be added to in place: no other handle, view or graph would see it. */
static bool is_unshared_contiguous(const heed_tensor *t)
{
    return t->references == 1 && t->storage->references == 1 && t->op == NULL &&
           heed_is_row_major(t);
}

/* t->grad += g. Consumes g, which becomes the first .grad unless something else holds it. */
static void add_to_grad(heed_tensor *t, heed_tensor *g)
{
    if (t->grad == NULL && is_unshared_contiguous(g)) {
        t->grad = g;
        return;
    }
    if (t->grad != NULL) {
        heed_add_elements(g, t->grad); /* adds g to t->grad */
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
    if (!create_graph && is_unshared_contiguous(*sum)) {
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

/* dy/dt += g for a wanted t. Consumes g, even on error. */
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

/* Stores the complete g = dy/dnode if the node is an x, or heed_retain_grad was called on it. */
static void keep_gradient(const heed_pass *pass, heed_tensor *node, heed_tensor *g)
{
    const int i = find_x(pass, node);
    if (i >= 0) {
        heed_ref(g);
        pass->grads[i] = g;
    } else if (pass->xs == NULL && node->retain_grad) {
        heed_ref(g);
        add_to_grad(node, g);
    }
}

/* g = dy/dx in the innermost scope; zeros for NULL. Consumes g. */
static heed_tensor *hand_out(const heed_pass *pass, const heed_tensor *x, heed_tensor *g)
{
    if (g == NULL) {
        return heed_zeros(heed_shape_of_tensor(x), x->dtype);
    }
    if (g->references == 1) {
        return heed_join_scope(pass->function, g);
    }
    heed_tensor *own = heed_reshape(g, heed_shape_of_tensor(g)); /* g is in another scope */
    heed_unref(g);
    return own;
}

/* With create_graph, a gradient that depends on no x must have a derivative too, which is 0:
 * where(false, x, g) equals g, but has an edge to x. */
static heed_tensor *connect(const heed_pass *pass, heed_tensor *x, heed_tensor *g)
{
    if (!pass->create_graph || g == NULL || g->requires_grad || x->storage == NULL) {
        return g;
    }
    return heed_where(heed_zeros(HEED_SCALAR, HEED_BOOL), x, g);
}

/* Moves the gradients of xs to the innermost scope; NULL for all after an error. */
static void return_gradients(const heed_pass *pass)
{
    const bool failed = heed_blocked();
    heed_tensor **grads = pass->grads;
    for (int i = 0; i < pass->count; i++) {
        const int first = find_x(pass, pass->xs[i]);
        if (first < i) { /* an x that is listed twice */
            grads[i] = grads[first];
        } else if (!failed) {
            grads[i] = connect(pass, pass->xs[i], hand_out(pass, pass->xs[i], grads[i]));
        } else if (grads[i] != NULL) {
            heed_unref(grads[i]);
        }
    }
    for (int i = 0; i < pass->count && heed_blocked(); i++) {
        grads[i] = NULL;
    }
}
