/* Calls from heed_apply and the backward pass to observers (internal): anomaly mode (inspect.h),
 * the trace and the recording of this thread. Call these functions only if heed_self.observers is
 * not 0. */
#ifndef HEED_AUTOGRAD_OBSERVE_H
#define HEED_AUTOGRAD_OBSERVE_H

#include "../tensor/thread.h"
#include "op.h"

struct heed_pass;

/* heed_observe_result: y is the result of an operation that a caller or a derivative applied; NULL
 * if it failed. Returns y, or NULL on an error. */
heed_tensor *heed_observe_result(const heed_call *call, size_t args_size, heed_tensor *y);

/* heed_observe_gradient: g is the complete dL/dnode, for a node whose derivative might not run.
 * heed_observe_gradients: a node's derivative has computed the gradients `grads` of its inputs
 * (NULL: none) from g = dL/dnode. They have not been accumulated yet. */
void heed_observe_gradient(const heed_tensor *node, heed_tensor *g);
heed_status heed_observe_gradients(const struct heed_pass *pass, const heed_tensor *node,
                                   heed_tensor *g, heed_tensor *const *grads);

/* Called by the functions above. heed_trace_result, heed_trace_gradients: print (trace.c).
 * heed_record_result: adds an entry (recording.c); HEED_ERR_MEMORY.
 * heed_record_gradient: g is dL/dnode. */
void heed_trace_result(const heed_call *call, size_t args_size, const heed_tensor *y);
void heed_trace_gradients(const struct heed_pass *pass, const heed_tensor *node,
                          const heed_tensor *g, heed_tensor *const *grads);
heed_status heed_record_result(const heed_call *call, size_t args_size, heed_tensor *y);
void heed_record_gradient(const heed_tensor *node, heed_tensor *g);

#endif
