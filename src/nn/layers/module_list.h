/* ModuleList, a list of modules whose names are 0, 1, 2, ..., and Sequential, which runs them one
 * after another. */
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

/* ---- Sequential ---- */

/* A list of modules with a forward. heed_module_list_count and _at take &m->list. */
struct heed_sequential {
    struct heed_module_list list;
};

/* heed_sequential_new: as torch.nn.Sequential(), empty. heed_sequential_append takes ownership of a
 * module, even on error, and appends it. The modules are named 0, 1, 2, ... Append one module per
 * statement, so that they draw their weights in order:
 *
 *     struct heed_sequential *m = heed_sequential_new();
 *     heed_sequential_append(m, heed_linear_new(3, 4));
 *     heed_sequential_append(m, heed_relu_new());
 *     heed_sequential_append(m, heed_linear_new(4, 2));
 *
 * HEED_ERR_VALUE: the module has no forward that takes one tensor (heed_module_kind), or it has an
 * owner. HEED_ERR_NULL. */
struct heed_sequential *heed_sequential_new(void);
heed_status heed_sequential_append(struct heed_sequential *m, void *child);

/* heed_sequential_forward: calls heed_forward of each module on the output of the previous one; an
 * empty Sequential returns x itself. Errors are those of heed_forward. */
heed_tensor *heed_sequential_forward(struct heed_sequential *m, heed_tensor *x);

HEED_END_DECLS
#endif
