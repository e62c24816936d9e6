/* The order in which a backward pass takes the nodes of a graph (internal). */
#ifndef HEED_AUTOGRAD_ORDER_H
#define HEED_AUTOGRAD_ORDER_H

#include "../tensor/tensor.h"

typedef struct heed_order {
    heed_tensor **nodes; /* capacity pointers, of heed_alloc */
    int64_t count, capacity;
} heed_order;

/* heed_is_node: the result of an operation that has a gradient; all others are leaves to a pass. */
static inline bool heed_is_node(const heed_tensor *t)
{
    return t->op != NULL && t->requires_grad;
}

/* heed_order_nodes: all nodes behind y, y first, each behind all of its consumers. Leaves the
 * engine_mark of every node at 0.
 * HEED_ERR_MEMORY: no room for the list. */
heed_status heed_order_nodes(heed_order *order, heed_tensor *y);

#endif
