/* Calls the observers of this thread, and stores where nodes were created. */
#include "observer.h"

#include <stdio.h>
#include <string.h>

#include "../tensor/alloc.h"
#include "../tensor/handle.h"
#include "../tensor/read.h"
#include "../tensor/scope.h"
#include "../tensor/shape.h"
#include "../tensor/thread.h"
#include "module_path.h"
#include "notify.h"

static _Thread_local heed_observer *first;    /* the list, in the order of addition */
static _Thread_local heed_observer *upcoming; /* called after the one whose callback runs */
static _Thread_local int callback_depth;      /* of the callback's scope; 0: no callback runs */
static _Thread_local int64_t additions;       /* an observer's serial is its number among them */

/* ---- callbacks ---- */

/* The first observer to call; NULL while a callback runs. One that a longjmp left runs until its
 * scope ends. */
static heed_observer *first_observer(void)
{
    const bool runs = callback_depth > 0 && callback_depth <= heed_self.depth;
    return runs ? NULL : first;
}

static heed_frame begin_callback(const heed_observer *observer)
{
    const heed_frame frame = heed_frame_begin(false);
    upcoming = observer->next;
    callback_depth = frame.depth;
    return frame;
}

static void end_callback(heed_frame frame)
{
    callback_depth = 0;
    heed_frame_end(frame);
}

/* An observer that a callback adds is called from the next event on. */
static bool is_due(const heed_observer *observer, int64_t newest)
{
    return observer != NULL && observer->serial <= newest;
}

#define NOTIFY(callback, ...)                                                                      \
    const int64_t newest = additions;                                                              \
    for (heed_observer *o = first_observer(); is_due(o, newest) && !heed_blocked();                \
         o = upcoming) {                                                                           \
        const heed_frame frame = begin_callback(o);                                                \
        if (o->callback != NULL) {                                                                 \
            o->callback(o, __VA_ARGS__);                                                           \
        }                                                                                          \
        end_callback(frame);                                                                       \
    }                                                                                              \
    return heed_self.error

static heed_status notify_backward(const char *function, heed_tensor *y)
{
    NOTIFY(backward, function, y);
}

static heed_status notify_gradient(heed_tensor *node, heed_tensor *g)
{
    NOTIFY(gradient, node, g);
}

static heed_status notify_derivative(const heed_derivative *derivative)
{
    NOTIFY(derivative, derivative);
}

/* ---- results ---- */

static void alias_backward(const heed_vjp *v)
{
    v->grads[0] = v->g;
}

/* A new handle of t, not in any scope yet: t itself may belong to any scope, or to the program. */
static heed_tensor *alias(heed_tensor *t)
{
    static const heed_op op = {.name = "alias", .inputs = 1, .backward = alias_backward};
    heed_tensor *y = heed_tensor_view(op.name, t, t->ndim, t->shape, t->strides, 0);
    if (y != NULL && t->requires_grad && !heed_self.grad_disabled) {
        y->op = &op;
        y->requires_grad = true;
        y->input_count = 1;
        heed_hold_inputs(y, &t);
    }
    return y;
}

static heed_status check_replacement(const heed_call *call, const heed_tensor *y,
                                     const heed_tensor *other)
{
    if (heed_check_tensor(call->op->name, "an observer's tensor", other) != HEED_OK) {
        return heed_self.error;
    }
    if (other->dtype == y->dtype && heed_same_shape(other, y)) {
        return HEED_OK;
    }
    return heed_fail(other->dtype != y->dtype ? HEED_ERR_DTYPE : HEED_ERR_SHAPE,
                     "%s: an observer returned %s %s in place of the result %s %s; return a tensor "
                     "of the same shape and dtype, or the result",
                     call->op->name, heed_dtype_name(other->dtype), HEED_TEXT(other),
                     heed_dtype_name(y->dtype), HEED_TEXT(y));
}

/* The result after one observer; NULL after an error. */
static heed_tensor *ask(heed_observer *observer, const heed_call *call, heed_tensor *y)
{
    const heed_frame frame = begin_callback(observer);
    heed_tensor *other = observer->result != NULL ? observer->result(observer, call, y) : NULL;
    /* y is NULL if the operation failed, even if the callback has read the error. */
    const bool replaces = !heed_blocked() && y != NULL && other != NULL && other != y;
    if (replaces) {
        heed_self.grad_disabled = frame.grad_disabled; /* the callback may have left a scope open */
        other = check_replacement(call, y, other) == HEED_OK ? alias(other) : NULL;
    }
    end_callback(frame);
    if (replaces && other != NULL) {
        y = heed_join_scope(call->op->name, other);
    }
    return heed_blocked() ? NULL : y;
}

static heed_tensor *notify_result(const heed_call *call, const char *outer, heed_tensor *y)
{
    const char *pass = heed_running_pass();
    const bool is_step = outer != pass /* of another operation */ ||
                         (pass != NULL && heed_self.grad_disabled); /* of a derivative */
    const int64_t newest = additions;
    for (heed_observer *o = is_step ? NULL : first_observer(); is_due(o, newest); o = upcoming) {
        y = ask(o, call, y);
    }
    return y;
}

bool heed_in_backward(void)
{
    return heed_running_pass() != NULL;
}

/* ---- where a node was created ---- */

/* Copied, because arguments may have any size and so any alignment. */
static void store_origin(heed_tensor *y)
{
    const heed_text path = heed_module_path();
    memcpy((char *)y->args + y->args_size - sizeof path, &path, sizeof path);
    y->has_origin = true;
}

heed_text heed_origin_path(const heed_tensor *node)
{
    heed_text path = {""};
    if (node->has_origin) {
        memcpy(&path, (const char *)node->args + node->args_size - sizeof path, sizeof path);
    }
    return path;
}

/* ---- the list ---- */

static const struct heed_observer_table table = {
    .result = notify_result,
    .backward = notify_backward,
    .gradient = notify_gradient,
    .derivative = notify_derivative,
    .origin_size = sizeof(heed_text),
    .store_origin = store_origin,
};

heed_status heed_observer_add(heed_observer *observer)
{
    heed_observer **link = &first;
    while (*link != NULL && *link != observer) {
        link = &(*link)->next;
    }
    if (observer == NULL || *link == observer) {
        return heed_fail(observer == NULL ? HEED_ERR_NULL : HEED_ERR_VALUE, "observer_add: %s",
                         observer == NULL ? "the observer is NULL"
                                          : "this thread already has this observer");
    }
    observer->next = NULL;
    observer->serial = ++additions;
    *link = observer;
    heed_self.observers = &table;
    return heed_self.error;
}

heed_status heed_observer_remove(heed_observer *observer)
{
    if (observer == NULL) {
        return heed_fail(HEED_ERR_NULL, "observer_remove: the observer is NULL");
    }
    heed_observer **link = &first;
    while (*link != NULL && *link != observer) {
        link = &(*link)->next;
    }
    if (*link == observer) {
        *link = observer->next;
        heed_self.observers = first != NULL ? &table : NULL;
        upcoming = upcoming == observer ? observer->next : upcoming;
    }
    return heed_self.error;
}
