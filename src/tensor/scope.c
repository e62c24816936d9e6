/* Scopes: ownership of the tensors that functions return; the end of a thread; checks of
 * arguments.
 *
 * The thread has one list of owned tensors (tensor.h); ending a scope releases its first part.
 * All other data of a scope is in the caller's struct. Only the struct of the scope being ended is
 * read, because the structs of scopes left open by functions that have returned are in dead stack
 * frames. */
#include "tensor.h"

#include <stdlib.h>

/* ---- the list of owned tensors ---- */

static inline void release_first(void)
{
    heed_tensor *t = heed_self.tensors;
    heed_self.tensors = t->next;
    t->scope_depth = 0;
    t->next = NULL;
    heed_unref(t);
}

void heed_release_scopes(int depth)
{
    while (heed_self.tensors != NULL && heed_self.tensors->scope_depth >= depth) {
        release_first();
    }
    heed_self.depth = depth - 1;
}

heed_status heed_end_depth(int depth)
{
    const int left_open = heed_self.depth - depth;
    heed_release_scopes(depth);
    return left_open > 0
               ? heed_fail(HEED_ERR_SCOPE,
                           "scope_end: %d scope(s) inside this one were still open; end each one",
                           left_open)
               : heed_self.error;
}

/* ---- the door ---- */

void heed_land(const heed_door *door)
{
    while (heed_self.tensors != door->tensors) {
        release_first();
    }
    heed_self.operation = door->operation;
    heed_self.derivative = door->derivative;
    heed_self.place = door->place;
    heed_self.depth = door->depth;
    heed_self.grad_disabled = door->grad_disabled;
    if (heed_self.unread_depth > door->depth) {
        heed_self.unread_depth = door->depth;
    }
}

heed_status heed_try(void (*work)(void *context), void *context)
{
    heed_door door;
    heed_open_door(&door);
    heed_self.depth++;
    if (setjmp(door.jump) == 0) {
        work(context);
    }
    heed_land(&door);
    heed_close_door(&door);
    return heed_self.error;
}

/* ---- threads ---- */

static int64_t ended_tensors, ended_bytes; /* that threads left when they ended; atomic */

static void end_thread(void *self)
{
    (void)self;
    heed_report_unread("a thread ended with");
    heed_release_scopes(1);
    heed_empty_cache();
    free(heed_self.rest);
    heed_self.rest = NULL;
    heed_self.message = NULL;
    __atomic_add_fetch(&ended_tensors, heed_self.live_tensors, __ATOMIC_RELAXED);
    __atomic_add_fetch(&ended_bytes, heed_self.live_bytes, __ATOMIC_RELAXED);
    heed_self.live_tensors = heed_self.live_bytes = 0;
}

int64_t heed_live_tensors(void)
{
    return heed_self.live_tensors + __atomic_load_n(&ended_tensors, __ATOMIC_RELAXED);
}

int64_t heed_live_bytes(void)
{
    return heed_self.live_bytes + __atomic_load_n(&ended_bytes, __ATOMIC_RELAXED);
}

/* Before main, because programs may use up all keys. */
__attribute__((constructor)) static void begin_process(void)
{
    heed_has_thread_key = pthread_key_create(&heed_thread_key, end_thread) == 0;
}

/* ---- scopes of callers ---- */

/* Beginning another scope after the end of the one in which an error occurred shows that the
 * program has continued past the error. A scope inside that scope may belong to an expression that
 * is still being evaluated. */
heed_scope heed_scope_opened(heed_scope *scope, bool no_grad)
{
    if (heed_self.unread && (heed_self.depth < heed_self.unread_depth || heed_self.depth == 0)) {
        heed_report_unread("this program continues after");
    }
    const heed_frame frame = heed_frame_begin(no_grad);
    return (heed_scope){scope, frame.depth, frame.grad_disabled};
}

void heed_scope_begin(heed_scope *scope)
{
    if (scope != NULL) {
        *scope = heed_scope_opened(scope, false);
    } else {
        heed_fail(HEED_ERR_NULL, "scope_begin: scope is NULL");
    }
}

/* A callback cannot end scopes that were open when it was called. */
static bool is_open(const heed_scope *scope)
{
    return scope->self == scope && scope->depth <= heed_self.depth &&
           scope->depth > heed_self.outermost;
}

static heed_status check_open(const char *function, const heed_scope *scope)
{
    if (scope == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: scope is NULL", function);
    }
    if (!is_open(scope)) {
        return heed_fail(HEED_ERR_SCOPE,
                         "%s: this scope is not open; begin and end each scope once", function);
    }
    return HEED_OK;
}

heed_status heed_scope_end(heed_scope *scope)
{
    const heed_status status = check_open("scope_end", scope);
    if (status != HEED_OK) {
        return status;
    }
    heed_self.grad_disabled = scope->grad_disabled;
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
    if (check_open(function, scope) != HEED_OK || heed_check_tensor(function, "t", t) != HEED_OK) {
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
    if (heed_check_tensor("retain", "t", t) != HEED_OK) {
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

/* ---- checks of arguments ---- */

heed_status heed_fail_tensor(const char *function, const char *argument, const heed_tensor *t)
{
    if (t == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: %s is NULL", function, argument);
    }
    return heed_fail(HEED_ERR_SCOPE, "%s: the value of %s %s has been freed; %s", function,
                     argument, HEED_TEXT(t),
                     heed_self.derivative != NULL
                         ? "if it is an input or the result, declare it in .saves"
                         : "heed_retain it in its scope");
}

void heed_check_operand(const char *function, const char *argument, const heed_tensor *x)
{
    heed_check_tensor(function, argument, x);
    heed_check_scope(function);
}

void heed_check_value(const char *function, double value, heed_dtype dtype)
{
    const double limit = 9223372036854775808.0; /* 2^63 */
    if (dtype == HEED_I64 && !(value >= -limit && value < limit)) {
        heed_fail(HEED_ERR_VALUE, "%s: i64 cannot hold %g", function, value);
    }
}

void heed_check_probability(const char *function, const char *argument, double p)
{
    if (!(p >= 0 && p <= 1)) { /* true for NaN */
        heed_fail(HEED_ERR_VALUE, "%s: %s is %g, which is outside [0, 1]", function, argument, p);
    }
}
