/* Sequential: modules run one after another. */
#include "sequential.h"

#include "../arguments.h"

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
