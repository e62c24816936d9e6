/* Growable lists of named tensors. Each name is allocated separately, so that it never moves. */
#include "named_tensors.h"

#include <stdio.h>
#include <string.h>

#include "../tensor/alloc.h"

enum { PAIR = sizeof(heed_tensor *) + sizeof(char *) };

/* Both arrays share one block: the tensors, then the names. */
static heed_status grow(heed_named_tensors *named)
{
    const size_t count = (size_t)named->list.count;
    const int larger = named->capacity > 0 ? 2 * named->capacity : 16;
    heed_tensor **tensors = heed_alloc((size_t)larger * PAIR);
    if (tensors == NULL) {
        return heed_error_pending();
    }
    const char **names = (const char **)(tensors + larger);
    if (count > 0) {
        memcpy(tensors, named->tensors, count * sizeof *tensors);
        memcpy(names, named->names, count * sizeof *names);
    }
    heed_free(named->tensors, (size_t)named->capacity * PAIR);
    named->list.tensors = named->tensors = tensors;
    named->list.names = named->names = names;
    named->capacity = larger;
    return HEED_OK;
}

heed_status heed_named_add_v(heed_named_tensors *named, heed_tensor *tensor, const char *format,
                             va_list arguments)
{
    if (heed_error_pending() || (named->list.count == named->capacity && grow(named) != HEED_OK)) {
        return heed_error_pending();
    }
    const char *prefix = named->prefix != NULL ? named->prefix : "";
    const size_t before = strlen(prefix);
    va_list again;
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
    return heed_error_pending();
}

heed_status heed_named_add(heed_named_tensors *named, heed_tensor *tensor, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const heed_status status = heed_named_add_v(named, tensor, format, arguments);
    va_end(arguments);
    return status;
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
        heed_free((char *)named->names[i], strlen(named->names[i]) + 1);
    }
    heed_free(named->tensors, (size_t)named->capacity * PAIR);
    *named = (heed_named_tensors){0};
}

bool heed_name_ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), of_end = strlen(end);
    return length >= of_end && strcmp(name + length - of_end, end) == 0;
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
