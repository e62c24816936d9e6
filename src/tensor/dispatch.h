/* Kernel calls for whole tensors, split across threads (internal). thread.h says how much work each
 * thread gets. Callers have checked the arguments. */
#ifndef HEED_TENSOR_DISPATCH_H
#define HEED_TENSOR_DISPATCH_H

#include "kernels/kernels.h"
#include "parallel.h"
#include "tensor.h"

/* ---- products of matrices and of batches of matrices, with any strides (batch_gemm.c) ---- */

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

/* heed_multiply: y (..., m, n) = a (..., m, k) b (..., k, n). a and b may have any strides; their
 * batch dims broadcast to those of y, which is contiguous. All have the same dtype, not bool.
 * heed_multiply_matrices: c (m, n) = a (m, k) b (k, n) + bias (n), where bias may be NULL.
 * HEED_ERR_MEMORY: no memory for the workspace; y is unchanged. */
heed_status heed_multiply(const heed_tensor *a, const heed_tensor *b, heed_tensor *y);
heed_status heed_multiply_matrices(heed_dtype dtype, const heed_matrix_view *a,
                                   const heed_matrix_view *b, const heed_tensor *bias,
                                   const heed_matrix_view *c);

/* ---- rows of tables (indexed.c), and layer_norm of rows (reduce.c) ---- */

/* heed_share_rows: calls work(context, first, end) for rows of n elements, with at least `grain`
 * elements per thread. */
static inline void heed_share_rows(int64_t rows, int64_t n, int64_t grain, heed_parallel_work *work,
                                   void *context)
{
    heed_parallel_for(rows, grain / (n + 1) + 1, work, context);
}

/* A table (..., columns), and `count` contiguous rows, one per index. Indices have been checked.
 * heed_copy_table_rows: rows = table[index].
 * heed_add_table_rows: table[index] += rows, in the order of the indices, so that sums are bitwise
 * reproducible. */
typedef struct heed_table_rows {
    const int64_t *index;
    int64_t count, columns;
    heed_dtype dtype;
    char *table, *rows;
} heed_table_rows;

void heed_copy_table_rows(const heed_table_rows *t);
void heed_add_table_rows(const heed_table_rows *t);

/* heed_normalize_rows: computes y for all rows.
 * heed_normalize_rows_gradient: computes dx, and adds dweight and dbias of each chunk of rows to
 * totals (chunks, 2, n), which the caller has zeroed. The number of chunks (heed_chunks_of_rows)
 * depends on the shape alone, so sums do not depend on the number of threads. */
void heed_normalize_rows(const heed_normalization *all, heed_dtype dtype);
int64_t heed_chunks_of_rows(const heed_normalization *all);
void heed_normalize_rows_gradient(const heed_normalization *all, heed_dtype dtype);

/* ---- attention over all heads of a batch (attention_heads.c) ----
 *
 * A kernel call handles one head; autograd/ops/dot_product_attention.c has the definition. */

/* q (..., L, E), k (..., S, E), v (..., S, Ev), y and g (..., L, Ev), with equal batch dims. mask
 * is bool or additive and broadcasts to (..., L, S); NULL: no mask. Rows of y, g, dq, dk and dv are
 * contiguous. */
typedef struct heed_all_heads {
    const heed_tensor *q, *k, *v, *mask;
    double scale;
    bool is_causal;
    heed_tensor *y;                      /* output of heed_attend_heads */
    const heed_tensor *g, *dq, *dk, *dv; /* for heed_attend_heads_gradient */
} heed_all_heads;

/* heed_attend_heads: y = softmax(scale q k^T, masked) v.
 * heed_attend_heads_gradient: dq, dk and dv, given g = dL/dy.
 * HEED_ERR_MEMORY: no memory for the workspace. */
heed_status heed_attend_heads(const heed_all_heads *heads);
heed_status heed_attend_heads_gradient(const heed_all_heads *heads);

#endif
