/* Scopes: ownership of the tensors that functions return.
 *
 * The thread has one list of owned tensors (handle.h); ending a scope releases its first part.
 * All other data of a scope is in the caller's struct. Only the struct of the scope being ended is
 * read, because the structs of scopes left open by functions that have returned are in dead stack
 * frames. */
#include "scope.h"

#include "check.h"
#include "handle.h"
#include "shape.h"

/* ---- the list of owned tensors ---- */

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
        self->operation = NULL; /* a longjmp may have left it */
        return heed_fail(HEED_ERR_SCOPE,
                         "scope_end: %d scope(s) inside this one were still open; end each one",
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

/* ---- scopes of callers ---- */

/* Begins a caller's scope, and returns the content of its struct, which is at `place`. */
static heed_scope opened(heed_scope *place, bool grad_disabled)
{
    heed_report_unread();
    const heed_frame frame = heed_frame_begin(grad_disabled);
    return (heed_scope){
        .self = place,
        .thread = &heed_self,
        .depth = frame.depth,
        .serial = heed_self.scopes_begun,
        .grad_mode = !frame.grad_disabled,
    };
}

static void begin(heed_scope *scope, bool grad_disabled)
{
    if (scope == NULL) {
        heed_fail(HEED_ERR_NULL, "scope_begin: scope is NULL");
        return;
    }
    *scope = opened(scope, grad_disabled);
}

void heed_scope_begin(heed_scope *scope)
{
    begin(scope, false);
}

void heed_scope_begin_no_grad(heed_scope *scope)
{
    begin(scope, true);
}

heed_scope heed_scope_opened(heed_scope *scope)
{
    return opened(scope, false);
}

heed_scope heed_scope_opened_no_grad(heed_scope *scope)
{
    return opened(scope, true);
}

static bool is_open(const heed_scope *scope)
{
    return scope->self == scope && scope->thread == &heed_self &&
           heed_is_scope_open(scope->depth, scope->serial);
}

static heed_status check_open(const char *function, const heed_scope *scope)
{
    if (scope == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: scope is NULL", function);
    }
    if (!is_open(scope)) {
        return heed_fail(HEED_ERR_SCOPE,
                         "%s: this scope is not open in this thread; begin and end each scope once",
                         function);
    }
    return HEED_OK;
}

heed_status heed_scope_end(heed_scope *scope)
{
    const heed_status status = check_open("scope_end", scope);
    if (status != HEED_OK) {
        return status;
    }
    heed_self.grad_disabled = !scope->grad_mode;
    scope->self = NULL;
    return heed_end_depth(scope->depth);
}

void heed_scope_close(heed_scope *scope)
{
    if (is_open(scope)) {
        heed_scope_end(scope);
    }
}

static heed_tensor *keep(const char *function, heed_scope *scope, heed_tensor *t)
{
    if (heed_blocked() || check_open(function, scope) != HEED_OK ||
        heed_check_tensor(function, "t", t) != HEED_OK) {
        return NULL;
    }
    if (t->scope_depth < scope->depth) {
        return t; /* a parameter, or a tensor from an outer scope */
    }
    if (scope->depth == 1) {
        heed_fail(HEED_ERR_SCOPE,
                  "%s: no scope is open outside this one; heed_retain keeps a tensor beyond all "
                  "scopes",
                  function);
        return NULL;
    }
    heed_tensor **from = &heed_self.tensors;
    while (*from != t) {
        if (*from == NULL) {
            return t; /* it belongs to a scope of another thread */
        }
        from = &(*from)->next;
    }
    *from = t->next;
    heed_tensor **to = &heed_self.tensors; /* the first link after this scope's tensors */
    while (*to != NULL && (*to)->scope_depth >= scope->depth) {
        to = &(*to)->next;
    }
    t->next = *to;
    *to = t;
    t->scope_depth = scope->depth - 1;
    return t;
}

heed_tensor *heed_scope_keep(heed_scope *scope, heed_tensor *t)
{
    return keep("scope_keep", scope, t);
}

heed_tensor *heed_scope_end_with(heed_scope *scope, heed_tensor *t)
{
    heed_tensor *kept = keep("scope_end_with", scope, t);
    return heed_scope_end(scope) == HEED_OK ? kept : NULL;
}

/* ---- owners other than scopes; the grad mode ---- */

heed_tensor *heed_retain(heed_tensor *t)
{
    if (heed_blocked() || heed_check_tensor("retain", "t", t) != HEED_OK) {
        return NULL;
    }
    heed_ref(t);
    t->retains++;
    return t;
}

heed_status heed_release(heed_tensor *t)
{
    if (t == NULL) {
        return heed_self.error;
    }
    if (t->retains <= 0) {
        return heed_fail(HEED_ERR_SCOPE,
                         "release: the tensor %s was not retained; its scope will release it",
                         HEED_TEXT(t));
    }
    t->retains--;
    heed_unref(t);
    return heed_self.error;
}

bool heed_set_grad_enabled(bool enabled)
{
    bool was = !heed_self.grad_disabled;
    heed_self.grad_disabled = !enabled;
    return was;
}

bool heed_is_grad_enabled(void)
{
    return !heed_self.grad_disabled;
}
