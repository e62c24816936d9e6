/* Several tensors in step through one shape (internal to the files that call kernels).
 *
 * Dims whose elements follow one another in every lane are merged, so that contiguous tensors of
 * any shape are one run; a repeated (broadcast) dim is a stride of 0.
 */
#ifndef HEED_TENSOR_BROADCAST_WALK_H
#define HEED_TENSOR_BROADCAST_WALK_H

#include "tensor.h"

/* CHUNK: elements that are gathered at a time: of all operands together they fit into L1.
 * LANES: the operands of an element-wise kernel, and its result. */
enum { CHUNK = 256, LANES = 6 };

/* One operand of a walk: its position, and its strides in bytes. */
typedef struct lane {
    char *at;
    int64_t stride[HEED_MAX_DIMS];
} lane;

/* The last dim is the run that a kernel takes; the others are stepped through. */
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

/* heed_walk_lane: adds an operand to a walk that began as {0}. All lanes come before
 * heed_walk_begin. */
void heed_walk_lane(walk *w, const void *data, const int64_t *strides, heed_dtype dtype, int ndim);

/* heed_walk_begin: sets the shape, without dims of size 1 and with neighbours merged; at least one
 * dim stays. False for a shape without elements. */
bool heed_walk_begin(walk *w, int ndim, const int64_t *shape);

/* heed_walk_next: steps all lanes to the next run; false after the last.
 * heed_walk_to: steps a walk that has just begun to run number `run`. */
bool heed_walk_next(walk *w);
void heed_walk_to(walk *w, int64_t run);

/* heed_walk_parts: calls `part` for n elements of a run from its element `start` on, until all that
 * a walk covers, which has just begun, has been in one call. From two grains of elements on,
 * several threads do so, and cut the runs anywhere. */
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

/* heed_walk_elements: n elements from `at`, `stride` bytes apart: in place if they are contiguous
 * and already of dtype `as`, else gathered and cast into `gathered`. */
const void *heed_walk_elements(const char *at, int64_t stride, int64_t n, heed_dtype dtype,
                               heed_dtype as, buffer *gathered);

#endif
