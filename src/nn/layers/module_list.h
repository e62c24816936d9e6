/* ModuleList: a list of modules. Its children are named 0, 1, 2, ... */
#ifndef HEED_NN_MODULE_LIST_H
#define HEED_NN_MODULE_LIST_H

#include "../module.h"

HEED_BEGIN_DECLS

/* heed_module_list_new: as torch.nn.ModuleList(), empty. heed_module_list_append: takes ownership
 * of a module and appends it; errors as heed_add_child. heed_module_list_count: the number of
 * modules; 0 on error. */
struct heed_module_list {
    heed_module module;
};
struct heed_module_list *heed_module_list_new(void);
heed_status heed_module_list_append(struct heed_module_list *list, void *child);
int heed_module_list_count(const struct heed_module_list *list);

/* heed_module_list_at: child i. HEED_ERR_INDEX: i is outside [0, count). */
void *heed_module_list_at(const struct heed_module_list *list, int i);

HEED_END_DECLS
#endif
