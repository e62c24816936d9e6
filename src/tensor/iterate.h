/* From tensors to kernels: the one place where strides, broadcasting and casts are walked
 * (internal).
 */
#ifndef HEED_TENSOR_ITERATE_H
#define HEED_TENSOR_ITERATE_H

#include "kernels/kernels.h"
#include "tensor.h"

enum { HEED_MAX_OPERANDS = 5 };

/* What a kernel reads: elements of `dtype` on strides, cast to `as` on the way. */
typedef struct heed_operand {
    const void *data;
    heed_dtype dtype, as;
    int64_t strides[HEED_MAX_DIMS];
} heed_operand;

/* heed_operand_of: t as an operand in a shape that it broadcasts to.
 * heed_constant_operand: one value of dtype `as`, repeated. */
heed_operand heed_operand_of(const heed_tensor *t, int ndim, const int64_t *shape, heed_dtype as);
heed_operand heed_constant_operand(const void *value, heed_dtype as);

/* heed_map: out = kernel(in...), element by element over out's shape; `out` is contiguous. */
void heed_map(heed_kernel *kernel, const heed_operand *in, int count, heed_tensor *out);

/* heed_copy_elements: out = x, broadcast and cast. */
void heed_copy_elements(const heed_tensor *x, heed_tensor *out);

/* heed_fill_elements: out = value, which is cast as torch casts. */
void heed_fill_elements(heed_tensor *out, double value);

/* heed_add_elements: out += x, of one shape and dtype; out is not expanded. */
void heed_add_elements(const heed_tensor *x, heed_tensor *out);

#endif
