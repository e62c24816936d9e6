/* ModuleList. */
#include "module_list.h"

#include "../arguments.h"

static const heed_module_kind module_list_kind = {.name = "ModuleList",
                                                  .size = sizeof(struct heed_module_list)};

struct heed_module_list *heed_module_list_new(void)
{
    return heed_module_ready(heed_module_new(&module_list_kind));
}

heed_status heed_module_list_append(struct heed_module_list *list, void *child)
{
    char name[16];
    snprintf(name, sizeof name, "%d", list != NULL ? list->module.count : 0);
    return heed_add_child(list, name, NULL, child);
}

int heed_module_list_count(const struct heed_module_list *list)
{
    return heed_module_check("module_list_count", list) == HEED_OK ? list->module.count : 0;
}

void *heed_module_list_at(const struct heed_module_list *list, int i)
{
    if (heed_module_check("module_list_at", list) != HEED_OK) {
        return NULL;
    }
    if (i < 0 || i >= list->module.count) {
        heed_fail(HEED_ERR_INDEX, "module_list_at: index %d is out of range for a list of %d", i,
                  list->module.count);
        return NULL;
    }
    return list->module.entries[i].child;
}
