/* Marks the nodes that a pass must differentiate, and returns the gradients that heed_grad
 * requested. */

#include "pass.h"

#include <string.h>

#include "../tensor/create.h"
#include "../tensor/read.h"
#include "../tensor/scope_list.h"
#include "../tensor/shape.h"
#include "op.h"
#include "ops/view.h"

static bool leads_to_wanted(const heed_pass *pass, const heed_tensor *node)
{
    bool leads = pass->xs == NULL; /* every leaf is wanted */
    for (int j = 0; j < node->input_count && !leads; j++) {
        leads = heed_is_wanted(pass, node->inputs[j]);
    }
    return leads;
}

heed_status heed_mark_needed(const heed_pass *pass, const heed_topo *topo)
{
    const heed_tensor *used_up = NULL;
    for (int64_t i = topo->count - 1; i >= 0; i--) {
        heed_tensor *node = topo->nodes[i];
        node->engine_mark = leads_to_wanted(pass, node);
        if (node->used_up && node->engine_mark > 0) {
            used_up = node;
        }
    }
    if (used_up != NULL) {
        return heed_fail(HEED_ERR_GRAPH,
                         "%s: the graph through %s %s was used up by an earlier backward; call "
                         "heed_backward_retain the first time",
                         pass->function, used_up->op->name, HEED_TEXT(used_up));
    }
    return HEED_OK;
}

/* The gradient of xs[i], taken from pass->grads[i], as a handle in the innermost scope. */
static heed_tensor *hand_out_one(const heed_pass *pass, int i)
{
    heed_tensor *x = pass->xs[i], *g = pass->grads[i];
    if (g == NULL) {
        return heed_zeros(heed_shape_of_tensor(x), x->dtype);
    }
    if (g->references == 1) {
        return heed_join_scope(pass->function, g);
    }
    /* The handle has another owner, such as a scope: return a new one. */
    heed_tensor *own = NULL;
    if (pass->create_graph) {
        own = heed_reshape(g, heed_shape_of_tensor(g));
    } else if (!heed_blocked()) {
        own = heed_tensor_view(pass->function, g, g->ndim, g->shape, g->strides, 0);
        own = own != NULL ? heed_join_scope(pass->function, own) : NULL;
    }
    heed_unref(g);
    return own;
}

heed_status heed_return_grads(const heed_pass *pass, heed_status status)
{
    for (int i = pass->count - 1; i >= 0; i--) {
        if (status == HEED_OK) {
            /* if an x is listed twice, its last entry has the gradient */
            const int last = heed_find_x(pass, pass->xs[i]);
            pass->grads[i] = last > i ? pass->grads[last] : hand_out_one(pass, i);
        } else if (pass->grads[i] != NULL) {
            heed_unref(pass->grads[i]);
        }
    }
    if (pass->count > 0 && heed_blocked()) {
        memset(pass->grads, 0, (size_t)pass->count * sizeof *pass->grads);
    }
    return status == HEED_OK ? heed_self.error : status;
}
