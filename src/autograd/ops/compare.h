/* Comparisons of whole tensors. For elementwise comparisons see heed_eq and others in
 * elementwise.h. */
#ifndef HEED_AUTOGRAD_COMPARE_H
#define HEED_AUTOGRAD_COMPARE_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_allclose: true if |a - b| <= atol + rtol * |b| for all elements, as torch.allclose. An
 * infinity is close only to itself. NaN is close to nothing, or with equal_nan only to NaN. torch's
 * defaults are rtol 1e-5 and atol 1e-8. False on error. */
bool heed_allclose(heed_tensor *a, heed_tensor *b, double rtol, double atol, bool equal_nan);

/* heed_equal: true if a and b have the same shape, dtype and elements, as torch.equal. False on
 * error. */
bool heed_equal(heed_tensor *a, heed_tensor *b);

HEED_END_DECLS
#endif
