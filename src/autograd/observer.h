/* Observers: a program's callbacks for the operations and gradients of a thread, like PyTorch's
 * hooks. heed_trace and anomaly mode are observers too.
 *
 *     static heed_tensor *ablate(heed_observer *observer, const heed_call *call, heed_tensor *y)
 *     {
 *         const bool chosen = strcmp(heed_module_path().text, observer->context) == 0;
 *         return chosen && y != NULL ? heed_mul_scalar(y, 0) : y;
 *     }
 *
 *     heed_observer observer = {.context = "MultiHead.heads.1.W_v", .result = ablate};
 *     heed_observer_add(&observer);
 *     ...
 *     heed_observer_remove(&observer);
 *
 * An observer sees the operations that the program and its modules apply in its thread, not those
 * applied inside another operation. It sees the operations of derivatives only under create_graph,
 * as kernels do the work otherwise; while these run, heed_in_backward is true.
 *
 * - The observers of a thread are called in the order in which they were added. A callback may add
 *   and remove observers; those it adds are called from the next event on.
 * - What a callback computes is not observed, but recorded in the graph like everything else. Its
 *   tensors belong to a scope that ends with the callback; retain what you keep.
 * - An error that a callback leaves pending fails the operation or the pass.
 * - heed_module_path names the running module, and heed_origin_path the one that made a node.
 *
 * Results are the same to the bit with observers. Without them, an operation tests one pointer.
 */
#ifndef HEED_AUTOGRAD_OBSERVER_H
#define HEED_AUTOGRAD_OBSERVER_H

#include "op.h"

HEED_BEGIN_DECLS

/* The type of observers. Its fields are those of struct heed_observer. */
typedef struct heed_observer heed_observer;

/* The gradients that a node's derivative has computed, before they are added to others. */
typedef struct heed_derivative {
    heed_tensor *node, *g;     /* g = dL/dnode */
    heed_tensor *const *grads; /* one per input of the node; NULL: none */
    bool adds_to_grad;         /* leaf gradients will be added to .grad; false in heed_grad */
} heed_derivative;

/* Callbacks get the observer as their first argument; a NULL callback is skipped. */
struct heed_observer {
    void *context; /* for the program */

    /* An operation has computed y, or failed: y is NULL, and an error is pending. Return y or NULL
     * to keep the result, or a tensor of the same shape and dtype to replace it. y itself is never
     * changed, so derivatives that read it stay correct. Gradients flow through what the callback
     * computed. The next observer sees the replacement. Do not replace a view through which the
     * program writes: writes to the replacement do not reach the original. A failed operation
     * cannot be replaced: it returns NULL even if the callback clears the error.
     *
     * HEED_ERR_SHAPE, HEED_ERR_DTYPE: the replacement differs from y in shape or dtype. */
    heed_tensor *(*result)(heed_observer *self, const heed_call *call, heed_tensor *y);

    /* `function` (backward, backward_retain, grad) is about to differentiate y. */
    void (*backward)(heed_observer *self, const char *function, heed_tensor *y);

    /* The gradient of a node is complete: g = dL/dnode, the sum over its consumers. Not called
     * for leaves, whose gradients end up in .grad, or in the results of heed_grad. */
    void (*gradient)(heed_observer *self, heed_tensor *node, heed_tensor *g);

    /* A node's derivative has run. */
    void (*derivative)(heed_observer *self, const heed_derivative *derivative);

    heed_observer *next; /* in the list of its thread; set by heed_observer_add, like the next */
    int64_t serial;
};

/* heed_observer_add: adds an observer to those of this thread. The struct is not copied: it must
 * stay where it is until it is removed. heed_observer_remove: removes it; a no-op if it was not
 * added. Both work while an error is pending, and need no memory.
 * HEED_ERR_NULL: the observer is NULL. HEED_ERR_VALUE: it was already added. */
heed_status heed_observer_add(heed_observer *observer);
heed_status heed_observer_remove(heed_observer *observer);

/* heed_in_backward: true while a backward pass runs in this thread.
 * heed_origin_path: heed_module_path when the node was created; "" if nothing observed it. */
bool heed_in_backward(void);
heed_text heed_origin_path(const heed_tensor *node);

HEED_END_DECLS
#endif
