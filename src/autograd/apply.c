/* Applies an operation: the only place that allocates results and records graphs. */

#include "op.h"

#include <string.h>

#include "../tensor/handle.h"
#include "../tensor/scope.h"
#include "../tensor/shape.h"
#include "../tensor/thread.h"
#include "notify.h"

/* ---- recording ---- */

static bool needs_node(const heed_call *call, const heed_tensor *y)
{
    if (heed_self.grad_disabled || call->op->backward == NULL || !heed_is_float(y->dtype)) {
        return false;
    }
    for (int i = 0; i < call->count; i++) {
        if (call->inputs[i]->requires_grad) {
            return true;
        }
    }
    return false;
}

void heed_hold_inputs(heed_tensor *y, heed_tensor *const *inputs)
{
    unsigned read = 0; /* bit i: the value of input i; HEED_SAVED_OUTPUT: the value of y */
    for (int i = 0; i < y->input_count && i < HEED_SAVES; i++) {
        read |= inputs[i]->requires_grad ? y->op->saves[i] : 0;
    }
    y->saved = (uint8_t)read;
    for (int i = 0; i < y->input_count; i++) {
        heed_tensor *input = inputs[i];
        y->inputs[i] = input;
        input->references++;
        if (i < HEED_SAVED_INPUTS && read >> i & 1) {
            input->uses++;
            y->saved_version += input->storage->version;
        }
    }
    if (read & HEED_SAVED_OUTPUT) {
        y->uses++;
        y->saved_version += y->storage->version;
    }
}

static heed_status allocate_args(heed_tensor *y, size_t args_size)
{
    size_t origin_size = heed_self.observers != NULL ? heed_self.observers->origin_size : 0;
    origin_size = args_size + origin_size <= UINT16_MAX ? origin_size : 0;
    void *args = heed_alloc_sized(args_size + origin_size);
    if (args == NULL) {
        return heed_self.error;
    }
    y->args = args;
    y->args_size = (uint16_t)(args_size + origin_size);
    if (origin_size > 0) {
        heed_self.observers->store_origin(y);
    }
    return HEED_OK;
}

/* Copies the arguments and adds the edges. On failure y can still be released. */
static heed_status record(const heed_call *call, heed_tensor *y)
{
    const size_t args_size = call->args_size;
    y->args_size = (uint16_t)args_size;
    if ((args_size > sizeof y->small_args || heed_self.observers != NULL) &&
        allocate_args(y, args_size) != HEED_OK) {
        return heed_self.error;
    }
    if (args_size > 0) {
        memcpy((void *)y->args, call->args, args_size);
    }
    if (call->count > 2) {
        heed_tensor **inputs = heed_alloc_sized((size_t)call->count * sizeof *inputs);
        if (inputs == NULL) {
            return heed_self.error;
        }
        y->inputs = inputs;
    }
    y->op = call->op;
    y->requires_grad = true;
    y->input_count = (uint16_t)call->count;
    heed_hold_inputs(y, call->inputs);
    return HEED_OK;
}

/* ---- applying ---- */

static heed_tensor *make_result(const heed_call *call, const heed_result *result)
{
    const char *name = call->op->name;
    const heed_shape *shape = &result->shape;
    if (result->is_view) {
        return heed_tensor_view(name, call->inputs[0], shape->ndim, shape->size, result->strides,
                                result->offset);
    }
    heed_tensor *y = heed_tensor_new(name, shape->ndim, shape->size, result->dtype);
    if (y != NULL && result->is_strided) {
        memcpy(y->strides, result->strides, sizeof *y->strides * y->ndim);
    }
    return y;
}

static heed_status run_forward(const heed_call *call, heed_tensor *y)
{
    const heed_frame frame = heed_frame_begin(true);
    heed_status status = call->op->forward(call, y);
    if (status != HEED_OK) {
        /* kept only if forward reported no error of its own */
        heed_fail(status, "%s: forward failed", call->op->name);
    }
    return heed_frame_end(frame);
}

static heed_tensor *compute(const heed_call *call)
{
    const heed_tensor *first = call->inputs[0];
    heed_result result; /* the rule sets strides if it needs them */
    result.dtype = first->dtype;
    heed_get_shape(first, &result.shape);
    result.is_view = result.is_strided = false;
    result.offset = 0;
    heed_status status = call->op->rule != NULL ? call->op->rule(call, &result) : HEED_OK;
    if (status == HEED_OK && !result.is_view && call->op->forward == NULL) {
        status = HEED_ERR_NULL;
    }
    if (status != HEED_OK || heed_blocked()) {
        heed_fail(status, "%s: the rule failed, or there is no forward", call->op->name);
        return NULL;
    }
    heed_tensor *y = make_result(call, &result);
    if (y == NULL) {
        return NULL;
    }
    if ((!result.is_view && run_forward(call, y) != HEED_OK) ||
        (needs_node(call, y) && record(call, y) != HEED_OK)) {
        heed_unref(y);
        return NULL;
    }
    return heed_join_scope(call->op->name, y);
}

heed_tensor *heed_apply(const heed_op *op, heed_tensor *const *inputs, int count, const void *args,
                        size_t args_size)
{
    const heed_call call = {op, inputs, count, args, args_size};
    if (op == NULL) {
        heed_fail(HEED_ERR_NULL, "apply: op is NULL");
        return NULL;
    }
    if (heed_check_operands(op->name, op->names, inputs, count) != HEED_OK) {
        return NULL;
    }
    if (op->inputs != HEED_ANY_COUNT && op->inputs != count) {
        heed_fail(HEED_ERR_VALUE, "%s: cannot take %d tensors; it takes %d", op->name, count,
                  op->inputs);
        return NULL;
    }
    if (args_size > UINT16_MAX || (args == NULL && args_size > 0)) {
        heed_fail(HEED_ERR_VALUE,
                  "%s: %zu bytes of arguments; at most %d are allowed, and args must not be NULL",
                  op->name, args_size, UINT16_MAX);
        return NULL;
    }
    const char *outer = heed_self.operation;
    heed_self.operation = op->name;
    heed_tensor *y = compute(&call);
    heed_self.operation = outer;
    return heed_self.observers != NULL ? heed_self.observers->result(&call, outer, y) : y;
}
