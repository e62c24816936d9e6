/* Non-tensor arguments of operations as text. */
#ifndef HEED_TOOLS_ARGS_TEXT_H
#define HEED_TOOLS_ARGS_TEXT_H

#include "../../autograd/op.h"

HEED_BEGIN_DECLS

/* heed_args_text: "dim=-1", or "dims=(0, 1), keepdim=True". Flags that are false and empty lists of
 * dims are left out; "" if there is nothing to show. For a node t:
 * heed_args_text(t->op, t->args, t->args_size). */
heed_text heed_args_text(const heed_op *op, const void *args, size_t args_size);

HEED_END_DECLS
#endif
