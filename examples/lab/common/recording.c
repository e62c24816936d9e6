/* A hook that keeps results and gradients. */
#include "examples/lab/common/recording.h"

#include <string.h>

static heed_tensor *keep_result(heed_hook *self, const heed_call *call, heed_tensor *y)
{
    recording *r = self->context;
    if (r->count == r->capacity) {
        const int64_t larger = r->capacity > 0 ? 2 * r->capacity : 64;
        recorded *entries = heed_realloc(r->entries, (size_t)larger * sizeof *entries);
        if (entries == NULL) {
            return NULL;
        }
        r->entries = entries;
        r->capacity = larger;
    }
    heed_tensor **inputs = heed_alloc((size_t)call->count * sizeof *inputs);
    if (inputs == NULL) {
        return NULL;
    }
    for (int i = 0; i < call->count; i++) {
        inputs[i] = heed_retain(call->inputs[i]);
    }
    r->entries[r->count++] = (recorded){.op = call->op,
                                        .result = heed_retain(y),
                                        .inputs = inputs,
                                        .input_count = call->count,
                                        .in_backward = heed_in_backward(),
                                        .path = heed_module_path(),
                                        .arguments = heed_args_text(call->op, call->args)};
    return y;
}

static void keep_gradient(heed_hook *self, const heed_vjp *vjp)
{
    recorded *entry = recording_of(self->context, vjp->y);
    if (entry != NULL) {
        heed_release(entry->gradient);
        entry->gradient = heed_retain(vjp->g);
    }
}

recording *recording_begin(void)
{
    recording *r = heed_error_pending() ? NULL : heed_alloc_zeroed(sizeof *r);
    if (r != NULL) {
        r->hook = (heed_hook){.context = r, .result = keep_result, .derivative = keep_gradient};
        heed_hook_add(&r->hook);
    }
    return r;
}

void recording_stop(recording *r)
{
    if (r != NULL) {
        heed_hook_remove(&r->hook);
    }
}

void recording_free(recording *r)
{
    recording_stop(r);
    for (int64_t i = r != NULL ? r->count - 1 : -1; i >= 0; i--) {
        recorded *entry = &r->entries[i];
        heed_release(entry->result);
        for (int j = 0; j < entry->input_count; j++) {
            heed_release(entry->inputs[j]);
        }
        heed_free(entry->inputs);
        heed_release(entry->gradient);
    }
    if (r != NULL) {
        heed_free(r->entries);
        heed_free(r);
    }
}

const recorded *recording_find(const recording *r, const char *path, const char *operation, int n)
{
    for (int64_t i = 0; r != NULL && i < r->count; i++) {
        const recorded *entry = &r->entries[i];
        if ((path == NULL || strcmp(entry->path.text, path) == 0) &&
            (operation == NULL || strcmp(entry->op->name, operation) == 0) && n-- == 0) {
            return entry;
        }
    }
    heed_fail(HEED_ERR_VALUE, "the recording has no such operation: %s in %s",
              operation != NULL ? operation : "any", path != NULL ? path : "any module");
    return NULL;
}

recorded *recording_of(const recording *r, const heed_tensor *t)
{
    for (int64_t i = r != NULL ? r->count - 1 : -1; i >= 0; i--) {
        if (r->entries[i].result == t) {
            return &r->entries[i];
        }
    }
    return NULL;
}
