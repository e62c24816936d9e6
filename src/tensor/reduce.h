/* Computations along dims of one tensor: sums, other reductions, and kernels that process a line at
 * a time (internal).
 *
 * A line consists of the elements along one dim, or along several dims that are reduced together.
 */
#ifndef HEED_TENSOR_REDUCE_H
#define HEED_TENSOR_REDUCE_H

#include "kernels/kernels.h"
#include "tensor.h"

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

#endif
