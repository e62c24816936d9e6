/* Hooks: your callbacks for the operations and derivatives of a thread, as PyTorch's hooks; and two
 * that come with Heed: a trace, and a search for the first NaN.
 *
 *     static heed_tensor *ablate(heed_hook *hook, const heed_call *call, heed_tensor *y)
 *     {
 *         return strcmp(heed_module_path().text, hook->context) == 0 ? heed_mul_scalar(y, 0) : y;
 *     }
 *
 *     heed_hook hook = {.context = "MultiHead.heads.1.W_v", .result = ablate};
 *     heed_hook_add(&hook);
 *     ...
 *     heed_hook_remove(&hook);
 *
 * A hook sees the operations that the program and its modules apply in its thread, not those inside
 * another operation; those of derivatives only under create_graph, as kernels do the work
 * otherwise. What a callback computes is not seen, but recorded in the graph like everything else.
 * Its tensors belong to a scope that ends with the callback; retain what you keep. An error that a
 * callback leaves pending fails the operation or the pass. Hooks change no bit of any result. */
#ifndef HEED_AUTOGRAD_HOOK_H
#define HEED_AUTOGRAD_HOOK_H

#include <stdio.h>

#include "op.h"

HEED_BEGIN_DECLS

/* The type of hooks. Its fields are those of struct heed_hook. */
typedef struct heed_hook heed_hook;

struct heed_hook {
    void *context; /* yours */

    /* An operation has computed y. Return y or NULL to keep it, or a tensor of the same shape and
     * dtype to replace it; gradients flow through what the callback computed. y itself is never
     * changed, so derivatives that read it stay correct. NULL: no callback.
     * HEED_ERR_SHAPE, HEED_ERR_DTYPE: the replacement differs from y in shape or dtype. */
    heed_tensor *(*result)(heed_hook *self, const heed_call *call, heed_tensor *y);

    /* The derivative of vjp->y has computed vjp->grads from g = dL/dy; they have the shapes of the
     * inputs and have not been added to others yet. Read them only. NULL: no callback. */
    void (*derivative)(heed_hook *self, const heed_vjp *vjp);

    heed_hook *next; /* in the list of its thread */
};

/* heed_hook_add: adds a hook to those of this thread, which are called in this order; the next sees
 * the replacement. The struct is not copied. heed_hook_remove: a no-op if it was not added. Add and
 * remove hooks outside of callbacks. Both work while an error is pending. */
void heed_hook_add(heed_hook *hook);
void heed_hook_remove(heed_hook *hook);

/* heed_in_backward: true while a backward pass runs in this thread. */
bool heed_in_backward(void);

/* ---- the module whose forward is running, as in "GPT.transformer.h.0.attn.c_attn" ---- */

/* heed_module_path: the kind of the outermost module that is running in this thread, and the names
 * under which the others are registered, as in a state dict; "" if none is. If the path is too
 * long, its first names are omitted. heed_origin_path: the one when the node was created, if hooks
 * were there. */
heed_text heed_module_path(void);
heed_text heed_origin_path(const heed_tensor *node);

/* A module's name and its owner's place. Every module contains one. HEED_FORWARD enters and leaves
 * it (nn/module.h): heed_enter_place returns the place that it replaces, for heed_leave_place. */
typedef struct heed_place {
    const struct heed_place *outer; /* NULL: `name` is the kind of an outermost module */
    const char *name;
} heed_place;

const heed_place *heed_enter_place(const heed_place *place);
void heed_leave_place(const heed_place **before);

/* ---- hooks that come with Heed ---- */

/* heed_trace: prints each operation and derivative of this thread to a stream from now on; NULL: no
 * longer. Returns the previous one.
 *
 *     linear in SelfAttention.W_q: x (3, 2), weight (2, 2) -> (3, 2)
 *     ...
 *     backward of linear in SelfAttention.W_q: g (3, 2)
 *       weight, a leaf: (2, 2)
 *
 * A line has the module, the arguments, shapes, dtypes unless f32, and the value of a single
 * element. g is the complete dL/dy; the lines below show the gradients of the inputs. */
FILE *heed_trace(FILE *stream);

/* heed_args_text: "dim=-1", or "dims=(0, 1), keepdim=True", of an operation's arguments
 * (heed_op.args); of a node, heed_args_text(t->op, t->args). Flags that are false and empty lists
 * are omitted. */
heed_text heed_args_text(const heed_op *op, const void *args);

/* heed_set_detect_anomaly: searches for the first NaN or infinity in this thread, like
 * torch.autograd.set_detect_anomaly, but in the forward pass too; returns the previous setting.
 *
 *     backward of sqrt in Net.layers.0.norm: inf in the gradient of input 0 (2, 3); ...
 *
 * An operation or a derivative that produces NaN or infinity from finite inputs becomes the pending
 * error HEED_ERR_ANOMALY, so nothing is computed from it and no optimiser steps. Infinities that
 * are meant are not reported: heed_masked_fill with -INFINITY, heed_full, infinite scalars, and
 * heed_log of a 0 that requires no gradient. */
bool heed_set_detect_anomaly(bool enabled);

HEED_END_DECLS
#endif
