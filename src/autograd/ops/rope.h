/* Rotary position embedding. */
#ifndef HEED_AUTOGRAD_ROPE_H
#define HEED_AUTOGRAD_ROPE_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_rope: rotates pairs of features by angles that grow with the position (Su et al., RoFormer,
 * 2021, section 3.4.2). Applied to queries and keys before their product, it makes a score depend
 * on how far apart they are, not on where they are:
 *
 *   x (..., T, d) float   positions (T) i64   ->   y (..., T, d)
 *   y[t] has the pairs  (a cos w - b sin w, a sin w + b cos w),  w = positions[t] base^(-2i / d)
 *   dx: g rotated by -w
 *
 * for the pairs (a, b) = (x[t, i], x[t, i + d / 2]), the halves of GPT-NeoX and of Llama in
 * transformers, or (x[t, 2i], x[t, 2i + 1]), the neighbours of the paper and of GPT-J. Weights
 * trained with one do not fit the other.
 *
 * positions may have any shape that broadcasts to x's without its last dim, as (N, 1, T) for
 * x (N, heads, T, d), and be negative. NULL: 0, 1, ... T - 1. With a cache of keys, rotate a new
 * key by its own position before it is kept. Angles are computed in f64.
 *
 * HEED_ERR_SHAPE: x has fewer than 2 dims, d is odd, or positions do not fit. HEED_ERR_DTYPE: x is
 * not a float, or positions are not i64. HEED_ERR_VALUE: base is not a positive number. */
typedef struct heed_rope_options {
    double base;      /* 0: 10000 */
    bool interleaved; /* pairs of neighbours instead of halves */
} heed_rope_options;

heed_tensor *heed_rope(heed_tensor *x, heed_tensor *positions, heed_rope_options options);

HEED_END_DECLS
#endif
