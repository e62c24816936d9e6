/* The path of the running module, assembled from the names of its owners. */
#include "module_path.h"

#include <string.h>

static _Thread_local const heed_place *current; /* of the module that is running */

heed_text heed_module_path(void)
{
    heed_text path;
    size_t at = sizeof path.text - 1; /* written from the end */
    path.text[at] = '\0';
    for (const heed_place *place = current; place != NULL; place = place->outer) {
        const size_t length = strlen(place->name) + (place->outer != NULL); /* with the dot */
        if (length > at) {
            break;
        }
        at -= length;
        memcpy(path.text + at + (place->outer != NULL), place->name, strlen(place->name));
        if (place->outer != NULL) {
            path.text[at] = '.';
        }
    }
    memmove(path.text, path.text + at, sizeof path.text - at);
    return path;
}

const heed_place *heed_enter_place(const heed_place *place)
{
    const heed_place *before = current;
    current = place;
    return before;
}

void heed_leave_place(const heed_place **before)
{
    current = *before;
}

/* The place is still the current one if a longjmp left its forward. */
void heed_forget_place(const heed_place *place)
{
    if (current == place) {
        current = NULL;
    }
}
