/* The thread's list of the tensors that its scopes own, and scopes for the library's own use
 * (internal; scope.h is for callers).
 *
 * The innermost scope's tensors come first; each tensor holds the depth of its scope, so depths
 * never rise along the list and the end of a scope is a prefix of it.
 */
#ifndef HEED_TENSOR_SCOPE_LIST_H
#define HEED_TENSOR_SCOPE_LIST_H

#include "handle.h"
#include "thread.h"

/* heed_join_scope: hands the caller's reference and use to the innermost open scope; returns t, or
 * NULL with t released if none is open. */
heed_tensor *heed_join_scope(const char *function, heed_tensor *t);

/* heed_tensor_create: heed_tensor_new for a public function: NULL while an error is pending, and
 * the tensor is in the innermost scope. */
heed_tensor *heed_tensor_create(const char *function, heed_shape shape, heed_dtype dtype);

/* heed_are_operands: would heed_check_operands be HEED_OK? */
static inline bool heed_are_operands(heed_tensor *const *inputs, int count)
{
    bool fine = !heed_blocked() && heed_self.depth > 0 && inputs != NULL && count > 0 &&
                count <= UINT16_MAX;
    for (int i = 0; fine && i < count; i++) {
        fine = inputs[i] != NULL && inputs[i]->storage != NULL;
    }
    return fine;
}

/* heed_end_depth: ends the scopes of this depth and deeper. HEED_ERR_SCOPE: more than one was open,
 * or none. */
heed_status heed_end_depth(int depth);

/* heed_frame_begin, heed_frame_end: a scope around a forward or a derivative, which begins and ends
 * in one function. So it needs none of the checks of a caller's scope, and if no tensor joined it,
 * as in most forwards, it takes a few instructions. */
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

/* heed_take_from_scope: if t is the last tensor that joined the innermost scope, the scope's
 * reference and use become the caller's; else the caller gets one of each beside the scope's. */
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
