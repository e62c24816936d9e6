/* Pictures of graphs, in the DOT language of Graphviz:
 *
 *     heed_graph_dot(file, loss, (heed_graph_options){.module = model});
 *
 *     dot -Tsvg loss.dot > loss.svg
 *
 * Every tensor that the loss was computed from is a box: results with rounded corners and the name
 * of their operation, leaves with sharp ones and their own name. A box has the shape and, if they
 * exist, the values of a small tensor and its gradient. Arrows lead from inputs to results.
 *
 * Without a recording, only values that a derivative still needs are shown, and the gradients of
 * leaves. With one, all of them are, and results are framed by the modules that computed them. */
#ifndef HEED_NN_GRAPH_DOT_H
#define HEED_NN_GRAPH_DOT_H

#include <stdio.h>

#include "../../autograd/recording.h"
#include "../tensor_list.h"

HEED_BEGIN_DECLS

typedef struct heed_graph_options {
    const char *title;
    void *module;           /* names its parameters and buffers as in its state dict */
    heed_tensor_list names; /* names of other tensors; they take precedence */
    int values; /* shows tensors of up to this many elements, at most 100; 0: 9, negative: none */
    const heed_recording *recording; /* of the loss, or NULL */
} heed_graph_options;

/* heed_graph_dot: writes the graph of `loss`, which may have any shape. Its size is limited by
 * memory only, but Graphviz takes long for more than a few thousand tensors.
 *
 * HEED_ERR_NULL: no file or no loss. HEED_ERR_MEMORY. HEED_ERR_FILE: the file reports an error,
 * also when it is flushed. */
heed_status heed_graph_dot(FILE *file, heed_tensor *loss, heed_graph_options options);

HEED_END_DECLS
#endif
