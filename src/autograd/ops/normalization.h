/* Normalisation over the last dims: layer_norm, rms_norm.
 *
 * `normalized_shape` is the shape of those dims: x (..., normalized_shape). weight and bias have
 * that shape and x's dtype; NULL: none.
 *
 * HEED_ERR_SHAPE: normalized_shape has no dims or x's shape does not end with it, or weight or bias
 * does not have that shape. HEED_ERR_DTYPE: x is not a float, or weight or bias does not have x's
 * dtype.
 */
#ifndef HEED_AUTOGRAD_NORMALIZATION_H
#define HEED_AUTOGRAD_NORMALIZATION_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_layer_norm: as torch.nn.functional.layer_norm(x, normalized_shape, weight, bias, eps); eps 0
 * means torch's default, 1e-5.
 *
 *   x (..., n) float   weight (n)   bias (n)   ->   y (..., n)
 *   z = (x - mean) / sqrt(var + eps), y = weight z + bias; mean and var (biased) over n
 *   dx = (h - mean(h) - z mean(h z)) / sqrt(var + eps), with h = g weight
 *   dweight = sum of g z, dbias = sum of g, over the rows */
heed_tensor *heed_layer_norm(heed_tensor *x, heed_shape normalized_shape, heed_tensor *weight,
                             heed_tensor *bias, double eps);

/* heed_rms_norm: as torch.nn.functional.rms_norm(x, normalized_shape, weight, eps). eps 0 means
 * torch's default, the machine epsilon of x's dtype: 2^-23 for f32, 2^-52 for f64.
 *
 *   x (..., n) float   weight (n)   ->   y (..., n)
 *   z = x / sqrt(mean(x^2) + eps), y = weight z; mean over n
 *   dx = (h - z mean(h z)) / sqrt(mean(x^2) + eps), with h = g weight
 *   dweight = sum of g z, over the rows */
heed_tensor *heed_rms_norm(heed_tensor *x, heed_shape normalized_shape, heed_tensor *weight,
                           double eps);

HEED_END_DECLS
#endif
