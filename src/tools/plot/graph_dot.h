/* Draws graphs in Graphviz's DOT language:
 *
 *     heed_graph_dot(file, loss, (heed_graph_options){.module = model});
 *
 *     dot -Tsvg loss.dot > loss.svg
 *
 * Every tensor that the loss was computed from is a box: results have rounded corners and the name
 * of their operation, leaves have sharp corners and their own name. A box shows the shape and, if
 * available, the values of a small tensor and its gradient. Arrows point from inputs to results.
 *
 * Without a recording, only values that a derivative still needs and the gradients of leaves are
 * shown. With one, those of all tensors of up to `values` elements are shown, and results are
 * framed by the modules that computed them. */
#ifndef HEED_TOOLS_GRAPH_DOT_H
#define HEED_TOOLS_GRAPH_DOT_H

#include <stdio.h>

#include "../../nn/tensor_list.h"
#include "../observe/recording.h"

HEED_BEGIN_DECLS

typedef struct heed_graph_options {
    const char *title;
    void *module;           /* its parameters and buffers are named as in its state dict */
    heed_tensor_list names; /* names of other tensors; they take precedence */
    int values; /* show values of tensors with up to this many elements, at most 100; 0: 9,
                 * negative: none */
    const heed_recording *recording; /* of the loss, or NULL */
} heed_graph_options;

/* heed_graph_dot: writes the graph of `loss`, which may have any shape. The size of the graph is
 * limited only by memory, but Graphviz is slow beyond a few thousand tensors.
 *
 * HEED_ERR_NULL: no file or no loss. HEED_ERR_MEMORY. HEED_ERR_FILE: writing or flushing the file
 * failed. */
heed_status heed_graph_dot(FILE *file, heed_tensor *loss, heed_graph_options options);

HEED_END_DECLS
#endif
