/* Attention weights and their labels, for pictures (internal). */
#ifndef HEED_NN_HEADS_H
#define HEED_NN_HEADS_H

#include "plot.h"

typedef struct heed_heads {
    heed_tensor *weights;
    int64_t count, queries, keys;
    const char *const *query_labels, *const *key_labels; /* NULL: none */
} heed_heads;

/* heed_heads_of: checks the arguments of `function` and sets *heads. */
heed_status heed_heads_of(heed_heads *heads, const char *function, FILE *stream,
                          heed_tensor *weights, const heed_attention_plot_options *options);

/* heed_heads_check: what all pictures of weights require: floats that exist, 2 or 3 dims. */
heed_status heed_heads_check(const char *function, FILE *stream, heed_tensor *weights);
double heed_heads_at(const heed_heads *heads, int64_t head, int64_t query, int64_t key);

#endif
