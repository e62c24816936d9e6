/* Passes results and gradients to the observers of this thread. */
#include "observe.h"

#include "inspect.h"

heed_tensor *heed_observe_result(const heed_call *call, size_t args_size, heed_tensor *y)
{
    if (heed_self.pass != NULL && heed_self.grad_disabled) {
        return y; /* a step of a derivative, where kernels often replace operations */
    }
    if (heed_self.observers & HEED_ANOMALY_MODE && heed_self.pass == NULL) {
        y = heed_inspect_result(call, y);
    }
    if (heed_self.observers & HEED_TRACING) {
        heed_trace_result(call, args_size, y);
    }
    if (heed_self.observers & HEED_RECORDING && y != NULL) {
        y = heed_record_result(call, args_size, y) == HEED_OK ? y : NULL;
    }
    return y;
}

void heed_observe_gradient(const heed_tensor *node, heed_tensor *g)
{
    if (heed_self.observers & HEED_RECORDING) {
        heed_record_gradient(node, g);
    }
}

heed_status heed_observe_gradients(const struct heed_pass *pass, const heed_tensor *node,
                                   heed_tensor *g, heed_tensor *const *grads)
{
    heed_observe_gradient(node, g);
    if (heed_self.observers & HEED_TRACING) {
        heed_trace_gradients(pass, node, g, grads);
    }
    return heed_self.observers & HEED_ANOMALY_MODE ? heed_inspect_gradients(node, g, grads)
                                                   : HEED_OK;
}
