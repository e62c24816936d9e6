/* Initialisers, as torch.nn.init: they overwrite a tensor, with the numbers that torch draws.
 * heed_uniform_into, heed_normal_into (tensor/random.h) and heed_fill_into are the plain ones.
 */
#ifndef HEED_NN_INIT_H
#define HEED_NN_INIT_H

#include "tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_kaiming_uniform_into: as torch.nn.init.kaiming_uniform_(w, a) (He et al., 2015)
 *
 *   w (fan_out, fan_in)    uniform in +-sqrt(3) sqrt(2 / (1 + a^2)) / sqrt(fan_in)
 *
 * HEED_ERR_SHAPE: w does not have 2 dims. HEED_ERR_DTYPE: no floats. */
heed_status heed_kaiming_uniform_into(heed_tensor *w, double a);

/* heed_xavier_uniform_into: as torch.nn.init.xavier_uniform_(w, gain) (Glorot and Bengio, 2010)
 *
 *   w (fan_out, fan_in)    uniform in +-gain sqrt(6 / (fan_in + fan_out))
 *
 * Errors as above. */
heed_status heed_xavier_uniform_into(heed_tensor *w, double gain);

HEED_END_DECLS
#endif
