/* Debug builds: derivatives that read values which their operation does not declare in .saves. They
 * see a stand-in for such a value, and reading it is an error that names the value. */
#include <stdio.h>

#include "../tensor/alloc.h"
#include "../tensor/debug.h"
#include "pass.h"
#include "saved.h"

enum { REASON = 160 };

/* The inputs, y last, each with a stand-in if it is not saved. */
static heed_tensor **hide_unsaved(heed_tensor *node)
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

heed_status heed_input_grads_hide(heed_input_grads *in, heed_tensor *node)
{
    heed_tensor **seen = hide_unsaved(node);
    if (seen == NULL && in->grads != in->few) {
        heed_free(in->grads);
    }
    in->inputs = seen;
    in->y = seen != NULL ? seen[node->input_count] : NULL;
    return seen != NULL ? HEED_OK : heed_self.error;
}
