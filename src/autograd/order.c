/* The order in which a backward pass visits nodes: a topological sort (Kahn, 1962), without
 * recursion; and which nodes lead to a requested tensor. */
#include "../tensor/alloc.h"
#include "../tensor/handle.h"
#include "../tensor/shape.h"
#include "backward.h"

static heed_status append(heed_order *order, heed_tensor *node)
{
    heed_tensor **nodes = heed_grow(order->nodes, order->count, &order->capacity, sizeof *nodes);
    if (nodes == NULL) {
        return heed_self.error;
    }
    order->nodes = nodes;
    nodes[order->count++] = node;
    if (node->input_count > order->most_inputs) {
        order->most_inputs = node->input_count;
    }
    return HEED_OK;
}

/* Lists a node, unless it is listed. One with a mark belongs to a pass that has not ended. */
static heed_status list(const heed_pass *pass, heed_order *order, heed_tensor *node)
{
    if (node->consumers < 0) {
        return heed_fail(HEED_ERR_GRAPH,
                         "%s: another pass is going through %s %s; heed_detach its inputs and "
                         "compute a new graph",
                         pass->function, node->op->name, HEED_TEXT(node));
    }
    return node->consumers == 0 ? append(order, node) : HEED_OK;
}

/* Lists every node that y depends on, in any order, and counts the consumers of each. */
static heed_status discover(const heed_pass *pass, heed_order *order)
{
    heed_status status = list(pass, order, pass->y);
    for (int64_t i = 0; status == HEED_OK && i < order->count; i++) {
        const heed_tensor *node = order->nodes[i];
        for (int j = 0; status == HEED_OK && j < node->input_count; j++) {
            heed_tensor *input = node->inputs[j];
            if (heed_is_node(input)) {
                status = list(pass, order, input);
                input->consumers += status == HEED_OK;
            }
        }
    }
    for (int64_t i = 0; status != HEED_OK && i < order->count; i++) {
        order->nodes[i]->consumers = 0;
    }
    return status;
}

/* Puts each node after its consumers. The list is overwritten in order, beginning with y; all
 * counts return to 0. */
static void sort(const heed_order *order)
{
    int64_t placed = 1;
    for (int64_t i = 0; i < placed; i++) {
        const heed_tensor *node = order->nodes[i];
        for (int j = 0; j < node->input_count; j++) {
            heed_tensor *input = node->inputs[j];
            if (heed_is_node(input) && --input->consumers == 0) {
                order->nodes[placed++] = input;
            }
        }
    }
}

/* From the leaves up, so that the inputs of a node are marked before it. heed_backward wants every
 * leaf, so it needs every node. */
static heed_status mark_needed(const heed_pass *pass, const heed_order *order)
{
    const heed_tensor *used_up = NULL; /* the one nearest to y */
    for (int64_t i = order->count - 1; i >= 0; i--) {
        heed_tensor *node = order->nodes[i];
        bool needed = pass->xs == NULL;
        for (int j = 0; j < node->input_count && !needed; j++) {
            needed = heed_is_wanted(pass, node->inputs[j]);
        }
        node->consumers = needed ? HEED_NEEDED : HEED_NOT_NEEDED;
        if (node->used_up && needed) {
            used_up = node;
        }
    }
    return used_up == NULL ? HEED_OK
                           : heed_fail(HEED_ERR_GRAPH,
                                       "%s: the graph through %s %s was used up by an earlier "
                                       "backward; call heed_backward_retain the first time",
                                       pass->function, used_up->op->name, HEED_TEXT(used_up));
}

heed_status heed_sort_nodes(const heed_pass *pass, heed_order *order)
{
    *order = (heed_order){0};
    if (!heed_is_node(pass->y)) {
        return HEED_OK;
    }
    if (discover(pass, order) != HEED_OK) {
        return heed_self.error;
    }
    sort(order);
    order->grads = heed_alloc(order->most_inputs * (sizeof *order->grads + sizeof *order->wanted));
    if (order->grads == NULL) {
        return heed_self.error;
    }
    order->wanted = (bool *)(order->grads + order->most_inputs);
    return mark_needed(pass, order);
}

void heed_free_order(const heed_order *order)
{
    for (int64_t i = order->visited; i < order->count; i++) {
        heed_tensor *node = order->nodes[i];
        node->consumers = 0;
        if (node->gradient_in_flight != NULL) {
            heed_unref(node->gradient_in_flight);
            node->gradient_in_flight = NULL;
        }
    }
    heed_free(order->grads);
    heed_free(order->nodes);
}

int heed_find_x(const heed_pass *pass, const heed_tensor *t)
{
    int i = pass->count - 1;
    while (i >= 0 && pass->xs[i] != t) {
        i--;
    }
    return i;
}
