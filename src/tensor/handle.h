/* Handles and storages: creation, release, reference counts and versions; the scopes that own them
 * (internal).
 *
 * A new tensor belongs to no scope. The caller holds one reference and one use, and either passes
 * them to a scope with heed_join_scope or releases them with heed_unref.
 */
#ifndef HEED_TENSOR_HANDLE_H
#define HEED_TENSOR_HANDLE_H

#include "tensor.h"
#include "thread.h"

/* heed_tensor_new: a contiguous tensor with its own storage and uninitialised elements.
 * heed_tensor_like: the same with t's shape and dtype, which are not checked again.
 * heed_tensor_view: a tensor on t's storage. `offset` counts elements from t->data.
 * `function` names the caller in errors. */
heed_tensor *heed_tensor_new(const char *function, int ndim, const int64_t *shape,
                             heed_dtype dtype);
heed_tensor *heed_tensor_like(const heed_tensor *t);
heed_tensor *heed_tensor_view(const char *function, const heed_tensor *t, int ndim,
                              const int64_t *shape, const int64_t *strides, int64_t offset);

/* ---- counts ---- */

/* For the functions below. heed_release_value: releases t's storage, which is freed with its last
 * tensor. heed_release_handle: frees the handle, and the part of the graph that only it kept
 * alive. */
void heed_release_value(heed_tensor *t);
void heed_release_handle(heed_tensor *t);

/* A reference keeps the handle alive, a use keeps its value; heed_ref and heed_unref change both
 * counts. */
static inline void heed_drop_reference(heed_tensor *t)
{
    if (--t->references == 0) {
        heed_release_handle(t);
    }
}

static inline void heed_drop_use(heed_tensor *t)
{
    if (--t->uses == 0) {
        heed_release_value(t);
    }
}

static inline void heed_ref(heed_tensor *t)
{
    t->references++;
    t->uses++;
}

static inline void heed_unref(heed_tensor *t)
{
    heed_drop_use(t);
    heed_drop_reference(t);
}

/* heed_raise_version: call it after changing t's elements. */
static inline void heed_raise_version(heed_tensor *t)
{
    t->storage->version++;
}

/* heed_number_at: the element data[offset] of any dtype, as a double.
 * heed_set_number_at: sets it, cast as in C. */
static inline double heed_number_at(const heed_tensor *t, int64_t offset)
{
    return t->dtype == HEED_F32   ? (double)((const float *)t->data)[offset]
           : t->dtype == HEED_F64 ? ((const double *)t->data)[offset]
           : t->dtype == HEED_I64 ? (double)((const int64_t *)t->data)[offset]
                                  : ((const bool *)t->data)[offset];
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

/* heed_replace_grad: replaces t->grad with `grad` (NULL: none), taking over its counts. */
void heed_replace_grad(heed_tensor *t, heed_tensor *grad);

/* heed_share_storage: makes the leaf t use the storage of `value`, which has t's shape, and clears
 * t->grad, like torch's t.data = value. */
void heed_share_storage(heed_tensor *t, const heed_tensor *value);

/* ---- the thread's list of tensors owned by its scopes, and scopes for Heed's own functions ----
 *
 * Defined in scope.c; scope.h is for callers. The innermost scope's tensors come first. Each tensor
 * stores the depth of its scope; depths never increase along the list, so ending a scope removes a
 * prefix of it. */

/* heed_join_scope: passes the caller's reference and use to the innermost open scope. Returns t, or
 * NULL with t released if no scope is open. */
heed_tensor *heed_join_scope(const char *function, heed_tensor *t);

/* heed_tensor_create: heed_tensor_new for public functions; the tensor belongs to the innermost
 * scope. NULL while an error is pending. */
heed_tensor *heed_tensor_create(const char *function, heed_shape shape, heed_dtype dtype);

/* heed_end_depth: ends the scopes at this depth and deeper. HEED_ERR_SCOPE: none of them was open,
 * or more than one was. heed_release_scopes: the same without an error. */
heed_status heed_end_depth(int depth);
void heed_release_scopes(int depth);

/* heed_frame_begin, heed_frame_end: a scope around a forward function or a derivative. It begins
 * and ends in one function, so it needs none of the checks of a caller's scope. If no tensor joined
 * it, as in most forward functions, it costs a few instructions. */
typedef struct heed_frame {
    int depth;
    bool grad_disabled; /* to restore */
} heed_frame;

static inline heed_frame heed_frame_begin(bool grad_disabled)
{
    const heed_frame frame = {++heed_self.depth, heed_self.grad_disabled};
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

/* heed_take_from_scope: gives the caller a reference and a use of t: those of the innermost scope
 * if t was the last tensor to join it, new ones otherwise. */
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

#endif
