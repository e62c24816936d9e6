/* Handles and storages: creation, release, reference counts and versions (internal).
 *
 * A new tensor belongs to no scope. The caller holds one reference and one use, and either passes
 * them to a scope with heed_join_scope (scope_list.h) or releases them with heed_unref.
 */
#ifndef HEED_TENSOR_HANDLE_H
#define HEED_TENSOR_HANDLE_H

#include "tensor.h"

/* heed_tensor_new: a contiguous tensor with its own storage and uninitialised elements.
 * heed_tensor_like: the same with t's shape and dtype, which are not checked again.
 * heed_tensor_view: a tensor on t's storage. `offset` counts elements from t->data.
 * `function` names the caller in errors; for heed_tensor_like it may be NULL, if no user called it.
 */
heed_tensor *heed_tensor_new(const char *function, int ndim, const int64_t *shape,
                             heed_dtype dtype);
heed_tensor *heed_tensor_like(const char *function, const heed_tensor *t);
heed_tensor *heed_tensor_view(const char *function, const heed_tensor *t, int ndim,
                              const int64_t *shape, const int64_t *strides, int64_t offset);

/* ---- counts ---- */

/* Only shared tensors are counted atomically, because atomics would cost as much as all other work
 * on a node. */
static inline int heed_add_count(int *count, int by, bool shared)
{
    if (shared) {
        return __atomic_add_fetch(count, by, __ATOMIC_ACQ_REL);
    }
    return *count += by;
}

/* For the functions below. heed_release_value: releases t's storage, which is freed with its last
 * tensor. heed_release_handle: frees the handle, and the part of the graph that only it kept
 * alive. */
void heed_release_value(heed_tensor *t);
void heed_release_handle(heed_tensor *t);

/* A reference keeps the handle alive, a use keeps its value; heed_ref and heed_unref change both
 * counts. */
static inline void heed_add_reference(heed_tensor *t)
{
    heed_add_count(&t->references, 1, t->shared);
}

static inline void heed_drop_reference(heed_tensor *t)
{
    if (heed_add_count(&t->references, -1, t->shared) == 0) {
        heed_release_handle(t);
    }
}

static inline void heed_add_use(heed_tensor *t)
{
    heed_add_count(&t->uses, 1, t->shared);
}

static inline void heed_drop_use(heed_tensor *t)
{
    if (heed_add_count(&t->uses, -1, t->shared) == 0) {
        heed_release_value(t);
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

/* heed_saves_input: true if the node t holds a use of input i. */
static inline bool heed_saves_input(const heed_tensor *t, int i)
{
    return i < HEED_SAVED_INPUTS && (t->saved >> i & 1) != 0;
}

/* heed_raise_version: call it after changing t's elements. */
static inline void heed_raise_version(heed_tensor *t)
{
    heed_storage *storage = t->storage;
    if (storage->shared) {
        __atomic_add_fetch(&storage->version, 1, __ATOMIC_RELAXED);
    } else {
        storage->version++;
    }
}

/* heed_number_at: the element data[offset] of any dtype, as a double.
 * heed_set_number_at: sets it, cast as in C. */
static inline double heed_number_at(const heed_tensor *t, int64_t offset)
{
    switch (t->dtype) {
    case HEED_F32:
        return (double)((const float *)t->data)[offset];
    case HEED_F64:
        return ((const double *)t->data)[offset];
    case HEED_I64:
        return (double)((const int64_t *)t->data)[offset];
    default:
        return ((const bool *)t->data)[offset];
    }
}

static inline void heed_set_number_at(heed_tensor *t, int64_t offset, double value)
{
    switch (t->dtype) {
    case HEED_F32:
        ((float *)t->data)[offset] = (float)value;
        break;
    case HEED_F64:
        ((double *)t->data)[offset] = value;
        break;
    case HEED_I64:
        ((int64_t *)t->data)[offset] = (int64_t)value;
        break;
    default:
        ((bool *)t->data)[offset] = value != 0;
    }
}

/* heed_take_grad: replaces t->grad with `grad` (NULL: none), taking over its reference and use. */
void heed_take_grad(heed_tensor *t, heed_tensor *grad);

/* heed_share_storage: makes t use the storage of `value`, which has t's shape. */
void heed_share_storage(heed_tensor *t, const heed_tensor *value);

#endif
