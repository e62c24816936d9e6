/* Tracing: prints each operation of this thread as it is computed, forward and backward.
 *
 *     heed_trace(stderr);
 *     heed_tensor *y = heed_self_attention_forward(m, x, NULL);
 *     heed_backward(heed_sum(y));
 *     heed_trace(NULL);
 *
 *     SelfAttention
 *       W_q
 *         linear x (3, 2), weight (2, 2) -> (3, 2)
 *           tensor([[ 0.7621, -0.0428],
 *                   [ 1.1063,  0.7890],
 *                   [ 1.1164, -2.1336]])
 *     ...
 *     backward of linear in SelfAttention.W_q: g (3, 2) -> weight (2, 2)
 *
 * A line shows the operation, its arguments, and the shapes of its inputs and result, with their
 * dtypes unless f32. Values of up to HEED_TRACED_VALUES elements follow. Operations are indented
 * below the module that applies them (module_path.h). In a backward pass, g is the complete dL/dy
 * of a result y, and the lines below show the gradient that the derivative computes from it for
 * each input. Under create_graph the operations of a derivative come before its line, indented.
 *
 * Results are the same as without a trace, except for rounding in sums of gradients. */
#ifndef HEED_TOOLS_TRACE_H
#define HEED_TOOLS_TRACE_H

#include <stdio.h>

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

enum { HEED_TRACED_VALUES = 12 };

/* heed_trace: sets the stream to which this thread prints; NULL: none. Returns the previous one. A
 * stream that reports an error is switched off; the computation continues without an error. */
FILE *heed_trace(FILE *stream);

HEED_END_DECLS
#endif
