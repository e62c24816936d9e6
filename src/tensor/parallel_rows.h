/* Work on rows of memory, shared out among threads: normalization, rows of a table, sums over rows
 * (internal). No operation and no graph: autograd/ops calls these on data it has checked.
 */
#ifndef HEED_TENSOR_PARALLEL_ROWS_H
#define HEED_TENSOR_PARALLEL_ROWS_H

#include "batch_gemm.h"
#include "kernels/kernels.h"
#include "parallel.h"

/* heed_share_rows: work(context, first, end) for rows of n elements each, `grain` elements or more
 * to a thread. */
static inline void heed_share_rows(int64_t rows, int64_t n, int64_t grain, heed_parallel_work *work,
                                   void *context)
{
    heed_parallel_for(rows, grain / (n + 1) + 1, work, context);
}

/* heed_normalize_rows: y of all rows. heed_normalize_rows_gradient: dx, and in totals (chunks, 2,
 * n), which are zeros, dweight and dbias of each chunk of rows. The shape alone decides how many
 * chunks there are (heed_chunks_of_rows), so that their sums do not depend on the threads. */
void heed_normalize_rows(const heed_normalization *all, heed_dtype dtype);
int64_t heed_chunks_of_rows(const heed_normalization *all);
void heed_normalize_rows_gradient(const heed_normalization *all, heed_dtype dtype);

/* Rows of a table (..., columns) and `count` adjacent rows, one for each index. Indices have been
 * checked.
 * heed_copy_table_rows: rows = table[index]. heed_add_table_rows: table[index] += rows, in the
 * order of the indices, so that sums have the same bits each time. */
typedef struct heed_table_rows {
    const int64_t *index;
    int64_t count, columns;
    heed_dtype dtype;
    char *table, *rows;
} heed_table_rows;

void heed_copy_table_rows(const heed_table_rows *t);
void heed_add_table_rows(const heed_table_rows *t);

/* heed_sum_rows: y (columns) = the sum of the rows of m, whose columns are adjacent, or y += it.
 * Each column is added up from the top. */
void heed_sum_rows(const heed_matrix_view *m, heed_tensor *y, bool accumulate);

#endif
