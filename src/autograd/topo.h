/* The order in which a backward pass visits the nodes of a graph (internal). */
#ifndef HEED_AUTOGRAD_TOPO_H
#define HEED_AUTOGRAD_TOPO_H

#include "../tensor/tensor.h"

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

#endif
