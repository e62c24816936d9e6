/* Work on the elements of tensors (internal): element by element (map.c), along dims (reduce.c),
 * and at indices (indexed.c). */
#ifndef HEED_TENSOR_ELEMENTS_H
#define HEED_TENSOR_ELEMENTS_H

#include "kernels/kernels.h"
#include "tensor.h"

/* ---- kernels on broadcast operands; copies, fills and sums ---- */

enum { HEED_MAX_OPERANDS = 4 };

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

/* heed_fill_mask: fills `mask`, a new f32 or f64 tensor, with 1 / kept with probability `kept`,
 * else 0, as torch's dropout does (random.c). */
void heed_fill_mask(heed_tensor *mask, double kept);

/* heed_add_elements: out += x, with equal shapes and dtypes; out is not expanded. */
void heed_add_elements(const heed_tensor *x, heed_tensor *out);

/* ---- along dims: sums, other reductions, and kernels that process a line at a time ----
 *
 * A line consists of the elements along one dim, or along several dims that are reduced together.
 */

/* heed_sum_elements: out = the sum of x over the dims in `set`, divided by `divisor`. out is
 * contiguous; its dims are the remaining dims of x, in order. */
void heed_sum_elements(const heed_tensor *x, unsigned set, double divisor, heed_tensor *out);

/* heed_reduce: each element of out = kernel(the elements of x over the dims in `set`, in row-major
 * order, cast to `as`); out as above. HEED_ERR_MEMORY: no memory for gathering lines. */
heed_status heed_reduce(heed_reduce_kernel *kernel, const void *args, heed_dtype as,
                        const heed_tensor *x, unsigned set, heed_tensor *out);

/* heed_map_rows: out = kernel(in...) line by line along `dim`. The `count` inputs (at most 2) and
 * out have the same shape; out is contiguous. HEED_ERR_MEMORY: no memory for gathering lines. */
heed_status heed_map_rows(heed_row_kernel *kernel, heed_tensor *const *in, int count, int dim,
                          heed_tensor *out);

/* ---- elements selected by an index along one dim ---- */

/* Position i of `shape` refers to the tensor's element at i * strides + index[i * index_strides] *
 * step, all in elements. So `strides` are the tensor's strides with 0 for the indexed dim, and
 * `step` is the stride of that dim. Indices have been checked; within a run they are contiguous or
 * all the same. */
typedef struct heed_indexed {
    heed_shape shape;
    const int64_t *index;
    int64_t index_strides[HEED_MAX_DIMS];
    int64_t strides[HEED_MAX_DIMS], step;
} heed_indexed;

/* heed_look_up: out = the elements of x at `places`; out is contiguous, with the shape of `places`
 * and x's dtype.
 * heed_add_at: adds x to the elements of out at `places`, in row-major order of `shape`, so that
 * sums are bitwise reproducible; x has out's dtype. */
void heed_look_up(const heed_indexed *places, const heed_tensor *x, heed_tensor *out);
void heed_add_at(const heed_indexed *places, const heed_tensor *x, heed_tensor *out);

#endif
