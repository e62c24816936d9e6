/* One forward and backward pass of a network, recorded for the page: every operation with its
 * inputs, arguments, result and gradient, as JSON that refers to the values in memory. */
#ifndef HEED_PAGE_PASS_H
#define HEED_PAGE_PASS_H

#include <stdio.h>

#include "examples/page/forward.h"

/* What a pass computes. For a network with a model, tokens: their loss is the mean cross-entropy of
 * each next token. For attention alone, encodings (T, d_model): the loss is the sum of the squares
 * of the result. */
typedef struct pass_input {
    const int64_t *tokens;
    const float *encodings;
    int64_t count;           /* tokens, or rows of the encodings */
    heed_tensor *block_mask; /* bool, at least (T, T): its upper left part is used; NULL: none */
    unsigned breaks;
} pass_input;

enum { PASS_FEWEST_TOKENS = 2 };

/* pass_record: runs a forward and a backward pass and writes
 *
 *   {"loss": T, "marks": [{"name", "head", "tensor": T, "gradient": T, "fused": T}, ...],
 *    "leaves": [{"name", "tensor": T, "gradient": T, "fused": T}, ...],
 *    "entries": [{"op", "args", "path", "backward", "inputs": [T, ...], "result": T,
 *                 "gradient": T}, ...],
 *    "tensors": [{"dtype", "shape", "strides", "at"}, ...]}
 *
 * T is an index in "tensors", or -1. "at" is an address; strides are in elements. Entries are in
 * the order of computation: first the forward, then the derivatives, which are recorded as
 * operations (create_graph). "fused" is the gradient that training computes, without create_graph,
 * if its bits differ. The values stay in memory until the next call or pass_free. */
heed_status pass_record(FILE *json, const network *n, const pass_input *input);
void pass_free(void);

/* pass_losses: losses[i] is the loss, in f64, with element `cell` of leaf `leaf` set to values[i].
 * The leaves are the parameters in the order of heed_parameters, then the encodings, if given.
 * HEED_ERR_INDEX: there is no such leaf or element. */
heed_status pass_losses(const network *n, const pass_input *input, int leaf, int64_t cell,
                        const double *values, int count, double *losses);

#endif
