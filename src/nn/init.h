/* Initialisers, as in torch.nn.init: they overwrite a tensor with the numbers that torch draws. The
 * basic ones are heed_uniform_into, heed_normal_into (tensor/random/random.h) and heed_fill_into.
 */
#ifndef HEED_NN_INIT_H
#define HEED_NN_INIT_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_kaiming_uniform_into, heed_kaiming_normal_into: as torch.nn.init.kaiming_uniform_(w, a) and
 * kaiming_normal_ (He et al., 2015)
 *
 *   w (fan_out, fan_in)    std = sqrt(2 / (1 + a^2)) / sqrt(fan_in)
 *                          uniform in +-sqrt(3) std, or normal with mean 0
 *
 * a is the negative slope of a leaky ReLU: 0 for a ReLU; Linear uses sqrt(5).
 *
 * HEED_ERR_SHAPE: w does not have 2 dims. HEED_ERR_DTYPE: w is not a float. HEED_ERR_VALUE: a is
 * not finite. */
heed_status heed_kaiming_uniform_into(heed_tensor *w, double a);
heed_status heed_kaiming_normal_into(heed_tensor *w, double a);

/* heed_xavier_uniform_into, heed_xavier_normal_into: as torch.nn.init.xavier_uniform_(w, gain) and
 * xavier_normal_ (Glorot and Bengio, 2010)
 *
 *   w (fan_out, fan_in)    std = gain sqrt(2 / (fan_in + fan_out))
 *                          uniform in +-sqrt(3) std, or normal with mean 0
 *
 * HEED_ERR_SHAPE: w does not have 2 dims. HEED_ERR_DTYPE: w is not a float. HEED_ERR_VALUE: gain is
 * negative or not finite. */
heed_status heed_xavier_uniform_into(heed_tensor *w, double gain);
heed_status heed_xavier_normal_into(heed_tensor *w, double gain);

/* heed_trunc_normal_into: as torch.nn.init.trunc_normal_(w, mean, std, a, b) of PyTorch 2.15:
 * normal numbers in [a, b], which are bounds of the numbers, not multiples of std; torch's defaults
 * are 0, 1, -2, 2
 *
 *   w (...)                numbers outside are drawn again; if at most 30 % are inside, uniform
 *                          numbers in [a, b] are accepted in proportion to their density
 *
 * Versions of PyTorch that invert the distribution function, such as 2.6, draw other numbers.
 *
 * HEED_ERR_DTYPE: w is not a float. HEED_ERR_VALUE: mean or std is not finite, std is not above 0,
 * a is above b, or so few numbers in [a, b] are accepted that it would take too long. */
heed_status heed_trunc_normal_into(heed_tensor *w, double mean, double std, double a, double b);

HEED_END_DECLS
#endif
