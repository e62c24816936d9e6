/* Error messages for saved values that a derivative cannot read. */
#include "saved.h"

#include <stdio.h>

#include "../tensor/alloc.h"
#include "../tensor/debug.h"

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

/* ---- debug builds ---- */

enum { REASON = 160 };

/* The inputs, y last. */
heed_tensor **heed_hide_unsaved(heed_tensor *node)
{
    const int count = node->input_count + 1;
    heed_tensor **seen = heed_alloc((size_t)count * (sizeof *seen + sizeof **seen + REASON));
    if (seen == NULL) {
        return NULL;
    }
    heed_tensor *proxies = (heed_tensor *)(seen + count);
    char *reasons = (char *)(proxies + count);
    for (int i = 0; i < count; i++) {
        const bool is_y = i == node->input_count;
        const bool saved =
            is_y ? (node->saved & HEED_SAVED_OUTPUT) != 0 : heed_saves_input(node, i);
        seen[i] = is_y ? node : node->inputs[i];
        if (!saved) {
            const char *const *names = node->op->names;
            char *reason = reasons + (size_t)i * REASON, number[32];
            snprintf(number, sizeof number, "input %d", i);
            snprintf(reason, REASON, "backward of %s reads %s; declare it in .saves",
                     node->op->name,
                     is_y            ? "its result"
                     : names != NULL ? names[i]
                                     : number);
            heed_debug_hide(&proxies[i], seen[i], reason);
            seen[i] = &proxies[i];
        }
    }
    return seen;
}
