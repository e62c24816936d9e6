/* Row-wise work split across threads: normalization, table rows, sums over rows (internal). Works
 * on raw memory; autograd/ops has checked the arguments.
 */
#ifndef HEED_TENSOR_PARALLEL_ROWS_H
#define HEED_TENSOR_PARALLEL_ROWS_H

#include "batch_gemm.h"
#include "kernels/kernels.h"
#include "parallel.h"

/* heed_share_rows: calls work(context, first, end) for rows of n elements, with at least `grain`
 * elements per thread. */
static inline void heed_share_rows(int64_t rows, int64_t n, int64_t grain, heed_parallel_work *work,
                                   void *context)
{
    heed_parallel_for(rows, grain / (n + 1) + 1, work, context);
}

/* heed_normalize_rows: computes y for all rows.
 * heed_normalize_rows_gradient: computes dx, and adds dweight and dbias of each chunk of rows to
 * totals (chunks, 2, n), which the caller has zeroed. The number of chunks (heed_chunks_of_rows)
 * depends on the shape alone, so sums do not depend on the number of threads. */
void heed_normalize_rows(const heed_normalization *all, heed_dtype dtype);
int64_t heed_chunks_of_rows(const heed_normalization *all);
void heed_normalize_rows_gradient(const heed_normalization *all, heed_dtype dtype);

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

/* heed_sum_rows: y (columns) = the sum of the rows of m or, with accumulate, y += this sum. Rows of
 * m are contiguous and are added from top to bottom. */
void heed_sum_rows(const heed_matrix_view *m, heed_tensor *y, bool accumulate);

#endif
