/* Helpers for the rows of shape.def. */
#ifndef HEED_TESTS_GRADIENTS_SHAPE_H
#define HEED_TESTS_GRADIENTS_SHAPE_H

#include "heed.h"

static heed_tensor *cat(heed_tensor *a, heed_tensor *b, heed_tensor *c, int dim)
{
    return heed_cat((heed_tensor *[]){a, b, c}, c == NULL ? 2 : 3, dim);
}

static heed_tensor *stack(heed_tensor *a, heed_tensor *b, int dim)
{
    return heed_stack((heed_tensor *[]){a, b}, b == NULL ? 1 : 2, dim);
}

static heed_tensor *by_f32(heed_tensor *x)
{
    return heed_to(heed_to(x, HEED_F32), HEED_F64);
}

/* Concatenates the parts in reverse order without the first, which gets no gradient. */
static heed_tensor *join_parts(heed_tensor **parts, int count, int dim)
{
    heed_tensor *turned[4];
    for (int i = 1; i < count; i++) {
        turned[i - 1] = parts[count - i];
    }
    return count > 1 ? heed_cat(turned, count - 1, dim) : parts[0];
}

static heed_tensor *split(heed_tensor *x, int64_t size, int dim)
{
    heed_tensor *parts[4];
    return join_parts(parts, heed_split(x, size, dim, parts, 4), dim);
}

static heed_tensor *split_sizes(heed_tensor *x, int64_t a, int64_t b, int64_t c, int dim)
{
    heed_tensor *parts[3];
    const int64_t sizes[] = {a, b, c};
    return join_parts(parts, heed_split_sizes(x, sizes, 3, dim, parts), dim);
}

static heed_tensor *chunk(heed_tensor *x, int chunks, int dim)
{
    heed_tensor *parts[4];
    return join_parts(parts, heed_chunk(x, chunks, dim, parts), dim);
}

static heed_tensor *unbind(heed_tensor *x, int dim)
{
    heed_tensor *parts[4];
    const int count = heed_unbind(x, dim, parts, 4);
    for (int i = 0; i < count; i++) {
        parts[i] = heed_unsqueeze(parts[i], 0);
    }
    return join_parts(parts, count, 0);
}

/* The product of all chunks, which have equal sizes: curved in each. */
static heed_tensor *product_of_chunks(heed_tensor *x, int chunks, int dim)
{
    heed_tensor *parts[4], *y = NULL;
    const int count = heed_chunk(x, chunks, dim, parts);
    for (int i = 0; i < count; i++) {
        y = i == 0 ? parts[0] : heed_mul(y, parts[i]);
    }
    return y;
}

#endif
