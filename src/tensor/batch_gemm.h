/* Products of matrices and of batches of matrices, with any strides (internal). */
#ifndef HEED_TENSOR_BATCH_GEMM_H
#define HEED_TENSOR_BATCH_GEMM_H

#include "kernels/kernels.h"
#include "tensor.h"

/* A view of a matrix in memory: its address and strides, as kernels take them, and its sizes. */
typedef struct heed_matrix_view {
    heed_matrix at; /* data, and the strides of rows and columns */
    int64_t rows, columns;
} heed_matrix_view;

/* heed_transposed: the same memory with rows and columns swapped. */
static inline heed_matrix_view heed_transposed(heed_matrix_view m)
{
    return (heed_matrix_view){{m.at.data, m.at.col, m.at.row}, m.columns, m.rows};
}

/* heed_view_rows: views all rows of t (..., columns) as one matrix. False, with *rows unset, if the
 * rows are not evenly spaced; the rows of a contiguous tensor always are. */
bool heed_view_rows(const heed_tensor *t, heed_matrix_view *rows);

/* heed_is_one_matrix: true if all batch dims of t have size 1. */
bool heed_is_one_matrix(const heed_tensor *t);

/* heed_multiply: y (..., m, n) = a (..., m, k) b (..., k, n) + bias (n), where bias may be NULL.
 * With accumulate, y += a b, and bias must be NULL. a and b may have any strides; their batch dims
 * broadcast to those of y. y and bias are contiguous. All have the same dtype, which is not bool.
 * heed_multiply_matrices: the same for single matrices, c = a b + bias.
 * HEED_ERR_MEMORY: no memory for the workspace; y is unchanged. */
heed_status heed_multiply(const heed_tensor *a, const heed_tensor *b, const heed_tensor *bias,
                          heed_tensor *y, bool accumulate);
heed_status heed_multiply_matrices(heed_dtype dtype, const heed_matrix_view *a,
                                   const heed_matrix_view *b, const heed_tensor *bias,
                                   const heed_matrix_view *c, bool accumulate);

#endif
