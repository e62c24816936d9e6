/* The values that derivatives read (internal), declared by heed_op.saves. A node holds a use of
 * each from its forward to its backward, and records their versions to detect in-place changes in
 * between. All other values may be freed as soon as their scope ends.
 *
 * Inline because three of these functions are called for every node.
 */
#ifndef HEED_AUTOGRAD_SAVED_H
#define HEED_AUTOGRAD_SAVED_H

#include "../tensor/handle.h"
#include "op.h"

/* heed_hold_inputs: sets the inputs of y, a new node. Takes a reference to each, and a use of each
 * value that y's derivative will read. */
static inline void heed_hold_inputs(heed_tensor *y, heed_tensor *const *inputs)
{
    unsigned read = 0; /* bit i: the value of input i; HEED_SAVED_OUTPUT: the value of y */
    for (int i = 0; i < y->input_count && i < HEED_SAVES; i++) {
        read |= inputs[i]->requires_grad ? y->op->saves[i] : 0;
    }
    y->saved = (uint8_t)read;
    for (int i = 0; i < y->input_count; i++) {
        heed_tensor *input = inputs[i];
        y->inputs[i] = input;
        heed_add_reference(input);
        if (i < HEED_SAVED_INPUTS && read >> i & 1) {
            heed_add_use(input);
            y->saved_version += input->storage->version;
        }
    }
    if (read & HEED_SAVED_OUTPUT) {
        heed_add_use(y);
        y->saved_version += y->storage->version;
    }
}

/* HEED_ERR_VERSION: a saved value has been changed in place since the forward pass.
 * HEED_ERR_GRAPH: an input started to require a gradient after it was used, so a value was not
 * saved. */
heed_status heed_fail_changed(const char *function, const heed_tensor *node);
heed_status heed_fail_not_saved(const char *function, const heed_tensor *node);

/* heed_saved_intact: checks that the derivative of this node can run. Errors as above. */
static inline heed_status heed_saved_intact(const char *function, const heed_tensor *node)
{
    const unsigned saved = node->saved;
    uint32_t version = saved & HEED_SAVED_OUTPUT ? node->storage->version : 0;
    unsigned read = 0;
    for (int i = 0; i < node->input_count && i < HEED_SAVED_INPUTS; i++) {
        const heed_tensor *input = node->inputs[i];
        read |= i < HEED_SAVES && input->requires_grad ? node->op->saves[i] : 0;
        version += saved >> i & 1 ? input->storage->version : 0;
    }
    if ((read & ~saved) != 0) {
        return heed_fail_not_saved(function, node);
    }
    return version == node->saved_version ? HEED_OK : heed_fail_changed(function, node);
}

/* heed_release_saved: ends the uses after the derivative has run. The node cannot be differentiated
 * again. */
static inline void heed_release_saved(heed_tensor *node)
{
    const unsigned saved = node->saved;
    node->used_up = true;
    node->saved = 0;
    for (int i = 0; i < node->input_count && i < HEED_SAVED_INPUTS; i++) {
        if (saved >> i & 1) {
            heed_drop_use(node->inputs[i]);
        }
    }
    if (saved & HEED_SAVED_OUTPUT) {
        heed_drop_use(node);
    }
}

#endif
