/* Random graphs of operations, with values away from kinks. */
#ifndef HEED_TESTS_FUZZ_GRAPH_H
#define HEED_TESTS_FUZZ_GRAPH_H

#include <stdio.h>

#include "heed.h"

enum { MAX_LEAVES = 6, MAX_NODES = 12, OPERANDS = 3, PARAMETERS = 4 };

typedef struct graph_node {
    int rule;
    int operand[OPERANDS]; /* a node; ~i: leaf i */
    int operands;
    uint64_t parameter[PARAMETERS];
    int64_t chosen[PARAMETERS]; /* the values that the rule derived from them, for graph_print */
    unsigned used;              /* number of parameters read */
    heed_shape shape;
} graph_node;

typedef struct graph_leaf {
    heed_shape shape;
    double *values;
    int constant_dim; /* values do not change along this dim, so it can be expanded; -1: none */
} graph_leaf;

typedef struct graph {
    uint64_t seed;
    bool large; /* enough elements for several threads; kinks are not avoided */
    int leaf_count, node_count;
    graph_leaf leaves[MAX_LEAVES];
    graph_node nodes[MAX_NODES];
} graph;

/* graph_new: a graph of at least one node. With `broken`, it may use an operation whose derivative
 * is wrong. An error of an operation stays pending. */
graph graph_new(uint64_t seed, bool large, bool broken);
void graph_free(graph *g);
void graph_print(FILE *stream, const graph *g);

/* graph_evaluate: a heed_function of the leaves; context is the graph. The result contains the
 * elements of all nodes that no other node uses. */
heed_tensor *graph_evaluate(heed_tensor *const *leaves, void *context);

#endif
