/* The tensor: a reference-counted handle on a reference-counted storage, and its own graph node.
 *
 * The struct is public to read, for teaching and debugging; its fields change only through
 * functions. Reading the shape, the strides or the graph of a tensor never fails; read.h has
 * functions for that, and for the elements.
 */
#ifndef HEED_TENSOR_TENSOR_H
#define HEED_TENSOR_TENSOR_H

#include "dtype.h"

HEED_BEGIN_DECLS

enum { HEED_FEW_DIMS = 4 };

/* A shape, or an index into one. HEED_SHAPE(2, 3) carries its own length; HEED_SCALAR is the shape
 * of a tensor without dims. */
typedef struct heed_shape {
    int ndim;
    int64_t size[HEED_MAX_DIMS];
} heed_shape;

/* A list of dims, each in [-ndim, ndim): HEED_DIMS(0, -1). */
typedef struct heed_dims {
    int count;
    int dim[HEED_MAX_DIMS];
} heed_dims;

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

typedef struct heed_tensor heed_tensor;
struct heed_op;

/* The memory behind one or several tensors. */
typedef struct heed_storage {
    void *data;
    size_t bytes;
    int references;   /* tensors that look at it */
    uint32_t version; /* raised by every change in place */
    bool shared;      /* counted atomically, because several threads hold it */
    union {
        double align;
        unsigned char bytes[32];
    } small; /* where data lies if it is short: further, if need be, than these bytes */
} heed_storage;

/* What a backward pass looks at comes first: it takes as long as the memory of its nodes does. */
struct heed_tensor {
    /* The graph: the operation that made this tensor, and from what. */
    const struct heed_op *op; /* NULL: a leaf */
    heed_tensor **inputs;     /* input_count of them; they point to `two` when that suffices */
    int engine_mark;          /* the engine's: consumers to come, then whether it is needed */
    uint16_t input_count, args_size;
    uint8_t saved; /* whose values backward will read: bit i for input i, HEED_SAVED_OUTPUT */
    bool requires_grad;
    bool used_up;      /* a backward has passed */
    bool retain_grad;  /* keep .grad though this is no leaf */
    bool grad_is_lent; /* the engine's: a thread adds to .grad, which is not there meanwhile */
    bool shared;       /* counted atomically */
    uint8_t ndim;

    heed_tensor *two[2];
    heed_tensor *gradient_in_flight; /* the engine's: the sum of what has arrived so far */

    /* Counts (see tensor/scope.h). */
    int references; /* who holds the handle: the scope, retains, graph edges */
    int uses;       /* who will read the value: the scope, retains, derivatives */

    /* The value: element (i, j, ...) is data[i * strides[0] + j * strides[1] + ...]. */
    heed_storage *storage; /* NULL once nothing will read the value any more */
    void *data;
    int64_t numel;
    int64_t *shape,
        *strides; /* ndim of each, in elements; they point to `few` when that suffices */

    int retains;
    int scope_depth;        /* the scope whose list it is on; 0 when that scope has ended */
    heed_tensor *next;      /* on that list, or on the engine's */
    uint32_t saved_version; /* sum of the versions of the values that backward will read */
    heed_dtype dtype;

    heed_tensor *grad; /* dL/dthis after backward, for leaves; contiguous, without a node */
    const void *args;  /* the arguments that are no tensors; they point to `small_args` if small */
    uint64_t small_args[2];
    int64_t few[2 * HEED_FEW_DIMS];
};

/* The bits of heed_tensor.saved: one for each of the first inputs, one for the result itself. */
enum { HEED_SAVED_INPUTS = 7, HEED_SAVED_OUTPUT = 1 << HEED_SAVED_INPUTS };

HEED_END_DECLS
#endif
