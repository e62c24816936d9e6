/* ModuleList and Sequential. */
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

/* ---- Sequential ---- */

HEED_MODULE_KIND(sequential_kind, struct heed_sequential, "Sequential", NULL,
                 heed_sequential_forward);

struct heed_sequential *heed_sequential_new(void)
{
    return heed_module_ready(heed_module_new(&sequential_kind));
}

/* Modules that cannot run are rejected here, not at the first forward; the list frees a module
 * passed to it while an error is pending. */
heed_status heed_sequential_append(struct heed_sequential *m, void *child)
{
    heed_module *module = child;
    if (module != NULL && module->alive == HEED_ALIVE && module->kind->forward == NULL) {
        heed_fail(HEED_ERR_VALUE,
                  "sequential_append: a %s has no forward that takes one tensor, as a Sequential "
                  "requires",
                  module->kind->name);
    }
    return heed_module_list_append(m != NULL ? &m->list : NULL, child);
}

heed_tensor *heed_sequential_forward(struct heed_sequential *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    static const char function[] = "sequential_forward";
    if (heed_forward_check(function, m) != HEED_OK ||
        heed_check_not_null(function, "x", x) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    const int count = heed_module_list_count(&m->list);
    for (int i = 0; i < count; i++) {
        x = heed_forward(heed_module_list_at(&m->list, i), x);
    }
    return heed_scope_end_with(&scope, x);
}
