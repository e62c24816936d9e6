/* Sinusoidal position encoding (Vaswani et al., 2017, section 3.5). */
#ifndef HEED_NN_POSITION_ENCODING_H
#define HEED_NN_POSITION_ENCODING_H

#include "../module.h"

HEED_BEGIN_DECLS

struct heed_position_encoding {
    heed_module module;
    heed_tensor *pe; /* (max_len, d_model), a buffer */
};

/* heed_position_encoding_new
 *
 *   pe[t, 2i] = sin(t / 10000^(2i / d_model))    pe[t, 2i + 1] = cos(t / 10000^(2i / d_model))
 *
 * If d_model is odd, the last column is a sine. HEED_ERR_VALUE: d_model or max_len is below 1. */
struct heed_position_encoding *heed_position_encoding_new(int64_t d_model, int64_t max_len);

/* heed_position_encoding_forward
 *
 *   x (..., T, d_model)   ->   y (..., T, d_model)
 *   y = x + pe[:T]
 *
 * HEED_ERR_SHAPE: T exceeds max_len, or the last dim is not d_model. */
heed_tensor *heed_position_encoding_forward(struct heed_position_encoding *m, heed_tensor *x);

HEED_END_DECLS
#endif
