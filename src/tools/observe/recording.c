/* Keeps the results of operations and their gradients. An entry is one block: the struct, the list
 * of inputs and the texts. */
#include "recording.h"

#include <stdio.h>
#include <string.h>

#include "../../autograd/module_path.h"
#include "../../autograd/observer.h"
#include "../../tensor/alloc.h"
#include "../../tensor/scope.h"
#include "args_text.h"
#include "tensor_set.h"

struct heed_recording {
    heed_observer observer;
    heed_tensor_set results; /* entry i has result i */
    heed_recorded **entries;
    int64_t capacity;
    bool stopped;
};

static _Thread_local heed_recording *running; /* on this thread, or NULL */

/* ---- entries ---- */

static heed_recorded *make_entry(const heed_call *call, heed_tensor *y)
{
    const heed_text path = heed_module_path();
    const heed_text arguments = heed_args_text(call->op, call->args, call->args_size);
    const size_t inputs_size = (size_t)call->count * sizeof *call->inputs;
    const size_t path_size = strlen(path.text) + 1, arguments_size = strlen(arguments.text) + 1;
    heed_recorded *entry = heed_alloc(sizeof *entry + inputs_size + path_size + arguments_size);
    if (entry == NULL) {
        return NULL;
    }
    heed_tensor **inputs = (heed_tensor **)(entry + 1);
    char *texts = (char *)(inputs + call->count);
    memcpy(inputs, call->inputs, inputs_size);
    memcpy(texts, path.text, path_size);
    memcpy(texts + path_size, arguments.text, arguments_size);
    *entry = (heed_recorded){
        .op = call->op,
        .result = y,
        .inputs = inputs,
        .input_count = call->count,
        .arguments = texts + path_size,
        .path = texts,
        .in_backward = heed_in_backward(),
    };
    return entry;
}

static heed_tensor *record_result(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    heed_recording *r = self->context;
    if (y == NULL) {
        return NULL;
    }
    heed_recorded **entries =
        heed_grow(r->entries, r->results.count, &r->capacity, sizeof *entries);
    if (entries == NULL) {
        return NULL;
    }
    r->entries = entries;
    heed_recorded *entry = make_entry(call, y);
    const int64_t i = entry != NULL ? heed_tensor_set_add(&r->results, y) : -1;
    if (i < 0) {
        heed_free(entry);
        return NULL;
    }
    entries[i] = entry;
    heed_retain(y);
    for (int j = 0; j < call->count; j++) {
        heed_retain(call->inputs[j]);
    }
    return y;
}

static void record_gradient(heed_observer *self, heed_tensor *node, heed_tensor *g)
{
    heed_recording *r = self->context;
    const int64_t i = heed_tensor_set_find(&r->results, node);
    if (i >= 0) {
        heed_release(r->entries[i]->gradient);
        r->entries[i]->gradient = heed_retain(g);
    }
}

/* ---- begin and end ---- */

heed_recording *heed_recording_begin(void)
{
    if (!heed_error_pending() && running != NULL) {
        heed_fail(HEED_ERR_VALUE,
                  "recording_begin: this thread is already recording; stop that recording first");
    }
    heed_recording *r = heed_error_pending() ? NULL : heed_alloc_zeroed(sizeof *r);
    if (r != NULL) {
        running = r;
        r->observer =
            (heed_observer){.context = r, .result = record_result, .gradient = record_gradient};
        heed_observer_add(&r->observer);
    }
    return r;
}

heed_status heed_recording_stop(heed_recording *r)
{
    if (r == NULL) {
        return heed_fail(HEED_ERR_NULL, "recording_stop: the recording is NULL");
    }
    if (r == running) {
        running = NULL;
        heed_observer_remove(&r->observer);
        r->stopped = true;
    }
    return r->stopped
               ? heed_error_pending()
               : heed_fail(HEED_ERR_VALUE, "recording_stop: another thread began this recording");
}

static void release(heed_recorded *entry)
{
    heed_release(entry->result);
    for (int i = 0; i < entry->input_count; i++) {
        heed_release(entry->inputs[i]);
    }
    heed_release(entry->gradient);
    heed_free(entry);
}

void heed_recording_free(heed_recording *r)
{
    if (r == NULL) {
        return;
    }
    heed_recording_stop(r);
    if (!r->stopped) {
        return; /* it belongs to another thread */
    }
    for (int64_t i = r->results.count - 1; i >= 0; i--) {
        release(r->entries[i]);
    }
    heed_tensor_set_free(&r->results);
    heed_free(r->entries);
    heed_free(r);
}

/* ---- access ---- */

int64_t heed_recording_count(const heed_recording *r)
{
    return r != NULL ? r->results.count : 0;
}

const heed_recorded *heed_recording_at(const heed_recording *r, int64_t i)
{
    const int64_t count = heed_recording_count(r);
    if (i < 0 || i >= count) {
        heed_fail(HEED_ERR_INDEX, "recording_at: entry %lld of %lld; entries count from 0",
                  (long long)i, (long long)count);
        return NULL;
    }
    return r->entries[i];
}

/* The message lists the first recorded operations, each once. */
static void fail_to_find(const heed_recording *r, const char *path, const char *operation)
{
    heed_text list = {""};
    for (int64_t i = 0; i < heed_recording_count(r) && strlen(list.text) < 100; i++) {
        const heed_recorded *entry = r->entries[i];
        char one[64];
        snprintf(one, sizeof one, "%s%s in %.40s", *list.text != '\0' ? ", " : "", entry->op->name,
                 *entry->path != '\0' ? entry->path : "no module");
        if (strstr(list.text, one) == NULL && strlen(list.text) + strlen(one) < sizeof list.text) {
            strcat(list.text, one);
        }
    }
    heed_fail(HEED_ERR_VALUE,
              "recording_find: no such operation: %s in %s; the recording has %lld: %s, ...",
              operation != NULL ? operation : "any", path != NULL ? path : "any module",
              (long long)heed_recording_count(r), list.text);
}

const heed_recorded *heed_recording_find(const heed_recording *r, const char *path,
                                         const char *operation, int64_t n)
{
    for (int64_t i = 0; i < heed_recording_count(r); i++) {
        const heed_recorded *entry = r->entries[i];
        if ((path == NULL || strcmp(entry->path, path) == 0) &&
            (operation == NULL || strcmp(entry->op->name, operation) == 0) && n-- == 0) {
            return entry;
        }
    }
    fail_to_find(r, path, operation);
    return NULL;
}

const heed_recorded *heed_recording_of(const heed_recording *r, const heed_tensor *t)
{
    const int64_t i = r != NULL ? heed_tensor_set_find(&r->results, t) : -1;
    return i >= 0 ? r->entries[i] : NULL;
}
