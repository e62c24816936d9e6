/* Dropout as a function. The module is in nn/layers/activation_dropout.h. */
#ifndef HEED_AUTOGRAD_DROPOUT_H
#define HEED_AUTOGRAD_DROPOUT_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_dropout: as torch.nn.functional.dropout(x, p, training), with the same random numbers as
 * torch for the same seed
 *
 *   x (...) float   ->   y (...)
 *   y = x noise, dx = g noise; noise is 0 with probability p, else 1 / (1 - p)
 *
 * Returns x itself, of any dtype, if not training, if p is 0, or if x is empty. If p is 1, it
 * returns x times 0. These cases draw no random numbers. For a transposed x, the order of the draws
 * depends on the PyTorch version that the generator follows (heed_set_random_flavor): version 1
 * draws in row-major order, version 2 in x's memory order.
 *
 * HEED_ERR_VALUE: p is outside [0, 1]. HEED_ERR_DTYPE: x is not a float. */
heed_tensor *heed_dropout(heed_tensor *x, double p, bool training);

HEED_END_DECLS
#endif
