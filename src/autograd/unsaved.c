/* Debug builds: derivatives that read values which their operation does not declare in .saves. */
#include <stdio.h>

#include "../tensor/alloc.h"
#include "../tensor/debug.h"
#include "../tensor/handle.h"
#include "saved.h"

heed_status heed_hide_unsaved(heed_vjp *vjp)
{
    enum { REASON = 300 };
    heed_tensor *node = vjp->y;
    const heed_op *op = node->op;
    const int count = node->input_count + 1; /* y is the last */
    heed_tensor **seen = heed_alloc((size_t)count * (sizeof *seen + sizeof **seen + REASON));
    if (seen == NULL) {
        return heed_self.error;
    }
    heed_tensor *stand_ins = (heed_tensor *)(seen + count);
    char *reason = (char *)(stand_ins + count);
    for (int i = 0; i < count; i++, reason += REASON) {
        const bool is_y = i == node->input_count;
        seen[i] = is_y ? node : node->inputs[i];
        if (is_y ? !(node->saved & HEED_SAVED_OUTPUT) : !heed_saves_input(node, i)) {
            snprintf(reason, REASON, "it reads %s; declare it in .saves",
                     is_y ? "the result" : heed_input_name(op, i).text);
            heed_debug_hide(&stand_ins[i], seen[i], reason);
            seen[i] = &stand_ins[i];
        }
    }
    vjp->inputs = seen;
    vjp->y = seen[node->input_count];
    return HEED_OK;
}
