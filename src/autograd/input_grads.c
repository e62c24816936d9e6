/* Storage for the gradients of one node's inputs; sums each gradient to its input's shape. */
#include "input_grads.h"

#include "../tensor/alloc.h"
#include "../tensor/read.h"
#include "ops/reductions.h"

heed_status heed_input_grads_alloc(heed_input_grads *in, const heed_tensor *node)
{
    in->grads = heed_alloc_zeroed(node->input_count * (sizeof *in->grads + sizeof *in->wanted));
    if (in->grads == NULL) {
        return heed_self.error;
    }
    in->wanted = (bool *)(in->grads + node->input_count);
    return HEED_OK;
}

heed_status heed_input_grads_hide(heed_input_grads *in, heed_tensor *node)
{
    heed_tensor **seen = heed_hide_unsaved(node);
    if (seen == NULL) {
        if (in->grads != in->few) {
            heed_free(in->grads);
        }
        return heed_self.error;
    }
    in->inputs = seen;
    in->y = seen[node->input_count];
    return HEED_OK;
}

heed_tensor *heed_fit_gradient(heed_tensor *g, const heed_tensor *node, const heed_tensor *input)
{
    heed_tensor *fitted = heed_has_sizes(g, input->ndim, input->shape)
                              ? g
                              : heed_sum_to(g, heed_shape_of_tensor(input));
    if (fitted != NULL && fitted->dtype != input->dtype) {
        heed_fail(HEED_ERR_DTYPE, "%s: its derivative returned %s for an %s input", node->op->name,
                  heed_dtype_name(fitted->dtype), heed_dtype_name(input->dtype));
        return NULL;
    }
    return fitted;
}
