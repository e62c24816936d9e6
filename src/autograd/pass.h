/* The one backward pass that heed_backward, heed_grad and the gradient checks are forms of
 * (internal). */
#ifndef HEED_AUTOGRAD_PASS_H
#define HEED_AUTOGRAD_PASS_H

#include "../tensor/tensor.h"

typedef struct heed_pass {
    heed_tensor *y;
    const heed_tensor *upstream; /* dL/dy; NULL: ones */
    heed_tensor *const *xs; /* whose gradients are wanted; NULL: those of all leaves, in .grad */
    int count;
    heed_tensor **grads; /* for xs; they belong to the innermost scope */
    bool create_graph, retain_graph;
} heed_pass;

/* heed_run_pass: errors as heed_backward and heed_grad, without the check for one element. */
heed_status heed_run_pass(const char *function, const heed_pass *pass);

#endif
