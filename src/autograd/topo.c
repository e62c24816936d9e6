/* Topological sort of a graph (Kahn, 1962), without recursion: lists every node that y depends on
 * and counts its consumers, then places each node after the last of its consumers. */
#include "topo.h"

#include "../tensor/alloc.h"
#include "../tensor/handle.h"
#include "../tensor/thread.h"

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
