/* Growable lists of named tensors (internal); all zero when empty.
 *
 *     heed_named_tensors all = {0};
 *     heed_named_add(&all, x, "layers.%d.weight", i);
 *     heed_save_file(all.list, path, NULL);
 *     heed_named_free(&all);
 */
#ifndef HEED_NN_NAMED_TENSORS_H
#define HEED_NN_NAMED_TENSORS_H

#include "tensor_list.h"

/* It owns the names but not the tensors. */
typedef struct heed_named_tensors {
    heed_tensor_list list;
    heed_tensor **tensors; /* writable aliases of the list's arrays */
    const char **names;
    int capacity;
    const char *prefix; /* prepended to each added name; NULL: none */
} heed_named_tensors;

/* heed_named_add: appends a tensor under a printf-formatted name. heed_named_append: appends all
 * tensors of a list under their names. heed_named_free: frees the names and arrays and leaves an
 * empty list. heed_named_delete: frees a list that heed_alloc has made, too; NULL is a no-op.
 * HEED_ERR_MEMORY. */
heed_status heed_named_add(heed_named_tensors *named, heed_tensor *tensor, const char *format, ...)
    HEED_PRINTF(3, 4);
heed_status heed_named_append(heed_named_tensors *named, heed_tensor_list list);
void heed_named_free(heed_named_tensors *named);
void heed_named_delete(heed_named_tensors *named);

/* heed_is_listed: true if the list contains the tensor. */
bool heed_is_listed(heed_tensor_list list, const heed_tensor *tensor);

typedef enum heed_list_kind { HEED_LIST_PARAMETERS, HEED_LIST_STATE } heed_list_kind;

/* heed_list_of: a list of the module's tensors, which it keeps. heed_free_lists: frees the lists of
 * m and of the modules that contain it, whose lists include m's tensors. module.c defines both. */
struct heed_module;
heed_tensor_list heed_list_of(const char *function, struct heed_module *m, heed_list_kind kind);
void heed_free_lists(struct heed_module *m);

/* heed_optimizer_list: appends the state dict of an optimiser to a list, in the innermost scope.
 * heed_optimizer_take: loads the values of such a list, in the same order and shapes; on error
 * nothing changes. HEED_ERR_VALUE: a number is invalid for this optimiser. optimizer.c defines
 * both. */
struct heed_optimizer;
heed_status heed_optimizer_list(struct heed_optimizer *optimizer, heed_named_tensors *named);
heed_status heed_optimizer_take(const char *function, struct heed_optimizer *optimizer,
                                heed_tensor *const *values);

#endif
