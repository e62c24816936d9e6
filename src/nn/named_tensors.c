/* Growable lists of named tensors. Each name is allocated separately, so that it never moves. */
#include "named_tensors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../tensor/alloc.h"

static heed_status grow(heed_named_tensors *named)
{
    const size_t larger = named->capacity > 0 ? 2 * (size_t)named->capacity : 16;
    heed_tensor **tensors = heed_realloc(named->tensors, larger * sizeof *tensors);
    if (tensors != NULL) {
        named->list.tensors = named->tensors = tensors;
    }
    const char **names = heed_realloc(named->names, larger * sizeof *names);
    if (names != NULL) {
        named->list.names = named->names = names;
    }
    if (!heed_error_pending()) {
        named->capacity = (int)larger;
    }
    return heed_error_pending();
}

heed_status heed_named_add(heed_named_tensors *named, heed_tensor *tensor, const char *format, ...)
{
    if (heed_error_pending() || (named->list.count == named->capacity && grow(named) != HEED_OK)) {
        return heed_error_pending();
    }
    const char *prefix = named->prefix != NULL ? named->prefix : "";
    const size_t before = strlen(prefix);
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const size_t size = before + (size_t)vsnprintf(NULL, 0, format, again) + 1;
    va_end(again);
    char *name = heed_alloc(size);
    if (name != NULL) {
        memcpy(name, prefix, before);
        vsnprintf(name + before, size - before, format, arguments);
        named->tensors[named->list.count] = tensor;
        named->names[named->list.count++] = name;
    }
    va_end(arguments);
    return heed_error_pending();
}

heed_status heed_named_append(heed_named_tensors *named, heed_tensor_list list)
{
    for (int i = 0; i < list.count && !heed_error_pending(); i++) {
        heed_named_add(named, list.tensors[i], "%s", list.names[i]);
    }
    return heed_error_pending();
}

void heed_named_free(heed_named_tensors *named)
{
    for (int i = 0; i < named->list.count; i++) {
        heed_free((char *)named->names[i]);
    }
    heed_free(named->tensors);
    heed_free(named->names);
    *named = (heed_named_tensors){0};
}

void heed_named_delete(heed_named_tensors *named)
{
    if (named != NULL) {
        heed_named_free(named);
        heed_free(named);
    }
}

bool heed_is_listed(heed_tensor_list list, const heed_tensor *tensor)
{
    for (int i = 0; i < list.count; i++) {
        if (list.tensors[i] == tensor) {
            return true;
        }
    }
    return false;
}
