/* Element-wise work on tensors: runs kernels on operands that broadcast, and copies, fills and adds
 * (internal). */
#ifndef HEED_TENSOR_MAP_H
#define HEED_TENSOR_MAP_H

#include "kernels/kernels.h"
#include "tensor.h"

enum { HEED_MAX_OPERANDS = 5 };

/* What a kernel reads, as elements of `as`: a tensor that broadcasts to the result's shape, or a
 * number. */
typedef struct heed_operand {
    const heed_tensor *tensor; /* NULL: the number */
    double number;
    heed_dtype as;
} heed_operand;

/* heed_map: out = kernel(in...), element by element over out's shape; `out` is contiguous. A number
 * is no operand of dtype bool. */
void heed_map(heed_kernel *kernel, const heed_operand *in, int count, heed_tensor *out);

/* heed_copy_elements: out = x, broadcast and cast. */
void heed_copy_elements(const heed_tensor *x, heed_tensor *out);

/* heed_fill_elements: out = value, which is cast as torch casts. */
void heed_fill_elements(heed_tensor *out, double value);

/* heed_add_elements: out += x, of one shape and dtype; out is not expanded. */
void heed_add_elements(const heed_tensor *x, heed_tensor *out);

#endif
