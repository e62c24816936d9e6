/* The order in which a backward pass visits nodes: a topological sort (Kahn, 1962), without
 * recursion; and which nodes lead to a requested tensor. */
#include "../tensor/alloc.h"
#include "../tensor/handle.h"
#include "../tensor/shape.h"
#include "backward.h"

static heed_status append(heed_order *order, heed_tensor *node)
{
    if (order->count == order->capacity) {
        const int64_t larger = order->capacity > 0 ? 2 * order->capacity : 64;
        heed_tensor **nodes = heed_realloc(order->nodes, (size_t)larger * sizeof *nodes);
        if (nodes == NULL) {
            return heed_self.error;
        }
        order->nodes = nodes;
        order->capacity = larger;
    }
    order->nodes[order->count++] = node;
    return HEED_OK;
}

/* Lists every node that y depends on, in any order, and counts the consumers of each. */
static heed_status discover(heed_order *order, heed_tensor *y)
{
    heed_status status = append(order, y);
    for (int64_t i = 0; status == HEED_OK && i < order->count; i++) {
        const heed_tensor *node = order->nodes[i];
        for (int j = 0; status == HEED_OK && j < node->input_count; j++) {
            heed_tensor *input = node->inputs[j];
            if (heed_is_node(input) && input->consumers++ == 0) {
                status = append(order, input);
                if (status != HEED_OK) {
                    input->consumers = 0; /* not on the list, so the loop below does not reach it */
                }
            }
        }
    }
    for (int64_t i = 0; status != HEED_OK && i < order->count; i++) {
        order->nodes[i]->consumers = 0;
    }
    return status;
}

/* Puts each node after its consumers. The list is overwritten in order, beginning with y; all
 * counts return to 0. Returns the largest number of inputs. */
static int sort(const heed_order *order)
{
    int64_t placed = 1;
    int most = 0;
    for (int64_t i = 0; i < placed; i++) {
        const heed_tensor *node = order->nodes[i];
        most = node->input_count > most ? node->input_count : most;
        for (int j = 0; j < node->input_count; j++) {
            heed_tensor *input = node->inputs[j];
            if (heed_is_node(input) && --input->consumers == 0) {
                order->nodes[placed++] = input;
            }
        }
    }
    return most;
}

int heed_find_x(const heed_pass *pass, const heed_tensor *t)
{
    int i = pass->count - 1;
    while (i >= 0 && pass->xs[i] != t) {
        i--;
    }
    return i;
}

/* From the leaves up. heed_backward wants every leaf, so it needs every node. */
static heed_status mark_needed(const heed_pass *pass, const heed_order *order)
{
    const heed_tensor *used_up = NULL;
    for (int64_t i = order->count - 1; i >= 0; i--) {
        heed_tensor *node = order->nodes[i];
        node->needed = pass->xs == NULL;
        for (int j = 0; j < node->input_count && !node->needed; j++) {
            node->needed = heed_is_wanted(pass, node->inputs[j]);
        }
        if (node->used_up && node->needed) {
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
    if (discover(order, pass->y) != HEED_OK) {
        return heed_self.error;
    }
    const size_t most = (size_t)sort(order);
    order->grads = heed_alloc(most * (sizeof *order->grads + sizeof *order->wanted));
    if (order->grads == NULL) {
        return heed_self.error;
    }
    order->wanted = (bool *)(order->grads + most);
    return mark_needed(pass, order);
}

void heed_free_order(const heed_order *order, heed_status status)
{
    for (int64_t i = 0; i < order->count && status != HEED_OK; i++) {
        heed_tensor *node = order->nodes[i];
        if (node->gradient_in_flight != NULL) {
            heed_unref(node->gradient_in_flight);
            node->gradient_in_flight = NULL;
        }
    }
    heed_free(order->grads);
    heed_free(order->nodes);
}
