/* The backward pass: reverse-mode differentiation of a graph of tensors.
 *
 * The result of a recorded operation is a node: it points to its operation and its inputs, so the
 * graph leads from a result y back to the leaves. The consumers of a node are the nodes computed
 * from it. A pass computes dy/dt for every t along the way:
 *
 *   sort         list the nodes, each after its consumers
 *   mark         for heed_grad: find the nodes whose derivatives must run
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
 * Read from top to bottom. Nothing is recursive, so no graph is too deep. An error jumps back to
 * heed_run_backward (tensor.h: the door), which cleans up. */
#include "autograd.h"

#include <stdlib.h>

/* Marks in heed_tensor.consumers from sort to visit: must a pass differentiate the node? */
enum { HEED_NEEDED = -1, HEED_NOT_NEEDED = -2 };

static void run_pass(void *context);
static void sort_nodes(heed_pass *pass);
static void mark_needed(const heed_pass *pass);
static void check_not_used_up(const heed_pass *pass);
static void seed(const heed_pass *pass);
static void visit_node(heed_pass *pass, heed_tensor *node);
static void differentiate(heed_pass *pass, heed_tensor *node);
static void check_saved_values(const char *function, const heed_tensor *node);
static void release_saved_values(heed_tensor *node);
static heed_tensor *fit_gradient(heed_tensor *g, const heed_tensor *node, int j);
static void keep_gradient(const heed_pass *pass, heed_tensor *node);
static void accumulate(const heed_pass *pass, heed_tensor *t, heed_tensor *g);
static void complete_gradients(const heed_pass *pass);
static void clean_up(const heed_pass *pass);

/* ---- the public functions ---- */

static void check_y(const char *function, heed_tensor *y)
{
    heed_check_tensor(function, "y", y);
    if (!y->requires_grad) {
        heed_raise(HEED_ERR_GRAPH,
                   "%s: y %s has no graph: no tensor it was computed from requires a gradient, or "
                   "grad mode was off, as in a no_grad scope",
                   function, HEED_TEXT(y));
    }
    if (y->numel != 1) {
        heed_raise(HEED_ERR_SHAPE, "%s: y %s is not a single number; heed_sum or heed_mean it",
                   function, HEED_TEXT(y));
    }
}

heed_status heed_backward(heed_tensor *y)
{
    HEED_DOOR(heed_self.error);
    check_y("backward", y);
    return heed_run_backward(&(heed_pass){.function = "backward", .y = y});
}

heed_status heed_backward_retain(heed_tensor *y)
{
    HEED_DOOR(heed_self.error);
    check_y("backward_retain", y);
    return heed_run_backward(
        &(heed_pass){.function = "backward_retain", .y = y, .retain_graph = true});
}

static void check_xs(heed_tensor *const *xs, int count, heed_tensor **grads)
{
    if (xs == NULL || grads == NULL || count < 1) {
        heed_raise(HEED_ERR_NULL, "grad: no tensors to differentiate with respect to");
    }
    for (int i = 0; i < count; i++) {
        heed_check_tensor("grad", "an x", xs[i]);
        if (!xs[i]->requires_grad) {
            heed_raise(HEED_ERR_GRAPH, "grad: x %d %s does not require a gradient", i,
                       HEED_TEXT(xs[i]));
        }
    }
    heed_check_scope("grad");
}

heed_status heed_grad(heed_tensor *y, heed_tensor *const *xs, int count, heed_tensor **grads,
                      bool create_graph)
{
    for (int i = 0; grads != NULL && i < count; i++) {
        grads[i] = NULL;
    }
    HEED_DOOR(heed_self.error);
    check_y("grad", y);
    check_xs(xs, count, grads);
    return heed_run_backward(&(heed_pass){.function = "grad",
                                          .y = y,
                                          .xs = xs,
                                          .count = count,
                                          .grads = grads,
                                          .create_graph = create_graph,
                                          .retain_graph = create_graph});
}

/* ---- the pass ---- */

/* The result of a recorded operation. A pass treats all other tensors as leaves. */
static bool is_node(const heed_tensor *t)
{
    return t->op != NULL && t->requires_grad;
}

/* Orders places in xs by the address of the tensor, then by their index. */
static int by_address(const void *a, const void *b)
{
    heed_tensor *const *x = *(heed_tensor *const *const *)a, *const *y =
                                                                 *(heed_tensor *const *const *)b;
    return *x != *y ? (*x > *y) - (*x < *y) : (x > y) - (x < y);
}

static void sort_xs(heed_pass *pass)
{
    const size_t count = (size_t)pass->count;
    pass->sorted_xs = heed_alloc(count * sizeof *pass->sorted_xs);
    for (size_t i = 0; i < count; i++) {
        pass->sorted_xs[i] = &pass->xs[i];
    }
    qsort(pass->sorted_xs, count, sizeof *pass->sorted_xs, by_address);
}

/* The first index of t in pass->xs; -1 if it is not in xs. A binary search. */
static int find_x(const heed_pass *pass, const heed_tensor *t)
{
    int low = 0, high = pass->count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (*pass->sorted_xs[middle] < t) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < pass->count && *pass->sorted_xs[low] == t ? (int)(pass->sorted_xs[low] - pass->xs)
                                                           : -1;
}

/* True if the pass needs dy/dt, for an input t of a node or y itself. Nodes have been marked. */
static bool is_wanted(const heed_pass *pass, const heed_tensor *t)
{
    return t->requires_grad &&
           (pass->xs == NULL || t->consumers == HEED_NEEDED || find_x(pass, t) >= 0);
}

/* True if g can be the gradient of t as it is. */
static inline bool fits(const heed_tensor *g, const heed_tensor *t)
{
    return g->storage != NULL && g->dtype == t->dtype && heed_same_shape(g, t);
}

static _Thread_local bool in_pass;

bool heed_in_backward(void)
{
    return in_pass;
}

heed_status heed_run_backward(heed_pass *pass)
{
    const bool outer_in_pass = in_pass;
    in_pass = true;
    heed_try(run_pass, pass);
    in_pass = outer_in_pass;
    clean_up(pass);
    return heed_pass_on();
}

static void run_pass(void *context)
{
    heed_pass *pass = context;
    /* Hooks see only operations applied outside of another (heed_self.operation). With
     * create_graph, derivatives are seen and recorded like the program's own operations. */
    heed_self.operation = pass->create_graph ? NULL : pass->function;
    heed_set_grad_enabled(pass->create_graph);
    if (pass->count > 0) {
        sort_xs(pass);
    }
    if (is_node(pass->y)) {
        sort_nodes(pass);
        if (pass->xs != NULL) {
            mark_needed(pass);
        }
        check_not_used_up(pass);
    }
    if (is_wanted(pass, pass->y)) { /* else y depends on none of the xs */
        seed(pass);
        while (pass->visited < pass->node_count) {
            visit_node(pass, pass->nodes[pass->visited++]);
        }
    }
    complete_gradients(pass);
}

static void seed(const heed_pass *pass)
{
    heed_tensor *g = heed_tensor_like(pass->y);
    if (pass->upstream != NULL) {
        heed_copy_elements(pass->upstream, g);
    } else {
        heed_fill_elements(g, 1);
    }
    accumulate(pass, pass->y, g);
}

static void visit_node(heed_pass *pass, heed_tensor *node)
{
    const bool needed = node->consumers == HEED_NEEDED;
    pass->g = node->gradient_in_flight; /* NULL: no consumer produced one */
    node->gradient_in_flight = NULL;
    node->consumers = 0;
    if (pass->g != NULL) {
        keep_gradient(pass, node);
        if (needed) {
            differentiate(pass, node);
        }
        heed_unref(pass->g);
        pass->g = NULL;
    }
    if (needed && !pass->retain_graph) {
        release_saved_values(node);
    }
}

/* The chain rule at one node, given g = dy/dnode: dy/dinput = g dnode/dinput, a vector-Jacobian
 * product. */
static void differentiate(heed_pass *pass, heed_tensor *node)
{
    heed_tensor **grads = pass->input_grads;
    bool *wanted = (bool *)(grads + pass->most_inputs);
    const heed_vjp vjp = {.y = node,
                          .g = pass->g,
                          .inputs = node->inputs,
                          .args = node->args,
                          .wanted = wanted,
                          .grads = grads};
    check_saved_values(pass->function, node);
    for (int j = 0; j < node->input_count; j++) {
        grads[j] = NULL;
        wanted[j] = is_wanted(pass, node->inputs[j]);
    }
    const char *outer_derivative = heed_self.derivative;
    heed_self.derivative = node->op->name;
    const heed_frame frame = heed_frame_begin(false); /* for temporaries, in the same grad mode */
    const heed_callback outer = heed_begin_in(node->op);
    node->op->backward(&vjp);
    heed_callback_end(outer);
    heed_pass_on();
    for (int j = 0; j < node->input_count; j++) {
        if (!wanted[j]) {
            grads[j] = NULL;
        } else if (grads[j] != NULL && !fits(grads[j], node->inputs[j])) {
            grads[j] = fit_gradient(grads[j], node, j);
        }
    }
    heed_self.derivative = outer_derivative;
    if (heed_self.hooks != NULL) {
        heed_call_derivative_hooks(&vjp);
    }
    for (int j = 0; j < node->input_count; j++) {
        if (grads[j] != NULL) {
            accumulate(pass, node->inputs[j], grads[j]);
        }
    }
    heed_frame_end(frame);
}

/* ---- sorting: Kahn's topological sort (1962) ---- */

/* Lists a node, unless it is listed: then its count of consumers is not 0. (y, which has none, is
 * listed first.) */
static void list_node(heed_pass *pass, heed_tensor *node)
{
    if (node->consumers < 0) { /* marked by a pass that has not ended: a derivative runs this one */
        heed_raise(HEED_ERR_GRAPH,
                   "%s: another pass is going through %s %s; heed_detach its inputs and compute a "
                   "new graph",
                   pass->function, node->op->name, HEED_TEXT(node));
    }
    if (node->consumers > 0) {
        return;
    }
    pass->nodes = heed_grow(pass->nodes, pass->node_count, &pass->capacity, sizeof *pass->nodes);
    pass->nodes[pass->node_count++] = node;
    if (node->input_count > pass->most_inputs) {
        pass->most_inputs = node->input_count;
    }
}

/* Lists every node that y depends on, in any order, and counts the consumers of each. */
static void discover_nodes(heed_pass *pass)
{
    list_node(pass, pass->y);
    for (int64_t i = 0; i < pass->node_count; i++) {
        const heed_tensor *node = pass->nodes[i];
        for (int j = 0; j < node->input_count; j++) {
            if (is_node(node->inputs[j])) {
                list_node(pass, node->inputs[j]);
                node->inputs[j]->consumers++;
            }
        }
    }
}

/* Overwrites the list, starting with y: an input is appended when its last consumer is placed. */
static void put_in_order(const heed_pass *pass)
{
    int64_t placed = 1;
    for (int64_t i = 0; i < placed; i++) {
        heed_tensor *node = pass->nodes[i];
        node->consumers = HEED_NEEDED;
        for (int j = 0; j < node->input_count; j++) {
            heed_tensor *input = node->inputs[j];
            if (is_node(input) && --input->consumers == 0) {
                pass->nodes[placed++] = input;
            }
        }
    }
}

static void sort_nodes(heed_pass *pass)
{
    discover_nodes(pass);
    put_in_order(pass);
    pass->input_grads =
        heed_alloc((size_t)pass->most_inputs * (sizeof(heed_tensor *) + sizeof(bool)));
}

/* For heed_grad: unmarks the nodes that do not lead to an x. From the leaves up, so that the inputs
 * of a node are marked before it. */
static void mark_needed(const heed_pass *pass)
{
    for (int64_t i = pass->node_count - 1; i >= 0; i--) {
        heed_tensor *node = pass->nodes[i];
        bool needed = false;
        for (int j = 0; j < node->input_count && !needed; j++) {
            needed = is_wanted(pass, node->inputs[j]);
        }
        node->consumers = needed ? HEED_NEEDED : HEED_NOT_NEEDED;
    }
}

/* The derivatives of marked nodes must run, so none may be used up. */
static void check_not_used_up(const heed_pass *pass)
{
    for (int64_t i = 0; i < pass->node_count; i++) {
        const heed_tensor *node = pass->nodes[i];
        if (node->used_up && node->consumers == HEED_NEEDED) {
            heed_raise(HEED_ERR_GRAPH,
                       "%s: the graph through %s %s was used up by an earlier backward; call "
                       "heed_backward_retain the first time",
                       pass->function, node->op->name, HEED_TEXT(node));
        }
    }
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
    uint32_t version = 0;
    for (unsigned left = node->saved; left != 0; left &= left - 1) {
        version += heed_saved_value(node, left)->storage->version;
    }
    /* What the gradient of an input reads must have been saved. */
    const unsigned missing = heed_values_of(node->input_count) & ~(unsigned)node->saved;
    for (int i = 0; i < node->input_count && i < HEED_SAVES; i++) {
        if ((node->op->saves[i] & missing) != 0 && node->inputs[i]->requires_grad) {
            heed_raise(HEED_ERR_GRAPH,
                       "%s: input %d %s of %s started to require a gradient after it was used; "
                       "call heed_set_requires_grad first",
                       function, i, HEED_TEXT(node->inputs[i]), node->op->name);
        }
    }
    if (version != node->saved_version) {
        heed_raise(HEED_ERR_VERSION,
                   "%s: a value that the derivative of %s %s reads was changed in place after the "
                   "forward pass; change a heed_clone of it, or change it after the backward pass",
                   function, node->op->name, HEED_TEXT(node));
    }
}

/* The node cannot be differentiated again. */
static void release_saved_values(heed_tensor *node)
{
    for (unsigned left = node->saved; left != 0; left &= left - 1) {
        heed_drop_use(heed_saved_value(node, left));
    }
    node->used_up = true;
    node->saved = 0;
}

/* ---- accumulating ---- */

/* g = dy/dinput j in the shape of the input: summed, which undoes broadcasting. */
static heed_tensor *fit_gradient(heed_tensor *g, const heed_tensor *node, int j)
{
    const heed_tensor *input = node->inputs[j];
    const heed_shape shape = heed_shape_of_tensor(g);
    if (g->storage == NULL) {
        heed_raise(HEED_ERR_SCOPE,
                   "the value of a gradient %s has been freed; declare it in .saves", HEED_TEXT(g));
    }
    if (g->dtype != input->dtype || !heed_broadcasts_to(input, &shape)) {
        heed_raise(g->dtype != input->dtype ? HEED_ERR_DTYPE : HEED_ERR_SHAPE,
                   "the gradient of %s is %s %s, but the input is %s %s",
                   heed_input_name(node->op, j).text, heed_dtype_name(g->dtype), HEED_TEXT(g),
                   heed_dtype_name(input->dtype), HEED_TEXT(input));
    }
    return heed_sum_to_size(g, heed_shape_of_tensor(input));
}

/* True if t can be added to in place: no other handle, view or graph would see it. */
static bool is_unshared_contiguous(const heed_tensor *t)
{
    return t->references == 1 && t->storage->references == 1 && t->op == NULL &&
           heed_is_row_major(t);
}

/* t->grad += g; the first .grad is a copy. */
static void add_to_grad(heed_tensor *t, const heed_tensor *g)
{
    if (t->grad != NULL) {
        heed_add_elements(g, t->grad); /* adds g to t->grad */
        heed_raise_version(t->grad);
        return;
    }
    heed_tensor *copy = heed_tensor_like(g);
    heed_copy_elements(g, copy);
    heed_take_from_scope(copy);
    t->grad = copy;
}

/* *sum += g. The first gradient is taken from its scope, not added. */
static inline void add_to_sum(heed_tensor **sum, heed_tensor *g, bool create_graph)
{
    if (*sum == NULL) {
        heed_take_from_scope(g);
        *sum = g;
    } else if (!create_graph && g != *sum && is_unshared_contiguous(*sum)) {
        heed_add_elements(g, *sum);
    } else {
        heed_tensor *both = heed_add(*sum, g);
        heed_take_from_scope(both);
        heed_unref(*sum);
        *sum = both;
    }
}

/* dy/dt += g for a wanted t. The first .grad is g itself if only the scope of the derivative holds
 * it. */
static void accumulate(const heed_pass *pass, heed_tensor *t, heed_tensor *g)
{
    if (is_node(t) || pass->xs != NULL) { /* heed_grad wants no other leaves than xs */
        add_to_sum(is_node(t) ? &t->gradient_in_flight : &pass->grads[find_x(pass, t)], g,
                   pass->create_graph);
    } else if (t->grad == NULL && g->scope_depth == heed_self.depth && is_unshared_contiguous(g)) {
        heed_take_from_scope(g);
        t->grad = g;
    } else {
        add_to_grad(t, g);
    }
}

/* Stores the complete g = dy/dnode if the node is an x, or heed_retain_grad was called on it. */
static void keep_gradient(const heed_pass *pass, heed_tensor *node)
{
    const int i = pass->xs != NULL ? find_x(pass, node) : -1;
    if (i >= 0) {
        heed_ref(pass->g);
        pass->grads[i] = pass->g;
    } else if (pass->xs == NULL && node->retain_grad) {
        add_to_grad(node, pass->g);
    }
}

/* ---- the end of a pass ---- */

/* The gradients of all xs, each a tensor that only the pass holds. */
static void complete_gradients(const heed_pass *pass)
{
    for (int i = 0; i < pass->count; i++) {
        heed_tensor *x = pass->xs[i], *g = pass->grads[i], *complete = g;
        if (find_x(pass, x) < i) { /* listed twice */
            continue;
        }
        if (g == NULL) {
            complete = heed_zeros(heed_shape_of_tensor(x), x->dtype);
        } else if (g->references > 1) {
            complete = heed_reshape(g, heed_shape_of_tensor(g));
        }
        /* With create_graph, a gradient that depends on no x must have a derivative too, which is
         * 0: where(false, x, g) equals g, but has an edge to x. */
        if (pass->create_graph && !complete->requires_grad && x->storage != NULL) {
            complete = heed_where(heed_zeros(HEED_SCALAR, HEED_BOOL), x, complete);
        }
        if (complete != g) {
            heed_take_from_scope(complete);
            pass->grads[i] = complete;
        }
        if (complete != g && g != NULL) {
            heed_unref(g);
        }
    }
}

/* Hands the gradients of xs to the innermost scope. After an error: NULL for all, and clears the
 * scratch fields of nodes. */
static void clean_up(const heed_pass *pass)
{
    for (int64_t i = pass->visited; i < pass->node_count; i++) {
        heed_tensor *node = pass->nodes[i];
        node->consumers = 0;
        if (node->gradient_in_flight != NULL) {
            heed_unref(node->gradient_in_flight);
            node->gradient_in_flight = NULL;
        }
    }
    if (pass->g != NULL) { /* the derivative of a node has failed */
        heed_unref(pass->g);
        if (!pass->retain_graph) {
            release_saved_values(pass->nodes[pass->visited - 1]);
        }
    }
    for (int i = 0; i < pass->count; i++) {
        heed_tensor *g = pass->grads[i];
        if (heed_blocked()) {
            pass->grads[i] = NULL;
            if (g != NULL) {
                heed_unref(g);
            }
        } else if (g != NULL) {
            heed_join_scope(g);
        } else { /* listed twice */
            pass->grads[i] = pass->grads[find_x(pass, pass->xs[i])];
        }
    }
    heed_free(pass->input_grads);
    heed_free(pass->sorted_xs);
    heed_free(pass->nodes);
}
