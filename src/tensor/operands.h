/* What element-wise kernels are run on: tensors that broadcast, and numbers (internal). */
#ifndef HEED_AUTOGRAD_OPERANDS_H
#define HEED_AUTOGRAD_OPERANDS_H

#include "iterate.h"

/* One operand of a kernel. */
typedef struct heed_input {
    const heed_tensor *tensor; /* NULL: it is a number */
    double number;
} heed_input;

/* heed_map_inputs: out = kernel(in...), element by element over out's shape, each operand as an
 * element of `as`; `out` is contiguous. */
void heed_map_inputs(heed_kernel *kernel, const heed_input *in, int count, heed_dtype as,
                     heed_tensor *out);

#endif
