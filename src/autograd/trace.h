/* Tracing: prints each operation of this thread as it is computed, forward and backward.
 *
 *     heed_trace(stderr);
 *     heed_tensor *y = heed_self_attention_forward(m, x, NULL);
 *     heed_backward(heed_sum(y));
 *     heed_trace(NULL);
 *
 *     linear in SelfAttention.W_q: x (3, 2), weight (2, 2) -> (3, 2)
 *     ...
 *     backward of linear in SelfAttention.W_q: g (3, 2)
 *       weight, a leaf: (2, 2)
 *
 * A line shows the operation, its module and arguments, the shapes and dtypes unless f32 of its
 * inputs and result, and the value of a single element. In a backward pass, g is the complete dL/dy
 * of a result y, and the lines below show its gradients for the inputs. Under create_graph the
 * operations of a derivative come before its line, indented. */
#ifndef HEED_AUTOGRAD_TRACE_H
#define HEED_AUTOGRAD_TRACE_H

#include <stdio.h>

#include "op.h"

HEED_BEGIN_DECLS

/* heed_trace: sets the stream to which this thread prints; NULL: none. Returns the previous one. */
FILE *heed_trace(FILE *stream);

/* heed_args_text: "dim=-1", or "dims=(0, 1), keepdim=True", of the arguments of an operation
 * (heed_op.args). Flags that are false and empty lists of dims are omitted. For a node:
 * heed_args_text(t->op, t->args, t->args_size). */
heed_text heed_args_text(const heed_op *op, const void *args, size_t args_size);

HEED_END_DECLS
#endif
