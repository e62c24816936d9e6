/* Rows split across threads. A thread handles whole rows, or whole columns when rows are summed, so
 * no sum depends on the number of threads. */

#include "dispatch.h"

#include <string.h>

#include "thread.h"

/* ---- table rows ---- */

/* Columns are split into groups of one or two cache lines. */
enum { GROUP = 16 };

static void copy_some(void *context, int64_t first, int64_t end)
{
    const heed_table_rows *t = context;
    const size_t size = (size_t)t->columns * heed_dtype_size(t->dtype);
    for (int64_t i = first; i < end; i++) {
        memcpy(t->rows + (size_t)i * size, t->table + (size_t)t->index[i] * size, size);
    }
}

void heed_copy_table_rows(const heed_table_rows *t)
{
    heed_share_rows(t->count, t->columns, HEED_GRAIN_OF_TABLE_ROWS, copy_some, (void *)t);
}

/* Adds groups of columns [first, end). Each sum is computed by a single thread, in index order. */
static void add_some(void *context, int64_t first, int64_t end)
{
    const heed_table_rows *t = context;
    const int64_t element = (int64_t)heed_dtype_size(t->dtype), size = t->columns * element;
    const int64_t start = first * GROUP, stop = end * GROUP < t->columns ? end * GROUP : t->columns;
    for (int64_t i = 0; i < t->count; i++) {
        heed_kernels_for(t->dtype)->add_into(stop - start, t->rows + i * size + start * element,
                                             t->table + t->index[i] * size + start * element);
    }
}

/* Splits groups of columns across threads; each group is treated as a row of `count` elements. */
static void share_columns(int64_t columns, int64_t count, int64_t grain, heed_parallel_work *work,
                          void *context)
{
    heed_share_rows((columns + GROUP - 1) / GROUP, count, grain / GROUP, work, context);
}

void heed_add_table_rows(const heed_table_rows *t)
{
    share_columns(t->columns, t->count, HEED_GRAIN_OF_TABLE_ROWS, add_some, (void *)t);
}

/* ---- sums over rows ---- */

typedef struct row_sums {
    const heed_matrix_view *m;
    heed_tensor *y;
} row_sums;

static void sum_some(void *context, int64_t first, int64_t end)
{
    enum { MOST = 16 * GROUP };
    const row_sums *sums = context;
    const heed_matrix_view *m = sums->m;
    const heed_tensor *y = sums->y;
    const heed_kernels *kernels = heed_kernels_for(y->dtype);
    const int64_t size = (int64_t)heed_dtype_size(y->dtype);
    const int64_t last = end * GROUP < y->numel ? end * GROUP : y->numel;
    for (int64_t j = first * GROUP; j < last; j += MOST) {
        const int64_t columns = last - j < MOST ? last - j : MOST;
        heed_total totals[MOST] = {{0}};
        kernels->sum_columns(m->rows, columns, (const char *)m->at.data + j * size, m->at.row,
                             totals);
        kernels->from_totals(columns, totals, 1, (char *)y->data + j * size);
    }
}

void heed_sum_rows(const heed_matrix_view *m, heed_tensor *y)
{
    row_sums sums = {m, y};
    share_columns(y->numel, m->rows, HEED_GRAIN_OF_COLUMN_SUMS, sum_some, &sums);
}
