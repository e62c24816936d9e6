/* Rows split across threads. A thread handles whole rows, or whole columns when rows are added up;
 * the gradient of layer_norm takes chunks of rows, whose number depends on the shape alone. So no
 * sum depends on the number of threads. */

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
void heed_add_table_rows(const heed_table_rows *t)
{
    heed_share_rows((t->columns + GROUP - 1) / GROUP, t->count, HEED_GRAIN_OF_TABLE_ROWS / GROUP,
                    add_some, (void *)t);
}

/* ---- layer_norm ---- */

enum { MOST_CHUNKS = 32 };

typedef struct normalization {
    const heed_normalization *all;
    heed_dtype dtype;
    int64_t chunk; /* rows in a chunk */
} normalization;

/* Rows [first, end). */
static heed_normalization rows_of(const normalization *w, int64_t first, int64_t end)
{
    const int64_t before = first * w->all->n * (int64_t)heed_dtype_size(w->dtype);
    heed_normalization rows = *w->all;
    rows.rows = (end < rows.rows ? end : rows.rows) - first;
    rows.x = (const char *)rows.x + before;
    rows.g = rows.g != NULL ? (const char *)rows.g + before : NULL;
    rows.y = rows.y != NULL ? (char *)rows.y + before : NULL;
    rows.dx = rows.dx != NULL ? (char *)rows.dx + before : NULL;
    return rows;
}

static void normalize_some(void *context, int64_t first, int64_t end)
{
    const normalization *w = context;
    const heed_normalization rows = rows_of(w, first, end);
    heed_kernels_for(w->dtype)->normalize(&rows);
}

void heed_normalize_rows(const heed_normalization *all, heed_dtype dtype)
{
    normalization w = {all, dtype, 0};
    heed_share_rows(all->rows, all->n, HEED_GRAIN_OF_ROWS, normalize_some, &w);
}

static int64_t rows_in_chunk(const heed_normalization *all)
{
    const int64_t fit = all->rows * all->n / HEED_GRAIN_OF_ROWS;
    const int64_t most = fit < 1 ? 1 : fit < MOST_CHUNKS ? fit : MOST_CHUNKS;
    return all->rows > 0 ? (all->rows + most - 1) / most : 1;
}

int64_t heed_chunks_of_rows(const heed_normalization *all)
{
    const int64_t chunk = rows_in_chunk(all);
    return (all->rows + chunk - 1) / chunk;
}

static void differentiate_some(void *context, int64_t first, int64_t end)
{
    const normalization *w = context;
    for (int64_t i = first; i < end; i++) {
        heed_normalization rows = rows_of(w, i * w->chunk, (i + 1) * w->chunk);
        rows.totals += i * 2 * rows.n;
        heed_kernels_for(w->dtype)->normalize_gradient(&rows);
    }
}

void heed_normalize_rows_gradient(const heed_normalization *all, heed_dtype dtype)
{
    normalization w = {all, dtype, rows_in_chunk(all)};
    heed_parallel_for(heed_chunks_of_rows(all), 1, differentiate_some, &w);
}
