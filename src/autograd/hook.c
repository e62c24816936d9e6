/* Calls the hooks of this thread, and keeps the path of the module that is running. */
#include "autograd.h"

#include <string.h>

static _Thread_local bool in_callback; /* what a callback computes is not seen */

void heed_hook_add(heed_hook *hook)
{
    if (hook == NULL) {
        heed_fail(HEED_ERR_NULL, "hook_add: hook is NULL");
        return;
    }
    heed_hook_remove(hook);
    heed_hook **link = &heed_self.hooks;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    hook->next = NULL;
    *link = hook;
}

void heed_hook_remove(heed_hook *hook)
{
    heed_hook **link = &heed_self.hooks;
    while (*link != NULL && *link != hook) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = hook->next;
    }
}

static void check_replacement(const heed_call *call, const heed_tensor *y, const heed_tensor *other)
{
    heed_check_tensor(call->op->name, "a hook's tensor", other);
    if (other->dtype != y->dtype || !heed_same_shape(other, y)) {
        heed_raise(other->dtype != y->dtype ? HEED_ERR_DTYPE : HEED_ERR_SHAPE,
                   "%s: a hook returned %s %s in place of the result %s %s; return a tensor of the "
                   "same shape and dtype, or the result",
                   call->op->name, heed_dtype_name(other->dtype), HEED_TEXT(other),
                   heed_dtype_name(y->dtype), HEED_TEXT(y));
    }
}

heed_tensor *heed_call_result_hooks(const heed_call *call, heed_tensor *y)
{
    heed_hook *hook = in_callback ? NULL : heed_self.hooks;
    for (; hook != NULL; hook = hook->next) {
        if (hook->result != NULL) {
            HEED_SCOPE(scope);
            const heed_callback outer = heed_callback_begin();
            in_callback = true;
            heed_tensor *other = hook->result(hook, call, y);
            in_callback = false;
            heed_callback_end(outer);
            heed_pass_on();
            if (other != NULL) {
                check_replacement(call, y, other);
                y = heed_scope_keep(&scope, other);
            }
        }
    }
    return y;
}

void heed_call_derivative_hooks(const heed_vjp *vjp)
{
    heed_hook *hook = in_callback ? NULL : heed_self.hooks;
    for (; hook != NULL; hook = hook->next) {
        if (hook->derivative != NULL) {
            const heed_frame frame = heed_frame_begin(false);
            const heed_callback outer = heed_callback_begin();
            const char *function = heed_self.operation;
            heed_self.operation = NULL; /* for messages: the callback is no operation's forward */
            in_callback = true;
            hook->derivative(hook, vjp);
            in_callback = false;
            heed_self.operation = function;
            heed_callback_end(outer);
            heed_pass_on();
            heed_frame_end(frame);
        }
    }
}

/* ---- module paths ---- */

heed_text heed_module_path(void)
{
    heed_text path;
    size_t at = sizeof path.text - 1; /* written from the end */
    path.text[at] = '\0';
    for (const heed_place *place = heed_self.place; place != NULL; place = place->outer) {
        const size_t dot = place->outer != NULL, length = strlen(place->name);
        if (dot + length > at) {
            break;
        }
        at -= length;
        memcpy(path.text + at, place->name, length);
        at -= dot;
        path.text[at] = dot > 0 ? '.' : path.text[at];
    }
    memmove(path.text, path.text + at, sizeof path.text - at);
    return path;
}

heed_text heed_place_text(heed_text path)
{
    heed_text text;
    snprintf(text.text, sizeof text.text, "%s%.155s", *path.text != '\0' ? " in " : "", path.text);
    return text;
}

const heed_place *heed_enter_place(const heed_place *place)
{
    const heed_place *before = heed_self.place;
    heed_self.place = place;
    return before;
}

void heed_leave_place(const heed_place **before)
{
    heed_self.place = *before;
}
