/* Attention over all heads of a batch, split across threads (internal). A kernel call handles one
 * head (kernels/kernels.h); autograd/ops/dot_product_attention.c has the definition.
 */
#ifndef HEED_TENSOR_ATTENTION_DISPATCH_H
#define HEED_TENSOR_ATTENTION_DISPATCH_H

#include "tensor.h"

/* q (..., L, E), k (..., S, E), v (..., S, Ev), y and g (..., L, Ev), with equal batch dims. mask
 * is bool or additive and broadcasts to (..., L, S); NULL: no mask. Rows of y, g, dq, dk and dv are
 * contiguous. */
typedef struct heed_attention_heads {
    const heed_tensor *q, *k, *v, *mask;
    double scale;
    bool is_causal;
    heed_tensor *y;                      /* output of heed_attend_heads */
    const heed_tensor *g, *dq, *dk, *dv; /* for heed_attend_heads_gradient */
} heed_attention_heads;

/* heed_attend_heads: y = softmax(scale q k^T, masked) v.
 * heed_attend_heads_gradient: dq, dk and dv, given g = dL/dy.
 * HEED_ERR_MEMORY: no memory for the workspace. */
heed_status heed_attend_heads(const heed_attention_heads *heads);
heed_status heed_attend_heads_gradient(const heed_attention_heads *heads);

#endif
