/* Splits the rows of layer_norm and rms_norm across threads. */

#include "dispatch.h"

#include "thread.h"

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
