/* Layer normalisation (Ba et al., 2016) with a trainable scale and offset. */
#ifndef HEED_NN_LAYER_NORM_H
#define HEED_NN_LAYER_NORM_H

#include "../module.h"

HEED_BEGIN_DECLS

struct heed_layer_norm {
    heed_module module;
    heed_tensor *weight, *bias; /* (normalized_shape), or NULL */
    heed_shape normalized_shape;
    double eps;
};

/* Torch's arguments; zero selects torch's default. */
typedef struct heed_layer_norm_options {
    double eps;                 /* 0: 1e-5 */
    bool no_elementwise_affine; /* neither weight nor bias */
    bool no_bias;               /* torch's bias=False */
} heed_layer_norm_options;

/* heed_layer_norm_new: as torch.nn.LayerNorm(normalized_shape); HEED_SHAPE(n) normalises the last
 * dim. weight is all ones and bias all zeros; no random numbers are drawn.
 * HEED_ERR_SHAPE: no dims, or a negative size. HEED_ERR_VALUE: eps is negative or not finite. */
struct heed_layer_norm *heed_layer_norm_new(heed_shape normalized_shape);
struct heed_layer_norm *heed_layer_norm_new_with(heed_shape normalized_shape,
                                                 heed_layer_norm_options options);

/* heed_layer_norm_forward: heed_layer_norm(x, normalized_shape, weight, bias, eps)
 *
 *   x (..., normalized_shape)   ->   y, the same shape
 *   y = weight (x - mean) / sqrt(var + eps) + bias
 *
 * Errors are those of heed_layer_norm. HEED_ERR_DTYPE: x does not have the parameters' dtype. */
heed_tensor *heed_layer_norm_forward(struct heed_layer_norm *m, heed_tensor *x);

HEED_END_DECLS
#endif
