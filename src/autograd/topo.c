/* Puts a graph in order (Kahn, 1962), with a list and without recursion: discover every node behind
 * y and count its consumers, then place each node when the last of its consumers has been placed. */
#include "topo.h"

#include "../tensor/alloc.h"
#include "../tensor/thread.h"

static heed_status append(heed_order *order, heed_tensor *node)
{
    if (order->count == order->capacity) {
        int64_t larger = order->capacity > 0 ? 2 * order->capacity : 64;
        heed_tensor **nodes = heed_grow(order->nodes, (size_t)order->capacity * sizeof *nodes,
                                        (size_t)larger * sizeof *nodes);
        if (nodes == NULL) {
            return heed_self.error;
        }
        order->nodes = nodes;
        order->capacity = larger;
    }
    order->nodes[order->count++] = node;
    return HEED_OK;
}

/* Lists every node behind y, in any order; engine_mark then counts its consumers. */
static heed_status discover(heed_order *order, heed_tensor *y)
{
    heed_status status = append(order, y);
    for (int64_t i = 0; status == HEED_OK && i < order->count; i++) {
        const heed_tensor *node = order->nodes[i];
        for (int j = 0; status == HEED_OK && j < node->input_count; j++) {
            heed_tensor *input = node->inputs[j];
            if (!heed_is_node(input) || input->engine_mark++ > 0) {
                continue;
            }
            status = append(order, input);
            if (status != HEED_OK) {
                input->engine_mark = 0; /* it is on no list that would reset it */
            }
        }
    }
    for (int64_t i = 0; status != HEED_OK && i < order->count; i++) {
        order->nodes[i]->engine_mark = 0;
    }
    return status;
}

heed_status heed_order_nodes(heed_order *order, heed_tensor *y)
{
    heed_status status = discover(order, y);
    int64_t placed = 1; /* y is first, and stays; the rest of the list is written anew */
    for (int64_t i = 0; status == HEED_OK && i < placed; i++) {
        const heed_tensor *node = order->nodes[i];
        for (int j = 0; j < node->input_count; j++) {
            heed_tensor *input = node->inputs[j];
            if (heed_is_node(input) && --input->engine_mark == 0) {
                order->nodes[placed++] = input;
            }
        }
    }
    return status;
}
