/* The list of owned tensors: adding to it, and releasing its first part at the end of a scope. */
#include "scope_list.h"

#include "check.h"

heed_tensor *heed_join_scope(const char *function, heed_tensor *t)
{
    heed_thread *self = &heed_self;
    if (heed_blocked() || self->depth == 0) {
        heed_check_scope(function);
        heed_unref(t);
        return NULL;
    }
    t->scope_depth = self->depth;
    t->next = self->tensors;
    self->tensors = t;
    return t;
}

heed_tensor *heed_tensor_create(const char *function, heed_shape shape, heed_dtype dtype)
{
    if (heed_blocked()) {
        return NULL;
    }
    heed_tensor *t = heed_tensor_new(function, shape.ndim, shape.size, dtype);
    return t != NULL ? heed_join_scope(function, t) : NULL;
}

/* Releases the tensors of all scopes at this depth and deeper. */
static void release_tensors(int depth)
{
    heed_thread *self = &heed_self;
    while (self->tensors != NULL && self->tensors->scope_depth >= depth) {
        heed_tensor *t = self->tensors;
        self->tensors = t->next;
        t->scope_depth = 0;
        t->next = NULL;
        heed_unref(t);
    }
}

heed_status heed_end_depth(int depth)
{
    heed_thread *self = &heed_self;
    int left_open = self->depth - depth;
    if (left_open < 0) {
        return heed_fail(HEED_ERR_SCOPE, "scope_end: an enclosing scope was ended before this one");
    }
    release_tensors(depth);
    self->depth = depth - 1;
    if (left_open > 0) {
        return heed_fail(
            HEED_ERR_SCOPE,
            "scope_end: %d scope(s) inside this one were still open; end each one, and call "
            "heed_module_ready in each constructor",
            left_open);
    }
    return self->error;
}

static void end_all_scopes(void)
{
    release_tensors(1);
    heed_self.depth = 0;
}

__attribute__((constructor)) static void clean_up_at_thread_end(void)
{
    heed_at_thread_end(HEED_THREAD_SCOPES, end_all_scopes);
}
