/* The tensor: a reference-counted handle to a reference-counted storage. The handle is also the
 * graph node.
 *
 * The struct is public so that it can be inspected for teaching and debugging; change its fields
 * only through functions. Reading a tensor's shape, strides or graph directly never fails. read.h
 * has functions that read the shape and the elements.
 */
#ifndef HEED_TENSOR_TENSOR_H
#define HEED_TENSOR_TENSOR_H

#include "dtype.h"

HEED_BEGIN_DECLS

/* Shapes and strides of up to this many dims are stored in the tensor itself. */
enum { HEED_FEW_DIMS = 4 };

/* A shape, or the index of an element; see HEED_SHAPE. */
typedef struct heed_shape {
    int ndim;
    int64_t size[HEED_MAX_DIMS];
} heed_shape;

/* A list of dims, each in [-ndim, ndim), as in HEED_DIMS(0, -1). */
typedef struct heed_dims {
    int count;
    int dim[HEED_MAX_DIMS];
} heed_dims;

/* HEED_SHAPE(2, 3): a heed_shape with these sizes; it counts its arguments. HEED_INDEX(2, 3): the
 * same for the index of an element. HEED_SCALAR: the shape of a tensor without dims.
 * HEED_DIMS(0, -1): a heed_dims. */
#ifdef __cplusplus
HEED_END_DECLS
template <class... Sizes> inline heed_shape heed_shape_of(Sizes... sizes)
{
    return heed_shape{(int)sizeof...(Sizes), {(int64_t)sizes...}};
}
template <class... Dims> inline heed_dims heed_dims_of(Dims... dims)
{
    return heed_dims{(int)sizeof...(Dims), {(int)dims...}};
}
#define HEED_SHAPE(...) heed_shape_of(__VA_ARGS__)
#define HEED_DIMS(...)  heed_dims_of(__VA_ARGS__)
#define HEED_SCALAR     heed_shape_of()
HEED_BEGIN_DECLS
#else
#define HEED_SHAPE(...)                                                                            \
    ((heed_shape){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define HEED_DIMS(...)                                                                             \
    ((heed_dims){(int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), {__VA_ARGS__}})
#define HEED_SCALAR ((heed_shape){0, {0}})
#endif
#define HEED_INDEX HEED_SHAPE

/* The type of all tensors. Its fields are those of struct heed_tensor. */
typedef struct heed_tensor heed_tensor;
struct heed_op;

/* The memory behind one or more tensors. */
typedef struct heed_storage {
    void *data;
    size_t bytes;
    int references;   /* number of tensors that use it */
    uint32_t version; /* increased by every in-place change */
    /* Inline data; the allocation extends past these bytes for larger values. */
    unsigned char small[32] __attribute__((aligned(8)));
} heed_storage;

/* The fields of a tensor. Those that the backward pass reads come first, since cache misses on
 * nodes limit its speed. */
struct heed_tensor {
    /* The graph: the operation that made this tensor, and its inputs. */
    const struct heed_op *op; /* NULL for a leaf */
    heed_tensor **inputs;     /* input_count of them; points to `two` if they fit */
    int consumers;            /* backward.c: a count of edges, then a mark; 0 outside a pass */
    uint16_t input_count, args_size;
    uint8_t saved; /* read by backward: bit i for input i, HEED_SAVED_OUTPUT for the result */
    bool requires_grad;
    bool used_up;     /* a backward pass has freed its saved values */
    bool retain_grad; /* keep .grad even if this is not a leaf */
    bool has_origin;  /* the path of its module follows the arguments (apply.c) */
    uint8_t ndim;

    heed_tensor *two[2];
    heed_tensor *gradient_in_flight; /* engine: sum of the gradients received so far */

    /* Counts (see tensor/scope.h). */
    int references; /* holders of the handle: the scope, retains, graph edges */
    int uses;       /* readers of the value: the scope, retains, derivatives */

    /* The value: element (i, j, ...) is data[i * strides[0] + j * strides[1] + ...]. */
    heed_storage *storage; /* NULL once the value has been freed */
    void *data;
    int64_t numel;
    int64_t *shape, *strides; /* ndim of each, strides in elements; in `few` if they fit */

    int retains;
    int scope_depth;        /* depth of the scope that lists it; 0 once that scope has ended */
    heed_tensor *next;      /* next on that list, or on the engine's */
    uint32_t saved_version; /* sum of the versions of the values that backward will read */
    heed_dtype dtype;

    heed_tensor *grad; /* for leaves, dL/d(this) after backward; contiguous, without a graph */
    const void *args;  /* arguments that are not tensors; points to `small_args` if they fit */
    uint64_t small_args[2];
    int64_t few[2 * HEED_FEW_DIMS];
};

/* Marks in heed_tensor.consumers from sort to visit: must a pass differentiate the node? */
enum { HEED_NEEDED = -1, HEED_NOT_NEEDED = -2 };

/* Bits of heed_tensor.saved: one for each of the first inputs, one for the result. */
enum { HEED_SAVED_INPUTS = 7, HEED_SAVED_OUTPUT = 1 << HEED_SAVED_INPUTS };

HEED_END_DECLS
#endif
