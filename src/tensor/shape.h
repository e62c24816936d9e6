/* Shape arithmetic: sizes, dims, strides and broadcasting, without the checks of the public
 * functions in read.h (internal).
 */
#ifndef HEED_TENSOR_SHAPE_H
#define HEED_TENSOR_SHAPE_H

#include "tensor.h"

/* The shape of a tensor as text, for messages. */
#define HEED_TEXT(t) (heed_shape_text((t)->ndim, (t)->shape).text)

/* heed_count_elements: the product of the sizes. Fails for negative sizes, too many dims, or more
 * bytes than can be addressed. */
heed_status heed_count_elements(const char *function, int ndim, const int64_t *shape,
                                heed_dtype dtype, int64_t *numel);

/* heed_wrap_dim: maps a dim in [-ndim, ndim) to [0, ndim); as in torch, a scalar accepts 0 and -1.
 * heed_wrap_dims: the same for a list, returned as a bit set; fails if a dim is given twice. */
heed_status heed_wrap_dim(const char *function, int dim, int ndim, int *wrapped);
heed_status heed_wrap_dims(const char *function, heed_dims dims, int ndim, unsigned *set);

/* heed_wrapped: heed_wrap_dim for a dim that has been checked.
 * heed_wrapped_set: heed_wrap_dims for a list that has been checked. */
static inline int heed_wrapped(int dim, int ndim)
{
    return dim >= 0 ? dim : dim + (ndim > 0 ? ndim : 1);
}

static inline unsigned heed_wrapped_set(const heed_dims *dims, int ndim)
{
    unsigned set = 0;
    for (int i = 0; i < dims->count; i++) {
        set |= 1u << heed_wrapped(dims->dim[i], ndim);
    }
    return set;
}

/* heed_row_major: the strides of a contiguous tensor. heed_is_row_major: true if t has them. */
void heed_row_major(int ndim, const int64_t *shape, int64_t *strides);
bool heed_is_row_major(const heed_tensor *t);

static inline void heed_get_shape(const heed_tensor *t, heed_shape *shape)
{
    shape->ndim = t->ndim;
    for (int i = 0; i < t->ndim; i++) {
        shape->size[i] = t->shape[i];
    }
}

/* heed_has_sizes, heed_has_shape: true if t has this shape. heed_same_shape: true if a and b have
 * the same shape. */
static inline bool heed_has_sizes(const heed_tensor *t, int ndim, const int64_t *shape)
{
    bool same = t->ndim == ndim;
    for (int i = 0; same && i < ndim; i++) {
        same = t->shape[i] == shape[i];
    }
    return same;
}

static inline bool heed_has_shape(const heed_tensor *t, const heed_shape *shape)
{
    return heed_has_sizes(t, shape->ndim, shape->size);
}

static inline bool heed_same_shape(const heed_tensor *a, const heed_tensor *b)
{
    return heed_has_sizes(a, b->ndim, b->shape);
}

/* heed_is_expanded: true if several indices share an element, so that t cannot be overwritten.
 * heed_broadcasts_to: true if t can be broadcast to this shape. */
static inline bool heed_is_expanded(const heed_tensor *t)
{
    bool expanded = false;
    for (int i = 0; i < t->ndim; i++) {
        expanded = expanded || (t->shape[i] > 1 && t->strides[i] == 0);
    }
    return expanded;
}

static inline bool heed_broadcasts_to(const heed_tensor *t, const heed_shape *shape)
{
    const int added = shape->ndim - t->ndim;
    bool fits = added >= 0;
    for (int i = 0; fits && i < t->ndim; i++) {
        fits = t->shape[i] == 1 || t->shape[i] == shape->size[added + i];
    }
    return fits;
}

/* heed_dense_strides: the strides that torch gives a tensor made like x: without gaps, with the
 * dims in the same memory order as in x. */
void heed_dense_strides(const heed_tensor *x, int64_t *strides);

/* heed_shapes_broadcast: true if the two shapes broadcast together.
 * heed_broadcast: writes their common shape, or fails with an error that names both. */
bool heed_shapes_broadcast(const heed_shape *a, const heed_shape *b);
heed_status heed_broadcast(const char *function, const heed_shape *a, const heed_shape *b,
                           heed_shape *out);

/* heed_broadcast_strides: t's strides when broadcast to a larger shape: 0 for repeated dims. */
void heed_broadcast_strides(const heed_tensor *t, int ndim, const int64_t *shape, int64_t *strides);

#endif
