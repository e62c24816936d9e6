/* From tensors to kernels: the one place where strides, broadcasting and casts are walked
 * (internal).
 */
#ifndef HEED_TENSOR_ITERATE_H
#define HEED_TENSOR_ITERATE_H

#include "core.h"
#include "kernels/kernels.h"
#include "map.h"

/* heed_sum_elements: out = the sum of x over the dims in `set`, divided by divisor; out is
 * contiguous and has a slot for each element of the dims that stay, in their order. */
void heed_sum_elements(const heed_tensor *x, unsigned set, double divisor, heed_tensor *out);

/* Elements of a tensor t at places along one of its dims, which indices name: the element of `shape`
 * at i belongs to t's at i * strides + index[i * index_strides] * step, all in elements. So
 * `strides` are t's with 0 in that dim, whose stride is `step`. Indices have been checked; along a
 * run they lie one behind the other, or repeat. */
typedef struct heed_places {
    heed_shape shape;
    const int64_t *index;
    int64_t index_strides[HEED_MAX_DIMS];
    int64_t strides[HEED_MAX_DIMS], step;
} heed_places;

/* heed_look_up: out = x at the places; out is contiguous, of their shape and x's dtype.
 * heed_add_at: out at the places += x, row by row of `shape`, so that sums come out the same each
 * time; x is of out's dtype. */
void heed_look_up(const heed_places *places, const heed_tensor *x, heed_tensor *out);
void heed_add_at(const heed_places *places, const heed_tensor *x, heed_tensor *out);

/* heed_map_lines: out = kernel(in...) line by line along `dim`; out is contiguous, of the shape of each of
 * the `count` inputs (at most 2). HEED_ERR_MEMORY: no room for a line. */
heed_status heed_map_lines(heed_line_kernel *kernel, heed_tensor *const *in, int count, int dim,
                           heed_tensor *out);

/* heed_fold: each element of out = kernel(the elements of x over the dims in `set`, row by row, as
 * elements of `as`); out is contiguous and has a slot for each element of the dims that stay.
 * HEED_ERR_MEMORY: no room for the lines that must be gathered. */
heed_status heed_fold(heed_fold_kernel *kernel, const void *args, heed_dtype as,
                      const heed_tensor *x, unsigned set, heed_tensor *out);

#endif
