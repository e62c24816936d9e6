/* Walks several tensors in step through one shape (internal to the files that call kernels).
 *
 * Neighbouring dims are merged where every lane allows it, so contiguous tensors of any shape form
 * a single run. A broadcast dim has stride 0.
 */
#ifndef HEED_TENSOR_BROADCAST_WALK_H
#define HEED_TENSOR_BROADCAST_WALK_H

#include "tensor.h"

/* CHUNK: elements gathered at a time; the buffers of all operands fit in L1.
 * LANES: the maximum number of operands of an element-wise kernel, plus one for its result. */
enum { CHUNK = 256, LANES = 5 };

/* One operand of a walk: its current position, and its strides in bytes. */
typedef struct lane {
    char *at;
    int64_t stride[HEED_MAX_DIMS];
} lane;

/* A kernel call processes one run, along the last dim; the walk steps through the other dims. */
typedef struct walk {
    int ndim, lanes;
    int64_t size[HEED_MAX_DIMS], index[HEED_MAX_DIMS];
    lane lane[LANES];
} walk;

/* A chunk of elements of any dtype. */
typedef union buffer {
    double f64[CHUNK];
    int64_t i64[CHUNK];
} buffer;

/* heed_walk_lane: adds an operand to a walk initialised to {0}. Call before heed_walk_begin. */
void heed_walk_lane(walk *w, const void *data, const int64_t *strides, heed_dtype dtype, int ndim);

/* heed_walk_begin: sets the shape, dropping dims of size 1 and merging neighbouring dims; at least
 * one dim remains. Returns false if the shape has no elements. */
bool heed_walk_begin(walk *w, int ndim, const int64_t *shape);

/* heed_walk_next: moves all lanes to the next run; returns false after the last.
 * heed_walk_to: moves a walk from its start to run number `run`. */
bool heed_walk_next(walk *w);
void heed_walk_to(walk *w, int64_t run);

/* heed_walk_parts: covers a whole walk, which must be at its start, with calls to `part`, each for
 * n elements of a run, starting at index `start`. If the walk has at least two grains of elements,
 * the calls run on several threads, and runs may be cut anywhere. */
typedef void walk_part(const void *context, const walk *w, int64_t start, int64_t n);
void heed_walk_parts(walk *w, int64_t grain, walk_part *part, const void *context);

/* The stride of a lane along the run, in bytes. */
static inline int64_t run_stride(const walk *w, int lane_number)
{
    return w->lane[lane_number].stride[w->ndim - 1];
}

static inline int64_t run_length(const walk *w)
{
    return w->size[w->ndim - 1];
}

/* heed_walk_elements: n elements from `at`, `stride` bytes apart. Returns `at` if they are
 * contiguous and already of dtype `as`; otherwise gathers and casts them into `gathered`. */
const void *heed_walk_elements(const char *at, int64_t stride, int64_t n, heed_dtype dtype,
                               heed_dtype as, buffer *gathered);

#endif
