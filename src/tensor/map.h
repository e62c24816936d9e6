/* Element-wise work: kernels on broadcast operands; copies, fills and sums (internal). */
#ifndef HEED_TENSOR_MAP_H
#define HEED_TENSOR_MAP_H

#include "kernels/kernels.h"
#include "tensor.h"

enum { HEED_MAX_OPERANDS = 5 };

/* An input of a kernel, read as elements of dtype `as`: a number, or a tensor that broadcasts to
 * the result's shape. */
typedef struct heed_operand {
    const heed_tensor *tensor; /* NULL: use `number` */
    double number;
    heed_dtype as;
} heed_operand;

/* heed_map: out = kernel(in...), element by element over out's shape; `out` is contiguous. Operands
 * of dtype bool must be tensors. */
void heed_map(heed_kernel *kernel, const heed_operand *in, int count, heed_tensor *out);

/* heed_copy_elements: out = x, broadcast and cast. */
void heed_copy_elements(const heed_tensor *x, heed_tensor *out);

/* heed_fill_elements: out = value, cast as torch does. */
void heed_fill_elements(heed_tensor *out, double value);

/* heed_add_elements: out += x, with equal shapes and dtypes; out is not expanded. */
void heed_add_elements(const heed_tensor *x, heed_tensor *out);

#endif
