/* Shared by functions that write pictures (internal). */
#ifndef HEED_TOOLS_PICTURE_H
#define HEED_TOOLS_PICTURE_H

#include <stdio.h>

#include "../../tensor/text.h"
#include "plot.h"
#include "terminal.h"

typedef struct heed_heads {
    heed_tensor *weights;
    int64_t count, queries, keys;
    const char *const *query_labels, *const *key_labels; /* NULL: none */
} heed_heads;

/* heed_heads_of: checks the arguments of `function` and sets *heads. */
heed_status heed_heads_of(heed_heads *heads, const char *function, FILE *stream,
                          heed_tensor *weights, const heed_attention_plot_options *options);

/* heed_xml_put: prints a label, escaped for XML; backslashes are escaped for Graphviz. */
void heed_xml_put(FILE *stream, const char *label, int most, unsigned style);

/* heed_picture_end: flushes the picture written by `function`. HEED_ERR_FILE: the stream reports an
 * error. */
heed_status heed_picture_end(const char *function, FILE *stream);

#endif
