/* Error messages for saved values that a derivative cannot read. */
#include "saved.h"

#include "../tensor/shape.h"

heed_status heed_fail_changed(const char *function, const heed_tensor *node)
{
    const heed_tensor *last = node->inputs[node->input_count - 1];
    return heed_fail(
        HEED_ERR_VERSION,
        "%s: a value that the derivative of %s (%s%s%s -> %s) reads was changed in place after "
        "the forward pass; change a heed_clone of it, or change it after the backward pass",
        function, node->op->name, HEED_TEXT(node->inputs[0]), node->input_count > 1 ? ", " : "",
        node->input_count > 1 ? HEED_TEXT(last) : "", HEED_TEXT(node));
}

heed_status heed_fail_not_saved(const char *function, const heed_tensor *node)
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
