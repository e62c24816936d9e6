/* Handles and storages: creation, reference counts and release.
 *
 * Releasing is a loop over a work list linked through the tensors themselves. It never recurses, so
 * freeing a chain of a million operations needs no deep stack. */
#include "tensor.h"

#include <string.h>

#include "kernels/kernels.h"

/* ---- memory ----
 *
 * A tensor is one block:
 *
 *     heed_tensor | heed_storage | shape, strides | a small value
 *
 * A value of more than MOST_INSIDE bytes has a block of its own, aligned to 64 bytes. So do small
 * ones where tools watch each block. The storage of a view is that of another tensor, whose block
 * outlives its handle until the storage is released. */
enum { MOST_INSIDE = 240 };

_Static_assert(sizeof(heed_tensor) + sizeof(heed_storage) + 8 <= 192, "the size of a scalar node");

static inline heed_storage *own_storage(heed_tensor *t)
{
    return (heed_storage *)(t + 1);
}

static inline bool is_inside(size_t bytes)
{
    return bytes <= MOST_INSIDE && heed_allocator_keeps_blocks();
}

/* ---- releasing ---- */

static inline void free_block(heed_tensor *t)
{
    if (!heed_push_block(t, t->block)) {
        heed_free_sized(t, t->block);
    }
}

/* In heed_tensor.references of a block that only other tensors' values keep. */
enum { HANDLE_FREED = -1 };

/* Frees the data with the last reference, and the block if its handle has been freed. */
static inline void release_storage(heed_storage *storage)
{
    if (--storage->references > 0) {
        return;
    }
    if (!is_inside(storage->bytes)) {
        heed_free_sized(storage->data, storage->bytes);
    }
    heed_tensor *home = (heed_tensor *)storage - 1;
    if (home->references == HANDLE_FREED) {
        free_block(home);
    }
}

static inline void release_value(heed_tensor *t)
{
    heed_storage *storage = t->storage;
    if (storage != NULL) {
        t->storage = NULL;
        t->data = NULL;
        release_storage(storage);
    }
}

void heed_release_value(heed_tensor *t)
{
    release_value(t);
}

/* Frees the handle `t`, and adds to the work list the tensors that only t kept alive. */
static heed_tensor *free_handle(heed_tensor *t, heed_tensor *work)
{
    for (int i = 0; i < t->input_count; i++) {
        heed_tensor *input = t->inputs[i];
        if (i < HEED_SAVED_INPUTS && (t->saved >> i & 1) != 0) {
            heed_drop_use(input);
        }
        if (--input->references == 0) {
            input->next = work;
            work = input;
        }
    }
    if (t->grad != NULL && --t->grad->references == 0) {
        t->grad->next = work;
        work = t->grad;
    }
    if (t->inputs != t->two) {
        heed_free_sized(t->inputs, t->input_count * sizeof *t->inputs);
    }
    if (t->args != t->small_args) {
        heed_free_sized((void *)t->args, t->args_size);
    }
    heed_self.live_tensors--;
    release_value(t);
    if (HEED_IS_DEBUG) { /* keeps the block, so that using the tensor later is an error */
        heed_self.live_bytes -= t->block;
    } else if (own_storage(t)->references == 0) {
        free_block(t);
    } else {
        t->references = HANDLE_FREED;
    }
    return work;
}

void heed_release_handle(heed_tensor *t)
{
    t->next = NULL;
    for (heed_tensor *work = t; work != NULL;) {
        heed_tensor *dead = work;
        work = free_handle(dead, work->next);
    }
}

void heed_share_storage(heed_tensor *t, const heed_tensor *value)
{
    heed_storage *old = t->storage, *new = value->storage;
    new->references++;
    new->version += old->version + 1; /* a backward pass that saved the old elements must fail */
    t->storage = new;
    t->data = value->data;
    t->dtype = value->dtype;
    memcpy(t->strides, value->strides, sizeof *value->strides * value->ndim);
    release_storage(old);
    heed_replace_grad(t, NULL);
}

void heed_replace_grad(heed_tensor *t, heed_tensor *grad)
{
    heed_tensor *old = t->grad;
    t->grad = grad;
    if (old != NULL) {
        heed_unref(old);
    }
}

/* ---- creation ----
 *
 * A new tensor joins the innermost scope before anything else can fail, so that an error releases
 * what has been made of it. */

void heed_check_scope(const char *function)
{
    if (heed_self.depth == 0) {
        heed_fail(HEED_ERR_SCOPE,
                  "%s: no scope is open to own the result; begin one: HEED_SCOPE(name);", function);
    }
}

/* Each function of this file that makes a tensor does it in one piece, without calls. */
#define INLINE static inline __attribute__((always_inline))

/* A handle without a value or a graph, with space for a value of `inside` bytes. Its fields are set
 * one by one: zeroing the whole struct compiles to a slow rep stos. */
INLINE heed_tensor *new_handle(const char *function, int ndim, int64_t numel, heed_dtype dtype,
                               size_t inside)
{
    if (__atomic_load_n(&heed_chosen_kernels, __ATOMIC_ACQUIRE) == NULL) {
        heed_choose_isa();
    }
    if (heed_self.depth == 0) {
        heed_check_scope(function);
    }
    const size_t dims = 2 * (size_t)ndim * sizeof(int64_t);
    const size_t block = sizeof(heed_tensor) + sizeof(heed_storage) + dims + inside;
    heed_tensor *t = heed_pop_block(block);
    t = t != NULL ? t : heed_alloc_sized(block);
    t->op = NULL;
    t->inputs = t->two;
    t->consumers = 0;
    t->input_count = t->args_size = 0;
    t->saved = 0;
    t->requires_grad = t->used_up = t->retain_grad = t->has_origin = false;
    t->block = (uint16_t)block;
    t->gradient_in_flight = t->grad = NULL;
    t->references = t->uses = 1;
    t->storage = NULL;
    t->data = NULL;
    t->retains = 0;
    t->saved_version = 0;
    t->args = t->small_args;
    t->ndim = (uint8_t)ndim;
    t->numel = numel;
    t->dtype = dtype;
    t->shape = (int64_t *)(own_storage(t) + 1);
    t->strides = t->shape + ndim;
    own_storage(t)->references = 0;
    heed_self.live_tensors++;
    heed_join_scope(t);
    return t;
}

INLINE heed_tensor *new_tensor(const char *function, int ndim, const int64_t *shape, int64_t numel,
                               heed_dtype dtype)
{
    const size_t bytes = (size_t)numel * heed_dtype_size(dtype);
    heed_tensor *t = new_handle(function, ndim, numel, dtype, is_inside(bytes) ? bytes : 0);
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        t->shape[i] = shape[i];
        t->strides[i] = stride;
        stride *= shape[i] > 1 ? shape[i] : 1;
    }
    heed_storage *storage = own_storage(t);
    storage->data = is_inside(bytes) ? t->shape + 2 * ndim : heed_alloc_sized(bytes);
    storage->bytes = bytes;
    storage->references = 1;
    storage->version = 0;
    t->storage = storage;
    t->data = storage->data;
    return t;
}

heed_tensor *heed_tensor_new(const char *function, const heed_shape *shape, heed_dtype dtype)
{
    const int64_t numel = heed_count_elements(function, shape->ndim, shape->size, dtype);
    return new_tensor(function, shape->ndim, shape->size, numel, dtype);
}

heed_tensor *heed_tensor_like(const heed_tensor *t)
{
    return new_tensor("like", t->ndim, t->shape, t->numel, t->dtype);
}

heed_tensor *heed_tensor_view(const char *function, const heed_tensor *t, int ndim,
                              const int64_t *shape, const int64_t *strides, int64_t offset)
{
    const int64_t numel = heed_count_elements(function, ndim, shape, t->dtype);
    heed_tensor *view = new_handle(function, ndim, numel, t->dtype, 0);
    for (int i = 0; i < ndim; i++) {
        view->shape[i] = shape[i];
        view->strides[i] = strides[i];
    }
    t->storage->references++;
    view->storage = t->storage;
    view->data = (char *)t->data + (numel > 0 ? offset * (int64_t)heed_dtype_size(t->dtype) : 0);
    return view;
}

void *heed_scratch(size_t size)
{
    const int64_t bytes = (int64_t)size;
    return new_tensor("scratch", 1, &bytes, bytes, HEED_BOOL)->data;
}
