/* Modules one behind the other. */
#ifndef HEED_NN_SEQUENTIAL_H
#define HEED_NN_SEQUENTIAL_H

#include "../module.h"

HEED_BEGIN_DECLS

/* A list of modules (nn/module.h: heed_module_list_count and _at take &m->list) with a forward. */
struct heed_sequential {
    struct heed_module_list list;
};

/* heed_sequential_new: as torch.nn.Sequential(), with nothing in it; heed_sequential_append takes a
 * module over, as the next one, whatever comes of it. Its names are 0, 1, 2, ... Each line makes
 * one module, so they draw their weights in the order in which they stand:
 *
 *     struct heed_sequential *m = heed_sequential_new();
 *     heed_sequential_append(m, heed_linear_new(3, 4));
 *     heed_sequential_append(m, heed_relu_new());
 *     heed_sequential_append(m, heed_linear_new(4, 2));
 *
 * HEED_ERR_VALUE: a module that has no forward of one tensor (heed_module_kind), or a child of
 * another. HEED_ERR_NULL. */
struct heed_sequential *heed_sequential_new(void);
heed_status heed_sequential_append(struct heed_sequential *m, void *child);

/* heed_sequential_forward: heed_forward of each module, of what the one before it made; x itself if
 * there is none. */
heed_tensor *heed_sequential_forward(struct heed_sequential *m, heed_tensor *x);

HEED_END_DECLS
#endif
