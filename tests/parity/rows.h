/* Helpers for the rows of parity/. */
#ifndef HEED_TESTS_PARITY_ROWS_H
#define HEED_TESTS_PARITY_ROWS_H

#include "heed.h"

/* ---- views, so that gradients pass through them ---- */

static heed_tensor *turned(heed_tensor *x)
{
    return heed_transpose(x, -2, -1);
}

/* Every other element of the last dim. */
static heed_tensor *every_other(heed_tensor *x)
{
    return heed_slice(x, -1, 0, INT64_MAX, 2);
}

/* ---- joining and splitting ---- */

static heed_tensor *joined(heed_tensor *a, heed_tensor *b, heed_tensor *c, int dim)
{
    return heed_cat((heed_tensor *[]){a, b, c}, c == NULL ? 2 : 3, dim);
}

static heed_tensor *stacked(heed_tensor *a, heed_tensor *b, int dim)
{
    return heed_stack((heed_tensor *[]){a, b}, b == NULL ? 1 : 2, dim);
}

static heed_tensor *split_part(heed_tensor *x, int64_t size, int dim, int i)
{
    heed_tensor *parts[4];
    heed_split(x, size, dim, parts, 4);
    return parts[i];
}

static heed_tensor *split_sizes_part(heed_tensor *x, int64_t a, int64_t b, int64_t c, int dim,
                                     int i)
{
    heed_tensor *parts[3];
    heed_split_sizes(x, (const int64_t[]){a, b, c}, 3, dim, parts);
    return parts[i];
}

static heed_tensor *chunk_part(heed_tensor *x, int chunks, int dim, int i)
{
    heed_tensor *parts[4];
    heed_chunk(x, chunks, dim, parts);
    return parts[i];
}

static heed_tensor *unbind_part(heed_tensor *x, int dim, int i)
{
    heed_tensor *parts[4];
    heed_unbind(x, dim, parts, 4);
    return parts[i];
}

/* ---- indices instead of values ---- */

static heed_tensor *places_of_sort(heed_tensor *x, int dim, bool descending)
{
    heed_tensor *places;
    heed_sort(x, dim, descending, &places);
    return places;
}

static heed_tensor *places_of_topk(heed_tensor *x, int64_t k, int dim, bool largest)
{
    heed_tensor *places;
    heed_topk(x, k, dim, largest, &places);
    return places;
}

static heed_tensor *places_of_max(heed_tensor *x, int dim)
{
    heed_tensor *places;
    heed_max_dim(x, dim, false, &places);
    return places;
}

static heed_tensor *places_of_min(heed_tensor *x, int dim)
{
    heed_tensor *places;
    heed_min_dim(x, dim, false, &places);
    return places;
}

static heed_tensor *places_of_median(heed_tensor *x, int dim)
{
    heed_tensor *places;
    heed_median_dim(x, dim, false, &places);
    return places;
}

/* ---- probabilities ---- */

/* sigmoid(x), or 1/2 for NaN. */
static heed_tensor *probability(heed_tensor *x)
{
    return heed_where(heed_isnan(x), heed_scalar(0.5, x->dtype), heed_sigmoid(x));
}

/* ---- attention by softmax ---- */

static heed_tensor *attend(heed_tensor *q, heed_tensor *k, heed_tensor *v)
{
    heed_tensor *scores = heed_div_scalar(heed_matmul(q, turned(k)), 2);
    return heed_matmul(heed_softmax(scores, -1), v);
}

#endif
