/* Products of matrices and of batches of matrices, on any strides (internal). */
#ifndef HEED_TENSOR_BATCH_GEMM_H
#define HEED_TENSOR_BATCH_GEMM_H

#include "kernels/kernels.h"
#include "tensor.h"

/* A matrix seen in memory: where it lies, as kernels take it, and its sizes. */
typedef struct heed_matrix_view {
    heed_matrix at; /* data, and the strides of rows and columns */
    int64_t rows, columns;
} heed_matrix_view;

/* heed_transposed: the same memory with rows and columns exchanged. */
heed_matrix_view heed_transposed(heed_matrix_view m);

/* heed_view_rows: all rows of t (..., columns) as one matrix. False, and no matrix, if they are not
 * evenly spaced; those of a contiguous tensor are. */
bool heed_view_rows(const heed_tensor *t, heed_matrix_view *rows);

/* heed_is_one_matrix: are all batch dims of t of size 1? */
bool heed_is_one_matrix(const heed_tensor *t);

/* heed_multiply: y (..., m, n) = a (..., m, k) b (..., k, n) + bias (n), or y += a b without bias.
 * a and b have any strides, and their batch dims broadcast to those of y. y and bias are
 * contiguous; NULL: no bias. One dtype, not bool.
 * heed_multiply_matrices: the same for single matrices, c = a b + bias.
 * HEED_ERR_MEMORY: no workspace; y is unchanged. */
heed_status heed_multiply(const heed_tensor *a, const heed_tensor *b, const heed_tensor *bias,
                          heed_tensor *y, bool accumulate);
heed_status heed_multiply_matrices(heed_dtype dtype, const heed_matrix_view *a,
                                   const heed_matrix_view *b, const heed_tensor *bias,
                                   const heed_matrix_view *c, bool accumulate);

#endif
