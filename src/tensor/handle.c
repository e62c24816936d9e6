/* Handles and storages: creation, reference counts and release.
 *
 * Releasing is a loop over a work list linked through the tensors themselves. It never recurses, so
 * freeing a chain of a million operations needs no deep stack. */
#include "tensor.h"

#include <string.h>

#include "kernels/kernels.h"

_Static_assert(sizeof(heed_tensor) <= 224, "a node and a small value must stay under 300 bytes");
_Static_assert(sizeof(heed_storage) <= 64, "a storage must fit in the smallest block");

/* ---- memory ---- */

static inline void *take_block(size_t size)
{
    void *block = heed_pop_block(size);
    return block != NULL ? block : heed_alloc_sized(size);
}

static inline void return_block(void *block, size_t size)
{
    if (!heed_push_block(block, size)) {
        heed_free_sized(block, size);
    }
}

/* Data of up to MOST_INSIDE bytes is stored in the same block as its heed_storage. Larger data has
 * its own block, aligned to 64 bytes. */
enum { MOST_INSIDE = 256 - offsetof(heed_storage, small) };

static size_t block_of(size_t bytes)
{
    const bool fits = bytes <= sizeof((heed_storage *)0)->small || bytes > MOST_INSIDE;
    return fits ? sizeof(heed_storage) : offsetof(heed_storage, small) + bytes;
}

/* ---- releasing ---- */

static void release_storage(heed_storage *storage)
{
    if (--storage->references > 0) {
        return;
    }
    if (storage->bytes > MOST_INSIDE) {
        heed_free_sized(storage->data, storage->bytes);
    }
    const size_t block = block_of(storage->bytes);
    if (block == sizeof *storage) {
        return_block(storage, sizeof *storage); /* inlined: the size is a constant */
    } else {
        heed_free_sized(storage, block);
    }
}

void heed_release_value(heed_tensor *t)
{
    heed_storage *storage = t->storage;
    if (storage != NULL) {
        t->storage = NULL;
        t->data = NULL;
        release_storage(storage);
    }
}

enum { MANY_DIMS = 2 * HEED_MAX_DIMS * sizeof(int64_t) }; /* beyond HEED_FEW_DIMS */

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
    heed_release_value(t);
    if (t->inputs != t->two) {
        heed_free_sized(t->inputs, t->input_count * sizeof *t->inputs);
    }
    if (t->args != t->small_args) {
        heed_free_sized((void *)t->args, t->args_size);
    }
    heed_self.live_tensors--;
    if (HEED_IS_DEBUG) { /* keeps the handle, so that using the tensor later is an error */
        heed_self.live_bytes -= (int64_t)(sizeof *t + (t->shape != t->few ? MANY_DIMS : 0));
        return work;
    }
    if (t->shape != t->few) {
        heed_free_sized(t->shape, MANY_DIMS);
    }
    return_block(t, sizeof *t);
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

/* A handle without a value or a graph. Its fields are set one by one: zeroing the whole struct
 * compiles to a slow rep stos. The inline arrays stay uninitialised. */
INLINE heed_tensor *new_handle(const char *function, int ndim, const int64_t *shape, int64_t numel,
                               heed_dtype dtype)
{
    if (__atomic_load_n(&heed_chosen_kernels, __ATOMIC_ACQUIRE) == NULL) {
        heed_choose_isa();
    }
    heed_check_scope(function);
    heed_tensor *t = take_block(sizeof *t);
    t->op = NULL;
    t->inputs = t->two;
    t->consumers = 0;
    t->input_count = t->args_size = 0;
    t->saved = 0;
    t->requires_grad = t->used_up = t->retain_grad = false;
    t->has_origin = false;
    t->gradient_in_flight = NULL;
    t->references = t->uses = 1;
    t->storage = NULL;
    t->data = NULL;
    t->retains = 0;
    t->saved_version = 0;
    t->grad = NULL;
    t->args = t->small_args;
    t->shape = t->few;
    t->ndim = (uint8_t)ndim;
    t->numel = numel;
    t->dtype = dtype;
    heed_self.live_tensors++;
    heed_join_scope(t);
    if (ndim > HEED_FEW_DIMS) {
        t->shape = heed_alloc_sized(MANY_DIMS);
    }
    t->strides = t->shape + (ndim > HEED_FEW_DIMS ? HEED_MAX_DIMS : HEED_FEW_DIMS);
    for (int i = 0; i < ndim; i++) {
        t->shape[i] = shape[i];
    }
    return t;
}

static void add_storage(heed_tensor *t, size_t bytes)
{
    const size_t block = block_of(bytes);
    heed_storage *storage =
        block == sizeof *storage ? take_block(sizeof *storage) : heed_alloc_sized(block);
    storage->data = storage->small;
    storage->bytes = bytes > MOST_INSIDE ? 0 : bytes;
    storage->references = 1;
    storage->version = 0;
    t->storage = storage;
    if (bytes > MOST_INSIDE) {
        storage->data = heed_alloc_sized(bytes);
        storage->bytes = bytes;
    }
    t->data = storage->data;
}

INLINE heed_tensor *new_tensor(const char *function, int ndim, const int64_t *shape, int64_t numel,
                               heed_dtype dtype)
{
    heed_tensor *t = new_handle(function, ndim, shape, numel, dtype);
    heed_row_major(ndim, t->shape, t->strides);
    add_storage(t, (size_t)numel * heed_dtype_size(dtype));
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
    heed_tensor *view = new_handle(function, ndim, shape, numel, t->dtype);
    for (int i = 0; i < ndim; i++) {
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
