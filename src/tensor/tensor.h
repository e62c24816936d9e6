/* The tensor: a reference-counted handle on a reference-counted storage, and its own graph node.
 *
 * The struct is public to read, for teaching and debugging; its fields change only through
 * functions. Reading the shape, the strides or the graph of a tensor never fails.
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

/* ---- reading ---- */

/* heed_size: the length of a dim, as torch's size(dim).
 * HEED_ERR_DIM: no such dim. 0 on error. */
int64_t heed_size(const heed_tensor *t, int dim);

/* heed_shape_of_tensor: the whole shape, to make another tensor with, as torch's t.shape. */
heed_shape heed_shape_of_tensor(const heed_tensor *t);

/* heed_shape_text: a shape as text, for the messages of modules and operations of one's own:
 *
 *     heed_fail(HEED_ERR_SHAPE, "mine: x is %s", heed_shape_text(x->ndim, x->shape).text); */
typedef struct heed_text {
    char text[160];
} heed_text;
heed_text heed_shape_text(int ndim, const int64_t *shape);

/* heed_has_shape: is t of this shape? heed_same_shape: of the same one? False on error.
 * HEED_ERR_NULL: as of the functions below, an argument is NULL. */
bool heed_has_shape(const heed_tensor *t, const heed_shape *shape);
bool heed_same_shape(const heed_tensor *a, const heed_tensor *b);

/* heed_is_contiguous: do the elements lie in row-major order without gaps? */
bool heed_is_contiguous(const heed_tensor *t);

/* heed_is_expanded: do several places share an element, so that t cannot be overwritten?
 * heed_broadcasts_to: does t, repeated, become of this shape? */
bool heed_is_expanded(const heed_tensor *t);
bool heed_broadcasts_to(const heed_tensor *t, const heed_shape *shape);

/* heed_item: the one element of a tensor of any dtype, as torch's item().
 * HEED_ERR_SHAPE: not exactly one element. NaN on error. */
double heed_item(const heed_tensor *t);

/* heed_item_i64: the same, exact for i64. HEED_ERR_DTYPE: not i64 or bool. 0 on error. */
int64_t heed_item_i64(const heed_tensor *t);

/* heed_at: one element, as torch's t[i, j].item(); negative indices count from the end.
 *
 *     double percent = heed_at(attention, HEED_INDEX(7, 1));
 *
 * HEED_ERR_SHAPE: not one index per dim. HEED_ERR_INDEX: out of range. NaN on error. */
double heed_at(const heed_tensor *t, heed_shape index);

/* heed_data_*: the elements, writable: one of the few doors through which a value changes in
 * place. Each call raises the version of the storage, so a backward that needs the old value says
 * so. heed_const_data_*: the same for reading, without that.
 *
 * HEED_ERR_DTYPE: another dtype. HEED_ERR_SHAPE: not contiguous (heed_contiguous copies, and
 * heed_copy_into writes through views). NULL on error; not NULL for a tensor without elements. */
float *heed_data_f32(heed_tensor *t);
double *heed_data_f64(heed_tensor *t);
int64_t *heed_data_i64(heed_tensor *t);
bool *heed_data_bool(heed_tensor *t);
const float *heed_const_data_f32(const heed_tensor *t);
const double *heed_const_data_f64(const heed_tensor *t);
const int64_t *heed_const_data_i64(const heed_tensor *t);
const bool *heed_const_data_bool(const heed_tensor *t);

HEED_END_DECLS
#endif
