/* The thread's list of tensors owned by its scopes, and scopes for Heed's own functions (internal;
 * scope.h is for callers).
 *
 * The innermost scope's tensors come first. Each tensor stores the depth of its scope; depths never
 * increase along the list, so ending a scope removes a prefix of it.
 */
#ifndef HEED_TENSOR_SCOPE_LIST_H
#define HEED_TENSOR_SCOPE_LIST_H

#include "handle.h"
#include "thread.h"

/* heed_join_scope: passes the caller's reference and use to the innermost open scope. Returns t, or
 * NULL with t released if no scope is open. */
heed_tensor *heed_join_scope(const char *function, heed_tensor *t);

/* heed_tensor_create: heed_tensor_new for public functions; the tensor belongs to the innermost
 * scope. NULL while an error is pending. */
heed_tensor *heed_tensor_create(const char *function, heed_shape shape, heed_dtype dtype);

/* heed_are_operands: true if heed_check_operands would return HEED_OK. */
static inline bool heed_are_operands(heed_tensor *const *inputs, int count)
{
    if (heed_blocked() || heed_self.depth == 0 || inputs == NULL || count < 1 ||
        count > UINT16_MAX) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (inputs[i] == NULL || inputs[i]->storage == NULL) {
            return false;
        }
    }
    return true;
}

/* heed_end_depth: ends the scopes at this depth and deeper. HEED_ERR_SCOPE: none of them was open,
 * or more than one was. */
heed_status heed_end_depth(int depth);

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
    heed_self.scopes_begun++;
    if (frame.depth < HEED_TRACKED_SCOPES) {
        heed_self.serials[frame.depth] = heed_self.scopes_begun;
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
