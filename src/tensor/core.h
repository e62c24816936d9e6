/* What the layers above build tensors with (internal): making and letting go of handles, counts,
 * and the shape arithmetic that several operations share.
 */
#ifndef HEED_TENSOR_CORE_H
#define HEED_TENSOR_CORE_H

#include "scope.h"
#include "tensor.h"
#include "thread.h"

/* ---- a thread that may compute ---- */

/* heed_blocked: true while an error is pending: then nothing computes. */
static inline bool heed_blocked(void)
{
    return heed_self.error != HEED_OK;
}

/* heed_check_tensor: a tensor that is there and still has its value; else an error that names the
 * function and which of its arguments. */
heed_status heed_check_tensor(const char *function, const char *argument, const heed_tensor *t);

/* heed_check_operand: the same for functions made of several operations, which look at x before the
 * first of them does: no error is pending, x is there, and a scope is open to own the result. */
heed_status heed_check_operand(const char *function, const char *argument, const heed_tensor *x);

/* heed_check_operands: the same for a list of them, as heed_apply takes it: 1 to UINT16_MAX tensors, all
 * of which have their values. Errors call them by their names; NULL: input 0, input 1, ... */
heed_status heed_check_operands(const char *function, const char *const *names,
                                heed_tensor *const *inputs, int count);

/* heed_are_operands: would that be HEED_OK? */
static inline bool heed_are_operands(heed_tensor *const *inputs, int count)
{
    bool fine = heed_self.error == HEED_OK && heed_self.depth > 0 && inputs != NULL && count > 0 &&
                count <= UINT16_MAX;
    for (int i = 0; fine && i < count; i++) {
        fine = inputs[i] != NULL && inputs[i]->storage != NULL;
    }
    return fine;
}

/* heed_check_value: can an element of `dtype` be this number? Floats round, bool takes anything. */
heed_status heed_check_value(const char *function, double value, heed_dtype dtype);

/* heed_element_size: heed_dtype_size of a dtype that has been checked. */
static inline size_t heed_element_size(heed_dtype dtype)
{
    return dtype == HEED_BOOL ? sizeof(bool) : dtype == HEED_F32 ? sizeof(float) : sizeof(double);
}

/* ---- making tensors (tensor.c) ---- */

/* heed_tensor_new: a contiguous tensor with memory of its own, elements of any value.
 * heed_tensor_like: one of t's shape and dtype, which need no checks any more.
 * heed_tensor_view: a tensor on t's storage. `offset` counts elements from t->data.
 * Neither is in a scope yet: the caller holds one reference and one use, and passes them on with
 * heed_join_scope or ends them with heed_unref. `function` names the caller in errors. */
heed_tensor *heed_tensor_new(const char *function, int ndim, const int64_t *shape,
                             heed_dtype dtype);
heed_tensor *heed_tensor_like(const heed_tensor *t);
heed_tensor *heed_tensor_view(const char *function, const heed_tensor *t, int ndim,
                              const int64_t *shape, const int64_t *strides, int64_t offset);

/* heed_join_scope: hands the caller's reference and use to the innermost open scope; returns t, or
 * NULL with t let go where none is open. */
heed_tensor *heed_join_scope(const char *function, heed_tensor *t);

/* heed_tensor_create: heed_tensor_new for a public function: NULL while an error is pending, and the
 * tensor is in the innermost scope. */
heed_tensor *heed_tensor_create(const char *function, heed_shape shape, heed_dtype dtype);

/* ---- counts ---- */

/* Only what several threads hold is counted atomically: it costs as much as the rest of a node. */
static inline int heed_add_count(int *count, int by, bool shared)
{
    if (shared) {
        return __atomic_add_fetch(count, by, __ATOMIC_ACQ_REL);
    }
    return *count += by;
}

/* heed_let_value_go: frees the storage if nobody else looks at it. heed_let_handle_go: frees the
 * handle, and the graph behind it that nobody else holds. For the functions below. */
void heed_let_value_go(heed_tensor *t);
void heed_let_handle_go(heed_tensor *t);

/* A reference holds the handle, a use the value; heed_ref and heed_unref count both. */
static inline void heed_add_reference(heed_tensor *t)
{
    heed_add_count(&t->references, 1, t->shared);
}

static inline void heed_drop_reference(heed_tensor *t)
{
    if (heed_add_count(&t->references, -1, t->shared) == 0) {
        heed_let_handle_go(t);
    }
}

static inline void heed_add_use(heed_tensor *t)
{
    heed_add_count(&t->uses, 1, t->shared);
}

static inline void heed_drop_use(heed_tensor *t)
{
    if (heed_add_count(&t->uses, -1, t->shared) == 0) {
        heed_let_value_go(t);
    }
}

static inline void heed_ref(heed_tensor *t)
{
    heed_add_reference(t);
    heed_add_use(t);
}

static inline void heed_unref(heed_tensor *t)
{
    heed_drop_use(t);
    heed_drop_reference(t);
}

/* heed_saves_input: does the node t hold a use of the value of its input i? */
static inline bool heed_saves_input(const heed_tensor *t, int i)
{
    return i < HEED_SAVED_INPUTS && (t->saved >> i & 1) != 0;
}

/* heed_raise_version: the value was changed in place. */
static inline void heed_raise_version(heed_tensor *t)
{
    heed_storage *storage = t->storage;
    if (storage->shared) {
        __atomic_add_fetch(&storage->version, 1, __ATOMIC_RELAXED);
    } else {
        storage->version++;
    }
}

/* heed_take_grad: t->grad becomes `grad` (NULL: none), whose reference and use it takes over. */
void heed_take_grad(heed_tensor *t, heed_tensor *grad);

/* ---- the engine's own scopes (scope.c) ---- */

/* heed_frame_begin, heed_frame_end: a scope around a forward or a derivative, which begins and ends in
 * one function: so it needs none of the checks of a caller's, and where nothing joined it, as in most
 * forwards, it is a few instructions. */
typedef struct heed_frame {
    int depth;
    bool grad_disabled; /* to restore */
} heed_frame;

/* heed_end_depth: ends the scopes of this depth and deeper.
 * HEED_ERR_SCOPE: there is more than one, or none. */
heed_status heed_end_depth(int depth);

static inline heed_frame heed_frame_begin(bool grad_disabled)
{
    heed_self.depth++;
    const heed_frame frame = {heed_self.depth, heed_self.grad_disabled};
    if (frame.depth < HEED_TRACKED_SCOPES) {
        heed_self.serials[frame.depth] = ++heed_self.scopes_begun;
    }
    heed_self.grad_disabled = heed_self.grad_disabled || grad_disabled;
    return frame;
}

static inline heed_status heed_frame_end(heed_frame frame)
{
    const heed_tensor *last = heed_self.tensors;
    heed_self.grad_disabled = frame.grad_disabled;
    if (heed_self.depth == frame.depth && (last == NULL || last->scope_depth < frame.depth)) {
        heed_self.depth--;
        return heed_self.error;
    }
    return heed_end_depth(frame.depth);
}

/* heed_take_from_scope: the reference and the use of t that its scope has become the caller's, where t
 * is the last that joined the innermost scope; else the caller gets one of each beside the scope's. */
static inline void heed_take_from_scope(heed_tensor *t)
{
    if (heed_self.tensors == t && t->scope_depth == heed_self.depth) {
        heed_self.tensors = t->next;
        t->next = NULL;
        t->scope_depth = 0;
    } else {
        heed_ref(t);
    }
}

/* ---- shapes (shape.c) ---- */

/* heed_shape_text of a tensor, for messages. */
#define HEED_TEXT(t) (heed_shape_text((t)->ndim, (t)->shape).text)

/* heed_count_elements: the product of the sizes; an error for a negative size, too many dims or a
 * product (of bytes) past what memory can address. */
heed_status heed_count_elements(const char *function, int ndim, const int64_t *shape,
                                heed_dtype dtype, int64_t *numel);

/* heed_wrap_dim: turns a dim in [-ndim, ndim) into [0, ndim); a scalar takes 0 and -1 as torch's
 * does. heed_wrap_dims: the same for a list, as a bit set; a dim given twice is an error. */
heed_status heed_wrap_dim(const char *function, int dim, int ndim, int *wrapped);
heed_status heed_wrap_dims(const char *function, heed_dims dims, int ndim, unsigned *set);

/* heed_row_major: the strides of a contiguous tensor. heed_is_row_major: is t one? (As the public
 * heed_is_contiguous, without its checks.) */
void heed_row_major(int ndim, const int64_t *shape, int64_t *strides);
bool heed_is_row_major(const heed_tensor *t);

/* heed_get_shape: writes t's shape, without the checks of the public heed_shape_of_tensor. */
static inline void heed_get_shape(const heed_tensor *t, heed_shape *shape)
{
    shape->ndim = t->ndim;
    for (int i = 0; i < t->ndim; i++) {
        shape->size[i] = t->shape[i];
    }
}

/* heed_has_sizes: is t of this shape? (As the public heed_has_shape, without its checks.) */
static inline bool heed_has_sizes(const heed_tensor *t, int ndim, const int64_t *shape)
{
    bool same = t->ndim == ndim;
    for (int i = 0; same && i < ndim; i++) {
        same = t->shape[i] == shape[i];
    }
    return same;
}

/* heed_dense_strides: those that torch gives a tensor made like x: without gaps, its dims in the
 * order in which those of x lie. */
void heed_dense_strides(const heed_tensor *x, int64_t *strides);

/* heed_shapes_broadcast: do the two have a common shape?
 * heed_broadcast: that shape, or an error with both and a hint. */
bool heed_shapes_broadcast(const heed_shape *a, const heed_shape *b);
heed_status heed_broadcast(const char *function, const heed_shape *a, const heed_shape *b,
                           heed_shape *out);

/* heed_broadcast_strides: t's strides seen in a larger shape: 0 where a dim is repeated. */
void heed_broadcast_strides(const heed_tensor *t, int ndim, const int64_t *shape, int64_t *strides);

/* heed_fill_noise: elements become `value` with probability p, else 0, in draws of heed_bernoulli_into; t is a new
 * float tensor. (random.c) */
void heed_fill_noise(heed_tensor *t, double p, double value);

#endif
