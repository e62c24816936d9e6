/* The gradients of one node's inputs, between the derivative that makes them and the inputs that take
 * them (internal). */
#ifndef HEED_AUTOGRAD_INPUT_GRADS_H
#define HEED_AUTOGRAD_INPUT_GRADS_H

#include "op.h"
#include "pass.h"

enum { HEED_FEW_INPUTS = 4 };

typedef struct heed_input_grads {
    heed_tensor **grads; /* of each input; NULL: none, or not yet */
    bool *wanted;
    heed_tensor
        *few[HEED_FEW_INPUTS]; /* they point here when that suffices, else to heed_alloc's */
    bool few_wanted[HEED_FEW_INPUTS];
} heed_input_grads;

/* heed_input_grads_begin: makes space for them, and says which of them the pass wants.
 * heed_input_grads_end: drops those that were not taken (set to NULL), and frees the space. */
heed_status heed_input_grads_begin(heed_input_grads *in, const heed_pass *pass,
                                   const heed_tensor *node);
void heed_input_grads_end(heed_input_grads *in, const heed_tensor *node);

/* heed_any_wanted: is a gradient left that the derivative must make? */
bool heed_any_wanted(const heed_input_grads *in, const heed_tensor *node);

/* heed_input_grads_hold: takes what a derivative has made out of its scope, each summed to the shape of
 * its input, which undoes broadcasting; drops what nobody wants.
 * HEED_ERR_DTYPE: the derivative made another dtype than its input's. */
void heed_input_grads_hold(heed_input_grads *in, const heed_tensor *node);

#endif
