/* Dropout: a random mask. nn/layers/dropout.h is the module. */
#ifndef HEED_AUTOGRAD_DROPOUT_H
#define HEED_AUTOGRAD_DROPOUT_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_dropout: as torch.nn.functional.dropout(x, p, training), with torch's numbers for a seed
 *
 *   x (...) float   ->   y (...)
 *   y = x noise, dx = g noise; noise is 0 with probability p, else 1 / (1 - p)
 *
 * Not training, with p 0, or without elements it is x itself, of any dtype. With p 1 it is x times
 * 0. In these cases nothing is drawn. Which element of a transposed x gets which number depends on
 * the PyTorch that the generator follows (heed_set_random_flavor): 1 draws row by row, 2 in the
 * order of x's memory.
 *
 * HEED_ERR_VALUE: p is outside [0, 1]. HEED_ERR_DTYPE: x is no float. */
heed_tensor *heed_dropout(heed_tensor *x, double p, bool training);

HEED_END_DECLS
#endif
