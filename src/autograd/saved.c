/* Checks and releases the values that derivatives read. */
#include "saved.h"

#include "../tensor/handle.h"
#include "../tensor/shape.h"

static heed_status fail_changed(const char *function, const heed_tensor *node)
{
    const heed_tensor *last = node->inputs[node->input_count - 1];
    return heed_fail(
        HEED_ERR_VERSION,
        "%s: a value that the derivative of %s (%s%s%s -> %s) reads was changed in place after "
        "the forward pass; change a heed_clone of it, or change it after the backward pass",
        function, node->op->name, HEED_TEXT(node->inputs[0]), node->input_count > 1 ? ", " : "",
        node->input_count > 1 ? HEED_TEXT(last) : "", HEED_TEXT(node));
}

static heed_status fail_not_saved(const char *function, const heed_tensor *node)
{
    int i = 0;
    while (!node->inputs[i]->requires_grad || (node->op->saves[i] & ~node->saved) == 0) {
        i++;
    }
    return heed_fail(HEED_ERR_GRAPH,
                     "%s: input %d %s of %s started to require a gradient after it was used; call "
                     "heed_set_requires_grad first",
                     function, i, HEED_TEXT(node->inputs[i]), node->op->name);
}

heed_status heed_check_saved(const char *function, const heed_tensor *node)
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
        return fail_not_saved(function, node);
    }
    return version == node->saved_version ? HEED_OK : fail_changed(function, node);
}

void heed_release_saved(heed_tensor *node)
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
