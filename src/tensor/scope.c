/* Scopes: who owns the tensors that functions return.
 *
 * The thread keeps one list of tensors, the innermost scope's first; each tensor bears the depth
 * of its scope, so depths never rise along the list and the end of a scope is a prefix of it. All
 * else that a scope needs lies in the caller's struct, and only the one that is being ended is
 * read: scopes left open by functions that have returned lie in dead stack frames. */
#include "scope.h"

#include "core.h"

static void begin(heed_scope *scope, bool grad_disabled)
{
    heed_thread *self = &heed_self;
    if (scope == NULL) {
        heed_fail(HEED_ERR_NULL, "scope_begin: scope is NULL");
        return;
    }
    scope->self = scope;
    scope->thread = self;
    scope->depth = ++self->depth;
    scope->serial = ++self->scopes_begun;
    if (scope->depth < HEED_TRACKED_SCOPES) {
        self->serials[scope->depth] = scope->serial;
    }
    scope->grad_mode = !self->grad_disabled;
    self->grad_disabled = self->grad_disabled || grad_disabled;
}

void heed_scope_begin(heed_scope *scope)
{
    begin(scope, false);
}

void heed_scope_begin_no_grad(heed_scope *scope)
{
    begin(scope, true);
}

/* Was this very scope the last to begin at its depth? Of those nested too deep to tell, yes. */
static bool is_current(const heed_scope *scope)
{
    return scope->depth >= HEED_TRACKED_SCOPES || heed_self.serials[scope->depth] == scope->serial;
}

static heed_status check_open(const char *function, const heed_scope *scope)
{
    if (scope == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: scope is NULL", function);
    }
    if (scope->self != scope || scope->thread != &heed_self || scope->depth > heed_self.depth ||
        !is_current(scope)) {
        return heed_fail(HEED_ERR_SCOPE,
                         "%s: this scope is not open in this thread; each is begun and ended once",
                         function);
    }
    return HEED_OK;
}

/* Lets go of the tensors of all scopes of this depth and deeper. */
static void let_go(int depth)
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

void heed_end_all_scopes(void)
{
    let_go(1);
    heed_self.depth = 0;
}

heed_status heed_end_depth(int depth)
{
    heed_thread *self = &heed_self;
    int left_open = self->depth - depth;
    if (left_open < 0) {
        return heed_fail(HEED_ERR_SCOPE, "scope_end: the scope outside was ended before this one");
    }
    let_go(depth);
    self->depth = depth - 1;
    if (left_open > 0) {
        return heed_fail(HEED_ERR_SCOPE, "scope_end: %d scope(s) inside this one were still open",
                         left_open);
    }
    return self->error;
}

heed_status heed_scope_end(heed_scope *scope)
{
    heed_status status = check_open("scope_end", scope);
    if (status != HEED_OK) {
        return status;
    }
    heed_self.grad_disabled = !scope->grad_mode;
    scope->self = NULL;
    return heed_end_depth(scope->depth);
}

/* The place in the list behind the last tensor of this depth or deeper. */
static heed_tensor **outside(int depth)
{
    heed_tensor **link = &heed_self.tensors;
    while (*link != NULL && (*link)->scope_depth >= depth) {
        link = &(*link)->next;
    }
    return link;
}

static heed_tensor *keep(const char *function, heed_scope *scope, heed_tensor *t)
{
    if (heed_blocked() || check_open(function, scope) != HEED_OK ||
        heed_check_tensor(function, "t", t) != HEED_OK) {
        return NULL;
    }
    if (t->scope_depth < scope->depth) {
        return t; /* a parameter, or a tensor from outside */
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
            return t; /* of a scope of another thread */
        }
        from = &(*from)->next;
    }
    *from = t->next;
    heed_tensor **to = outside(scope->depth);
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

heed_status heed_check_scope(const char *function)
{
    if (!heed_blocked() && heed_self.depth == 0) {
        return heed_fail(HEED_ERR_SCOPE,
                         "%s: no scope is open to own the result; heed_scope_begin first",
                         function);
    }
    return heed_self.error;
}

heed_tensor *heed_join_scope(const char *function, heed_tensor *t)
{
    heed_thread *self = &heed_self;
    if (heed_check_scope(function) != HEED_OK) {
        heed_unref(t);
        return NULL;
    }
    t->scope_depth = self->depth;
    t->next = self->tensors;
    self->tensors = t;
    return t;
}

heed_tensor *heed_retain(heed_tensor *t)
{
    if (heed_blocked() || heed_check_tensor("retain", "t", t) != HEED_OK) {
        return NULL;
    }
    heed_ref(t);
    __atomic_add_fetch(&t->retains, 1, __ATOMIC_RELAXED);
    return t;
}

heed_status heed_release(heed_tensor *t)
{
    if (t == NULL) {
        return heed_self.error;
    }
    if (__atomic_load_n(&t->retains, __ATOMIC_RELAXED) <= 0) {
        return heed_fail(HEED_ERR_SCOPE,
                         "release: a tensor %s that was not retained; its scope lets it go",
                         HEED_TEXT(t));
    }
    __atomic_sub_fetch(&t->retains, 1, __ATOMIC_RELAXED);
    heed_unref(t);
    return heed_self.error;
}

bool heed_set_grad_enabled(bool enabled)
{
    bool was = !heed_self.grad_disabled;
    heed_self.grad_disabled = !enabled;
    return was;
}

bool heed_grad_enabled(void)
{
    return !heed_self.grad_disabled;
}
