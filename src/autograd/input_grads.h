/* The gradients of one node's inputs, from the derivative until they are accumulated (internal). */
#ifndef HEED_AUTOGRAD_INPUT_GRADS_H
#define HEED_AUTOGRAD_INPUT_GRADS_H

#include "../tensor/alloc.h"
#include "../tensor/check.h"
#include "../tensor/debug.h"
#include "../tensor/handle.h"
#include "../tensor/scope_list.h"
#include "../tensor/shape.h"
#include "op.h"
#include "pass.h"
#include "saved.h"

enum { HEED_FEW_INPUTS = 4 };

typedef struct heed_input_grads {
    heed_tensor **grads; /* one per input; NULL: none, or not computed yet */
    bool *wanted;
    heed_tensor *const *inputs, *y;    /* passed to the derivative; the node's own, except in debug
                                          builds */
    heed_tensor *few[HEED_FEW_INPUTS]; /* used for up to HEED_FEW_INPUTS inputs */
    bool few_wanted[HEED_FEW_INPUTS];
} heed_input_grads;

/* heed_input_grads_alloc: heap storage for nodes with many inputs. */
heed_status heed_input_grads_alloc(heed_input_grads *in, const heed_tensor *node);

/* heed_input_grads_hide (debug builds only): sets in->inputs and in->y to the tensors that
 * heed_hide_unsaved returns. */
heed_status heed_input_grads_hide(heed_input_grads *in, heed_tensor *node);

/* heed_input_grads_begin: provides storage and sets `wanted`. */
static inline heed_status heed_input_grads_begin(heed_input_grads *in, const heed_pass *pass,
                                                 heed_tensor *node)
{
    in->grads = in->few;
    in->wanted = in->few_wanted;
    for (int j = 0; j < HEED_FEW_INPUTS; j++) {
        in->few[j] = NULL;
    }
    if (node->input_count > HEED_FEW_INPUTS && heed_input_grads_alloc(in, node) != HEED_OK) {
        return HEED_ERR_MEMORY;
    }
    for (int j = 0; j < node->input_count; j++) {
        in->wanted[j] = heed_is_wanted(pass, node->inputs[j]);
    }
    in->inputs = node->inputs;
    in->y = node;
    return HEED_IS_DEBUG ? heed_input_grads_hide(in, node) : HEED_OK;
}

/* heed_input_grads_end: frees the storage. After an error, also releases the gradients still in
 * `grads` (not set to NULL). */
static inline void heed_input_grads_end(heed_input_grads *in, const heed_tensor *node,
                                        heed_status status)
{
    for (int j = 0; status != HEED_OK && j < node->input_count; j++) {
        if (in->grads[j] != NULL) {
            heed_unref(in->grads[j]);
        }
    }
    if (in->grads != in->few) {
        heed_free(in->grads);
    }
    if (HEED_IS_DEBUG) {
        heed_free((void *)in->inputs);
    }
}

/* heed_any_wanted: true if the derivative must still compute a gradient. */
static inline bool heed_any_wanted(const heed_input_grads *in, const heed_tensor *node)
{
    bool any = false;
    for (int j = 0; j < node->input_count; j++) {
        any = any || in->wanted[j];
    }
    return any;
}

/* heed_fit_gradient: g summed to the shape of the input. NULL on error.
 * HEED_ERR_DTYPE: the dtype of g is not that of the input. */
heed_tensor *heed_fit_gradient(heed_tensor *g, const heed_tensor *node, const heed_tensor *input);

/* heed_input_grads_take: takes the wanted gradients out of the derivative's scope and drops the
 * others. Undoes broadcasting: each is summed to the shape of its input. */
static inline void heed_input_grads_take(heed_input_grads *in, const heed_tensor *node)
{
    for (int j = node->input_count - 1; j >= 0; j--) { /* the newest is first in the scope's list */
        const heed_tensor *input = node->inputs[j];
        heed_tensor *g = in->wanted[j] && !heed_blocked() ? in->grads[j] : NULL;
        if (g != NULL && g->storage == NULL) { /* a value that .saves does not list */
            heed_check_tensor(node->op->name, "a gradient", g);
            g = NULL;
        }
        if (g != NULL &&
            (g->dtype != input->dtype || !heed_has_sizes(g, input->ndim, input->shape))) {
            g = heed_fit_gradient(g, node, input);
        }
        in->grads[j] = g;
        if (g != NULL) {
            heed_take_from_scope(g);
        }
    }
}

#endif
